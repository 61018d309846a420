#include "text/json_value.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <numeric>

#include "text/unicode.h"

namespace g4 {
namespace {
using Kind = JsonValue::Kind;

// Python's repr() of a float: the shortest digits that read back, an exponent below 1e-4 and from 1e16.
std::string python_float(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  std::string text(buffer, end);
  const std::string sign = text[0] == '-' ? "-" : "";
  const size_t e = text.find('e');
  std::string digits = text.substr(sign.size(), 1);
  if (text[sign.size() + 1] == '.') digits += text.substr(sign.size() + 2, e - sign.size() - 2);
  int exponent = 0;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), text.data() + text.size(), exponent);
  if (exponent < -4 || exponent >= 16) {
    const std::string fraction = digits.size() > 1 ? StrCat(".", digits.substr(1)) : "";
    const int size = std::abs(exponent);
    return StrCat(sign, digits.substr(0, 1), fraction, exponent < 0 ? "e-" : "e+", size < 10 ? "0" : "",
                  size);
  }
  if (exponent < 0) return StrCat(sign, "0.", std::string(static_cast<size_t>(-exponent - 1), '0'), digits);
  const size_t whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) digits.resize(whole + 1, '0');
  return StrCat(sign, digits.substr(0, whole), ".", digits.substr(whole));
}

// Receives the parser's events. Depth is bounded here; the parser itself does not recurse.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(size_t depth_limit) : depth_limit_(depth_limit) {}
  StatusOr<JsonValue> take(bool complete) {
    if (!complete) return argument_error(error_);
    return std::move(root_);
  }

  bool null() override { return add({.kind = Kind::kNone}); }
  bool boolean(bool value) override { return add({.kind = Kind::kBool, .truth = value}); }
  bool number_integer(number_integer_t value) override {
    return add_number(value != 0, std::to_string(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return add_number(value != 0, std::to_string(value));
  }
  bool number_float(number_float_t value, const string_t& source) override {
    const bool is_integer = source.find_first_of(".eE") == source.npos;  // beyond 64 bits
    return add_number(value != 0, is_integer ? source : python_float(value));
  }
  bool string(string_t& value) override { return add({.kind = Kind::kString, .text = std::move(value)}); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Kind::kObject); }
  bool start_array(size_t) override { return open(Kind::kList); }
  bool end_array() override { return close(); }
  bool end_object() override {
    drop_repeated(&open_.back());
    return close();
  }
  bool key(string_t& value) override {
    open_.back().keys.push_back(std::move(value));
    return true;
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    error_ = StrCat("not valid JSON at byte ", position);
    return false;
  }

 private:
  bool add(JsonValue value) {
    if (open_.empty())
      root_ = std::move(value);
    else
      open_.back().items.push_back(std::move(value));
    return true;
  }
  bool add_number(bool truth, std::string text) {
    return add({.kind = Kind::kNumber, .truth = truth, .text = std::move(text)});
  }
  bool open(Kind kind) {
    if (open_.size() == depth_limit_) {
      error_ = StrCat("JSON nested deeper than ", depth_limit_);
      return false;
    }
    open_.push_back({.kind = kind});
    return true;
  }
  bool close() {
    JsonValue value = std::move(open_.back());
    open_.pop_back();
    return add(std::move(value));
  }
  // Of equal keys the first place and the last value stay, as in a Python dict.
  static void drop_repeated(JsonValue* object) {
    std::vector<size_t> order(object->keys.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return object->keys[a] < object->keys[b]; });
    std::vector<bool> drop(order.size());
    bool any = false;
    for (size_t i = 1, first = 0; i < order.size(); ++i) {
      if (object->keys[order[i]] != object->keys[order[first]]) {
        first = i;
        continue;
      }
      object->items[order[first]] = std::move(object->items[order[i]]);
      any = drop[order[i]] = true;
    }
    if (!any) return;
    size_t kept = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      if (drop[i]) continue;
      if (kept != i) {
        object->keys[kept] = std::move(object->keys[i]);
        object->items[kept] = std::move(object->items[i]);
      }
      ++kept;
    }
    object->keys.resize(kept);
    object->items.resize(kept);
  }

  size_t depth_limit_;
  std::vector<JsonValue> open_;
  JsonValue root_;
  std::string error_;
};

// Python's repr() of a string.
std::string python_quoted(std::string_view text) {
  const char quote = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
  std::string out(1, quote);
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    const std::string_view bytes = text.substr(0, c.bytes);
    text.remove_prefix(c.bytes);
    if (c.code == '\n') {
      out += "\\n";
    } else if (c.code == '\r') {
      out += "\\r";
    } else if (c.code == '\t') {
      out += "\\t";
    } else if (c.code == '\\' || c.code == static_cast<char32_t>(quote)) {
      out += '\\';
      out += bytes;
    } else if (is_printable(c.code)) {
      out += bytes;
    } else {
      const uint32_t code = c.code;
      const int width = code < 0x100 ? 2 : code < 0x10000 ? 4 : 8;
      out += width == 2 ? "\\x" : width == 4 ? "\\u" : "\\U";
      for (int shift = 4 * width - 4; shift >= 0; shift -= 4) out += "0123456789abcdef"[code >> shift & 15];
    }
  }
  return out += quote;
}

std::string python_repr(const JsonValue& value) {
  if (value.is_string()) return python_quoted(value.text);
  if (!value.is_list() && !value.is_object()) return python_str(value);
  std::string out(1, value.is_list() ? '[' : '{');
  for (size_t i = 0; i < value.items.size(); ++i) {
    if (i > 0) out += ", ";
    if (value.is_object()) out += python_quoted(value.keys[i]) + ": ";
    out += python_repr(value.items[i]);
  }
  return out += value.is_list() ? ']' : '}';
}
}  // namespace

bool JsonValue::truthy() const {
  switch (kind) {
    case Kind::kBool:
    case Kind::kNumber:
      return truth;
    case Kind::kString:
      return !text.empty();
    default:
      return !items.empty();
  }
}

const JsonValue& JsonValue::operator[](std::string_view key) const {
  static const JsonValue kNothing;
  const auto found = std::find(keys.begin(), keys.end(), key);
  return found == keys.end() ? kNothing : items[static_cast<size_t>(found - keys.begin())];
}

std::vector<size_t> JsonValue::sorted() const {
  std::vector<std::string> names;
  names.reserve(keys.size());
  for (const std::string& key : keys) names.push_back(lower(key));
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return names[a] < names[b]; });
  return order;
}

StatusOr<JsonValue> parse_json(std::string_view text, size_t depth_limit) {
  Builder builder(depth_limit);
  return builder.take(nlohmann::json::sax_parse(text.begin(), text.end(), &builder));
}

std::string python_str(const JsonValue& value) {
  switch (value.kind) {
    case Kind::kUndefined:
      return "";
    case Kind::kNone:
      return "None";
    case Kind::kBool:
      return value.truth ? "True" : "False";
    case Kind::kNumber:
    case Kind::kString:
      return value.text;
    default:
      return python_repr(value);
  }
}

void append_json_string(std::string_view text, std::string* out) {
  out->push_back('"');
  for (const char c : text) {
    const uint8_t byte = static_cast<uint8_t>(c);
    if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
    } else if (byte >= 0x20) {
      out->push_back(c);
    } else if (c == '\n') {
      out->append("\\n");
    } else if (c == '\t') {
      out->append("\\t");
    } else {
      out->append(byte < 0x10 ? "\\u000" : "\\u001");
      out->push_back("0123456789abcdef"[byte & 15]);
    }
  }
  out->push_back('"');
}
}  // namespace g4
