#include "io/gguf_metadata.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/check.h"
#include "base/checked.h"

namespace g4 {
namespace {
constexpr uint64_t kMaxKeyLength = 65535;
constexpr uint64_t kMaxString = uint64_t{1} << 20;
constexpr uint64_t kMaxTemplate = uint64_t{4} << 20;  // chat templates are programs, and grow
constexpr std::string_view kTemplateKey = "tokenizer.chat_template";
constexpr uint64_t kMinEntryBytes = 8 + 1 + 4 + 1;  // length and one byte of key, type, one byte of value

uint64_t max_string(std::string_view key) {
  return key.substr(0, kTemplateKey.size()) == kTemplateKey ? kMaxTemplate : kMaxString;
}

std::string_view as_text(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct TypeInfo {
  const char* name;
  uint32_t size_bytes;  // 0: varies
};
constexpr TypeInfo kTypes[] = {{"uint8", 1},  {"int8", 1},    {"uint16", 2}, {"int16", 2},  {"uint32", 4},
                               {"int32", 4},  {"float32", 4}, {"bool", 1},   {"string", 0}, {"array", 0},
                               {"uint64", 8}, {"int64", 8},   {"float64", 8}};
const TypeInfo& info(GgufType type) { return kTypes[static_cast<size_t>(type)]; }

bool is_bool(GgufType type) { return type == GgufType::kBool; }
bool is_string(GgufType type) { return type == GgufType::kString; }
bool is_float(GgufType type) { return type == GgufType::kFloat32 || type == GgufType::kFloat64; }
bool is_int(GgufType type) { return !is_bool(type) && !is_string(type) && !is_float(type); }
bool is_int_or_bool(GgufType type) { return is_int(type) || is_bool(type); }

// The integer or bool at `data`, or nothing where it is beyond int64.
std::optional<int64_t> load_int(GgufType type, const uint8_t* data) {
  switch (type) {
    case GgufType::kInt8:
      return load_number<int8_t>(data);
    case GgufType::kUint16:
      return load_number<uint16_t>(data);
    case GgufType::kInt16:
      return load_number<int16_t>(data);
    case GgufType::kUint32:
      return load_number<uint32_t>(data);
    case GgufType::kInt32:
      return load_number<int32_t>(data);
    case GgufType::kInt64:
      return load_number<int64_t>(data);
    case GgufType::kUint64: {
      const uint64_t value = load_number<uint64_t>(data);
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
      return static_cast<int64_t>(value);
    }
    default:
      return load_number<uint8_t>(data);  // uint8 and bool
  }
}

double load_float(GgufType type, const uint8_t* data) {
  return type == GgufType::kFloat32 ? load_number<float>(data) : load_number<double>(data);
}

std::string value_of(std::string_view key) { return StrCat("the value of key ", shown_name(key)); }

Status too_large(std::string_view key) {
  return format_error(StrCat(value_of(key), " is an integer beyond the range of int64"));
}
}  // namespace

Status gguf_ends_in(const ByteReader& reader, const std::string& what) {
  return format_error(
      StrCat("the file ends in ", what, ": it is cut off, or damaged near byte ", reader.position()));
}

std::string shown_name(std::string_view name) {
  constexpr size_t kShown = 100;
  return name.size() <= kShown ? std::string(name) : std::string(name.substr(0, kShown)) + "...";
}

Status read_gguf_name(ByteReader& reader, uint64_t max_length, const std::string& what,
                      std::string_view* name) {
  uint64_t length = 0;
  if (!reader.read(&length)) return gguf_ends_in(reader, StrCat("the name of ", what));
  if (length == 0 || length > max_length)
    return format_error(StrCat("the name of ", what, " has ", length, " bytes, expected 1 to ", max_length));
  std::span<const uint8_t> bytes;
  if (!reader.take(length, &bytes)) return gguf_ends_in(reader, StrCat("the name of ", what));
  for (const uint8_t c : bytes)
    if (c <= 0x20 || c >= 0x7f)
      return format_error(StrCat("the name of ", what, " holds byte ", c, ", expected printable ASCII"));
  *name = as_text(bytes);
  return absl::OkStatus();
}

StatusOr<GgufMetadata> GgufMetadata::read(ByteReader& reader, uint64_t count) {
  if (count > kMaxGgufEntries)
    return format_error(StrCat("the file claims ", count, " keys, more than ", kMaxGgufEntries));
  GgufMetadata metadata;
  // The count is a claim; what the file has room for is a fact.
  metadata.entries_.reserve(static_cast<size_t>(std::min(count, reader.remaining() / kMinEntryBytes)));
  for (uint64_t i = 0; i < count; ++i) {
    Entry entry;
    G4_RETURN_IF_ERROR(read_entry(reader, i, &entry));
    metadata.entries_.push_back(entry);
  }
  std::vector<Entry>& entries = metadata.entries_;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.key < b.key; });
  const auto twin = std::adjacent_find(entries.begin(), entries.end(),
                                       [](const Entry& a, const Entry& b) { return a.key == b.key; });
  if (twin != entries.end()) return format_error(StrCat("key ", shown_name(twin->key), " is there twice"));
  return metadata;
}

