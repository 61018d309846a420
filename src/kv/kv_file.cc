#include "kv/kv_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#define XXH_INLINE_ALL  // a header only: nothing to link
#include <xxhash.h>

#include "base/checked.h"
#include "base/media_token.h"
#include "io/file_writer.h"
#include "kv_file_generated.h"

namespace g4 {
namespace {
// The preamble: magic, format version, bytes of the header, its checksum.
constexpr char kMagic[8] = {'G', '4', 'K', 'V', '\r', '\n', 0x1a, 0};
constexpr uint32_t kVersion = 1;
struct Preamble {
  char magic[8];
  uint32_t version;
  uint32_t header_bytes;
  uint64_t header_checksum;  // XXH3-64
  uint64_t file_bytes;       // of the whole file
};
static_assert(sizeof(Preamble) == 32);
constexpr uint32_t kMaxHeaderBytes = 64u << 20;
constexpr uint64_t kBlockAlignment = 64;

std::string reason() { return std::strerror(errno); }

// A file descriptor that closes itself.
class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

constexpr const char* kKvTypeNames[kKvTypeCount] = {"f16", "f32", "q8_0"};
const char* kv_type_name(KvType type) { return kKvTypeNames[static_cast<size_t>(type)]; }

uint64_t aligned(uint64_t bytes) { return (bytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment; }

Status damaged(const std::string& path, absl::string_view what) {
  return format_error(StrCat(path, " is not a usable KV file: ", what));
}

class Checksum {
 public:
  Checksum() : state_(XXH3_createState(), XXH3_freeState) { XXH3_64bits_reset(state_.get()); }
  void add(std::span<const uint8_t> bytes) { XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()); }
  uint64_t value() const { return XXH3_64bits_digest(state_.get()); }

 private:
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_;
};

// ---- Writing

// A block of the file: pieces of memory that follow one another.
struct Block {
  std::vector<std::span<const uint8_t>> pieces;
  uint64_t offset = 0, size = 0, checksum = 0;
};

Block make_block(std::vector<std::span<const uint8_t>> pieces, uint64_t* end) {
  Block block{std::move(pieces), *end};
  Checksum checksum;
  for (const auto& piece : block.pieces) {
    checksum.add(piece);
    block.size += piece.size();
  }
  block.checksum = checksum.value();
  *end = aligned(block.offset + block.size);
  return block;
}

// Rows from `used` on become zero in a copied page: what a truncate left behind is not part of the state.
void clear_unused(const KvLayer& layer, KvType type, int used, std::span<uint8_t> page) {
  const size_t row = kv_row_bytes(type, static_cast<size_t>(layer.head_dim)),
               kept = static_cast<size_t>(used) * row;
  for (size_t begin = 0; begin < page.size(); begin += kPagePositions * row)
    std::memset(page.data() + begin + kept, 0, kPagePositions * row - kept);
}

Status write_padded(FileWriter& file, std::span<const uint8_t> bytes, uint64_t size) {
  static constexpr uint8_t kZeros[kBlockAlignment] = {};
  G4_RETURN_IF_ERROR(file.write(bytes));
  return file.write({kZeros, static_cast<size_t>(aligned(size) - size)});
}

Status write_file(FileWriter& file, std::span<const uint8_t> header, std::span<const Block> blocks,
                  uint64_t end) {
  Preamble preamble{};
  std::memcpy(preamble.magic, kMagic, sizeof kMagic);
  preamble.version = kVersion;
  preamble.header_bytes = static_cast<uint32_t>(header.size());
  preamble.header_checksum = XXH3_64bits(header.data(), header.size());
  preamble.file_bytes = aligned(sizeof preamble + header.size()) + end;
  G4_RETURN_IF_ERROR(file.write({reinterpret_cast<const uint8_t*>(&preamble), sizeof preamble}));
  G4_RETURN_IF_ERROR(write_padded(file, header, sizeof preamble + header.size()));
  for (const Block& block : blocks) {
    for (const auto& piece : block.pieces) G4_RETURN_IF_ERROR(file.write(piece));
    G4_RETURN_IF_ERROR(write_padded(file, {}, block.size));
  }
  return file.commit();
}

// ---- Reading

struct Opened {
  File file;
  std::vector<uint8_t> header_bytes;
  const fbs::Header* header;
  uint64_t data_begin, data_bytes;  // of the blocks
};

Status read_at(const File& file, const std::string& path, uint64_t offset, std::span<uint8_t> out) {
  while (!out.empty()) {
    const ssize_t done = ::pread(file.get(), out.data(), out.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return io_error(StrCat("cannot read ", path, ": ", reason()));
    if (done == 0) return damaged(path, "it ends too early");
    out = out.subspan(static_cast<size_t>(done));
    offset += static_cast<uint64_t>(done);
  }
  return absl::OkStatus();
}

StatusOr<Opened> open_file(const std::string& path) {
  // Without O_NONBLOCK a FIFO would wait for a writer.
  File file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat info;
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0)
    return io_error(StrCat("cannot open ", path, ": ", reason()));
  if (!S_ISREG(info.st_mode)) return io_error(StrCat("cannot open ", path, ": not a regular file"));
  const uint64_t size = static_cast<uint64_t>(info.st_size);
  Preamble preamble;
  if (size < sizeof preamble) return damaged(path, "it ends too early");
  G4_RETURN_IF_ERROR(read_at(file, path, 0, {reinterpret_cast<uint8_t*>(&preamble), sizeof preamble}));
  if (std::memcmp(preamble.magic, kMagic, sizeof kMagic) != 0)
    return damaged(path, "it does not begin like one");
  if (preamble.version != kVersion)
    return unsupported_error(
        StrCat(path, " has KV file version ", preamble.version, "; this g4 reads version ", kVersion));
  if (preamble.file_bytes != size)
    return damaged(path,
                   StrCat("it has ", size, " bytes, not the ", preamble.file_bytes, " it was written with"));
  if (preamble.header_bytes > kMaxHeaderBytes || preamble.header_bytes > size - sizeof preamble)
    return damaged(path, "its header does not fit");
  std::vector<uint8_t> header(preamble.header_bytes);
  G4_RETURN_IF_ERROR(read_at(file, path, sizeof preamble, header));
  if (XXH3_64bits(header.data(), header.size()) != preamble.header_checksum)
    return damaged(path, "its header's checksum is wrong");
  flatbuffers::Verifier verifier(header.data(), header.size());
  if (!fbs::VerifyHeaderBuffer(verifier)) return damaged(path, "its header is malformed");
  const uint64_t begin = aligned(sizeof preamble + header.size());
  if (begin > size) return damaged(path, "it ends too early");
  const fbs::Header* root = fbs::GetHeader(header.data());
  if (root->model() == nullptr || root->model()->size() != Fingerprint().size() ||
      root->kv_type() == nullptr || root->tokens() == nullptr || root->layers() == nullptr ||
      root->tokens()->size() != root->position() || root->generated_begin() > root->position())
    return damaged(path, "its header lacks a field or contradicts itself");
  return Opened{std::move(file), std::move(header), root, begin, size - begin};
}

// Reads a block of this size in pieces, and checks it.
Status read_block(const Opened& opened, const std::string& path, const fbs::Block* block,
                  std::span<const std::span<uint8_t>> pieces) {
  uint64_t size = 0, end = 0;
  for (const auto& piece : pieces) size += piece.size();
  if (block == nullptr || block->size() != size) return damaged(path, "a block has the wrong size");
  if (!checked_add(block->offset(), size, &end) || end > opened.data_bytes)
    return damaged(path, "a block lies outside the file");
  uint64_t offset = opened.data_begin + block->offset();
  Checksum checksum;
  for (const auto& piece : pieces) {
    G4_RETURN_IF_ERROR(read_at(opened.file, path, offset, piece));
    checksum.add(piece);
    offset += piece.size();
  }
  return checksum.value() == block->checksum() ? absl::OkStatus()
                                               : damaged(path, "a block's checksum is wrong");
}

KvFileInfo info_of(const Opened& opened) {
  const fbs::Header& header = *opened.header;
  KvFileInfo info;
  std::memcpy(info.model.data(), header.model()->data(), info.model.size());
  info.kv_type = header.kv_type()->str();
  info.tokens.assign(header.tokens()->begin(), header.tokens()->end());
  info.has_logits = header.logits() != nullptr;
  uint64_t lowest = 0;  // as KvStore::rewind_min
  for (const fbs::Layer* layer : *header.layers())
    if (layer->window() > 0 && layer->first_page() > 0)
      lowest = std::max(lowest, uint64_t{layer->first_page()} * kPagePositions + layer->window() - 1);
  info.rewind_min = std::min<uint64_t>(lowest, header.position());
  info.size_bytes = opened.data_begin + opened.data_bytes;
  return info;
}

Status check_identity(const fbs::Header& header, const std::string& path, const KvIdentity& identity) {
  if (std::memcmp(header.model()->data(), identity.model.data(), identity.model.size()) != 0)
    return mismatch_error(StrCat(path, " was saved with another model"));
  if (header.kv_type()->string_view() != kv_type_name(identity.type))
    return mismatch_error(StrCat(path, " holds KV of type ", header.kv_type()->str(), ", the session has ",
                                 kv_type_name(identity.type)));
  const KvMeta& meta = *identity.meta;
  if (header.page_positions() != kPagePositions ||
      header.layers()->size() != static_cast<uint32_t>(meta.owner_count()))
    return mismatch_error(StrCat(path, " has another KV geometry than the model"));
  for (int i = 0; i < meta.owner_count(); ++i) {
    const fbs::Layer& layer = *header.layers()->Get(static_cast<uint32_t>(i));
    const KvLayer& own = meta[i];
    if (layer.window() != static_cast<uint32_t>(own.window) ||
        layer.kv_head_count() != static_cast<uint32_t>(own.kv_head_count) ||
        layer.head_dim() != static_cast<uint32_t>(own.head_dim))
      return mismatch_error(StrCat(path, " has another KV geometry than the model in layer ", i));
  }
  return absl::OkStatus();
}

StatusOr<KvStore::LayerPages> read_layer(const Opened& opened, const std::string& path,
                                         const fbs::Layer& layer, const KvStore& shape, int index,
                                         int position) {
  const auto [first_needed, end] = shape.needed_pages(index, position);
  const uint32_t first = layer.first_page();
  if (first > static_cast<uint32_t>(first_needed) || layer.page_count() != static_cast<uint32_t>(end) - first)
    return damaged(path, StrCat("layer ", index, " lacks pages or has too many"));
  if (layer.page_count() > opened.data_bytes / shape.page_bytes(index))
    return damaged(path, "a block lies outside the file");
  KvStore::LayerPages pages{static_cast<int>(first), {}};
  std::vector<std::span<uint8_t>> pieces;
  for (uint32_t i = 0; i < layer.page_count(); ++i) {
    G4_ASSIGN_OR_RETURN(auto bytes, AlignedBuffer<uint8_t>::create(shape.page_bytes(index)));
    pieces.push_back(bytes.span());
    pages.pages.emplace_back(std::move(bytes));
  }
  G4_RETURN_IF_ERROR(read_block(opened, path, layer.block(), pieces));
  return pages;
}
}  // namespace

StatusOr<uint64_t> save_kv(const std::string& path, const KvIdentity& identity, const KvStore& store,
                           const KvState& state) {
  const KvMeta& meta = *identity.meta;
  std::vector<KvStore::LayerPages> layers;
  std::vector<AlignedBuffer<uint8_t>> last_pages;
  std::vector<Block> blocks;
  uint64_t end = 0;
  for (int i = 0; i < meta.owner_count(); ++i) {
    layers.push_back(store.layer_pages(i));
    std::vector<std::span<const uint8_t>> pieces;
    for (const PageRef& page : layers.back().pages) pieces.emplace_back(page.data(), page.size_bytes());
    if (const int used = store.position() % kPagePositions; used != 0) {
      G4_ASSIGN_OR_RETURN(auto copy, AlignedBuffer<uint8_t>::create(pieces.back().size()));
      std::memcpy(copy.data(), pieces.back().data(), copy.size());
      clear_unused(meta[i], identity.type, used, copy.span());
      last_pages.push_back(std::move(copy));
      pieces.back() = last_pages.back().span();
    }
    blocks.push_back(make_block(std::move(pieces), &end));
  }
  if (!state.logits.empty())
    blocks.push_back(make_block(
        {{reinterpret_cast<const uint8_t*>(state.logits.data()), state.logits.size() * sizeof(float)}},
        &end));

  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<fbs::Layer>> rows;
  const auto to_fbs = [](const Block& block) { return fbs::Block(block.offset, block.size, block.checksum); };
  for (int i = 0; i < meta.owner_count(); ++i) {
    const fbs::Block block = to_fbs(blocks[static_cast<size_t>(i)]);
    const KvStore::LayerPages& pages = layers[static_cast<size_t>(i)];
    rows.push_back(fbs::CreateLayer(
        builder, static_cast<uint32_t>(meta[i].window), static_cast<uint32_t>(meta[i].kv_head_count),
        static_cast<uint32_t>(meta[i].head_dim), static_cast<uint32_t>(pages.first_page),
        static_cast<uint32_t>(pages.pages.size()), &block));
  }
  const fbs::Block logits = state.logits.empty() ? fbs::Block() : to_fbs(blocks.back());
  builder.Finish(
      fbs::CreateHeader(builder, builder.CreateVector(identity.model.data(), identity.model.size()),
                        builder.CreateString(kv_type_name(identity.type)), kPagePositions,
                        static_cast<uint32_t>(store.position()),
                        builder.CreateVector(state.tokens.data(), state.tokens.size()),
                        static_cast<uint32_t>(state.generated_begin),
                        builder.CreateVector(rows.data(), rows.size()),
                        state.logits.empty() ? nullptr : &logits),
      fbs::HeaderIdentifier());

  G4_ASSIGN_OR_RETURN(FileWriter file, FileWriter::create(path, 0600));
  G4_RETURN_IF_ERROR(write_file(file, {builder.GetBufferPointer(), builder.GetSize()}, blocks, end));
  return aligned(sizeof(Preamble) + builder.GetSize()) + end;
}

StatusOr<LoadedKv> load_kv(const std::string& path, const KvIdentity& identity, int rewind_margin,
                           int max_position, int vocab_size) {
  G4_ASSIGN_OR_RETURN(const Opened opened, open_file(path));
  const fbs::Header& header = *opened.header;
  G4_RETURN_IF_ERROR(check_identity(header, path, identity));
  if (header.position() > static_cast<uint32_t>(max_position))
    return context_full_error(
        StrCat(path, " holds ", header.position(), " positions; the session's context is ", max_position));
  const int position = static_cast<int>(header.position());
  KvFileInfo info = info_of(opened);
  for (const int32_t token : info.tokens)
    if ((token < 0 && !is_media(token)) || token >= vocab_size)
      return damaged(path, StrCat("it holds token ", token, ", outside the vocabulary"));

  std::vector<KvStore::LayerPages> layers;
  const KvStore shape(*identity.meta, identity.type, rewind_margin);
  for (int i = 0; i < identity.meta->owner_count(); ++i) {
    G4_ASSIGN_OR_RETURN(
        KvStore::LayerPages pages,
        read_layer(opened, path, *header.layers()->Get(static_cast<uint32_t>(i)), shape, i, position));
    layers.push_back(std::move(pages));
  }
  std::vector<float> logits;
  if (header.logits() != nullptr) {
    logits.resize(static_cast<size_t>(vocab_size));
    const std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(logits.data()), logits.size() * sizeof(float));
    G4_RETURN_IF_ERROR(read_block(opened, path, header.logits(), {&bytes, 1}));
  }
  return LoadedKv{
      std::move(info),
      KvStore::from_pages(*identity.meta, identity.type, rewind_margin, position, std::move(layers)),
      header.generated_begin(), std::move(logits)};
}

size_t usable_prefix(std::span<const int32_t> held, bool has_logits, std::span<const int32_t> prompt) {
  const size_t common = static_cast<size_t>(std::ranges::mismatch(held, prompt).in1 - held.begin());
  const bool is_whole = common == held.size() && (common < prompt.size() || has_logits);
  return is_whole ? common : std::min(common, prompt.size() - 1);
}

size_t KvFileInfo::restorable(std::span<const int32_t> prompt) const {
  if (prompt.empty()) return tokens.size();
  const size_t wanted = without_cut_run(prompt, usable_prefix(tokens, has_logits, prompt));
  return wanted < rewind_min ? 0 : wanted;
}

StatusOr<KvFileInfo> probe_kv(const std::string& path) {
  G4_ASSIGN_OR_RETURN(const Opened opened, open_file(path));
  return info_of(opened);
}
}  // namespace g4
