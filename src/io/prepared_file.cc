#include "io/prepared_file.h"

#include <cstring>

#define XXH_INLINE_ALL  // a header only: nothing to link
#include <xxhash.h>

namespace g4 {
namespace {
constexpr char kMagic[8] = {'G', '4', 'P', 'M', '\r', '\n', 0x1a, 0};
constexpr uint32_t kVersion = 1;
struct Fields {
  char magic[8];
  uint32_t version;
  PreparedHeader header;
  uint32_t reserved;  // 0
  uint64_t checksum;  // XXH3-64 of what is before it
};
static_assert(sizeof(Fields) == 48 && sizeof(Fields) <= kPreparedHeaderBytes);

uint64_t checksum(const Fields& fields) { return XXH3_64bits(&fields, offsetof(Fields, checksum)); }
}  // namespace

std::array<uint8_t, kPreparedHeaderBytes> write_prepared_header(const PreparedHeader& header) {
  Fields fields{};
  std::memcpy(fields.magic, kMagic, sizeof kMagic);
  fields.version = kVersion;
  fields.header = header;
  fields.checksum = checksum(fields);
  std::array<uint8_t, kPreparedHeaderBytes> bytes{};
  std::memcpy(bytes.data(), &fields, sizeof fields);
  return bytes;
}

StatusOr<std::optional<PreparedHeader>> read_prepared_header(std::span<const uint8_t> file) {
  if (file.size() < sizeof kMagic || std::memcmp(file.data(), kMagic, sizeof kMagic) != 0)
    return std::nullopt;
  if (file.size() < kPreparedHeaderBytes)
    return format_error("the prepared file ends in its header: it is cut off");
  Fields fields;
  std::memcpy(&fields, file.data(), sizeof fields);
  if (fields.version != kVersion)
    return unsupported_error(StrCat("the prepared file has version ", fields.version,
                                    "; this g4 reads version ", kVersion,
                                    ": prepare it again from the GGUF file"));
  if (fields.checksum != checksum(fields))
    return format_error("the checksum of the prepared file's header is wrong: it is damaged");
  const uint32_t lanes = fields.header.lanes;
  if (lanes != 4 && lanes != 8 && lanes != 16)
    return format_error(StrCat("the prepared file interleaves ", lanes, " rows, expected 4, 8 or 16"));
  return fields.header;
}
}  // namespace g4