Status GgufMetadata::read_entry(ByteReader& reader, uint64_t number, Entry* entry) {
  G4_RETURN_IF_ERROR(read_gguf_name(reader, kMaxKeyLength, StrCat("key number ", number), &entry->key));
  constexpr uint32_t kArray = static_cast<uint32_t>(GgufType::kArray);
  uint32_t type = 0;
  bool complete = reader.read(&type);
  entry->is_array = type == kArray;
  entry->count = 1;
  if (entry->is_array) complete = reader.read(&type) && reader.read(&entry->count);
  if (!complete) return gguf_ends_in(reader, value_of(entry->key));
  if (type >= std::size(kTypes))
    return format_error(StrCat(value_of(entry->key), " has type number ", type, ", which does not exist"));
  if (type == kArray)
    return unsupported_error(StrCat(value_of(entry->key), " is an array of arrays, which g4 does not read"));
  entry->type = static_cast<GgufType>(type);
  return is_string(entry->type) ? read_strings(reader, entry) : read_numbers(reader, entry);
}

// Steps over the elements and checks them, so that the getters need not.
Status GgufMetadata::read_numbers(ByteReader& reader, Entry* entry) {
  uint64_t size = 0;
  if (!checked_mul(entry->count, info(entry->type).size_bytes, &size) || !reader.take(size, &entry->bytes))
    return gguf_ends_in(reader, StrCat(value_of(entry->key), ", which claims ", entry->count, " elements"));
  if (is_bool(entry->type))
    for (const uint8_t value : entry->bytes)
      if (value > 1)
        return format_error(StrCat(value_of(entry->key), " holds a bool of ", value, ", expected 0 or 1"));
  return absl::OkStatus();
}

Status GgufMetadata::read_strings(ByteReader& reader, Entry* entry) {
  ByteReader start = reader;
  const uint64_t limit = max_string(entry->key);
  for (uint64_t i = 0; i < entry->count; ++i) {
    uint64_t length = 0;
    std::span<const uint8_t> text;
    const bool has_length = reader.read(&length);
    if (has_length && length > limit)
      return format_error(
          StrCat(value_of(entry->key), " holds a string of ", length, " bytes, more than ", limit));
    if (!has_length || !reader.take(length, &text))
      return gguf_ends_in(reader, StrCat(value_of(entry->key), ", string ", i, " of ", entry->count));
  }
  const bool taken = start.take(reader.position() - start.position(), &entry->bytes);
  G4_DCHECK(taken);
  (void)taken;
  return absl::OkStatus();
}

