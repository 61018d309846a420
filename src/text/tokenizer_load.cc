// tokenizer.ggml.* of a model file -> Tokenizer. Everything is checked here, once.
#include <algorithm>

#include "text/tokenizer.h"
#include "text/unicode.h"

namespace g4 {
namespace {
constexpr char kModel[] = "tokenizer.ggml.model";
constexpr char kTokens[] = "tokenizer.ggml.tokens";
constexpr char kScores[] = "tokenizer.ggml.scores";
constexpr char kTypes[] = "tokenizer.ggml.token_type";
constexpr char kMerges[] = "tokenizer.ggml.merges";
constexpr char kChatTemplate[] = "tokenizer.chat_template";
constexpr size_t kBatch = 64;            // searches under way at a time
constexpr size_t kLongestSpecial = 256;  // bytes; bounds the work per byte of text

std::string entry(const char* key, size_t index) { return StrCat(key, "[", index, "]"); }

Status require(const TensorSource& source, const char* key) {
  if (source.has(key)) return absl::OkStatus();
  return format_error(StrCat(key, " is missing: the file has no complete vocabulary"));
}

std::string_view first_character(std::string_view text) {
  return text.substr(0, std::max<size_t>(1, decode_utf8(text).bytes));
}

std::string_view last_character(std::string_view text) {
  size_t begin = text.size() - 1;
  while (begin > 0 && (static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) --begin;
  return text.substr(begin);
}
}  // namespace

StatusOr<std::shared_ptr<const Tokenizer>> Tokenizer::from_metadata(const TensorSource& source,
                                                                    ThreadPool* pool) {
  for (const char* key : {kModel, kTokens, kTypes, kMerges}) G4_RETURN_IF_ERROR(require(source, key));
  G4_ASSIGN_OR_RETURN(const std::string_view model, source.get_string(kModel));
  if (model != "gemma4")
    return unsupported_error(StrCat(kModel, " is ", quoted(model), ", expected \"gemma4\""));
  std::shared_ptr<Tokenizer> tokenizer(new Tokenizer);
  G4_RETURN_IF_ERROR(tokenizer->load_tokens(source));
  G4_RETURN_IF_ERROR(tokenizer->load_types(source));
  G4_RETURN_IF_ERROR(tokenizer->load_merges(source, pool));
  G4_RETURN_IF_ERROR(tokenizer->load_special(source));
  if (source.has(kChatTemplate)) {
    G4_ASSIGN_OR_RETURN(tokenizer->chat_template_, source.get_string(kChatTemplate));
  }
  return tokenizer;
}

Status Tokenizer::load_tokens(const TensorSource& source) {
  G4_ASSIGN_OR_RETURN(const std::vector<std::string_view> tokens, source.get_string_array(kTokens));
  size_t bytes = 0;
  for (const std::string_view token : tokens) bytes += token.size();
  if (tokens.empty() || tokens.size() > INT32_MAX || bytes > UINT32_MAX)
    return format_error(StrCat(kTokens, " has ", tokens.size(), " tokens of ", bytes, " bytes in all"));
  text_.reserve(bytes);
  text_ends_.reserve(tokens.size());
  by_text_ = FlatIndex(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::string_view token = tokens[i];
    const uint64_t hash = hash_bytes(token);
    if (i + kBatch < tokens.size()) by_text_.prefetch(hash_bytes(tokens[i + kBatch]));
    if (token.empty()) return format_error(StrCat(entry(kTokens, i), " is empty"));
    if (const int32_t earlier = find_hashed(token, hash); earlier >= 0)
      return format_error(StrCat(entry(kTokens, i), " repeats token ", earlier, ", ", quoted(token)));
    text_ += token;
    text_ends_.push_back(static_cast<uint32_t>(text_.size()));
    if (!by_text_.insert(hash, static_cast<uint32_t>(i)))
      return format_error(
          StrCat(kTokens, " is made to collide: no place for token ", i, ", ", quoted(token)));
    if (token.find_first_not_of('\n') == token.npos)
      longest_newlines_ = std::max(longest_newlines_, token.size());
  }
  if (source.has(kScores) && source.array_length(kScores) != tokens.size())
    return format_error(
        StrCat(kScores, " has ", source.array_length(kScores), " entries for ", tokens.size(), " tokens"));
  return absl::OkStatus();
}

Status Tokenizer::load_types(const TensorSource& source) {
  G4_ASSIGN_OR_RETURN(const std::vector<int64_t> types, source.get_int_array(kTypes));
  if (types.size() != text_ends_.size())
    return format_error(StrCat(kTypes, " has ", types.size(), " entries for ", text_ends_.size(), " tokens"));
  types_.reserve(types.size());
  byte_ids_.fill(-1);
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] < 1 || types[i] > 6)
      return format_error(StrCat(entry(kTypes, i), " is ", types[i], ", expected 1 to 6"));
    types_.push_back(static_cast<TokenType>(types[i]));
    const int32_t id = static_cast<int32_t>(i);
    const std::string_view token = token_text(id);
    if (type(id) == TokenType::kByte) {
      const std::optional<uint8_t> byte = byte_value(token);
      if (!byte)
        return format_error(StrCat(entry(kTokens, i), " is ", quoted(token), ", expected a byte as <0x41>"));
      byte_ids_[*byte] = id;
    } else if (type(id) == TokenType::kControl || type(id) == TokenType::kUserDefined) {
      if (token.size() > kLongestSpecial)
        return format_error(StrCat(entry(kTokens, i), " is a control token of ", token.size(),
                                   " bytes, at most ", kLongestSpecial));
      special_ids_.push_back(id);
      begins_special_[static_cast<uint8_t>(token[0])] = true;
    }
  }
  for (size_t byte = 0; byte < byte_ids_.size(); ++byte)
    if (byte_ids_[byte] < 0)
      return format_error(StrCat(kTokens, " has no token for byte ", byte, " (<0xNN>, type 6)"));
  std::ranges::sort(special_ids_, {}, [this](int32_t id) { return token_text(id); });
  for (size_t c = 0; c < ascii_ids_.size(); ++c) {
    const char character = static_cast<char>(c);
    const int32_t id = find(character == ' ' ? kSpaceMark : std::string_view(&character, 1));
    ascii_ids_[c] = id >= 0 && is_text(id) ? id : -1;
  }
  return absl::OkStatus();
}

