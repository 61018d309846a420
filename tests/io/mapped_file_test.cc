#include "io/mapped_file.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/support/test_data.h"

namespace g4 {
namespace {
using Catch::Contains;

std::string pattern(size_t size) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7 + i / 256);
  return text;
}
std::string as_string(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }
}  // namespace

TEST_CASE("mapped file: what cannot be opened is an io error with path and reason", "[io]") {
  const TempDir dir;
  const auto message = [](const std::string& path) {
    const auto file = MappedFile::open(path);
    REQUIRE(absl::IsUnavailable(file.status()));
    CHECK_THAT(std::string(file.status().message()), Contains(path));
    return std::string(file.status().message());
  };
  CHECK_THAT(message(dir.path("absent.gguf")), Contains("No such file"));
  CHECK_THAT(message(dir.path("")), Contains("folder"));
  REQUIRE(mkfifo(dir.path("fifo").c_str(), 0600) == 0);
  CHECK_THAT(message(dir.path("fifo")), Contains("not a regular file"));
  CHECK_THAT(message("/dev/null"), Contains("not a regular file"));
}

TEST_CASE("mapped file: an empty file is a format error", "[io]") {
  const TempDir dir;
  const auto file = MappedFile::open(dir.write("empty.gguf", ""));
  REQUIRE(absl::IsDataLoss(file.status()));
  CHECK_THAT(std::string(file.status().message()), Contains("empty.gguf is empty"));
}

TEST_CASE("mapped file: mapping and reads give the content; advice changes nothing", "[io]") {
  const TempDir dir;
  const std::string content = pattern(100001);
  const auto opened = MappedFile::open(dir.write("file", content));
  REQUIRE(opened.ok());
  const MappedFile& file = **opened;
  CHECK(file.bytes().size() == content.size());
  CHECK(as_string(file.bytes()) == content);
  for (const auto& [offset, length] : {std::pair<uint64_t, uint64_t>{0, 0},
                                       {1, 5},
                                       {4095, 8193},
                                       {50000, 1u << 30},
                                       {100001, 1},
                                       {UINT64_MAX, UINT64_MAX},
                                       {7, UINT64_MAX}}) {
    file.advise(offset, length, MappedFile::Access::kRandom);
    file.advise(offset, length, MappedFile::Access::kSequential);
    file.will_need(offset, length);
    file.drop(offset, length);
  }
  CHECK(as_string(file.bytes()) == content);

  std::vector<uint8_t> part(12345);
  REQUIRE(file.read_at(77, part).ok());
  CHECK(as_string(part) == content.substr(77, part.size()));
  CHECK(file.read_at(content.size(), {}).ok());
}

TEST_CASE("mapped file: reading past the end is an io error, also when the file shrank", "[io]") {
  const TempDir dir;
  const std::string path = dir.write("file", pattern(20000));
  const auto opened = MappedFile::open(path);
  REQUIRE(opened.ok());
  std::vector<uint8_t> part(100);
  CHECK((*opened)->read_at(19900, part).ok());
  const Status past = (*opened)->read_at(19901, part);
  CHECK(absl::IsUnavailable(past));
  CHECK_THAT(std::string(past.message()), Contains(path) && Contains("ends at byte 20000"));
  CHECK(absl::IsUnavailable((*opened)->read_at(UINT64_MAX, part)));

  std::filesystem::resize_file(path, 10000);
  const Status shrunk = (*opened)->read_at(9950, part);
  CHECK(absl::IsUnavailable(shrunk));
  CHECK_THAT(std::string(shrunk.message()), Contains("ends at byte 10000"));
}
}  // namespace g4
