#include "io/file_writer.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/support/test_data.h"

namespace g4 {
namespace {
std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
size_t files_in(const TempDir& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder.path("")),
                                           std::filesystem::directory_iterator()));
}
}  // namespace

TEST_CASE("file writer: nothing is there before commit, all of it after", "[io]") {
  const TempDir folder;
  const std::string path = folder.write("file", "old");
  {
    auto writer = FileWriter::create(path, 0640);
    REQUIRE(writer.ok());
    FileWriter moved = *std::move(writer);
    REQUIRE(moved.write(bytes_of("ne")).ok());
    REQUIRE(moved.write(bytes_of("w")).ok());
    CHECK(read_file(path) == "old");
    REQUIRE(moved.commit().ok());
  }
  CHECK(read_file(path) == "new");
  CHECK(files_in(folder) == 1);
  struct stat info;
  REQUIRE(stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0640);
}

TEST_CASE("file writer: what is not committed goes away, and the old file stays", "[io]") {
  const TempDir folder;
  const std::string path = folder.write("file", "old");
  REQUIRE(FileWriter::create(path, 0600)->write(bytes_of("new")).ok());
  CHECK(read_file(path) == "old");
  CHECK(files_in(folder) == 1);
}

TEST_CASE("file writer: a folder that is not there, or stands at the path, is an io error", "[io]") {
  const TempDir folder;
  const Status absent = FileWriter::create(folder.path("absent/file"), 0600).status();
  CHECK(absl::IsUnavailable(absent));
  CHECK_THAT(std::string(absent.message()), Catch::Contains("absent/file"));
  std::filesystem::create_directory(folder.path("taken"));
  auto writer = FileWriter::create(folder.path("taken"), 0600);
  REQUIRE(writer.ok());
  CHECK(absl::IsUnavailable(writer->commit()));
}
}  // namespace g4
