#include "io/prepared_file.h"

#include <catch2/catch.hpp>
#include <vector>

namespace g4 {
namespace {
using Catch::Contains;

std::vector<uint8_t> header(uint32_t lanes) {
  PreparedHeader fields{lanes, {}};
  for (size_t i = 0; i < fields.model.size(); ++i) fields.model[i] = static_cast<uint8_t>(200 - i);
  const auto bytes = write_prepared_header(fields);
  return {bytes.begin(), bytes.end()};
}
}  // namespace

TEST_CASE("prepared file: the header comes back as it was written", "[io]") {
  for (const uint32_t lanes : {4u, 8u, 16u}) {
    const auto read = read_prepared_header(header(lanes));
    REQUIRE(read.ok());
    REQUIRE(read->has_value());
    CHECK((*read)->lanes == lanes);
    CHECK((*read)->model[0] == 200);
    CHECK((*read)->model[15] == 185);
  }
}

TEST_CASE("prepared file: whatever does not begin like one is none", "[io]") {
  for (const std::vector<uint8_t>& file :
       {std::vector<uint8_t>{}, {'G', '4', 'P', 'M'}, {'G', 'G', 'U', 'F', 3, 0, 0, 0, 0}})
    CHECK(*read_prepared_header(file) == std::nullopt);
}

TEST_CASE("prepared file: a damaged header is refused at every byte, a short one at every length", "[io]") {
  const std::vector<uint8_t> whole = header(8);
  for (size_t length = 8; length < whole.size(); length += 61)
    CHECK(absl::IsDataLoss(read_prepared_header(std::span(whole).first(length)).status()));
  for (size_t i = 0; i < 48; ++i) {
    std::vector<uint8_t> damaged = whole;
    damaged[i] ^= 0x10;
    const auto read = read_prepared_header(damaged);
    CAPTURE(i);
    if (i < 8)
      CHECK(*read == std::nullopt);
    else if (i < 12)
      CHECK(absl::IsUnimplemented(read.status()));
    else
      CHECK(absl::IsDataLoss(read.status()));
  }
  for (const uint32_t lanes : {0u, 1u, 3u, 12u, 32u, UINT32_MAX})
    CHECK_THAT(std::string(read_prepared_header(header(lanes)).status().message()),
               Contains("expected 4, 8 or 16"));
}
}  // namespace g4