const GgufMetadata::Entry* GgufMetadata::find(std::string_view key) const {
  const auto entry = std::lower_bound(entries_.begin(), entries_.end(), key,
                                      [](const Entry& e, std::string_view wanted) { return e.key < wanted; });
  return entry != entries_.end() && entry->key == key ? &*entry : nullptr;
}

StatusOr<const GgufMetadata::Entry*> GgufMetadata::find(std::string_view key, bool array,
                                                        bool (*accepts)(GgufType),
                                                        const char* expected) const {
  const Entry* entry = find(key);
  if (entry == nullptr) return absl::NotFoundError(StrCat("key ", shown_name(key), " is missing"));
  if (entry->is_array != array || !accepts(entry->type))
    return format_error(StrCat("key ", shown_name(key), " has type ", entry->is_array ? "array of " : "",
                               info(entry->type).name, ", expected ", expected));
  return entry;
}

bool GgufMetadata::is_array(std::string_view key) const {
  const Entry* entry = find(key);
  return entry != nullptr && entry->is_array;
}

uint64_t GgufMetadata::array_length(std::string_view key) const {
  return is_array(key) ? find(key)->count : 0;
}

StatusOr<int64_t> GgufMetadata::get_int(std::string_view key) const {
  G4_ASSIGN_OR_RETURN(const Entry* entry, find(key, false, is_int, "an integer"));
  const std::optional<int64_t> value = load_int(entry->type, entry->bytes.data());
  if (!value) return too_large(key);
  return *value;
}

StatusOr<double> GgufMetadata::get_float(std::string_view key) const {
  G4_ASSIGN_OR_RETURN(const Entry* entry, find(key, false, is_float, "a float"));
  return load_float(entry->type, entry->bytes.data());
}

StatusOr<bool> GgufMetadata::get_bool(std::string_view key) const {
  G4_ASSIGN_OR_RETURN(const Entry* entry, find(key, false, is_bool, "a bool"));
  return entry->bytes[0] != 0;
}

StatusOr<std::string_view> GgufMetadata::get_string(std::string_view key) const {
  G4_ASSIGN_OR_RETURN(const Entry* entry, find(key, false, is_string, "a string"));
  return as_text(entry->bytes.subspan(sizeof(uint64_t)));
}

StatusOr<std::vector<int64_t>> GgufMetadata::get_int_array(std::string_view key) const {
  G4_ASSIGN_OR_RETURN(const Entry* entry, find(key, true, is_int_or_bool, "an array of integers"));
  std::vector<int64_t> values(static_cast<size_t>(entry->count));
  for (size_t i = 0; i < values.size(); ++i) {
    const std::optional<int64_t> value =
        load_int(entry->type, entry->bytes.data() + i * info(entry->type).size_bytes);
    if (!value) return too_large(key);
    values[i] = *value;
  }
  return values;
}

StatusOr<std::vector<float>> GgufMetadata::get_float_array(std::string_view key) const {
  G4_ASSIGN_OR_RETURN(const Entry* entry, find(key, true, is_float, "an array of floats"));
  std::vector<float> values(static_cast<size_t>(entry->count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] =
        static_cast<float>(load_float(entry->type, entry->bytes.data() + i * info(entry->type).size_bytes));
  return values;
}

StatusOr<std::vector<std::string_view>> GgufMetadata::get_string_array(std::string_view key) const {
  G4_ASSIGN_OR_RETURN(const Entry* entry, find(key, true, is_string, "an array of strings"));
  std::vector<std::string_view> values(static_cast<size_t>(entry->count));
  ByteReader reader(entry->bytes);
  for (std::string_view& value : values) {
    uint64_t length = 0;
    std::span<const uint8_t> text;
    // Checked when the file was opened; but a mapped file may change.
    if (!reader.read(&length) || !reader.take(length, &text))
      return format_error(StrCat(value_of(key), " has changed since the file was opened"));
    value = as_text(text);
  }
  return values;
}
}  // namespace g4
