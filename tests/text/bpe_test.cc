#include "text/bpe.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <random>
#include <string>

using namespace g4;

namespace {
// Tokens are strings over one-letter symbols; token i of `tokens` has id i.
struct Vocabulary {
  std::vector<std::string> tokens;
  std::map<std::string, int32_t> ids;
  std::vector<MergeTable::Merge> merges;

  int32_t id(const std::string& token) {
    const auto [at, is_new] = ids.try_emplace(token, static_cast<int32_t>(tokens.size()));
    if (is_new) tokens.push_back(token);
    return at->second;
  }
  void merge(const std::string& left, const std::string& right) {
    for (const MergeTable::Merge& known : merges)
      if (tokens[static_cast<size_t>(known.left)] == left &&
          tokens[static_cast<size_t>(known.right)] == right)
        return;
    merges.push_back({id(left), id(right), id(left + right)});
  }
  MergeTable table() {
    MergeTable table(merges.size());
    uint32_t repeated;
    for (const MergeTable::Merge& merge : merges) {
      const int32_t last = id({tokens[static_cast<size_t>(merge.left)].back()});
      const int32_t first = id({tokens[static_cast<size_t>(merge.right)].front()});
      REQUIRE(table.add(merge, last, first, &repeated));
    }
    return table;
  }
  std::vector<int32_t> symbols(const std::string& text) {
    std::vector<int32_t> result;
    for (const char c : text) result.push_back(id({c}));
    return result;
  }
};

std::vector<int32_t> encode(const MergeTable& table, const std::vector<int32_t>& symbols,
                            uint64_t* operations = nullptr) {
  std::vector<int32_t> out;
  BpeEncoder encoder(table, &out);
  for (const int32_t symbol : symbols) encoder.push(symbol);
  encoder.flush();
  if (operations != nullptr) *operations = encoder.queue_operations();
  return out;
}

// The definition: look at all pairs, join the first of the best, again and again.
std::vector<int32_t> encode_slowly(const Vocabulary& vocabulary, std::vector<int32_t> ids) {
  while (true) {
    size_t best_rank = vocabulary.merges.size(), best = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i)
      for (size_t rank = 0; rank < best_rank; ++rank)
        if (vocabulary.merges[rank].left == ids[i] && vocabulary.merges[rank].right == ids[i + 1])
          best_rank = rank, best = i;
    if (best_rank == vocabulary.merges.size()) return ids;
    ids[best] = vocabulary.merges[best_rank].result;
    ids.erase(ids.begin() + static_cast<ptrdiff_t>(best) + 1);
  }
}
}  // namespace

TEST_CASE("bpe: pairs are joined by rank, the leftmost of equals first") {
  Vocabulary v;
  v.merge("b", "c"), v.merge("a", "b"), v.merge("a", "bc"), v.merge("a", "a");
  const MergeTable table = v.table();
  CHECK(encode(table, v.symbols("abc")) == std::vector{v.id("abc")});
  CHECK(encode(table, v.symbols("abab")) == std::vector{v.id("ab"), v.id("ab")});
  CHECK(encode(table, v.symbols("aaa")) == std::vector{v.id("aa"), v.id("a")});
  CHECK(encode(table, v.symbols("")).empty());
  CHECK(encode(table, v.symbols("zaz")) == std::vector{v.id("z"), v.id("a"), v.id("z")});
}

TEST_CASE("bpe: the encoder gives what the definition gives") {
  std::mt19937 random(1);
  const auto below = [&](size_t n) { return random() % n; };
  for (int round = 0; round < 200; ++round) {
    Vocabulary v;
    const size_t letters = 1 + below(4);
    std::vector<std::string> known;
    for (size_t i = 0; i < letters; ++i) known.push_back({static_cast<char>('a' + i)}), v.id(known.back());
    for (size_t i = below(30); i > 0; --i) {  // in any order: a token may outrank those it is made of
      const std::string left = known[below(known.size())], right = known[below(known.size())];
      if (left.size() + right.size() > 9) continue;
      v.merge(left, right);
      known.push_back(left + right);
    }
    std::shuffle(v.merges.begin(), v.merges.end(), random);
    const MergeTable table = v.table();
    for (int i = 0; i < 10; ++i) {
      std::string text;
      for (size_t n = below(60); n > 0; --n) text += static_cast<char>('a' + below(letters + 1));
      const std::vector<int32_t> symbols = v.symbols(text);
      INFO("round " << round << ", " << text);
      REQUIRE(encode(table, symbols) == encode_slowly(v, symbols));
    }
  }
}

TEST_CASE("bpe: a piece ends where flush says and where no token can span") {
  Vocabulary v;
  v.merge("a", "b"), v.merge("ab", "c");
  const MergeTable table = v.table();
  CHECK(table.may_join(v.id("a"), v.id("b")));
  CHECK(table.may_join(v.id("b"), v.id("c")));
  CHECK_FALSE(table.may_join(v.id("c"), v.id("a")));
  std::vector<int32_t> out;
  BpeEncoder encoder(table, &out);
  encoder.push(v.id("a"));
  encoder.flush();
  encoder.push(v.id("b"));
  encoder.flush();
  CHECK(out == std::vector{v.id("a"), v.id("b")});
}

TEST_CASE("bpe: a merge that is there already is refused with its rank") {
  MergeTable table(3);
  uint32_t repeated = 0;
  CHECK(table.add({1, 2, 3}, 1, 2, &repeated));
  CHECK(table.add({2, 1, 4}, 2, 1, &repeated));
  CHECK_FALSE(table.add({1, 2, 5}, 1, 2, &repeated));
  CHECK(repeated == 0);
  CHECK(table.find(1, 2) == 0);
  CHECK(table.find(2, 1) == 1);
  CHECK(table.find(2, 2) == MergeTable::kNone);
}

TEST_CASE("bpe: work grows with the text, whatever the merges") {
  Vocabulary v;
  for (size_t n = 31; n > 1; --n)  // runs as in Gemma 4: the longer, the better the rank
    for (size_t left = n - 1; left > 0; --left) v.merge(std::string(left, 'a'), std::string(n - left, 'a'));
  for (const char* pair : {"b c", "bc d", "bcd b", "c b", "d a", "a b"})
    v.merge(std::string(pair, strchr(pair, ' ')), strchr(pair, ' ') + 1);
  const MergeTable table = v.table();
  std::mt19937 random(1);
  const std::string random_text = [&] {
    std::string text(2 << 18, ' ');
    for (char& c : text) c = static_cast<char>('a' + random() % 4);
    return text;
  }();
  for (const std::string& text : {std::string(2 << 18, 'a'), random_text}) {
    const std::vector<int32_t> symbols = v.symbols(text);
    uint64_t half, whole;
    encode(table, {symbols.begin(), symbols.begin() + (1 << 18)}, &half);
    encode(table, symbols, &whole);
    CHECK(static_cast<double>(whole) <= 2.3 * static_cast<double>(half));
    CHECK(whole <= 4 * symbols.size());
  }
}
