#include "text/tool_call_syntax.h"

#include <algorithm>

#include "text/json_value.h"
#include "text/unicode.h"

namespace g4 {
namespace {
constexpr std::string_view kQuote = "<|\"|>";
constexpr int kDepthLimit = 48;  // leaves room for what a conversation, of 64 levels at most, puts around it

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<uint8_t>(c) >= 0x80;
}
bool is_name_part(char c) { return is_name_start(c) || is_digit(c) || c == '-' || c == '.' || c == '$'; }

// Whether `text` is a number as JSON writes it.
bool is_number(std::string_view text) {
  const auto digits = [&] {
    const size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(count);
    return count;
  };
  const auto take = [&](std::string_view any) {
    if (text.empty() || any.find(text.front()) == any.npos) return false;
    text.remove_prefix(1);
    return true;
  };
  take("-");
  const bool zero = text.starts_with('0');
  const size_t whole = digits();
  if (whole == 0 || (zero && whole > 1)) return false;
  if (take(".") && digits() == 0) return false;
  if (take("eE")) {
    take("+-");
    if (digits() == 0) return false;
  }
  return text.empty();
}

// The JSON for a number or a word written without quotes; empty if it is something else.
std::string_view literal_json(std::string_view text) {
  if (text == "true" || text == "True") return "true";
  if (text == "false" || text == "False") return "false";
  if (text == "null" || text == "None") return "null";
  return is_number(text) ? text : "";
}

// How to take what the model wrote. kExact: strings are between quote tokens, the next one ends them, other
// values are numbers or words such as true; whatever the template writes is read right. kForgiving: as
// parse_tool_call promises, by guesses.
enum class Reading { kExact, kForgiving };

// Reads the arguments, front to back, and writes them as JSON. A method that returns false gives the call up.
class ArgumentReader {
 public:
  ArgumentReader(std::string_view text, std::span<const size_t> quotes, Reading reading)
      : text_(text), quotes_(quotes), reading_(reading) {}

  // The whole of `text` from the opening brace at `begin`.
  bool read_all(size_t begin, std::string* json) {
    at_ = begin;
    if (!read_object(1)) return false;
    *json = std::move(json_);
    return after_blanks(at_) == text_.size();
  }

 private:
  enum class Inside { kObject, kArray };

