// Where tests find their data, and how they skip.
#pragma once
#include <optional>
#include <string>

// Ends the test case as skipped and prints the reason (main.cc counts it). Call it before any check.
#define G4_SKIP(reason) ::g4::skip_test_case(reason)

namespace g4 {
[[noreturn]] void skip_test_case(const std::string& reason);
// A file of the prepared reference models: "tiny/e2b-tiny/model.gguf". The build unpacks them
// (tests/golden/pack.sh says from what).
std::string golden_path(const std::string& relative);
// A file of tests/golden in the source tree: "tokenizer/tiny.json".
std::string golden_source_path(const std::string& relative);
// A file of ../shared/models next to the repository, if it is there: large files that are not part of the
// repository.
std::optional<std::string> shared_path(const std::string& relative);
// The whole file, or a failure of the test case.
std::string read_file(const std::string& path);

// A fresh folder that goes away with this object.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::string path(const std::string& name) const { return root_ + "/" + name; }
  // Writes a file of this content and returns its path.
  std::string write(const std::string& name, const std::string& content) const;

 private:
  std::string root_;
};
}  // namespace g4