// find() for up to kBatch tokens. Half a million searches in tables larger than the cache would wait for
// memory one after the other; step by step for a whole batch, they wait together, which makes opening a file
// several times faster.
void Tokenizer::find_all(std::span<const std::string_view> tokens, std::span<int32_t> ids) const {
  std::array<uint64_t, kBatch> hashes;
  std::array<size_t, kBatch> guesses;
  for (size_t i = 0; i < tokens.size(); ++i) by_text_.prefetch(hashes[i] = hash_bytes(tokens[i]));
  for (size_t i = 0; i < tokens.size(); ++i) {
    const uint32_t guess = by_text_.find(hashes[i], [](uint32_t) { return true; });
    guesses[i] = guess == FlatIndex::kNone ? 0 : guess;
    __builtin_prefetch(&text_ends_[guesses[i]]);
  }
  for (size_t i = 0; i < tokens.size(); ++i) __builtin_prefetch(&text_[text_ends_[guesses[i]] - 1]);
  for (size_t i = 0; i < tokens.size(); ++i) ids[i] = find_hashed(tokens[i], hashes[i]);
}

// The merges from number `first` on, their tokens found and checked.
Status Tokenizer::resolve_merges(std::span<const std::string_view> merges, size_t first,
                                 std::span<ResolvedMerge> out) const {
  std::array<std::string_view, kBatch> sides;
  std::array<int32_t, kBatch> ids;
  std::string joined;
  int32_t result = 0;
  for (size_t begin = 0; begin < merges.size(); begin += kBatch / 2) {
    const size_t count = std::min(merges.size() - begin, kBatch / 2);
    for (size_t i = 0; i < count; ++i) {
      const std::string_view merge = merges[begin + i];
      const size_t space = merge.find(' ', 1);
      if (space == merge.npos || space + 1 == merge.size())
        return format_error(StrCat(entry(kMerges, first + begin + i), " is ", quoted(merge),
                                   ", expected two tokens and a space between"));
      sides[2 * i] = merge.substr(0, space);
      sides[2 * i + 1] = merge.substr(space + 1);
    }
    find_all(std::span(sides).first(2 * count), ids);
    for (size_t i = 0; i < count; ++i) {
      joined.assign(sides[2 * i]).append(sides[2 * i + 1]);
      // As a rule merges are in the order of their results: the same again or the next id. This saves most
      // searches.
      if (token_text(result) != joined && result + 1 < vocab_size()) ++result;
      if (token_text(result) != joined) result = find(joined);
      const MergeTable::Merge merge = {ids[2 * i], ids[2 * i + 1], result};
      G4_RETURN_IF_ERROR(check_merge(first + begin + i, merge, {sides[2 * i], sides[2 * i + 1], joined}));
      out[begin + i] = {merge, character_id(last_character(sides[2 * i])),
                        character_id(first_character(sides[2 * i + 1]))};
    }
  }
  return absl::OkStatus();
}

