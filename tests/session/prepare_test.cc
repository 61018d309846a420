// Prepared files: the same model in other bytes.
#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/cpu.h"
#include "io/gguf.h"
#include "tests/session/open_session.h"

namespace g4 {
namespace {
using Catch::Contains;

const std::vector<std::string> kModels = {
    "tiny/e2b-tiny/model.gguf",        "tiny/e4b-tiny/model.gguf",       "tiny/dense31b-tiny/model.gguf",
    "tiny/moe26b-tiny/model.gguf",     "tiny/quant-tiny/model-MIX.gguf", "tiny/quant-tiny/model-Q4_0.gguf",
    "tiny/quant-tiny/model-Q8_0.gguf", "tiny/quant-tiny/model-Q6_K.gguf"};

ModelOptions on(const char* cpu) {
  ModelOptions options;
  options.cpu = cpu;
  options.thread_count = 2;
  return options;
}

// The kernel rows that this machine can run.
std::vector<const Kernels*> usable_rows() {
  size_t count = 0;
  const Kernels* const* rows = kernel_rows(&count);
  std::vector<const Kernels*> usable(rows, rows + count);
  std::erase_if(usable,
                [](const Kernels* row) { return (row->required_features & ~detect_cpu_features()) != 0; });
  return usable;
}

std::string prepare(const std::string& path, const std::string& out, const char* cpu) {
  const Status status = Model::prepare(path, out, on(cpu), {});
  INFO(status.message());
  REQUIRE(status.ok());
  return out;
}

std::vector<float> logits_on(const std::string& path, const char* cpu) {
  auto session = new_session(open_path(path, on(cpu)), SessionOptions{});
  return all_logits(*session, some_tokens(40));
}
}  // namespace

TEST_CASE("A prepared file gives the bits of the GGUF file, on the kernels it is for and on others",
          "[session]") {
  const TempDir folder;
  for (const std::string& name : kModels) {
    const std::string gguf = golden_path(name);
    for (const Kernels* made_for : usable_rows()) {
      const std::string prepared = prepare(gguf, folder.path("prepared"), made_for->name);
      CHECK(std::filesystem::file_size(prepared) == std::filesystem::file_size(gguf) + kPreparedHeaderBytes);
      for (const Kernels* row : usable_rows()) {
        INFO(name << " prepared for " << made_for->name << " on " << row->name);
        CHECK(logits_on(prepared, row->name) == logits_on(gguf, row->name));
      }
    }
  }
}

TEST_CASE("A prepared file is used where it lies", "[session]") {
  const TempDir folder;
  const char* cpu = usable_rows().front()->name;
  for (const std::string& name : kModels) {
    const auto plain = open_path(golden_path(name), on(cpu));
    const auto model = open_path(prepare(golden_path(name), folder.path("prepared"), cpu), on(cpu));
    // What is left to pack are matrices whose rows fill no whole groups: small ones.
    CHECK(model->network().weights.packed.size() < plain->network().weights.packed.size() / 8);
    CHECK(model->fingerprint() == plain->fingerprint());
    CHECK(std::string(model->quantisation()) == plain->quantisation());
    CHECK(model->network().weights.mapped_bytes == plain->network().weights.mapped_bytes);
  }
}

TEST_CASE("Preparing a prepared file for any kernels gives what the GGUF file gives", "[session]") {
  const TempDir folder;
  const std::string gguf = golden_path("tiny/moe26b-tiny/model.gguf");
  for (const Kernels* first : usable_rows())
    for (const Kernels* second : usable_rows()) {
      const std::string once = prepare(gguf, folder.path("once"), first->name);
      const std::string twice = prepare(once, folder.path("twice"), second->name);
      CHECK(read_file(twice) == read_file(prepare(gguf, folder.path("direct"), second->name)));
    }
}

TEST_CASE("A KV file goes from a GGUF file's session to the prepared file's and back", "[session]") {
  const TempDir folder;
  const std::string gguf = golden_path("tiny/e2b-tiny/model.gguf");
  const std::string prepared = prepare(gguf, folder.path("prepared"), "");
  const std::vector<int32_t> tokens = some_tokens(50), more = some_tokens(20, 7);
  for (const auto& [from, to] : {std::pair(gguf, prepared), {prepared, gguf}}) {
    auto saved = new_session(open_path(from), SessionOptions{});
    auto loaded = new_session(open_path(to), SessionOptions{});
    feed(*saved, tokens, tokens.size());
    REQUIRE(saved->save_kv(folder.path("state.kv")).ok());
    REQUIRE(loaded->load_kv(folder.path("state.kv"), {}).ok());
    CHECK(logits_of(*loaded) == logits_of(*saved));
    CHECK(all_logits(*loaded, more) == all_logits(*saved, more));
  }
}

TEST_CASE("What cannot be prepared leaves no file, and an old one whole", "[session]") {
  const TempDir folder;
  const std::string gguf = folder.write("model.gguf", read_file(golden_path("tiny/e2b-tiny/model.gguf")));
  const std::string old = folder.write("old", "old");
  const auto code = [&](const std::string& path, const std::string& out, const LoadProgress& progress = {}) {
    return Model::prepare(path, out, on(""), progress).code();
  };
  CHECK(code(gguf, gguf) == absl::StatusCode::kInvalidArgument);
  CHECK(code(gguf, folder.path("absent/out")) == absl::StatusCode::kUnavailable);
  CHECK(code(folder.path("absent"), old) == absl::StatusCode::kUnavailable);
  CHECK(code(old, folder.path("out")) == absl::StatusCode::kDataLoss);
  for (const uint64_t stop_at : {0u, 1000u, 100000u})
    CHECK(code(gguf, old, [&](uint64_t done, uint64_t) { return done < stop_at; }) ==
          absl::StatusCode::kCancelled);
  CHECK(read_file(old) == "old");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path("")),
                      std::filesystem::directory_iterator()) == 2);
  CHECK(read_file(gguf) == read_file(golden_path("tiny/e2b-tiny/model.gguf")));
}

TEST_CASE("Progress of preparing ends at the bytes of the file", "[session]") {
  const TempDir folder;
  const std::string gguf = golden_path("tiny/e2b-tiny/model.gguf");
  uint64_t last = 0, whole = 0;
  REQUIRE(Model::prepare(gguf, folder.path("out"), on(""), [&](uint64_t done, uint64_t total) {
            CHECK(done >= last);
            last = done;
            whole = total;
            return true;
          }).ok());
  CHECK(last == std::filesystem::file_size(gguf));
  CHECK(whole == last);
}

TEST_CASE("A prepared file that was cut or damaged is refused", "[session]") {
  const TempDir folder;
  const std::string whole =
      read_file(prepare(golden_path("tiny/e2b-tiny/model.gguf"), folder.path("whole"), ""));
  const auto open = [&](const std::string& bytes) {
    return Model::open(folder.write("file", bytes), on(""), {}).status();
  };
  for (size_t length = 1; length < whole.size(); length += whole.size() / 97)
    CHECK(absl::IsDataLoss(open(whole.substr(0, length))));
  std::string damaged = whole;
  damaged[20] ^= 1;
  CHECK_THAT(std::string(open(damaged).message()), Contains("checksum") && Contains(folder.path("file")));
  damaged = whole;
  damaged[8] = 9;
  CHECK(absl::IsUnimplemented(open(damaged)));
  CHECK_THAT(std::string(open(damaged).message()), Contains("prepare it again"));
}
}  // namespace g4
