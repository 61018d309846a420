#include "model/disk_embedding.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include "model/read_config.h"
#include "tests/model/tiny_model.h"
#include "tests/support/test_data.h"

namespace g4 {
namespace {
using Catch::Contains;
using Mode = DiskEmbedding::Mode;
constexpr const char* kTable = "per_layer_token_embd.weight";

// A model file, and its table or that of another file opened.
struct Opened {
  Opened(const std::string& model_path, Mode mode, const std::string& table_path = "")
      : file(*MappedFile::open(table_path.empty() ? model_path : table_path)),
        source(*open_gguf(file)),
        config(*read_config(**open_gguf(*MappedFile::open(model_path)))),
        table(DiskEmbedding::open(file, *source, config, mode)) {}
  std::shared_ptr<MappedFile> file;
  std::unique_ptr<TensorSource> source;
  ModelConfig config;
  StatusOr<std::unique_ptr<DiskEmbedding>> table;
};
// Row r of this table holds r + column / 64.
GgufWriter model_with_table(uint64_t rows = 20) {
  GgufWriter writer = TinyModel().write();
  writer.erase_tensor(kTable);
  std::string data;
  for (uint64_t row = 0; row < rows; ++row)
    for (int column = 0; column < 40; ++column)
      data += bytes_of(static_cast<float>(row) + static_cast<float>(column) / 64);
  writer.add(kTable, {rows, 40}, DType::kF32, data);
  return writer;
}
}  // namespace

TEST_CASE("disk embedding: rows in any order, and what was read is counted", "[model]") {
  const TempDir dir;
  const std::string path = dir.write("model.gguf", model_with_table().build());
  for (const Mode mode : {Mode::kMapped, Mode::kRead}) {
    const Opened opened(path, mode);
    REQUIRE(opened.table.ok());
    const DiskEmbedding& table = **opened.table;
    CHECK(table.row_count() == 20);
    CHECK(table.size_bytes() == 20 * 160);
    CHECK(table.type() == DType::kF32);
    CHECK(table.counters().rows == 0);
    const std::vector<int32_t> tokens = {19, 0, 7, 7};
    std::vector<float> rows(4 * 40);
    REQUIRE(table.read_rows(tokens, rows.data()).ok());
    for (size_t t = 0; t < tokens.size(); ++t)
      for (size_t column = 0; column < 40; ++column)
        REQUIRE(rows[t * 40 + column] == static_cast<float>(tokens[t]) + static_cast<float>(column) / 64);
    CHECK(table.counters().rows == 4);
    CHECK(table.counters().bytes == 4 * 160);
    CHECK(table.counters().ns > 0);
    REQUIRE(table.read_rows({}, nullptr).ok());
    CHECK(table.counters().rows == 4);
  }
}

TEST_CASE("disk embedding: mapped and read rows are equal bit for bit, of every type", "[model]") {
  for (const char* name : {"F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q4_K", "Q5_K", "Q6_K", "MIX"}) {
    INFO(name);
    const std::string path = golden_path(std::string("tiny/quant-tiny/model-") + name + ".gguf");
    const Opened mapped(path, Mode::kMapped), read(path, Mode::kRead);
    REQUIRE(mapped.table.ok());
    REQUIRE(read.table.ok());
    std::vector<int32_t> tokens(640);
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i * 7 % 640);
    const size_t columns = static_cast<size_t>(mapped.config.layer_count() * mapped.config.ple_dim);
    std::vector<float> from_mapped(640 * columns), from_read(640 * columns);
    REQUIRE((*mapped.table)->read_rows(tokens, from_mapped.data()).ok());
    REQUIRE((*read.table)->read_rows(tokens, from_read.data()).ok());
    CHECK(from_mapped == from_read);
    CHECK(std::any_of(from_read.begin(), from_read.end(), [](float x) { return x != 0; }));
  }
}

TEST_CASE("disk embedding: a token beyond the table is an argument error, and nothing is written",
          "[model]") {
  const TempDir dir;
  const std::string path =
      dir.write("model.gguf", model_with_table(12).build());  // fewer rows than the vocabulary's 20
  for (const Mode mode : {Mode::kMapped, Mode::kRead}) {
    const Opened opened(path, mode);
    REQUIRE(opened.table.ok());
    CHECK((*opened.table)->row_count() == 12);
    for (const int32_t bad : {12, 19, -1, INT32_MAX, INT32_MIN}) {
      const std::vector<int32_t> tokens = {0, bad};
      std::vector<float> rows(2 * 40, -7.0f);
      const Status status = (*opened.table)->read_rows(tokens, rows.data());
      REQUIRE(absl::IsInvalidArgument(status));
      CHECK_THAT(std::string(status.message()),
                 Contains("token " + std::to_string(bad) + " ") && Contains("rows 0 to 11"));
      CHECK(rows == std::vector<float>(2 * 40, -7.0f));
    }
    CHECK((*opened.table)->counters().rows == 0);
  }
}