// `texts`: of the left, the right and the resulting token.
Status Tokenizer::check_merge(size_t index, const MergeTable::Merge& merge,
                              const std::array<std::string_view, 3>& texts) const {
  const std::array<int32_t, 3> ids = {merge.left, merge.right, merge.result};
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0)
      return format_error(StrCat(entry(kMerges, index), " needs ", quoted(texts[i]), ", which is no token"));
    // Else text that a user wrote could become a control token.
    if (type(ids[i]) != TokenType::kNormal && type(ids[i]) != TokenType::kUnused)
      return format_error(
          StrCat(entry(kMerges, index), " needs ", quoted(texts[i]), ", which is not a text token"));
  }
  return absl::OkStatus();
}

Status Tokenizer::load_merges(const TensorSource& source, ThreadPool* pool) {
  G4_ASSIGN_OR_RETURN(const std::vector<std::string_view> merges, source.get_string_array(kMerges));
  std::vector<ResolvedMerge> resolved(merges.size());
  const size_t shares = pool == nullptr ? 1 : static_cast<size_t>(pool->size());
  std::vector<Status> statuses(shares);
  const auto resolve = [&](int, size_t share) {
    const size_t begin = merges.size() * share / shares, count = merges.size() * (share + 1) / shares - begin;
    statuses[share] = resolve_merges(std::span(merges).subspan(begin, count), begin,
                                     std::span(resolved).subspan(begin, count));
  };
  pool == nullptr ? resolve(0, 0) : pool->for_each(shares, resolve);
  for (const Status& status : statuses) G4_RETURN_IF_ERROR(status);
  merges_ = MergeTable(merges.size());
  for (size_t i = 0; i < resolved.size(); ++i) {
    if (i + kBatch < resolved.size())
      merges_.prefetch(resolved[i + kBatch].merge.left, resolved[i + kBatch].merge.right);
    uint32_t repeated = MergeTable::kNone;
    if (merges_.add(resolved[i].merge, resolved[i].last, resolved[i].first, &repeated)) continue;
    return format_error(repeated == MergeTable::kNone
                            ? StrCat(kMerges, " is made to collide: no place for entry ", i)
                            : StrCat(entry(kMerges, i), " repeats entry ", repeated));
  }
  return absl::OkStatus();
}

// Reads an optional key that holds a token id.
Status Tokenizer::load_id(const TensorSource& source, const char* key, int32_t* id) const {
  if (!source.has(key)) return absl::OkStatus();
  G4_ASSIGN_OR_RETURN(const int64_t value, source.get_int(key));
  if (value < 0 || value >= vocab_size())
    return format_error(StrCat(key, " is ", value, ", outside the vocabulary of ", vocab_size()));
  *id = static_cast<int32_t>(value);
  return absl::OkStatus();
}

Status Tokenizer::load_special(const TensorSource& source) {
  const auto special = [this](std::string_view token) {
    const int32_t id = find(token);
    return id >= 0 && (type(id) == TokenType::kControl || type(id) == TokenType::kUserDefined) ? id : -1;
  };
  special_ = {.pad = 0,
              .bos = special("<bos>"),
              .eos = special("<eos>"),
              .unknown = find("<unk>"),
              .turn_begin = special("<|turn>"),
              .turn_end = special("<turn|>"),
              .channel_begin = special("<|channel>"),
              .channel_end = special("<channel|>"),
              .tool_call_begin = special("<|tool_call>"),
              .tool_call_end = special("<tool_call|>"),
              .tool_response_begin = special("<|tool_response>"),
              .tool_response_end = special("<tool_response|>"),
              .quote = special("<|\"|>"),
              .image = special("<|image|>"),
              .audio = special("<|audio|>"),
              .video = special("<|video|>"),
              .image_begin = special("<|image>"),
              .image_end = special("<image|>"),
              .audio_begin = special("<|audio>"),
              .audio_end = special("<audio|>")};
  int32_t eot = -1, eom = -1;
  G4_RETURN_IF_ERROR(load_id(source, "tokenizer.ggml.padding_token_id", &special_.pad));
  G4_RETURN_IF_ERROR(load_id(source, "tokenizer.ggml.bos_token_id", &special_.bos));
  G4_RETURN_IF_ERROR(load_id(source, "tokenizer.ggml.eos_token_id", &special_.eos));
  G4_RETURN_IF_ERROR(load_id(source, "tokenizer.ggml.unknown_token_id", &special_.unknown));
  G4_RETURN_IF_ERROR(load_id(source, "tokenizer.ggml.eot_token_id", &eot));
  G4_RETURN_IF_ERROR(load_id(source, "tokenizer.ggml.eom_token_id", &eom));
  for (const int32_t id : {special_.eos, special_.turn_end, special_.tool_response_begin, eot, eom})
    if (id >= 0 && !is_stop(id)) stop_ids_.push_back(id);
  if (stop_ids_.empty())
    return format_error("tokenizer.ggml.eos_token_id is missing: no token would end an answer");
  return absl::OkStatus();
}
}  // namespace g4