  char at(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  size_t after_blanks(size_t i) const {
    while (is_blank(at(i))) ++i;
    return i;
  }
  // Index in quotes_ of the first quote token at or after i.
  size_t quote_from(size_t i) const {
    return static_cast<size_t>(std::lower_bound(quotes_.begin(), quotes_.end(), i) - quotes_.begin());
  }
  bool is_quote(size_t i) const { return std::binary_search(quotes_.begin(), quotes_.end(), i); }
  bool is_key(size_t i) const;
  bool is_quoted_value(size_t i) const;
  bool ends_string(size_t quote, Inside inside) const;

  bool read_object(int depth);
  bool read_array(int depth);
  bool read_value(int depth, Inside inside);
  bool read_key();
  bool read_string(Inside inside);
  bool read_json_string();
  bool read_bare_value(Inside inside);
  void read_escape(std::string* out);
  bool read_hex(size_t i, char32_t* unit) const;
  void skip_separators() {
    while (is_blank(at(at_)) || at(at_) == ',') ++at_;
  }

  std::string_view text_;
  std::span<const size_t> quotes_;
  Reading reading_;
  size_t at_ = 0;
  std::string json_;
};

// Whether a key and its colon stand at i. Looks no further than a key is long.
bool ArgumentReader::is_key(size_t i) const {
  constexpr size_t kLongestKey = 256;
  size_t end = i;
  if (is_quote(i)) {
    const size_t k = quote_from(i + 1);
    if (k == quotes_.size()) return false;
    end = quotes_[k] + kQuote.size();
  } else if (at(i) == '"' || at(i) == '\'') {
    const size_t length = text_.substr(i + 1, kLongestKey).find(at(i));
    if (length == text_.npos) return false;
    end = i + length + 2;
  } else if (is_name_start(at(i))) {
    while (is_name_part(at(end)) && end - i < kLongestKey) ++end;
  }
  return end > i && at(after_blanks(end)) == ':';
}

// Whether something that can only be a value begins at i.
bool ArgumentReader::is_quoted_value(size_t i) const {
  return is_quote(i) ||
         (at(i) != '\0' && std::string_view("\"'{[-0123456789").find(at(i)) != std::string_view::npos);
}

// Whether this quote token (an index in quotes_) ends the string before it: what follows must make sense
// after a value. Otherwise the model used the token inside a string.
bool ArgumentReader::ends_string(size_t quote, Inside inside) const {
  if (reading_ == Reading::kExact) return true;
  size_t i = quotes_[quote] + kQuote.size();
  bool closed = false;
  for (; is_blank(at(i)) || at(i) == '}' || at(i) == ']'; ++i) closed |= !is_blank(text_[i]);
  if (i == text_.size()) return true;
  const bool comma = at(i) == ',';
  while (is_blank(at(i)) || at(i) == ',') ++i;
  if (comma && (i == text_.size() || at(i) == '}' || at(i) == ']')) return true;
  const bool may_be_key = closed || inside == Inside::kObject,
             may_be_value = closed || inside == Inside::kArray;
  return (may_be_key && is_key(i)) || (may_be_value && (comma ? is_quoted_value(i) : is_quote(i)));
}

bool ArgumentReader::read_object(int depth) {
  if (depth > kDepthLimit || at(at_) != '{') return false;
  ++at_;
  json_ += '{';
  for (bool first = true;; first = false) {
    skip_separators();
    if (at(at_) == '}') break;
    if (!first) json_ += ',';
    if (!read_key()) return false;
    at_ = after_blanks(at_);
    if (at(at_) != ':') return false;
    at_ = after_blanks(at_ + 1);
    json_ += ':';
    if (!read_value(depth, Inside::kObject)) return false;
  }
  ++at_;
  json_ += '}';
  return true;
}

bool ArgumentReader::read_array(int depth) {
  if (depth > kDepthLimit) return false;
  ++at_;
  json_ += '[';
  for (bool first = true;; first = false) {
    skip_separators();
    if (at(at_) == ']') break;
    if (!first) json_ += ',';
    if (!read_value(depth, Inside::kArray)) return false;
  }
  ++at_;
  json_ += ']';
  return true;
}

bool ArgumentReader::read_value(int depth, Inside inside) {
  if (is_quote(at_)) return read_string(inside);
  switch (at(at_)) {
    case '{':
      return read_object(depth + 1);
    case '[':
      return read_array(depth + 1);
    case '"':
    case '\'':
      return read_json_string();
    default:
      return read_bare_value(inside);
  }
}

bool ArgumentReader::read_key() {
  if (is_quote(at_)) {
    const size_t begin = at_ + kQuote.size(), k = quote_from(begin);
    if (k == quotes_.size()) return false;
    append_json_string(text_.substr(begin, quotes_[k] - begin), &json_);
    at_ = quotes_[k] + kQuote.size();
    return true;
  }
  if (at(at_) == '"' || at(at_) == '\'') return read_json_string();
  const size_t end = std::min(text_.find_first_of(":{}[],", at_), text_.size());
  const std::string_view key = strip(text_.substr(at_, end - at_));
  append_json_string(key, &json_);
  at_ = end;
  return !key.empty();
}

// A string between quote tokens.
bool ArgumentReader::read_string(Inside inside) {
  const size_t begin = at_ + kQuote.size();
  for (size_t k = quote_from(begin); k < quotes_.size(); ++k) {
    if (!ends_string(k, inside)) continue;
    append_json_string(text_.substr(begin, quotes_[k] - begin), &json_);
    at_ = quotes_[k] + kQuote.size();
    return true;
  }
  return false;
}

// A string as in JSON or Python: between " or ', with backslashes.
bool ArgumentReader::read_json_string() {
  const char quote = at(at_++);
  std::string value;
  while (at_ < text_.size() && text_[at_] != quote) {
    if (text_[at_] == '\\')
      read_escape(&value);
    else
      value += text_[at_++];
  }
  append_json_string(value, &json_);
  return at(at_++) == quote;
}

bool ArgumentReader::read_hex(size_t i, char32_t* unit) const {
  *unit = 0;
  for (size_t k = 0; k < 4; ++k) {
    const size_t digit = std::string_view("0123456789abcdefABCDEF").find(at(i + k));
    if (digit == std::string_view::npos) return false;
    *unit = *unit * 16 + static_cast<char32_t>(digit < 16 ? digit : digit - 6);
  }
  return true;
}

// What the backslash here and the characters after it stand for; a backslash that means nothing stands for
// itself.
void ArgumentReader::read_escape(std::string* out) {
  constexpr std::string_view kNames = "ntrbf\"'\\/", kMeanings = "\n\t\r\b\f\"'\\/";
  const char name = at(at_ + 1);
  char32_t unit = 0, low = 0;
  if (name == 'u' && read_hex(at_ + 2, &unit)) {
    at_ += 6;
    if (unit >= 0xD800 && unit < 0xDC00 && at(at_) == '\\' && at(at_ + 1) == 'u' && read_hex(at_ + 2, &low) &&
        low >= 0xDC00 && low < 0xE000) {
      at_ += 6;
      unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
    }
    append_utf8(unit >= 0xD800 && unit < 0xE000 ? kReplacementCharacter : unit, out);
  } else if (const size_t i = kNames.find(name); name != '\0' && i != kNames.npos) {
    at_ += 2;
    *out += kMeanings[i];
  } else {
    ++at_;
    *out += '\\';
  }
}

// A number, a word such as true, or a string without quotes: up to a comma, a closing bracket, or the next
// key.
bool ArgumentReader::read_bare_value(Inside inside) {
  size_t end = at_;
  while (end < text_.size() && std::string_view(",}]").find(text_[end]) == std::string_view::npos) {
    const size_t next = after_blanks(end);
    if (next > end && inside == Inside::kObject && is_key(next)) break;
    end = std::max(next, end + 1);
  }
  const std::string_view value = strip(text_.substr(at_, end - at_));
  const std::string_view literal = literal_json(value);
  json_ += literal;
  if (literal.empty()) append_json_string(value, &json_);
  at_ = end;
  return reading_ == Reading::kForgiving ? !value.empty() : !literal.empty();
}
}  // namespace

ToolCall parse_tool_call(std::string_view raw, std::span<const size_t> quotes) {
  ToolCall call;
  const size_t brace = std::min(raw.find('{'), raw.size());
  std::string_view name = strip(raw.substr(0, brace));
  if (name.starts_with("call:")) name = strip(name.substr(5));
  call.name = name;
  for (const Reading reading : {Reading::kExact, Reading::kForgiving}) {
    call.valid = !name.empty() && ArgumentReader(raw, quotes, reading).read_all(brace, &call.arguments);
    if (call.valid) return call;
  }
  std::string_view inner = raw.substr(std::min(brace + 1, raw.size()));
  if (inner.ends_with('}')) inner.remove_suffix(1);
  call.arguments.clear();
  append_json_string(inner, &call.arguments);
  return call;
}
}  // namespace g4
