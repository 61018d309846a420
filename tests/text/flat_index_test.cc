#include "text/flat_index.h"

#include <catch2/catch.hpp>
#include <string>

using namespace g4;

TEST_CASE("flat index: a flat index finds what was put in, and nothing else") {
  std::vector<std::string> words;
  for (int i = 0; i < 5000; ++i)
    words.push_back(std::string(static_cast<size_t>(i % 40), 'x') + std::to_string(i));
  FlatIndex index(words.size());
  const auto find = [&](const std::string& word) {
    return index.find(hash_bytes(word), [&](uint32_t i) { return words[i] == word; });
  };
  CHECK(find("x1") == FlatIndex::kNone);
  for (uint32_t i = 0; i < words.size(); ++i) REQUIRE(index.insert(hash_bytes(words[i]), i));
  bool all = true;
  for (uint32_t i = 0; i < words.size(); ++i) all &= find(words[i]) == i;
  CHECK(all);
  CHECK(find("absent") == FlatIndex::kNone);
  CHECK(find("") == FlatIndex::kNone);
  CHECK(FlatIndex().find(7, [](uint32_t) { return true; }) == FlatIndex::kNone);
}

TEST_CASE("flat index: words that differ in few bits find places near their own") {
  constexpr uint32_t kCount = 1 << 18;
  FlatIndex index(kCount);
  std::string word = "a";
  bool all = true;
  for (uint32_t i = 0; i < kCount; i += 2) {  // a, ..., z, aa, ab, ...; each with and without a mark in front
    all &= index.insert(hash_bytes(word), i) && index.insert(hash_bytes("\u2581" + word), i + 1);
    size_t at = word.size();
    while (at > 0 && word[at - 1] == 'z') word[--at] = 'a';
    if (at > 0)
      ++word[at - 1];
    else
      word += 'a';
  }
  CHECK(all);
}

TEST_CASE("flat index: entries made to collide are refused before they make searches slow") {
  FlatIndex index(100000);
  uint32_t accepted = 0;
  while (accepted < 100000 && index.insert(42, accepted)) ++accepted;
  CHECK(accepted == 1024);
  CHECK(index.find(42, [&](uint32_t i) { return i == accepted - 1; }) == accepted - 1);
  CHECK(index.insert(uint64_t{1} << 15 | 42, accepted));
}

TEST_CASE("flat index: the hash depends on every byte and on the length") {
  const std::string word = "abcdefghijklmnopqrst";
  for (size_t length = 0; length <= word.size(); ++length) {
    const std::string part = word.substr(0, length);
    CHECK(hash_bytes(part) != hash_bytes(part + '\0'));
    for (size_t i = 0; i < length; ++i) {
      std::string other = part;
      other[i] ^= 1;
      CHECK(hash_bytes(part) != hash_bytes(other));
    }
  }
}
