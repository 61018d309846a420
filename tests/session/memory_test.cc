// Memory of a model of E2B's layers, six of them, with the PLE table on disk: one copy of the weights, a
// little more while it is made, and never the whole table.
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <fstream>

#include "tests/model/tiny_model.h"
#include "tests/session/open_session.h"
#include "tests/text/small_vocabulary.h"

namespace g4 {
namespace {
constexpr uint64_t kMiB = uint64_t{1} << 20;

// A field of /proc/self/status that counts bytes.
uint64_t status_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key;) {
    uint64_t kibibytes = 0;
    if (key == field + ":" && status >> kibibytes) return kibibytes << 10;
    std::getline(status, key);
  }
  return 0;
}
void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

// Weights that are all zero take no room on disk and as much as any in memory.
std::string write_model(const TempDir& folder) {
  TinyModel model = real_e2b();
  model.pattern = "SSFSSF";
  model.shared = 3;
  model.vocab = 65536;
  SmallVocabulary vocabulary;
  while (vocabulary.tokens.size() < model.vocab)
    vocabulary.add("t" + std::to_string(vocabulary.tokens.size()), 1);
  GgufWriter writer = model.write();
  for (const auto& [key, value] : vocabulary.writer().keys) writer.set_raw(key, value);
  const std::string path = folder.path("model.gguf");
  writer.write_sparse(path);
  return path;
}
}  // namespace

TEST_CASE("A model takes one copy of its weights, and its PLE table stays on disk", "[memory]") {
  const TempDir folder;
  const std::string path = write_model(folder);
  const uint64_t before = status_bytes("VmRSS");
  reset_peak();
  const auto model = open_path(path);
  const uint64_t weights = model->network().weights.packed.size_bytes(), table = model->ple_bytes();
  REQUIRE(weights > 100 * kMiB);
  REQUIRE(table > 40 * kMiB);
  const uint64_t tokenizer = 24 * kMiB;
  CHECK(status_bytes("VmHWM") <= before + weights + tokenizer + 40 * kMiB);
  CHECK(status_bytes("VmRSS") >= before + weights / 2);  // or this measures nothing

  SessionOptions options;
  options.context = 4096;
  auto session = new_session(model, options);
  feed(*session, some_tokens(1000), 1000);
  const uint64_t own = weights + session->kv_bytes() + session->scratch_bytes();
  CHECK(status_bytes("VmRSS") <= before + own + tokenizer + 64 * kMiB);
  CHECK(status_bytes("VmHWM") <= before + own + tokenizer + 80 * kMiB);
}
}  // namespace g4
#endif