TEST_CASE("disk embedding: prefetch takes any ids and changes nothing", "[model]") {
  const TempDir dir;
  const std::string path = dir.write("model.gguf", model_with_table().build());
  for (const Mode mode : {Mode::kMapped, Mode::kRead}) {
    const Opened opened(path, mode);
    const DiskEmbedding& table = **opened.table;
    table.prefetch({});
    table.prefetch(std::vector<int32_t>{-1, INT32_MIN, INT32_MAX, 20, 1000000});
    table.prefetch(std::vector<int32_t>{19, 3, 3, 4, 5, 0, -5, 99});
    CHECK(table.counters().rows == 0);
    std::vector<float> row(40);
    REQUIRE(table.read_rows(std::vector<int32_t>{5}, row.data()).ok());
    CHECK(row[0] == 5.0f);
  }
}

TEST_CASE("disk embedding: a file cut after it was opened is an io error when reading, not a fault",
          "[model]") {
  const TempDir dir;
  const std::string path = dir.write("model.gguf", model_with_table().build());
  const Opened opened(path, Mode::kRead);
  REQUIRE(opened.table.ok());
  std::filesystem::resize_file(path, opened.source->find(kTable)->offset + 10 * 160 + 1);
  std::vector<float> row(40);
  CHECK((*opened.table)->read_rows(std::vector<int32_t>{9}, row.data()).ok());
  for (const int32_t token : {10, 19}) {
    const Status status = (*opened.table)->read_rows(std::vector<int32_t>{token}, row.data());
    CHECK(absl::IsUnavailable(status));
    CHECK_THAT(std::string(status.message()), Contains(path));
  }
  (*opened.table)->prefetch(std::vector<int32_t>{19});
  CHECK((*opened.table)->read_rows(std::vector<int32_t>{0}, row.data()).ok());
}

TEST_CASE("disk embedding: the table may live in a file of its own", "[model]") {
  const TempDir dir;
  const std::string model = dir.write("model.gguf", model_with_table().erase_tensor(kTable).build());
  GgufWriter writer;
  writer.add(kTable, {20, 40}, DType::kF16, std::string(80, '\0') + std::string("\x00\x3c", 2));
  const std::string table = dir.write("table.gguf", writer.build());
  const Opened opened(model, Mode::kMapped, table);
  REQUIRE(opened.table.ok());
  CHECK((*opened.table)->type() == DType::kF16);
  std::vector<float> row(40);
  REQUIRE((*opened.table)->read_rows(std::vector<int32_t>{1}, row.data()).ok());
  CHECK(row[0] == 1.0f);
  CHECK(row[1] == 0.0f);

  const Opened absent(model, Mode::kMapped);
  REQUIRE(absl::IsDataLoss(absent.table.status()));
  CHECK_THAT(std::string(absent.table.status().message()),
             Contains(kTable) && Contains("missing") && Contains(model));
}

TEST_CASE("disk embedding: a table of another width is refused", "[model]") {
  const TempDir dir;
  for (const std::vector<uint64_t>& shape : {std::vector<uint64_t>{20, 32}, {20, 48}, {800}, {20, 5, 8}}) {
    GgufWriter writer = TinyModel().write();
    writer.erase_tensor(kTable).add(kTable, shape);
    const Opened opened(dir.write("model.gguf", writer.build()), Mode::kMapped);
    REQUIRE(absl::IsDataLoss(opened.table.status()));
    CHECK_THAT(std::string(opened.table.status().message()),
               Contains(std::string(kTable) + " has shape " + shape_text(shape)) && Contains("[rows, 40]"));
  }
}

TEST_CASE("disk embedding: the table never becomes resident as a whole", "[model]") {
  const auto resident_file_bytes = [] {
    std::ifstream statm("/proc/self/statm");
    uint64_t size = 0, resident = 0, file_pages = 0;
    statm >> size >> resident >> file_pages;
    return file_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  };
  TinyModel model;
  model.pattern = "SFSF";
  model.ple = 1024;
  model.vocab = 8000;  // 125 MiB of rows
  const TempDir dir;
  model.write().write_sparse(dir.path("model.gguf"));
  const Opened opened(dir.path("model.gguf"), Mode::kMapped);
  REQUIRE(opened.table.ok());
  const uint64_t before = resident_file_bytes();
  std::vector<int32_t> tokens(64);
  std::vector<float> rows(64 * 4096);
  for (int32_t first = 0; first < 8000; first += 64) {
    std::iota(tokens.begin(), tokens.end(), first);
    REQUIRE((*opened.table)->read_rows(tokens, rows.data()).ok());
  }
  CHECK((*opened.table)->counters().bytes == 125u << 20);
  CHECK(resident_file_bytes() < before + (64u << 20));
}

TEST_CASE("disk embedding: many threads at a time", "[model]") {
  const TempDir dir;
  const std::string path = dir.write("model.gguf", model_with_table().build());
  const Opened opened(path, Mode::kMapped);
  const DiskEmbedding& table = **opened.table;
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (size_t thread = 0; thread < wrong.size(); ++thread) {
    threads.emplace_back([&, thread] {
      std::vector<float> rows(2 * 40);
      for (int round = 0; round < 500; ++round) {  // enough for the pages to be given back in between
        const std::vector<int32_t> tokens = {round % 20, (round + 1) % 20};
        table.prefetch(tokens);
        if (!table.read_rows(tokens, rows.data()).ok() || rows[0] != static_cast<float>(round % 20))
          ++wrong[thread];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
  CHECK(table.counters().rows == 4000);
}
}  // namespace g4
