#include "text/tokenizer.h"

#include <pthread.h>

#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "io/gguf.h"
#include "tests/support/test_data.h"
#include "tests/text/small_vocabulary.h"
#include "text/unicode.h"

using namespace g4;
using Ids = std::vector<int32_t>;

namespace {
std::unique_ptr<TensorSource> open(const std::string& path) { return *open_gguf(*MappedFile::open(path)); }
std::shared_ptr<const Tokenizer> load(const std::string& path) {
  return *Tokenizer::from_metadata(*open(path));
}
std::string tiny_path() { return golden_path("tiny/e2b-tiny/model.gguf"); }

Ids encode(const Tokenizer& tokenizer, std::string_view text, bool parse_special = false) {
  return *tokenizer.encode(text, parse_special);
}

void check_goldens(const Tokenizer& tokenizer, const std::string& file) {
  const auto rows = nlohmann::json::parse(read_file(golden_source_path(file)));
  REQUIRE(rows.size() > 50);
  for (const auto& row : rows) {
    INFO(row["text"]);
    const Ids ids = row["ids"];
    CHECK(encode(tokenizer, row["text"].get<std::string>(), true) == ids);
    CHECK(*tokenizer.decode(ids, true) == row["decode"].get<std::string>());
  }
}

// The reference written down once more, plainly: whole text, no queue, no pieces.
class SlowTokenizer {
 public:
  explicit SlowTokenizer(const TensorSource& source) {
    const auto tokens = *source.get_string_array("tokenizer.ggml.tokens");
    for (size_t i = 0; i < tokens.size(); ++i) ids_[std::string(tokens[i])] = static_cast<int32_t>(i);
    const auto merges = *source.get_string_array("tokenizer.ggml.merges");
    for (const std::string_view merge : merges) ranks_.emplace(std::string(merge), ranks_.size());
  }
  Ids encode(std::string_view text) const {
    std::vector<std::string> symbols;
    while (!text.empty()) {
      const size_t bytes = decode_utf8(text).bytes;
      std::string symbol(text.substr(0, std::max<size_t>(1, bytes)));
      text.remove_prefix(symbol.size());
      if (symbol == " ") symbol = "\xE2\x96\x81";
      if (bytes > 0 && ids_.count(symbol)) {
        symbols.push_back(symbol);
        continue;
      }
      for (const char byte : symbol) {
        char token[8];
        std::snprintf(token, sizeof token, "<0x%02X>", static_cast<uint8_t>(byte));
        symbols.push_back(token);
      }
    }
    while (true) {
      size_t best_rank = ranks_.size(), best = 0;
      for (size_t i = 0; i + 1 < symbols.size(); ++i) {
        const auto rank = ranks_.find(symbols[i] + " " + symbols[i + 1]);
        if (rank != ranks_.end() && rank->second < best_rank) best_rank = rank->second, best = i;
      }
      if (best_rank == ranks_.size()) break;
      symbols[best] += symbols[best + 1];
      symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(best) + 1);
    }
    Ids ids;
    for (const std::string& symbol : symbols) ids.push_back(ids_.at(symbol));
    return ids;
  }

 private:
  std::map<std::string, int32_t> ids_;
  std::map<std::string, size_t> ranks_;
};

// Text of all kinds: words, runs, digits, scripts, emoji, stray bytes if wanted.
std::string random_text(std::mt19937& random, bool valid) {
  static const std::vector<std::string> kParts = {"the",
                                                  "Tell ",
                                                  "tion",
                                                  "a",
                                                  "aa",
                                                  " ",
                                                  "  ",
                                                  "\n",
                                                  "\n\n",
                                                  "\t",
                                                  "\r\n",
                                                  "0",
                                                  "42",
                                                  ".",
                                                  ",",
                                                  "(x)",
                                                  "é",
                                                  "日本",
                                                  "🦙",
                                                  "👩‍👩‍👧",
                                                  "Ё",
                                                  "e\u0301",
                                                  "\u00a0",
                                                  "<|turn>",
                                                  "<",
                                                  "|>",
                                                  "<0x0A>",
                                                  "\"",
                                                  std::string(1, '\0')};
  static const std::vector<std::string> kStray = {"\x80",     "\xFF",         "\xC3",
                                                  "\xE2\x96", "\xED\xA0\x80", "\xC0\xAF"};
  std::string text;
  for (size_t n = random() % 20; n > 0; --n)
    text += !valid && random() % 4 == 0 ? kStray[random() % kStray.size()] : kParts[random() % kParts.size()];
  return text;
}

