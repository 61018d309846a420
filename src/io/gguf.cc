#include "io/gguf.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/checked.h"
#include "io/byte_reader.h"
#include "io/gguf_metadata.h"
#include "io/prepared_file.h"

namespace g4 {
namespace {
constexpr uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr uint32_t kVersion = 3;
constexpr uint64_t kMaxTensorName = 64;
constexpr uint32_t kMaxDims = 4;
constexpr int64_t kDefaultAlignment = 32, kMinAlignment = 8, kMaxAlignment = 1 << 20;
constexpr uint64_t kMinTensorBytes =
    8 + 1 + 4 + 8 + 4 + 8;  // an entry of the table: name, one dimension, type, offset

std::string known_types() {
  std::string list;
  for (int i = 0; i < kDTypeCount; ++i)
    list += StrCat(i == 0 ? "" : ", ", dtype_info(static_cast<DType>(i)).name);
  return list;
}

class GgufFile final : public TensorSource {
 public:
  // `bytes` begin at `place` of the owner, if there is one.
  static StatusOr<std::unique_ptr<TensorSource>> parse(std::span<const uint8_t> bytes, uint64_t place,
                                                       std::shared_ptr<MappedFile> owner);

  StatusOr<int64_t> get_int(std::string_view key) const override { return metadata_.get_int(key); }
  StatusOr<double> get_float(std::string_view key) const override { return metadata_.get_float(key); }
  StatusOr<bool> get_bool(std::string_view key) const override { return metadata_.get_bool(key); }
  StatusOr<std::string_view> get_string(std::string_view key) const override {
    return metadata_.get_string(key);
  }
  StatusOr<std::vector<int64_t>> get_int_array(std::string_view key) const override {
    return metadata_.get_int_array(key);
  }
  StatusOr<std::vector<float>> get_float_array(std::string_view key) const override {
    return metadata_.get_float_array(key);
  }
  StatusOr<std::vector<std::string_view>> get_string_array(std::string_view key) const override {
    return metadata_.get_string_array(key);
  }
  bool has(std::string_view key) const override { return metadata_.has(key); }
  bool is_array(std::string_view key) const override { return metadata_.is_array(key); }
  uint64_t array_length(std::string_view key) const override { return metadata_.array_length(key); }
  const TensorView* find(std::string_view name) const override;
  std::span<const TensorView> tensors() const override { return tensors_; }

 private:
  Status read_tensor_table(ByteReader& reader, uint64_t count);
  Status read_tensor(ByteReader& reader, uint64_t number, TensorView* tensor) const;
  Status check_unique_names();
  StatusOr<uint64_t> alignment() const;
  // Turns the offsets, which count from the data section, into places in the file.
  Status place_tensors(std::span<const uint8_t> bytes, uint64_t table_end);
  Status check_no_overlap() const;

