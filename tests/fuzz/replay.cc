// Runs a fuzz target without a fuzzer: every file of its corpus as it is and in many mutations, the same ones
// each time. A crash ends the program; so a total in the last line means that there was none. Usage: X_replay
// CORPUS_FOLDER [MUTATIONS]
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {
namespace fs = std::filesystem;
using Bytes = std::vector<uint8_t>;
constexpr int kDefaultMutations = 2000;   // per file
constexpr std::chrono::seconds kSlow{5};  // an input that takes longer is a finding too
constexpr size_t kMaxEdit = 64;           // bytes inserted, copied or removed at once

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  // One to four edits of the kinds that break parsers: numbers at their limits, bits, cuts, repeats.
  Bytes mutate(const Bytes& original) {
    Bytes bytes = original;
    for (size_t edits = 1 + below(4); edits > 0; --edits) edit(&bytes);
    return bytes;
  }

 private:
  size_t below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  void edit(Bytes* bytes) {
    const size_t at = below(bytes->size());
    const size_t length = std::min(1 + below(kMaxEdit), bytes->size() - at);
    const auto begin = bytes->begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(6)) {
      case 0:
        if (!bytes->empty()) (*bytes)[at] ^= static_cast<uint8_t>(1u << below(8));
        break;
      case 1: {
        constexpr uint64_t kLimits[] = {0,      1,          0x7f,       0xff,      0x7fff,
                                        0xffff, 0x7fffffff, 0xffffffff, INT64_MAX, UINT64_MAX};
        const uint64_t value = kLimits[below(std::size(kLimits))];
        for (size_t i = 0; i < std::min<size_t>(size_t{1} << below(4), bytes->size() - at); ++i)
          (*bytes)[at + i] = static_cast<uint8_t>(value >> (8 * i));
        break;
      }
      case 2:
        bytes->resize(at);
        break;
      case 3:
        bytes->erase(begin, begin + static_cast<std::ptrdiff_t>(length));
        break;
      case 4: {
        const Bytes copy(begin, begin + static_cast<std::ptrdiff_t>(length));
        const size_t to = below(bytes->size() + 1);
        bytes->insert(bytes->begin() + static_cast<std::ptrdiff_t>(to), copy.begin(), copy.end());
        break;
      }
      case 5:
        bytes->insert(begin, 1 + below(8), static_cast<uint8_t>(random_()));
        break;
    }
  }

  std::mt19937_64 random_;
};

// Runs the target on one input; false if it took too long.
bool run(const Bytes& bytes) {
  const auto start = std::chrono::steady_clock::now();
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  return std::chrono::steady_clock::now() - start < kSlow;
}
}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: %s CORPUS_FOLDER [MUTATIONS]\n", argv[0]), 2;
  const int mutations = argc > 2 ? std::atoi(argv[2]) : kDefaultMutations;
  std::vector<fs::path> files;
  if (fs::is_directory(argv[1]))
    for (const auto& entry : fs::directory_iterator(argv[1])) files.push_back(entry.path());
  std::sort(files.begin(), files.end());

  int passed = 0, failed = 0;
  for (size_t index = 0; index < files.size(); ++index) {
    std::ifstream file(files[index], std::ios::binary);
    const Bytes original{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    Mutator mutator(index + 1);
    bool fast = run(original);
    for (int i = 0; i < mutations; ++i) fast = run(mutator.mutate(original)) && fast;
    if (!fast) std::printf("slow: %s or a mutation of it\n", files[index].c_str());
    ++(fast ? passed : failed);
  }
  std::printf("%d passed, %d failed, 0 skipped\n", passed, failed);
  return failed > 0 || files.empty();
}