void run_in_small_stack(std::function<void()> body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  pthread_t thread;
  REQUIRE(pthread_create(
              &thread, &attributes,
              [](void* task) -> void* {
                (*static_cast<std::function<void()>*>(task))();
                return nullptr;
              },
              &body) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

// One line of `size` bytes through the tiny vocabulary in a thread with little stack; gives the text back.
void check_long_line(const std::string& unit, size_t size) {
  const auto tokenizer = load(tiny_path());
  std::string text;
  while (text.size() < size) text += unit;
  Ids ids;
  run_in_small_stack([&] { ids = encode(*tokenizer, text); });
  CHECK(!ids.empty());
  CHECK((*tokenizer->decode(ids, false) == text));
}
}  // namespace

TEST_CASE("tokenizer: the tiny models' vocabulary gives the reference's ids") {
  check_goldens(*load(tiny_path()), "tokenizer/tiny.json");
}

TEST_CASE("tokenizer: the real vocabulary gives the reference's ids") {
  const auto path = shared_path("tokenizer/gemma-4-vocab.gguf");
  if (!path) G4_SKIP("the real vocabulary is not here");
  const auto tokenizer = load(*path);
  CHECK(tokenizer->vocab_size() == 262144);
  check_goldens(*tokenizer, "tokenizer/gemma4_real.json");
  CHECK(Ids(tokenizer->stop_ids().begin(), tokenizer->stop_ids().end()) == Ids{1, 106, 50});
  CHECK(tokenizer->special().image == 258880);
  CHECK(tokenizer->special().quote == 52);
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    const std::string text = random_text(random, false);
    REQUIRE(*tokenizer->decode(encode(*tokenizer, text), true) == text);
  }
}

TEST_CASE("tokenizer: random text gives the ids of a plain implementation, and comes back") {
  const auto source = open(tiny_path());
  const auto tokenizer = *Tokenizer::from_metadata(*source);
  const SlowTokenizer slow(*source);
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::string text = random_text(random, i % 2 == 0);
    INFO(text);
    const Ids ids = encode(*tokenizer, text);
    REQUIRE(ids == slow.encode(text));
    REQUIRE(*tokenizer->decode(ids, true) == text);
  }
}

TEST_CASE("tokenizer: newlines are apart from other text, and a run that is a token is that token") {
  const SmallVocabulary v;
  const auto t = v.tokenizer();
  CHECK(encode(*t, "a\nb") == Ids{v.id("a"), v.id("\n"), v.id("b")});
  CHECK(encode(*t, "\n\n") == Ids{v.id("\n\n")});
  CHECK(encode(*t, "\n\n\n") == Ids{v.id("\n\n"), v.id("\n")});
  CHECK(encode(*t, "a\n\nb") == Ids{v.id("a"), v.id("\n\n"), v.id("b")});
}

TEST_CASE("tokenizer: spaces are U+2581 inside, nothing is put in front") {
  const SmallVocabulary v;
  const auto t = v.tokenizer();
  CHECK(encode(*t, "a") == Ids{v.id("a")});
  CHECK(encode(*t, " a") == Ids{v.id("\xE2\x96\x81"
                                     "a")});
  CHECK(encode(*t, "  ") == Ids{v.id("\xE2\x96\x81\xE2\x96\x81")});
  CHECK(encode(*t,
               "\xE2\x96\x81"
               "a") == encode(*t, " a"));
  CHECK(*t->decode(encode(*t, " a  b "), false) == " a  b ");
  CHECK(encode(*t, "").empty());
}