  std::shared_ptr<MappedFile> owner_;  // of the bytes, if they are mapped
  uint64_t place_ = 0;                 // of the bytes in it
  GgufMetadata metadata_;
  std::vector<TensorView> tensors_;  // in the order of the file
  std::vector<uint32_t> by_name_;    // indices into tensors_, sorted by name
};

// Magic, version and the counts of tensors and keys.
Status read_header(ByteReader& reader, uint64_t* tensor_count, uint64_t* key_count) {
  uint32_t magic = 0, version = 0;
  if (!reader.read(&magic) || magic != kMagic)
    return format_error("the file does not begin with GGUF: it is no GGUF file");
  if (!reader.read(&version)) return gguf_ends_in(reader, "the header");
  if (version != 0 && version % 65536 == 0)
    return unsupported_error("the file is big-endian GGUF; g4 reads little-endian files only");
  if (version != kVersion)
    return unsupported_error(StrCat("the file has GGUF version ", version, "; g4 reads version ", kVersion));
  if (!reader.read(tensor_count) || !reader.read(key_count)) return gguf_ends_in(reader, "the header");
  if (*tensor_count > kMaxGgufEntries)
    return format_error(StrCat("the file claims ", *tensor_count, " tensors, more than ", kMaxGgufEntries));
  return absl::OkStatus();
}

Status check_not_split(const GgufMetadata& metadata) {
  if (!metadata.has("split.count")) return absl::OkStatus();
  G4_ASSIGN_OR_RETURN(const int64_t parts, metadata.get_int("split.count"));
  if (parts <= 1) return absl::OkStatus();
  return unsupported_error(StrCat("the file is one of ", parts,
                                  " parts of a split model (split.count); merge them into one file first"));
}

StatusOr<std::unique_ptr<TensorSource>> GgufFile::parse(std::span<const uint8_t> bytes, uint64_t place,
                                                        std::shared_ptr<MappedFile> owner) {
  auto file = std::make_unique<GgufFile>();
  file->owner_ = std::move(owner);
  file->place_ = place;
  ByteReader reader(bytes);
  uint64_t tensor_count = 0, key_count = 0;
  G4_RETURN_IF_ERROR(read_header(reader, &tensor_count, &key_count));
  G4_ASSIGN_OR_RETURN(file->metadata_, GgufMetadata::read(reader, key_count));
  G4_RETURN_IF_ERROR(check_not_split(file->metadata_));
  G4_RETURN_IF_ERROR(file->read_tensor_table(reader, tensor_count));
  G4_RETURN_IF_ERROR(file->check_unique_names());
  G4_RETURN_IF_ERROR(file->place_tensors(bytes, reader.position()));
  G4_RETURN_IF_ERROR(file->check_no_overlap());
  return file;
}

Status GgufFile::read_tensor_table(ByteReader& reader, uint64_t count) {
  tensors_.reserve(static_cast<size_t>(std::min(count, reader.remaining() / kMinTensorBytes)));
  for (uint64_t i = 0; i < count; ++i) {
    TensorView tensor;
    G4_RETURN_IF_ERROR(read_tensor(reader, i, &tensor));
    tensors_.push_back(std::move(tensor));
  }
  return absl::OkStatus();
}

// Name, shape, type and offset; what follows from them without the data section.
Status GgufFile::read_tensor(ByteReader& reader, uint64_t number, TensorView* tensor) const {
  std::string_view name;
  G4_RETURN_IF_ERROR(read_gguf_name(reader, kMaxTensorName, StrCat("tensor number ", number), &name));
  tensor->name = name;
  const auto ends = [&] { return gguf_ends_in(reader, StrCat("the table entry of tensor ", tensor->name)); };
  uint32_t rank = 0, type = 0;
  if (!reader.read(&rank)) return ends();
  if (rank == 0 || rank > kMaxDims)
    return format_error(
        StrCat("tensor ", tensor->name, " has ", rank, " dimensions, expected 1 to ", kMaxDims));
  tensor->shape.resize(rank);
  for (uint32_t i = 0; i < rank; ++i)  // innermost first in the file
    if (!reader.read(&tensor->shape[rank - 1 - i])) return ends();
  if (!reader.read(&type) || !reader.read(&tensor->offset)) return ends();

  const DType* dtype = dtype_from_gguf(type);
  if (dtype == nullptr)
    return unsupported_error(StrCat("tensor ", tensor->name, " has type number ", type,
                                    ", which g4 does not read; it reads ", known_types()));
  tensor->type = *dtype;
  const DTypeInfo& info = dtype_info(*dtype);
  const uint64_t cols = tensor->shape.back();
  if (cols % info.block_values != 0)
    return format_error(StrCat("tensor ", tensor->name, " has rows of ", cols,
                               " values, not a multiple of the ", info.block_values, " that a block of ",
                               info.name, " holds"));
  tensor->size_bytes = cols / info.block_values;
  bool fits = checked_mul(tensor->size_bytes, info.block_bytes, &tensor->size_bytes);
  for (uint32_t i = 0; i + 1 < rank; ++i)
    fits = fits && checked_mul(tensor->size_bytes, tensor->shape[i], &tensor->size_bytes);
  if (!fits || tensor->size_bytes == 0)
    return format_error(StrCat("tensor ", tensor->name, " has shape ", shape_text(tensor->shape),
                               ", which no tensor can have"));
  return absl::OkStatus();
}

Status GgufFile::check_unique_names() {
  by_name_.resize(tensors_.size());
  std::iota(by_name_.begin(), by_name_.end(), 0u);
  const auto name = [this](uint32_t i) -> const std::string& { return tensors_[i].name; };
  std::sort(by_name_.begin(), by_name_.end(), [&](uint32_t a, uint32_t b) { return name(a) < name(b); });
  const auto twin = std::adjacent_find(by_name_.begin(), by_name_.end(),
                                       [&](uint32_t a, uint32_t b) { return name(a) == name(b); });
  if (twin != by_name_.end()) return format_error(StrCat("tensor ", name(*twin), " is there twice"));
  return absl::OkStatus();
}

StatusOr<uint64_t> GgufFile::alignment() const {
  if (!metadata_.has("general.alignment")) return static_cast<uint64_t>(kDefaultAlignment);
  G4_ASSIGN_OR_RETURN(const int64_t value, metadata_.get_int("general.alignment"));
  if (value < kMinAlignment || value > kMaxAlignment || !std::has_single_bit(static_cast<uint64_t>(value)))
    return format_error(StrCat("key general.alignment is ", value, ", expected a power of two from ",
                               kMinAlignment, " to ", kMaxAlignment));
  return static_cast<uint64_t>(value);
}

Status GgufFile::place_tensors(std::span<const uint8_t> bytes, uint64_t table_end) {
  G4_ASSIGN_OR_RETURN(const uint64_t alignment, this->alignment());
  uint64_t data_start = 0;
  if (!checked_align(table_end, alignment, &data_start)) return format_error("the tensor table has no end");
  for (TensorView& tensor : tensors_) {
    if (tensor.offset % alignment != 0)
      return format_error(StrCat("tensor ", tensor.name, " has offset ", tensor.offset,
                                 ", not a multiple of the alignment ", alignment));
    uint64_t begin = 0, end = 0;
    if (!checked_add(data_start, tensor.offset, &begin) || !checked_add(begin, tensor.size_bytes, &end) ||
        end > bytes.size())
      return format_error(StrCat("tensor ", tensor.name, " has ", tensor.size_bytes, " bytes at offset ",
                                 tensor.offset, " after byte ", data_start, ", but the file ends at byte ",
                                 bytes.size(), ": it is cut off or damaged"));
    tensor.offset = place_ + begin;
    tensor.data = bytes.data() + begin;
  }
  return absl::OkStatus();
}

Status GgufFile::check_no_overlap() const {
  std::vector<const TensorView*> order;
  order.reserve(tensors_.size());
  for (const TensorView& tensor : tensors_) order.push_back(&tensor);
  std::sort(order.begin(), order.end(),
            [](const TensorView* a, const TensorView* b) { return a->offset < b->offset; });
  for (size_t i = 1; i < order.size(); ++i)
    if (order[i - 1]->offset + order[i - 1]->size_bytes > order[i]->offset)
      return format_error(StrCat("tensors ", order[i - 1]->name, " and ", order[i]->name, " overlap at byte ",
                                 order[i]->offset));
  return absl::OkStatus();
}

const TensorView* GgufFile::find(std::string_view name) const {
  const auto place =
      std::lower_bound(by_name_.begin(), by_name_.end(), name,
                       [this](uint32_t i, std::string_view wanted) { return tensors_[i].name < wanted; });
  return place != by_name_.end() && tensors_[*place].name == name ? &tensors_[*place] : nullptr;
}
}  // namespace

StatusOr<std::unique_ptr<TensorSource>> open_gguf(std::shared_ptr<MappedFile> file) {
  const auto parse = [&]() -> StatusOr<std::unique_ptr<TensorSource>> {
    G4_ASSIGN_OR_RETURN(const auto prepared, read_prepared_header(file->bytes()));
    const uint64_t place = prepared ? kPreparedHeaderBytes : 0;
    return GgufFile::parse(file->bytes().subspan(place), place, file);
  };
  auto source = parse();
  if (source.ok()) return source;
  return Status(source.status().code(), StrCat(file->path(), ": ", source.status().message()));
}

StatusOr<std::unique_ptr<TensorSource>> parse_gguf(std::span<const uint8_t> bytes) {
  return GgufFile::parse(bytes, 0, nullptr);
}
}  // namespace g4
