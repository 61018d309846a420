#include "tests/support/test_data.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace g4 {
namespace fs = std::filesystem;

std::string golden_path(const std::string& relative) {
  return std::string(G4_TEST_GOLDEN_DIR "/") + relative;
}

std::string golden_source_path(const std::string& relative) {
  return std::string(G4_TEST_SOURCE_DIR "/tests/golden/") + relative;
}

std::optional<std::string> shared_path(const std::string& relative) {
  const std::string path = std::string(G4_TEST_SOURCE_DIR "/../shared/models/") + relative;
  if (!fs::exists(path)) return std::nullopt;
  return path;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  INFO(path);
  REQUIRE(file.is_open());
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

TempDir::TempDir() : root_((fs::temp_directory_path() / "g4-test-XXXXXX").string()) {
  REQUIRE(mkdtemp(root_.data()) != nullptr);
}

TempDir::~TempDir() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

std::string TempDir::write(const std::string& name, const std::string& content) const {
  const std::string file_path = path(name);
  std::ofstream file(file_path, std::ios::binary);
  file << content;
  file.close();
  INFO(file_path);
  REQUIRE(file.good());
  return file_path;
}
}  // namespace g4