TEST_CASE("tokenizer: unknown characters and invalid bytes become byte tokens") {
  const SmallVocabulary v;
  const auto t = v.tokenizer();
  const auto bytes = [&](std::string_view text) {
    Ids ids;
    for (const char c : text) ids.push_back(v.id("<0x00>") + static_cast<uint8_t>(c));
    return ids;
  };
  for (const char* text : {"\xE6\x97\xA5", "\x01", "\x7F", "\t", "\xFF", "\xC3", "\xC0\x80", "\xED\xA0\x80",
                           "\xF5\x80\x80\x80", "\xE2\x96", "\xF0\x9F\xA6"}) {
    CHECK(encode(*t, text) == bytes(text));
    CHECK(*t->decode(bytes(text), false) == text);
  }
  CHECK(encode(*t, std::string_view("\0", 1)) == bytes(std::string_view("\0", 1)));
  CHECK(encode(*t, "\xC3\xA9\xC3") == Ids{v.id("\xC3\xA9"), bytes("\xC3")[0]});
  CHECK(encode(*t, "\xF0\x9F\xA6\x99") == Ids{v.id("\xF0\x9F\xA6\x99")});
}

TEST_CASE("tokenizer: control tokens in text are text unless asked for") {
  const SmallVocabulary v;
  const auto t = v.tokenizer();
  const std::string text = "<|turn>a<turn|><|tool_call><|\"|><bos><unk>";
  const Ids plain = encode(*t, text), special = encode(*t, text, true);
  for (const int32_t id : plain)
    CHECK((t->type(id) == TokenType::kNormal || t->type(id) == TokenType::kByte));
  CHECK(*t->decode(plain, false) == text);
  Ids expected = {v.id("<|turn>"),      v.id("a"),      v.id("<turn|>"),
                  v.id("<|tool_call>"), v.id("<|\"|>"), v.id("<bos>")};
  for (const int32_t id : encode(*t, "<unk>")) expected.push_back(id);  // the unknown token is never read
  CHECK(special == expected);
  CHECK(*t->decode(special, true) == text);
  CHECK(*t->decode(special, false) == "a<unk>");
}

TEST_CASE("tokenizer: of control tokens the first and longest counts") {
  SmallVocabulary v;
  v.add("<|turn>x", 3), v.add("<|turn>xyz", 4), v.add("|turn>", 3), v.add("n>xy", 3);
  const auto t = v.tokenizer();
  CHECK(encode(*t, "<|turn>", true) == Ids{v.id("<|turn>")});
  CHECK(encode(*t, "<|turn>xy", true) == Ids{v.id("<|turn>x"), v.id("y")});
  CHECK(encode(*t, "<|turn>xyzz", true) == Ids{v.id("<|turn>xyz"), v.id("z")});
  CHECK(encode(*t, "<<|turn>", true) == Ids{v.id("<"), v.id("<|turn>")});
  CHECK(encode(*t, "<|tur", true) == encode(*t, "<|tur"));
}

TEST_CASE("tokenizer: literal ranges stay text, and touch no control token") {
  const SmallVocabulary v;
  const auto t = v.tokenizer();
  const std::string text = "<|turn><|turn><|turn>";
  const auto encode_literal = [&](std::vector<ByteRange> literal) { return *t->encode(text, true, literal); };
  const auto count = [&](const Ids& ids) { return std::count(ids.begin(), ids.end(), v.id("<|turn>")); };
  CHECK(count(encode_literal({})) == 3);
  CHECK(count(encode_literal({{7, 14}})) == 2);
  CHECK(count(encode_literal({{0, 21}})) == 0);
  CHECK(encode_literal({{0, 21}}) == encode(*t, text));
  CHECK(count(encode_literal({{6, 8}})) == 1);  // both neighbours overlap it
  CHECK(count(encode_literal({{0, 1}, {20, 21}})) == 1);
  CHECK(count(encode_literal({{7, 7}, {10, 10}})) == 3);  // empty ranges hold nothing
  CHECK(*t->decode(encode_literal({{6, 8}}), true) == text);
  for (const auto& wrong :
       std::vector<std::vector<ByteRange>>{{{3, 2}}, {{0, 22}}, {{5, 9}, {8, 10}}, {{9, 10}, {1, 2}}}) {
    const auto result = t->encode(text, true, wrong);
    CHECK(result.status().code() == absl::StatusCode::kInvalidArgument);
  }
}

