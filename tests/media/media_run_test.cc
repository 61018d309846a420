#include "media/media_run.h"

#include <catch2/catch.hpp>

#include "base/media_token.h"

namespace g4 {
TEST_CASE("Tokens of media tell content, kind, place and where a run begins", "[media]") {
  const auto run = make_media_run(MediaKind::kImage, {1, 2, 3, 4, 1, 2}, 2);
  const auto same = make_media_run(MediaKind::kImage, {1, 2, 3, 4, 1, 2}, 2);
  const auto other = make_media_run(MediaKind::kImage, {1, 2, 3, 4, 1, 3}, 2);
  const auto frame = make_media_run(MediaKind::kVideoFrame, {1, 2, 3, 4, 1, 2}, 2);
  CHECK(run->tokens == same->tokens);
  CHECK(run->row_count() == 3);
  CHECK(run->row(1)[0] == 3);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(is_media(run->tokens[i]));
    CHECK(starts_media(run->tokens[i]) == (i == 0));
    CHECK(run->tokens[i] != other->tokens[i]);
    CHECK(run->tokens[i] != frame->tokens[i]);
  }
  for (const int32_t token : {-1, 0, 5, -1000, INT32_MAX, kMediaTokenEnd}) CHECK_FALSE(is_media(token));
}

TEST_CASE("A list of tokens is cut before a run, never in it", "[media]") {
  const auto run = make_media_run(MediaKind::kImage, {1, 2, 3}, 1);
  const std::vector<int32_t> tokens = {7, run->tokens[0], run->tokens[1], run->tokens[2], run->tokens[0], 9};
  for (const auto& [n, whole] : {std::pair{0, 0}, {1, 1}, {2, 1}, {3, 1}, {4, 4}, {5, 5}, {6, 6}})
    CHECK(without_cut_run(tokens, static_cast<size_t>(n)) == static_cast<size_t>(whole));
}

TEST_CASE("A pool finds runs by their tokens as long as somebody holds them", "[media]") {
  MediaPool pool;
  auto a = make_media_run(MediaKind::kImage, {1, 2, 3}, 1);
  const auto b = make_media_run(MediaKind::kAudio, {1, 2}, 1);
  pool.add(a);
  pool.add(b);
  std::vector<int32_t> tokens = a->tokens;
  tokens.push_back(5);
  CHECK(pool.find(tokens) == a);
  CHECK(pool.find(std::span(tokens).first(2)) == nullptr);
  CHECK(pool.find(std::span(tokens).subspan(1)) == nullptr);
  CHECK(pool.find(b->tokens) == b);
  CHECK(pool.find({}) == nullptr);
  a.reset();
  CHECK(pool.find(tokens) == nullptr);
}
}  // namespace g4
