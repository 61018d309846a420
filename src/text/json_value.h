// A JSON document the way Python, and so a Jinja template, sees it: missing members are values too, numbers
// know how they print.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace g4 {
struct JsonValue {
  enum class Kind : uint8_t { kUndefined, kNone, kBool, kNumber, kString, kList, kObject };
  Kind kind = Kind::kUndefined;
  bool truth = false;     // bool: its value; number: whether it is not zero
  std::string text = {};  // string: UTF-8; number: as Python prints it
  std::vector<std::string> keys =
      {};  // object: the keys of `items`, all different, in the order of the document
  std::vector<JsonValue> items = {};  // list, object

  bool is_missing() const { return kind == Kind::kUndefined || kind == Kind::kNone; }
  bool is_string() const { return kind == Kind::kString; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_object() const { return kind == Kind::kObject; }
  bool truthy() const;
  // The member of an object; an undefined value if there is none, or this is no object.
  const JsonValue& operator[](std::string_view key) const;
  // Indices of an object's items in Jinja's dictsort order: by key, ignoring case.
  std::vector<size_t> sorted() const;
};

// Errors: argument (not JSON, nested deeper than `depth_limit`). Of equal keys in an object the last value
// counts.
StatusOr<JsonValue> parse_json(std::string_view text, size_t depth_limit);

// Python's str(): what {{ value }} prints.
std::string python_str(const JsonValue& value);

// Appends `text`, valid UTF-8, as a JSON string.
void append_json_string(std::string_view text, std::string* out);
}  // namespace g4
