#include "io/gguf.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <random>

#include "io/byte_reader.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/test_data.h"

namespace g4 {
namespace {
using Catch::Contains;

// Two keys and three tensors of 12, 100 and 68 bytes.
GgufWriter small_file() {
  GgufWriter writer;
  writer.set("general.architecture", std::string("gemma4")).set_array("list", std::vector<int32_t>{1, 2, 3});
  writer.add("first.weight", {3}, DType::kF32, bytes_of(1.0f) + bytes_of(2.0f) + bytes_of(3.0f));
  writer.add("second.weight", {5, 10}, DType::kF16);
  writer.add("third.weight", {2, 1, 32}, DType::kQ8_0, std::string(68, 'q'));
  return writer;
}
std::string format_message(const GgufWriter& writer) {
  const GgufInMemory file(writer);
  REQUIRE(absl::IsDataLoss(file.status()));
  return file.message();
}
std::string unsupported_message(const GgufWriter& writer) {
  const GgufInMemory file(writer);
  REQUIRE(absl::IsUnimplemented(file.status()));
  return file.message();
}
// The message for small_file() with its second tensor changed.
template <typename Change>
std::string second_tensor_message(Change change) {
  GgufWriter writer = small_file();
  change(writer.tensors[1]);
  return format_message(writer);
}
}  // namespace

TEST_CASE("gguf: keys, tensors and their bytes", "[io]") {
  const TempDir dir;
  auto opened = MappedFile::open(dir.write("small.gguf", small_file().build()));
  REQUIRE(opened.ok());
  const std::span<const uint8_t> bytes = (*opened)->bytes();
  const auto source = open_gguf(std::move(*opened));  // keeps the file mapped
  REQUIRE(source.ok());
  CHECK(*(*source)->get_string("general.architecture") == "gemma4");
  REQUIRE((*source)->tensors().size() == 3);
  CHECK((*source)->tensors()[0].name == "first.weight");
  CHECK((*source)->find("fourth.weight") == nullptr);
  CHECK((*source)->find("") == nullptr);

  const TensorView* first = (*source)->find("first.weight");
  REQUIRE(first != nullptr);
  CHECK(first->shape == std::vector<uint64_t>{3});
  CHECK(load_number<float>(first->data + 8) == 3.0f);
  const TensorView* second = (*source)->find("second.weight");
  REQUIRE(second != nullptr);
  CHECK(second->type == DType::kF16);
  CHECK(second->shape == std::vector<uint64_t>{5, 10});
  CHECK(second->size_bytes == 100);
  CHECK(second->offset == first->offset + 32);
  CHECK(second->data == bytes.data() + second->offset);
  const TensorView* third = (*source)->find("third.weight");
  REQUIRE(third != nullptr);
  CHECK(third->shape == std::vector<uint64_t>{2, 1, 32});
  CHECK(third->size_bytes == 68);
  CHECK(third->offset + third->size_bytes == bytes.size());
  CHECK(third->data[67] == 'q');
}

TEST_CASE("gguf: the reference models open", "[io]") {
  struct Model {
    const char* path;
    size_t tensor_count;
    std::vector<uint64_t> embedding;
  };
  for (const Model& model :
       {Model{"tiny/e2b-tiny/model.gguf", 161, {640, 96}}, Model{"tiny/e4b-tiny/model.gguf", 192, {640, 64}},
        Model{"tiny/dense31b-tiny/model.gguf", 86, {640, 96}},
        Model{"tiny/moe26b-tiny/model.gguf", 134, {640, 96}},
        Model{"tiny/quant-tiny/model-MIX.gguf", 68, {640, 256}}}) {
    INFO(model.path);
    auto file = MappedFile::open(golden_path(model.path));
    REQUIRE(file.ok());
    const auto source = open_gguf(*file);
    REQUIRE(source.ok());
    CHECK((*source)->tensors().size() == model.tensor_count);
    const TensorView* embedding = (*source)->find("token_embd.weight");
    REQUIRE(embedding != nullptr);
    CHECK(embedding->shape == model.embedding);
    CHECK((*source)->get_string_array("tokenizer.ggml.tokens")->size() == 640);
  }
}

TEST_CASE("gguf: a real vocabulary, a file without tensors", "[io]") {
  const auto path = shared_path("tokenizer/gemma-4-vocab.gguf");
  if (!path) G4_SKIP("no ../shared/models");
  auto file = MappedFile::open(*path);
  REQUIRE(file.ok());
  const auto source = open_gguf(*file);
  REQUIRE(source.ok());
  CHECK((*source)->tensors().empty());
  CHECK((*source)->array_length("tokenizer.ggml.tokens") == 262144);
  const auto tokens = (*source)->get_string_array("tokenizer.ggml.tokens");
  REQUIRE(tokens.ok());
  CHECK(tokens->size() == 262144);
  CHECK((*tokens)[2] == "<bos>");
  CHECK((*tokens)[106] == "<turn|>");
  CHECK((*source)->get_string_array("tokenizer.ggml.merges")->size() == 514906);
}

TEST_CASE("gguf: a file cut anywhere is refused", "[io]") {
  const std::string whole = small_file().build();
  REQUIRE(GgufInMemory(whole).ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    INFO(size << " of " << whole.size() << " bytes");
    const GgufInMemory file(whole.substr(0, size));
    REQUIRE(absl::IsDataLoss(file.status()));
    REQUIRE_FALSE(file.message().empty());
  }
}

TEST_CASE("gguf: a model cut at 200 places is refused, naming what is cut", "[io]") {
  const std::string whole = read_file(golden_path("tiny/e2b-tiny/model.gguf"));
  auto mapped = MappedFile::open(golden_path("tiny/e2b-tiny/model.gguf"));
  REQUIRE(mapped.ok());
  const auto source = open_gguf(*mapped);
  REQUIRE(source.ok());
  std::vector<size_t> places;
  size_t data_start = whole.size();
  for (const TensorView& tensor : (*source)->tensors()) {  // 161 boundaries
    places.push_back(static_cast<size_t>(tensor.offset));
    data_start = std::min(data_start, places.back());
  }
  std::mt19937 random(1);
  while (places.size() < 200) places.push_back(random() % data_start);
  for (const size_t place : places) {
    INFO("cut to " << place << " bytes");
    const Status status = parse_gguf({reinterpret_cast<const uint8_t*>(whole.data()), place}).status();
    REQUIRE(absl::IsDataLoss(status));
    REQUIRE_THAT(std::string(status.message()),
                 Contains("tensor") || Contains("key") || Contains("header") || Contains("GGUF"));
  }
}

TEST_CASE("gguf: errors of a file carry its path", "[io]") {
  const TempDir dir;
  auto file = MappedFile::open(dir.write("broken.gguf", "GGUF, said the file"));
  REQUIRE(file.ok());
  const Status status = open_gguf(*file).status();
  CHECK_THAT(std::string(status.message()), Contains(dir.path("broken.gguf: ")));
}

TEST_CASE("gguf: other files, versions and byte orders", "[io]") {
  GgufWriter writer = small_file();
  writer.magic = 0x4655;
  CHECK_THAT(format_message(writer), Contains("no GGUF file"));
  writer = small_file();
  for (const uint32_t version : {0u, 1u, 2u, 4u, UINT32_MAX}) {
    writer.version = version;
    CHECK_THAT(unsupported_message(writer),
               Contains("GGUF version " + std::to_string(version)) && Contains("reads version 3"));
  }
  writer.version = 0x03000000;
  CHECK_THAT(unsupported_message(writer), Contains("big-endian"));
}

TEST_CASE("gguf: split files are refused", "[io]") {
  GgufWriter writer = small_file();
  CHECK_THAT(unsupported_message(writer.set("split.count", uint16_t{3})),
             Contains("split") && Contains("3 parts"));
  CHECK(GgufInMemory(writer.set("split.count", uint16_t{1})).ok());
  CHECK(GgufInMemory(writer.set("split.count", uint16_t{0})).ok());
  CHECK_THAT(format_message(writer.set("split.count", std::string("2"))), Contains("split.count"));
}

TEST_CASE("gguf: alignment", "[io]") {
  for (const uint32_t alignment : {8u, 64u, 4096u, 1u << 20}) {
    GgufWriter writer = small_file();
    writer.alignment = alignment;
    const GgufInMemory file(writer.set("general.alignment", alignment));
    REQUIRE(file.ok());
    const auto offset = [&](const char* name) { return file->find(name)->offset; };
    CHECK(offset("first.weight") % alignment == 0);
    CHECK(offset("second.weight") - offset("first.weight") == (12 + alignment - 1) / alignment * alignment);
    CHECK(file->find("third.weight")->data[67] == 'q');
  }
  for (const int64_t alignment : {int64_t{-32}, int64_t{0}, int64_t{1}, int64_t{3}, int64_t{24},
                                  int64_t{1} << 21, int64_t{1} << 31, INT64_MAX})
    CHECK_THAT(format_message(small_file().set("general.alignment", alignment)),
               Contains("general.alignment is " + std::to_string(alignment)));
  CHECK_THAT(format_message(small_file().set("general.alignment", uint64_t{1} << 63)),
             Contains("general.alignment"));
  CHECK_THAT(format_message(small_file().set("general.alignment", std::string("32"))),
             Contains("general.alignment"));
  CHECK(GgufInMemory(small_file().set("general.alignment", int32_t{32})).ok());
}

TEST_CASE("gguf: more tensors than allowed, or than there are", "[io]") {
  GgufWriter writer = small_file();
  writer.tensor_count = 65537;
  CHECK_THAT(format_message(writer), Contains("65537 tensors"));
  writer.tensor_count = UINT64_MAX;
  CHECK_THAT(format_message(writer), Contains("tensors, more than"));
  writer.tensor_count = 65536;
  CHECK_THAT(format_message(writer), Contains("tensor number"));
}

TEST_CASE("gguf: shapes no tensor can have are refused and named", "[io]") {
  const auto message = [](const std::vector<uint64_t>& shape) {
    return second_tensor_message([&](GgufTensor& tensor) { tensor.shape = shape; });
  };
  CHECK_THAT(message({}), Contains("second.weight has 0 dimensions"));
  CHECK_THAT(message({1, 1, 1, 1, 10}), Contains("second.weight has 5 dimensions"));
  CHECK_THAT(message({0, 10}), Contains("second.weight has shape [0, 10]"));
  CHECK_THAT(message({10, 0}), Contains("second.weight has shape [10, 0]"));
  CHECK_THAT(message({(uint64_t{1} << 42) + 1}), Contains("second.weight") && Contains("the file ends"));
  CHECK_THAT(message({uint64_t{1} << 32, uint64_t{1} << 32}),
             Contains("second.weight has shape [4294967296, 4294967296]"));
  CHECK_THAT(message({uint64_t{1} << 31, uint64_t{1} << 31, 4, 1}), Contains("second.weight has shape"));
  CHECK_THAT(message({UINT64_MAX}), Contains("second.weight has shape"));
}

TEST_CASE("gguf: types g4 does not know are refused by number", "[io]") {
  for (const uint32_t type : {4u, 5u, 23u, 26u, 1000u, UINT32_MAX}) {
    GgufWriter writer = small_file();
    writer.tensors[1].type = type;
    CHECK_THAT(unsupported_message(writer),
               Contains("second.weight has type number " + std::to_string(type)) && Contains("Q4_0"));
  }
}

TEST_CASE("gguf: rows are whole blocks", "[io]") {
  GgufWriter writer = small_file();
  writer.tensors[2].shape = {2, 33};
  CHECK_THAT(format_message(writer),
             Contains("third.weight has rows of 33 values") && Contains("32") && Contains("Q8_0"));
}

TEST_CASE("gguf: tensors lie within the file, aligned, and apart", "[io]") {
  const auto message = [](uint64_t offset) {
    return second_tensor_message([&](GgufTensor& tensor) { tensor.offset = offset; });
  };
  const uint64_t data_bytes = 160 + 68;
  CHECK_THAT(message(33), Contains("second.weight has offset 33") && Contains("32"));
  CHECK_THAT(message(0), Contains("first.weight and second.weight overlap") ||
                             Contains("second.weight and first.weight overlap"));
  CHECK_THAT(message(128), Contains("second.weight and third.weight overlap"));
  CHECK_THAT(message(data_bytes - 4), Contains("second.weight"));
  CHECK_THAT(message(256),
             Contains("second.weight has 100 bytes at offset 256") && Contains("the file ends"));
  CHECK_THAT(message(uint64_t{1} << 40), Contains("second.weight") && Contains("the file ends"));
  CHECK_THAT(message(UINT64_MAX - 31), Contains("second.weight") && Contains("the file ends"));
  // Order in the file is free, and so are gaps.
  GgufWriter writer = small_file();
  writer.tensors[0].offset = 128;
  writer.tensors[1].offset = 0;
  CHECK(GgufInMemory(writer).ok());
}

TEST_CASE("gguf: names of tensors are short and unique", "[io]") {
  const auto rename = [](const std::string& name) {
    GgufWriter writer = small_file();
    writer.tensors[1].name = name;
    return writer;
  };
  CHECK(GgufInMemory(rename(std::string(64, 'n'))).ok());
  CHECK_THAT(format_message(rename(std::string(65, 'n'))), Contains("tensor number 1 has 65 bytes"));
  CHECK_THAT(format_message(rename("")), Contains("tensor number 1 has 0 bytes"));
  CHECK_THAT(format_message(rename("new\nline")), Contains("tensor number 1 holds byte 10"));
  CHECK_THAT(format_message(rename("first.weight")), Contains("tensor first.weight is there twice"));
}

TEST_CASE("gguf: claims take no memory", "[io]") {
  const auto peak_kilobytes = [] {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  const auto before = peak_kilobytes();
  GgufWriter writer = small_file();
  writer.key_count = 65536;
  writer.tensor_count = 65536;
  CHECK_FALSE(GgufInMemory(writer).ok());
  for (const uint32_t type : {kGgufU8, kGgufI64, kGgufString}) {
    const std::string claim = bytes_of<uint32_t>(kGgufArray) + bytes_of(type) + bytes_of(uint64_t{1} << 36);
    CHECK_FALSE(GgufInMemory(small_file().set_raw("claim", claim)).ok());
  }
  CHECK_FALSE(GgufInMemory(small_file().set_raw(
                               "claim", bytes_of<uint32_t>(kGgufString) + bytes_of(uint64_t{1} << 36)))
                  .ok());
  CHECK(peak_kilobytes() - before < 32 << 10);
}

TEST_CASE("gguf: damaged bytes never do harm", "[io]") {
  const std::string whole = small_file().build();
  const size_t head = small_file().head().size();
  int refused = 0;
  for (size_t place = 0; place < head; ++place) {
    for (const unsigned char value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[place] = static_cast<char>(value);
      const GgufInMemory file(damaged);
      if (!file.ok()) {
        ++refused;
        REQUIRE_FALSE(file.message().empty());
        continue;
      }
      for (const TensorView& tensor : file->tensors())
        REQUIRE(tensor.offset + tensor.size_bytes <= whole.size());
      (void)file->get_int_array("list");
      (void)file->get_string("general.architecture");
    }
  }
  CHECK(refused > static_cast<int>(head));
}
}  // namespace g4
