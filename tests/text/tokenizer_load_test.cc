// What Tokenizer::from_metadata refuses, and how it says so.
#include <catch2/catch.hpp>

#include "tests/text/small_vocabulary.h"

using namespace g4;
using Catch::Matchers::Contains;

namespace {
constexpr char kTokens[] = "tokenizer.ggml.tokens", kTypes[] = "tokenizer.ggml.token_type",
               kMerges[] = "tokenizer.ggml.merges";

Status load(const GgufWriter& writer) {
  const GgufInMemory file(writer);
  REQUIRE(file.ok());
  return Tokenizer::from_metadata(*file).status();
}

void check_refused(const GgufWriter& writer, const std::string& message) {
  const Status status = load(writer);
  CHECK(status.code() == absl::StatusCode::kDataLoss);
  CHECK_THAT(std::string(status.message()), Contains(message));
}
}  // namespace

TEST_CASE("vocabulary: the small one loads") {
  const SmallVocabulary v;
  CHECK(load(v.writer()).ok());
  CHECK(v.tokenizer()->vocab_size() == static_cast<int>(v.tokens.size()));
  CHECK(v.tokenizer()->find("though") == v.id("though"));
  CHECK(v.tokenizer()->find("absent") == -1);
  CHECK(v.tokenizer()->find("") == -1);
  CHECK(load(v.writer().erase("tokenizer.ggml.scores")).ok());
}

TEST_CASE("vocabulary: missing keys and other tokenizers are named") {
  for (const char* key : {"tokenizer.ggml.model", kTokens, kTypes, kMerges})
    check_refused(SmallVocabulary().writer().erase(key), key);
  const Status status = load(SmallVocabulary().writer().set<std::string>("tokenizer.ggml.model", "llama"));
  CHECK(status.code() == absl::StatusCode::kUnimplemented);
  CHECK_THAT(std::string(status.message()), Contains("\"llama\"") && Contains("gemma4"));
}

TEST_CASE("vocabulary: lists of unequal length are named with both lengths") {
  const SmallVocabulary v;
  const std::string count = std::to_string(v.tokens.size());
  check_refused(v.writer().set_array(kTypes, std::vector<int32_t>(3, 1)),
                "token_type has 3 entries for " + count);
  check_refused(v.writer().set_array("tokenizer.ggml.scores", std::vector<float>(4)),
                "scores has 4 entries for " + count);
  check_refused(v.writer().set_array(kTokens, std::vector<std::string>()), "tokens has 0");
}

TEST_CASE("vocabulary: wrong tokens are named with their index") {
  const auto broken = [](auto change) {
    SmallVocabulary v;
    change(v);
    return v.writer();
  };
  check_refused(broken([](auto& v) { v.types[7] = 0; }), "token_type[7] is 0");
  check_refused(broken([](auto& v) { v.types[7] = 9; }), "token_type[7] is 9");
  check_refused(broken([](auto& v) { v.tokens[9] = ""; }), "tokens[9] is empty");
  check_refused(broken([](auto& v) { v.add("abc", 1); }), "repeats token");
  for (const char* byte : {"<0x4g>", "<0x4>", "<0x041>", "0x41", "<0x4a>"})
    check_refused(broken([&](auto& v) { v.tokens[static_cast<size_t>(v.id("<0x41>"))] = byte; }),
                  "expected a byte as <0x41>");
  check_refused(broken([](auto& v) { v.types[static_cast<size_t>(v.id("<0x41>"))] = 1; }),
                "no token for byte 65");
  check_refused(broken([](auto& v) { v.add(std::string(257, 'x'), 3); }), "control token of 257 bytes");
  CHECK(load(broken([](auto& v) { v.add(std::string(256, 'x'), 3); })).ok());
  CHECK(load(broken([](auto& v) { v.add(std::string(1 << 20, 'x'), 1); })).ok());
}

TEST_CASE("vocabulary: wrong merges are named with their index") {
  const auto with_merge = [](const std::string& merge) {
    SmallVocabulary v;
    v.merges.push_back(merge);
    return v.writer();
  };
  const std::string index = "merges[" + std::to_string(SmallVocabulary().merges.size()) + "]";
  for (const char* merge : {"", "a", "ab", "a ", " a", " "}) check_refused(with_merge(merge), index + " is ");
  check_refused(with_merge("zz b"), index + " needs \"zz\", which is no token");
  check_refused(with_merge("b zz"), index + " needs \"zz\", which is no token");
  check_refused(with_merge("b b"), index + " needs \"bb\", which is no token");
  check_refused(with_merge("a b c"), index + " needs \"b c\"");
  check_refused(with_merge("a b"), index + " repeats entry ");
  // No merge may lead to a control token, nor start from one or from a byte.
  check_refused(with_merge("<|turn >"), index + " needs \"<|turn\", which is no token");
  SmallVocabulary v;
  v.add("<|turn", 1);
  v.merges.push_back("<|turn >");
  check_refused(v.writer(), index + " needs \"<|turn>\", which is not a text token");
  check_refused(with_merge("<0x41> <0x42>"), index + " needs \"<0x41>\", which is not a text token");
}

TEST_CASE("vocabulary: special ids outside it are named") {
  for (const char* key : {"padding", "bos", "eos", "unknown", "eot", "eom"}) {
    const std::string name = std::string("tokenizer.ggml.") + key + "_token_id";
    for (const int64_t id : {int64_t{-1}, int64_t{1} << 31, int64_t{100000}}) {
      GgufWriter writer = SmallVocabulary().writer();
      check_refused(writer.set<int64_t>(name, id), name + " is " + std::to_string(id));
    }
    check_refused(SmallVocabulary().writer().set<std::string>(name, "2"), name);
  }
}

TEST_CASE("vocabulary: without ids in the file the tokens are found by their text") {
  GgufWriter writer = SmallVocabulary().writer();
  for (const char* key : {"padding", "bos", "eos", "unknown"})
    writer.erase(std::string("tokenizer.ggml.") + key + "_token_id");
  const auto t = *Tokenizer::from_metadata(*GgufInMemory(writer));
  CHECK(t->special().bos == 2);
  CHECK(t->special().eos == 1);
  CHECK(t->special().unknown == 3);
  CHECK(t->special().pad == 0);
}

TEST_CASE("vocabulary: a token that only looks like a control token is none") {
  SmallVocabulary v;
  v.types[static_cast<size_t>(v.id("<|turn>"))] = 1;
  CHECK(v.tokenizer()->special().turn_begin == -1);
  CHECK(v.tokenizer()->special().turn_end == v.id("<turn|>"));
}

TEST_CASE("vocabulary: something must end an answer") {
  SmallVocabulary v;
  for (const char* token : {"<eos>", "<turn|>", "<|tool_response>"})
    v.types[static_cast<size_t>(v.id(token))] = 1;
  check_refused(v.writer().erase("tokenizer.ggml.eos_token_id"), "eos_token_id is missing");
}

TEST_CASE("vocabulary: the tokenizer outlives the file it came from") {
  std::shared_ptr<const Tokenizer> t;
  {
    GgufWriter writer = SmallVocabulary().writer();
    writer.set<std::string>("tokenizer.chat_template", "{{ bos_token }}");
    t = *Tokenizer::from_metadata(*GgufInMemory(writer));
  }
  CHECK(t->chat_template() == "{{ bos_token }}");
  CHECK(*t->decode(*t->encode("though call", false), false) == "though call");
}
