// Metadata below one prefix, read as a list: the first failure sticks and later reads do nothing.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "base/status.h"
#include "io/tensor_source.h"

namespace g4 {
// Of hidden, feed-forward and per-layer-embedding widths, and of the vocabulary.
inline constexpr int kMaxDim = 1 << 20;

// Text of a file as messages show it: cut, and escaped where it is not printable ASCII.
inline std::string shown_text(std::string_view text) {
  return absl::CHexEscape(std::string(text.substr(0, 200)));
}

class KeyReader {
 public:
  KeyReader(const TensorSource& source, std::string prefix) : source_(source), prefix_(std::move(prefix)) {}
  const Status& status() const { return status_; }
  void fail(const Status& status) { status_.Update(status); }
  bool is_array(const char* name) const { return source_.is_array(prefix_ + name); }

  // Each takes the fallback where the key is absent; without one an absent key is an error. After a failure:
  // `min`.
  int integer(const char* name, int min, int max, std::optional<int> fallback = std::nullopt) {
    return get<int, int64_t>(name, &TensorSource::get_int, min, max, fallback);
  }
  float number(const char* name, double min, double max, std::optional<float> fallback = std::nullopt) {
    return get<float, double>(name, &TensorSource::get_float, min, max, fallback);
  }
  // One value per layer: an array of them, or one number for all.
  std::vector<int> per_layer(const char* name, int layer_count, int min, int max,
                             std::optional<int> fallback = std::nullopt) {
    const std::string key = prefix_ + name;
    const size_t count = static_cast<size_t>(layer_count);
    if (!source_.is_array(key)) return std::vector<int>(count, integer(name, min, max, fallback));
    std::vector<int> values(count, min);
    if (source_.array_length(key) != count)
      fail(format_error(StrCat("key ", key, " has ", source_.array_length(key),
                               " entries, expected one for each of the ", layer_count, " layers")));
    if (!status_.ok()) return values;
    const StatusOr<std::vector<int64_t>> array = source_.get_int_array(key);
    fail(array.status());
    for (size_t i = 0; i < count && status_.ok(); ++i)
      if (in_range(StrCat(key, "[", i, "]"), (*array)[i], int64_t{min}, int64_t{max}))
        values[i] = static_cast<int>((*array)[i]);
    return values;
  }
  // A key that may only repeat what another one said.
  void repeats(const char* name, int expected) {
    const int value = integer(name, 0, kMaxDim, expected);
    if (value != expected)
      fail(format_error(
          StrCat("key ", prefix_, name, " is ", value, ", but with this key length it must be ", expected)));
  }

 private:
  template <typename Result, typename Value>
  Result get(const char* name, StatusOr<Value> (TensorSource::*getter)(std::string_view) const, Value min,
             Value max, std::optional<Result> fallback) {
    const std::string key = prefix_ + name;
    if (!status_.ok()) return static_cast<Result>(min);
    if (!source_.has(key)) {
      if (!fallback) fail(format_error(StrCat("key ", key, " is missing")));
      return fallback.value_or(static_cast<Result>(min));
    }
    const StatusOr<Value> value = (source_.*getter)(key);
    fail(value.status());
    return static_cast<Result>(value.ok() && in_range(key, *value, min, max) ? *value : min);
  }
  template <typename Value>
  bool in_range(const std::string& key, Value value, Value min, Value max) {
    if (value >= min && value <= max) return true;  // never for NaN
    fail(format_error(StrCat("key ", key, " is ", value, ", expected ", min, " to ", max)));
    return false;
  }

  const TensorSource& source_;
  const std::string prefix_;
  Status status_;
};
}  // namespace g4