TEST_CASE("tokenizer: a text cut into literal and other ranges has the ids of the whole") {
  // Byte pairs may join across the edge of a range: only control tokens care.
  const SmallVocabulary v;
  const auto t = v.tokenizer();
  const std::vector<ByteRange> literal = {{1, 2}, {3, 6}};
  CHECK(*t->encode("thought a", true, literal) == encode(*t, "thought a"));
}

TEST_CASE("tokenizer: stop ids come from the file, and Gemma 3's end of turn is no stop") {
  const auto demo = load(golden_path("demo/g4-demo-f32.gguf"));
  CHECK(Ids(demo->stop_ids().begin(), demo->stop_ids().end()) == Ids{1, 17, 10});
  for (const int32_t id : {1, 17, 10}) CHECK(demo->is_stop(id));
  for (const int32_t id : {-1, 0, 2, 16, 2047, 5000}) CHECK_FALSE(demo->is_stop(id));
  for (const int32_t id : encode(*demo, "<end_of_turn>", true)) CHECK(demo->type(id) == TokenType::kNormal);
  CHECK(demo->special().bos == 2);
  CHECK(demo->chat_template().find("<|turn>") != std::string_view::npos);

  SmallVocabulary v;
  v.add("<eot>", 3), v.add("<eom>", 3);
  GgufWriter writer = v.writer();
  writer.set<uint32_t>("tokenizer.ggml.eot_token_id", static_cast<uint32_t>(v.id("<eot>")));
  writer.set<int64_t>("tokenizer.ggml.eom_token_id", v.id("<eom>"));
  const auto tokenizer = *Tokenizer::from_metadata(*GgufInMemory(writer));
  CHECK(tokenizer->stop_ids().size() == 5);
  CHECK(tokenizer->is_stop(v.id("<eom>")));
}

TEST_CASE("tokenizer: a text of 2 GiB or more is refused before it is looked at") {
  const auto t = SmallVocabulary().tokenizer();
  const char nothing = 'x';
  for (const size_t size : {size_t{1} << 31, size_t{1} << 32, SIZE_MAX / 2}) {
    const auto result = t->encode(std::string_view(&nothing, size), true);
    REQUIRE(result.status().code() == absl::StatusCode::kInvalidArgument);
    CHECK(std::string(result.status().message()).find("2 GiB") != std::string::npos);
  }
}

TEST_CASE("tokenizer: ids outside the vocabulary are named") {
  const auto t = SmallVocabulary().tokenizer();
  for (const int32_t id : {-1, INT32_MIN, INT32_MAX, t->vocab_size()}) {
    const Ids ids = {0, id};
    const auto result = t->decode(ids, true);
    REQUIRE(result.status().code() == absl::StatusCode::kInvalidArgument);
    CHECK(std::string(result.status().message()).find(std::to_string(id)) != std::string::npos);
  }
}

TEST_CASE("tokenizer: pieces one after the other are the text") {
  const auto t = load(tiny_path());
  const std::string text = " 日本 🦙 a\n\n<b> \xFF";
  std::string pieces;
  for (const int32_t id : encode(*t, text)) t->append_piece(id, false, &pieces);
  CHECK(pieces == text);
}

TEST_CASE("tokenizer: 16 MiB of one letter in one line") { check_long_line("a", 16 << 20); }
TEST_CASE("tokenizer: 16 MiB of spaces in one line") { check_long_line(" ", 16 << 20); }
TEST_CASE("tokenizer: 16 MiB of one emoji in one line") { check_long_line("🦙", 16 << 20); }
TEST_CASE("tokenizer: 16 MiB of random text in one line") {
  std::mt19937 random(2);
  std::string unit(1 << 16, ' ');
  for (char& c : unit) c = static_cast<char>(' ' + random() % 95);
  check_long_line(unit, 16 << 20);
}
TEST_CASE("tokenizer: 1 MiB of one letter through the real vocabulary") {
  const auto path = shared_path("tokenizer/gemma-4-vocab.gguf");
  if (!path) G4_SKIP("the real vocabulary is not here");
  const auto t = load(*path);
  Ids ids;
  run_in_small_stack([&] { ids = encode(*t, std::string(1 << 20, 'a')); });
  CHECK(ids == Ids((1 << 20) / 8, t->find("aaaaaaaa")));
}
