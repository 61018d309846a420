// The key-value part of a GGUF file: checked whole when it is read, its values left in the file and decoded
// when asked for.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "io/byte_reader.h"

namespace g4 {
inline constexpr uint64_t kMaxGgufEntries = 65536;  // keys, and tensors

// "the file ends in <what>": the one message for a file that stops too early.
Status gguf_ends_in(const ByteReader& reader, const std::string& what);
// Reads the name of a key or tensor: printable ASCII, 1 to max_length bytes. `what` is "key number 7" or the
// like.
Status read_gguf_name(ByteReader& reader, uint64_t max_length, const std::string& what,
                      std::string_view* name);
// A name as messages show it: cut if it is very long.
std::string shown_name(std::string_view name);

// The types of values by the format's numbers.
enum class GgufType : uint32_t {
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kString,
  kArray,
  kUint64,
  kInt64,
  kFloat64
};

// Keys are unique and sorted. What each getter returns and how it fails: see TensorSource.
class GgufMetadata {
 public:
  // Reads `count` keys and their values. The bytes under the reader must outlive the result. Errors: format,
  // unsupported.
  static StatusOr<GgufMetadata> read(ByteReader& reader, uint64_t count);

  StatusOr<int64_t> get_int(std::string_view key) const;
  StatusOr<double> get_float(std::string_view key) const;
  StatusOr<bool> get_bool(std::string_view key) const;
  StatusOr<std::string_view> get_string(std::string_view key) const;
  StatusOr<std::vector<int64_t>> get_int_array(std::string_view key) const;
  StatusOr<std::vector<float>> get_float_array(std::string_view key) const;
  StatusOr<std::vector<std::string_view>> get_string_array(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }
  bool is_array(std::string_view key) const;
  uint64_t array_length(std::string_view key) const;

 private:
  struct Entry {
    std::string_view key;
    GgufType type;  // of the value, or of the array's elements
    bool is_array;
    uint64_t count;                  // elements; 1 if it is no array
    std::span<const uint8_t> bytes;  // the elements as the file has them
  };
  static Status read_entry(ByteReader& reader, uint64_t number, Entry* entry);
  static Status read_numbers(ByteReader& reader, Entry* entry);
  static Status read_strings(ByteReader& reader, Entry* entry);

  const Entry* find(std::string_view key) const;
  // The entry of this key, if it is what `accepts` wants, an array or not; else the error, which says
  // `expected`.
  StatusOr<const Entry*> find(std::string_view key, bool array, bool (*accepts)(GgufType),
                              const char* expected) const;

  std::vector<Entry> entries_;  // sorted by key
};
}  // namespace g4
