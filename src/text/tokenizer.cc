#include "text/tokenizer.h"

#include <algorithm>

#include "text/unicode.h"

namespace g4 {
namespace {
constexpr size_t kTextLimit = size_t{1} << 31;

Status check_literal(std::span<const ByteRange> literal, size_t text_bytes) {
  size_t end = 0;
  for (const ByteRange& range : literal) {
    if (range.begin < end || range.end < range.begin || range.end > text_bytes)
      return argument_error(StrCat("literal range [", range.begin, ", ", range.end,
                                   ") overlaps the one before it or leaves the text"));
    end = range.end;
  }
  return absl::OkStatus();
}
}  // namespace

bool Tokenizer::is_stop(int32_t id) const {
  return std::find(stop_ids_.begin(), stop_ids_.end(), id) != stop_ids_.end();
}

std::optional<uint8_t> Tokenizer::byte_value(std::string_view token) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  const size_t high = kDigits.find(token[3]), low = kDigits.find(token[4]);
  if (high == kDigits.npos || low == kDigits.npos) return std::nullopt;
  return static_cast<uint8_t>(high * 16 + low);
}

// Whether plain text may become this token.
bool Tokenizer::is_text(int32_t id) const {
  return type(id) == TokenType::kNormal || type(id) == TokenType::kUnused ||
         type(id) == TokenType::kUserDefined;
}

int32_t Tokenizer::find_hashed(std::string_view text, uint64_t hash) const {
  const uint32_t id = by_text_.find(
      hash, [&](uint32_t candidate) { return token_text(static_cast<int32_t>(candidate)) == text; });
  return id == FlatIndex::kNone ? -1 : static_cast<int32_t>(id);
}

// The token of one character or -1.
int32_t Tokenizer::character_id(std::string_view character) const {
  if (character.size() == 1) {
    const uint8_t byte = static_cast<uint8_t>(character[0]);
    return byte < ascii_ids_.size() ? ascii_ids_[byte] : -1;
  }
  const int32_t id = find(character);
  return id >= 0 && is_text(id) ? id : -1;
}

StatusOr<std::vector<int32_t>> Tokenizer::encode(std::string_view text, bool parse_special,
                                                 std::span<const ByteRange> literal) const {
  if (text.size() >= kTextLimit)
    return argument_error(StrCat("a text of ", text.size(), " bytes; it must be shorter than 2 GiB"));
  G4_RETURN_IF_ERROR(check_literal(literal, text.size()));
  std::vector<int32_t> ids;
  BpeEncoder bpe(merges_, &ids);
  for (size_t begin = 0; begin < text.size();) {
    SpecialMatch match{text.size(), text.size(), -1};
    if (parse_special) match = next_special(text, begin, &literal);
    encode_text(text.substr(begin, match.begin - begin), &bpe, &ids);
    if (match.id >= 0) ids.push_back(match.id);
    begin = match.end;
  }
  return ids;
}

// The first special token at or after `begin` that overlaps no literal range; its id is -1 and its place the
// end of the text if there is none. Ranges left behind are dropped from *literal.
Tokenizer::SpecialMatch Tokenizer::next_special(std::string_view text, size_t begin,
                                                std::span<const ByteRange>* literal) const {
  for (size_t i = begin; i < text.size(); ++i) {
    while (!literal->empty() && (literal->front().end <= i || literal->front().begin == literal->front().end))
      *literal = literal->subspan(1);
    const size_t limit = literal->empty() ? text.size() : literal->front().begin;
    if (i >= limit) {
      i = literal->front().end - 1;
      continue;
    }
    if (!begins_special_[static_cast<uint8_t>(text[i])]) continue;
    const int32_t id = longest_special(text.substr(i, limit - i));
    if (id >= 0) return {i, i + token_text(id).size(), id};
  }
  return {text.size(), text.size(), -1};
}

// The longest special token that `text` begins with, or -1: narrows the sorted list byte by byte.
int32_t Tokenizer::longest_special(std::string_view text) const {
  int32_t longest = -1;
  std::span<const int32_t> candidates = special_ids_;
  for (size_t depth = 0; !candidates.empty(); ++depth) {
    if (token_text(candidates.front()).size() == depth) {
      longest = candidates.front();
      candidates = candidates.subspan(1);
    }
    if (depth == text.size()) break;
    const auto byte_at = [&](int32_t id) { return static_cast<uint8_t>(token_text(id)[depth]); };
    const uint8_t byte = static_cast<uint8_t>(text[depth]);
    const auto first = std::partition_point(candidates.begin(), candidates.end(),
                                            [&](int32_t id) { return byte_at(id) < byte; });
    const auto last =
        std::partition_point(first, candidates.end(), [&](int32_t id) { return byte_at(id) == byte; });
    candidates = {first, last};
  }
  return longest;
}

// Text without special tokens. Spaces become U+2581; runs of newlines are apart from other text; what has no
// token becomes bytes.
void Tokenizer::encode_text(std::string_view text, BpeEncoder* bpe, std::vector<int32_t>* ids) const {
  const auto push = [&](std::string_view character) {
    if (const int32_t id = character_id(character); id >= 0) return bpe->push(id);
    for (const char byte : character == " " ? kSpaceMark : character)
      bpe->push(byte_ids_[static_cast<uint8_t>(byte)]);
  };
  while (!text.empty()) {
    if (text.front() != '\n') {
      const size_t bytes = std::max<size_t>(1, decode_utf8(text).bytes);
      push(text.substr(0, bytes));
      text.remove_prefix(bytes);
      continue;
    }
    const std::string_view run = text.substr(0, text.find_first_not_of('\n'));
    text.remove_prefix(run.size());
    bpe->flush();
    if (const int32_t id = run.size() <= longest_newlines_ ? find(run) : -1; id >= 0 && is_text(id)) {
      ids->push_back(id);
    } else {
      for (size_t i = 0; i < run.size(); ++i) push(run.substr(i, 1));
      bpe->flush();
    }
  }
  bpe->flush();
}

void Tokenizer::append_piece(int32_t id, bool special, std::string* out) const {
  std::string_view text = token_text(id);
  if (type(id) == TokenType::kByte) {
    out->push_back(static_cast<char>(*byte_value(text)));
    return;
  }
  const bool is_special = type(id) == TokenType::kUserDefined || !is_text(id);
  if (is_special && !special) return;
  for (size_t mark; (mark = text.find(kSpaceMark)) != text.npos; text.remove_prefix(mark + kSpaceMark.size()))
    out->append(text.substr(0, mark)).push_back(' ');
  out->append(text);
}

StatusOr<std::string> Tokenizer::decode(std::span<const int32_t> ids, bool special) const {
  std::string text;
  for (const int32_t id : ids) {
    if (id < 0 || id >= vocab_size())
      return argument_error(StrCat("token id ", id, " is outside the vocabulary of ", vocab_size()));
    append_piece(id, special, &text);
  }
  return text;
}
}  // namespace g4
