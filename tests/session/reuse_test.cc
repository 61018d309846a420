// Saving, loading, extending and rewinding: always the same bits as never having done it.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/session/open_session.h"
#include "text/chat_template.h"

namespace g4 {
namespace {
constexpr size_t kWindow = 16;  // of the tiny models
const std::vector<KvType> kKvTypes = {KvType::kF16, KvType::kF32, KvType::kQ8_0};

SessionOptions with(KvType type, int margin = 32) {
  SessionOptions options = exact_options();
  options.kv_type = type;
  options.rewind_margin = margin;
  options.chunk = 24;
  return options;
}

std::vector<int32_t> greedy(Session& session, int count) {
  SamplingOptions options;
  options.temperature = 0;
  std::vector<int32_t> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(*session.decode(options));
  return tokens;
}

// Generates this token.
void force(Session& session, int32_t token) {
  SamplingOptions options;
  options.temperature = 0;
  options.bias = {{token, 1e6f}};
  REQUIRE(*session.decode(options) == token);
}

uint64_t evaluated(const Session& session) {
  return session.stats().prefill_tokens + session.stats().decode_tokens;
}

void save(Session& session, const std::string& path) {
  const auto bytes = session.save_kv(path);
  INFO(bytes.status().message());
  REQUIRE(bytes.ok());
  CHECK(static_cast<std::streamoff>(*bytes) == std::ifstream(path, std::ios::ate | std::ios::binary).tellg());
}

size_t load(Session& session, const std::string& path, std::span<const int32_t> tokens = {}) {
  const auto restored = session.load_kv(path, tokens);
  INFO(restored.status().message());
  REQUIRE(restored.ok());
  return *restored;
}
}  // namespace

TEST_CASE("A saved and loaded session goes on bit for bit, also after a second save", "[kv][reuse]") {
  const TempDir dir;
  const std::string path = dir.path("state.g4kv");
  for (const std::string& name : kTinyModels) {
    const auto model = open_model("tiny/" + name + "/model.gguf");
    for (const KvType type : kKvTypes) {
      for (const size_t length : {kWindow / 2, kWindow, kWindow + 1, 3 * kWindow + 5, size_t{150}}) {
        for (const bool detour : {false, true}) {  // a rewind and a fork before saving
          INFO(name << " length " << length << " detour " << detour);
          const std::vector<int32_t> tokens = some_tokens(length);
          auto session = new_session(model, with(type));
          feed(*session, tokens, 7);
          std::unique_ptr<Session> fork;
          if (detour) {
            feed(*session, some_tokens(9, 4), 9);
            fork = *session->fork();
            REQUIRE(session->truncate(static_cast<int>(length) - 2).ok());
            feed(*session, std::span(tokens).subspan(length - 2), 2);
          }
          save(*session, path);
          auto loaded = new_session(open_model("tiny/" + name + "/model.gguf"), with(type));
          CHECK(load(*loaded, path) == length);
          CHECK(evaluated(*loaded) == 0);
          CHECK(logits_of(*loaded) == logits_of(*session));
          const std::vector<int32_t> expected = greedy(*session, 64);
          CHECK(greedy(*loaded, 32) == std::vector<int32_t>(expected.begin(), expected.begin() + 32));
          save(*loaded, path);
          auto again = new_session(model, with(type));
          load(*again, path);
          CHECK(greedy(*again, 32) == std::vector<int32_t>(expected.begin() + 32, expected.end()));
          CHECK(logits_of(*again) == logits_of(*session));
        }
      }
    }
  }
}

TEST_CASE("After a load, the same prompt and ten tokens evaluate exactly ten", "[kv][reuse]") {
  const TempDir dir;
  const std::string path = dir.path("state.g4kv");
  for (const std::string& name : kTinyModels) {
    INFO(name);
    const auto model = open_model("tiny/" + name + "/model.gguf");
    std::vector<int32_t> tokens = some_tokens(120);
    auto session = new_session(model, with(KvType::kF16));
    feed(*session, tokens, 120);
    save(*session, path);
    const std::vector<int32_t> more = some_tokens(11, 8);
    tokens.insert(tokens.end(), more.begin() + 1, more.end());

    auto loaded = new_session(model, with(KvType::kF16));
    CHECK(load(*loaded, path, tokens) == 120);
    CHECK(*loaded->extend(tokens, {}) == 120);
    CHECK(evaluated(*loaded) == 10);
    CHECK(loaded->reused_tokens() == 240);
    feed(*session, std::span(tokens).subspan(120), 10);
    CHECK(logits_of(*loaded) == logits_of(*session));
    CHECK(*loaded->extend(tokens, {}) == 130);  // nothing new: nothing evaluated
    CHECK(evaluated(*loaded) == 10);
  }
}

TEST_CASE("A file gives the longest common prefix that is exact", "[kv][reuse]") {
  const TempDir dir;
  const std::string path = dir.path("state.g4kv");
  for (const std::string& name : kTinyModels) {
    INFO(name);
    const auto model = open_model("tiny/" + name + "/model.gguf");
    const std::vector<int32_t> tokens = some_tokens(200);
    auto session = new_session(model, with(KvType::kF16));
    feed(*session, tokens, 200);
    save(*session, path);
    for (const size_t common : {0u, 1u, 100u, 180u, 195u, 199u, 200u}) {
      for (const size_t rest : {0u, 1u, 20u}) {
        if (common + rest == 0) continue;
        std::vector<int32_t> prompt(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(common));
        for (size_t i = 0; i < rest; ++i) prompt.push_back(7);
        auto loaded = new_session(model, with(KvType::kF16));
        const size_t restored = load(*loaded, path, prompt);
        INFO("common " << common << " rest " << rest << " restored " << restored);
        CHECK(restored == static_cast<size_t>(loaded->position()));
        CHECK(restored <= common);
        if (common >= 180) CHECK(restored >= std::min(common, prompt.size() - 1));
        CHECK(*loaded->extend(prompt, {}) == restored);
        auto straight = new_session(model, with(KvType::kF16));
        feed(*straight, prompt, prompt.size());
        REQUIRE(logits_of(*loaded) == logits_of(*straight));
      }
    }
  }
}

TEST_CASE("Extend keeps what it can keep exactly and evaluates the rest", "[reuse]") {
  for (const std::string& name : kTinyModels) {
    INFO(name);
    const auto model = open_model("tiny/" + name + "/model.gguf");
    auto session = new_session(model, with(KvType::kF16));
    std::vector<int32_t> conversation = some_tokens(70);
    std::vector<size_t> turns;
    for (int turn = 0; turn < 5; ++turn) {
      REQUIRE(session->extend(conversation, {}).ok());
      turns.push_back(conversation.size());
      const std::vector<int32_t> answer = greedy(*session, 50),
                                 next = some_tokens(60, static_cast<uint32_t>(turn) + 20);
      conversation.insert(conversation.end(), answer.begin(), answer.end());
      conversation.insert(conversation.end(), next.begin(), next.end());
    }
    // The end of every prompt is exact, far behind the rings.
    for (int turn = 4; turn >= 0; --turn) {
      const size_t end = turns[static_cast<size_t>(turn)];
      std::vector<int32_t> changed(conversation.begin(), conversation.begin() + static_cast<ptrdiff_t>(end));
      changed.push_back(9);
      changed.push_back(11);
      const uint64_t before = evaluated(*session);
      CHECK(*session->extend(changed, {}) == end);
      CHECK(evaluated(*session) - before == 2);
      auto straight = new_session(model, with(KvType::kF16));
      feed(*straight, changed, changed.size());
      REQUIRE(logits_of(*session) == logits_of(*straight));
    }
    // A change in the middle of a turn falls back to the prompt before it.
    std::vector<int32_t> other = some_tokens(300);
    REQUIRE(session->extend(other, {}).ok());
    other[100] ^= 1;
    const size_t kept = *session->extend(other, {});
    CHECK(kept <= 100);
    auto straight = new_session(model, with(KvType::kF16));
    feed(*straight, other, other.size());
    CHECK(logits_of(*session) == logits_of(*straight));
  }
}

TEST_CASE("A failed extend changes nothing", "[reuse]") {
  for (const std::string& name : kTinyModels) {
    SessionOptions options = with(KvType::kF16);
    options.context = 300;
    auto session = open_tiny(name, options);
    const std::vector<int32_t> tokens = some_tokens(250);
    feed(*session, tokens, 50);
    const std::vector<float> logits = logits_of(*session);
    std::vector<int32_t> other(tokens.begin(), tokens.begin() + 60);
    for (int i = 0; i < 150; ++i) other.push_back(5);
    CHECK(absl::IsCancelled(session->extend(other, [](size_t done, size_t) { return done < 100; }).status()));
    other[150] = 100000;
    CHECK(session->extend(other, {}).status().code() == absl::StatusCode::kInvalidArgument);
    CHECK(session->extend(some_tokens(301), {}).status().code() == absl::StatusCode::kOutOfRange);
    CHECK(session->extend({}, {}).status().code() == absl::StatusCode::kInvalidArgument);
    CHECK(std::equal(session->tokens().begin(), session->tokens().end(), tokens.begin(), tokens.end()));
    CHECK(logits_of(*session) == logits);
    auto straight = open_tiny(name, options);
    feed(*straight, tokens, 250);
    CHECK(greedy(*session, 20) == greedy(*straight, 20));
  }
}

// Every type goes through every feature: rewinds within the margin and to marks, forks, extends.
TEST_CASE("Rewind, fork and extend are exact in every KV type", "[reuse]") {
  for (const std::string& name : kTinyModels) {
    const auto model = open_model("tiny/" + name + "/model.gguf");
    for (const KvType type : kKvTypes) {
      INFO(name << " type " << static_cast<int>(type));
      auto session = new_session(model, with(type));
      const std::vector<int32_t> tokens = some_tokens(120), other = some_tokens(30, 5);
      REQUIRE(session->extend(std::span(tokens).first(70), {}).ok());
      REQUIRE(session->extend(tokens, {}).ok());
      for (const size_t to : {size_t{110}, size_t{70}}) {  // within the margin; the end of a prompt
        auto fork = *session->fork();
        std::vector<int32_t> changed(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(to));
        changed.insert(changed.end(), other.begin() + 1, other.end());
        CHECK(*fork->extend(changed, {}) == to);
        auto straight = new_session(model, with(type));
        feed(*straight, changed, changed.size());
        CHECK(greedy(*fork, 40) == greedy(*straight, 40));
        CHECK(logits_of(*fork) == logits_of(*straight));
      }
    }
  }
}

// The chat rule takes earlier thoughts out of the history (docs/CHAT.md): the next prompt agrees with the
// session up to the end of the last one, far behind the rings. Only the answer and what is new is read again.
TEST_CASE("Dropping thoughts costs the last answer and what is new, nothing else", "[reuse][demo]") {
  const auto model = open_demo();
  const Tokenizer& tokenizer = *model->tokenizer();
  auto session = new_session(model, with(KvType::kF16, kRewindMargin));
  std::string thought = "<|channel>thought\n";
  for (int i = 0; i < 40; ++i) thought += "A cat has legs, let me count them once more. ";
  std::string messages;
  size_t held = 0;
  for (int turn = 0; turn < 4; ++turn) {
    messages +=
        R"({"role":"user","content":"How many legs has cat number )" + std::to_string(turn) + R"(?"})";
    const RenderedChat chat = *render_chat("[" + messages + "]", {.enable_thinking = true});
    const std::vector<int32_t> prompt = *tokenize_chat(tokenizer, chat);
    const uint64_t before = evaluated(*session);
    CHECK(*session->extend(prompt, {}) == held);
    CHECK(evaluated(*session) - before == prompt.size() - held);
    auto straight = new_session(model, with(KvType::kF16, kRewindMargin));
    feed(*straight, prompt, prompt.size());
    CHECK(logits_of(*session) == logits_of(*straight));
    held = prompt.size();

    const std::vector<int32_t> answer = *tokenizer.encode(thought + "<channel|>It has four.<turn|>", true);
    for (const int32_t token : answer) force(*session, token);
    CHECK(static_cast<size_t>(session->position()) == held + answer.size());
    CHECK(static_cast<size_t>(session->rewind_min()) > held);
    messages += R"(,{"role":"assistant","content":"It has four."},)";
  }
}

TEST_CASE("Truncate below what is exact: a status, or evaluated again if asked", "[reuse]") {
  for (const std::string& name : kTinyModels) {
    INFO(name);
    auto session = open_tiny(name, with(KvType::kF16));
    const std::vector<int32_t> tokens = some_tokens(200);
    feed(*session, tokens, 200);
    const Status status = session->truncate(90);
    CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
    CHECK_THAT(std::string(status.message()), Catch::Contains(std::to_string(session->rewind_min())));
    CHECK(session->position() == 200);
    REQUIRE(session->truncate(90, true).ok());
    CHECK(session->position() == 90);
    auto straight = open_tiny(name, with(KvType::kF16));
    feed(*straight, std::span(tokens).first(90), 90);
    CHECK(logits_of(*session) == logits_of(*straight));
  }
}

TEST_CASE("Two hundred turns of chat in bounded memory", "[reuse]") {
  SessionOptions options = with(KvType::kF16);
  options.context = 500;
  auto session = open_tiny("e2b-tiny", options);
  const MemoryEstimate estimate = *Session::estimate(session->model(), options);
  std::vector<int32_t> conversation = some_tokens(30);
  for (int turn = 0; turn < 200; ++turn) {
    if (conversation.size() > 400) conversation = some_tokens(30, static_cast<uint32_t>(turn));
    REQUIRE(session->extend(conversation, {}).ok());
    const std::vector<int32_t> answer = greedy(*session, 12),
                               next = some_tokens(20, static_cast<uint32_t>(turn) + 1000);
    conversation.insert(conversation.end(), answer.begin() + 4, answer.end());  // a thought falls away
    conversation.insert(conversation.end(), next.begin(), next.end());
    REQUIRE(session->kv_bytes() <= estimate.kv);
    REQUIRE(session->scratch_bytes() <= estimate.scratch);
  }
}

TEST_CASE("Files that cannot be used get a status and leave the session alone", "[kv][reuse]") {
  const TempDir dir;
  const std::string path = dir.path("state.g4kv");
  const std::vector<int32_t> tokens = some_tokens(100);
  auto session = open_tiny("e2b-tiny", with(KvType::kF16));
  feed(*session, tokens, 100);
  save(*session, path);

  auto victim = open_tiny("e2b-tiny", with(KvType::kF16));
  feed(*victim, some_tokens(40, 3), 40);
  const std::vector<float> before = logits_of(*victim);
  const auto code = [&](Session& s, const std::string& file) {
    const Status status = s.load_kv(file, {}).status();
    INFO(status.message());
    CHECK_THAT(std::string(status.message()), Catch::Contains(file));
    return status.code();
  };
  CHECK(code(*victim, dir.path("nothing")) == absl::StatusCode::kUnavailable);
  CHECK(code(*victim, dir.path("")) == absl::StatusCode::kUnavailable);
  REQUIRE(::mkfifo(dir.path("fifo").c_str(), 0600) == 0);
  CHECK(code(*victim, dir.path("fifo")) == absl::StatusCode::kUnavailable);
  CHECK(code(*victim, dir.write("empty", "")) == absl::StatusCode::kDataLoss);
  CHECK(code(*victim, golden_path("tiny/e2b-tiny/model.gguf")) == absl::StatusCode::kDataLoss);
  CHECK(victim->position() == 40);
  CHECK(logits_of(*victim) == before);

  auto other_model = open_tiny("e4b-tiny", with(KvType::kF16));
  CHECK(code(*other_model, path) == absl::StatusCode::kPermissionDenied);
  for (const KvType type : {KvType::kF32, KvType::kQ8_0}) {
    auto other_type = open_tiny("e2b-tiny", with(type));
    CHECK(code(*other_type, path) == absl::StatusCode::kPermissionDenied);
  }
  SessionOptions small = with(KvType::kF16);
  small.context = 99;
  auto smaller = open_tiny("e2b-tiny", small);
  CHECK(code(*smaller, path) == absl::StatusCode::kOutOfRange);
  CHECK(smaller->position() == 0);

  // The same configuration with other weights is another model.
  const auto quant = [&](const char* type) {
    return new_session(open_model(std::string("tiny/quant-tiny/model-") + type + ".gguf"),
                       with(KvType::kF16));
  };
  auto q4 = quant("Q4_0"), q8 = quant("Q8_0");
  feed(*q4, tokens, 100);
  save(*q4, dir.path("q4"));
  CHECK(code(*q8, dir.path("q4")) == absl::StatusCode::kPermissionDenied);
}

TEST_CASE("A save that fails leaves the old file and no other", "[kv][reuse]") {
  const TempDir dir;
  const std::string path = dir.path("state.g4kv");
  auto session = open_tiny("e2b-tiny", with(KvType::kF16));
  feed(*session, some_tokens(30), 30);
  save(*session, path);
  const std::string old = read_file(path);
  feed(*session, some_tokens(200, 2), 200);

  // A file size limit plays the full disk.
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
  const rlimit small{old.size() / 2, limit.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const Status full = session->save_kv(path).status();
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  CHECK(full.code() == absl::StatusCode::kUnavailable);
  CHECK(read_file(path) == old);
  CHECK(std::distance(std::filesystem::directory_iterator(dir.path("")), {}) == 1);

  CHECK(session->save_kv(dir.path("no/such/folder")).status().code() == absl::StatusCode::kUnavailable);
  CHECK(session->save_kv(dir.path("")).status().code() == absl::StatusCode::kUnavailable);
  CHECK(read_file(path) == old);
}

namespace {
CacheUse cached(Session& session, std::span<const int32_t> tokens, const CacheOptions& cache) {
  const auto use = session.extend_cached(tokens, cache, {});
  INFO(use.status().message());
  REQUIRE(use.ok());
  return *use;
}
}  // namespace

TEST_CASE("A cache folder finds prompts again by what they hold", "[kv][reuse]") {
  const TempDir dir;
  const CacheOptions cache{dir.path("cache")};
  const std::vector<int32_t> first = some_tokens(100), second = some_tokens(90, 2);
  std::vector<int32_t> longer = first;
  longer.insert(longer.end(), second.begin() + 1, second.begin() + 11);
  for (const std::string& name : kTinyModels) {  // models share the folder
    for (const KvType type : kKvTypes) {         // and so do types
      INFO(name << " type " << static_cast<int>(type));
      const auto model = open_model("tiny/" + name + "/model.gguf");
      const auto fresh = [&] { return new_session(model, with(type)); };
      for (const auto& tokens : {first, second}) {
        const CacheUse use = cached(*fresh(), tokens, cache);
        CHECK(use.status.ok());
        CHECK(use.reused == 0);
        CHECK(use.written_bytes > 0);
      }
      auto again = fresh();
      const CacheUse hit = cached(*again, first, cache);
      CHECK(hit.reused == 100);
      CHECK(hit.written_bytes == 0);
      CHECK(evaluated(*again) == 0);
      auto grown = fresh();
      const CacheUse more = cached(*grown, longer, cache);
      CHECK(more.reused == 100);
      CHECK(more.written_bytes > 0);
      CHECK(evaluated(*grown) == 10);
      auto straight = fresh();
      feed(*straight, longer, longer.size());
      CHECK(logits_of(*grown) == logits_of(*straight));
      CHECK(greedy(*grown, 30) == greedy(*straight, 30));
      CHECK(cached(*grown, longer, cache).reused == 110);  // held already: nothing is read
      CHECK(grown->reused_tokens() == 210);
    }
  }
}

TEST_CASE("A cache folder keeps to its size: what was unused for longest goes", "[kv][reuse]") {
  const TempDir dir;
  CacheOptions cache{dir.path("cache")};
  auto session = open_tiny("e2b-tiny", with(KvType::kF16));
  const uint64_t bytes = cached(*session, some_tokens(100, 1), cache).written_bytes;
  cache.limit_bytes = 3 * bytes + bytes / 2;
  const auto age = [&](int seconds) {  // files grow older, so that the order does not hang on the clock
    for (const auto& entry : std::filesystem::directory_iterator(cache.path))
      std::filesystem::last_write_time(entry, entry.last_write_time() - std::chrono::seconds(seconds));
  };
  const auto holds = [&](uint32_t seed) {
    auto fresh = open_tiny("e2b-tiny", with(KvType::kF16));
    const auto found = KvCache::open(cache)->find(
        {fresh->model().fingerprint(), &fresh->model().network().kv_meta, KvType::kF16},
        some_tokens(100, seed), 1000);
    return found->position_count == 100;
  };
  dir.write("cache/g4-0-0.g4kv.abc123", std::string(50, 'x'));  // of a writer that was killed
  dir.write("cache/notes.txt", "mine");
  for (uint32_t seed = 2; seed <= 3; ++seed) age(10), cached(*session, some_tokens(100, seed), cache);
  age(10), cached(*open_tiny("e2b-tiny", with(KvType::kF16)), some_tokens(100, 1), cache);  // used again
  CHECK((holds(1) && holds(2) && holds(3)));
  age(10), cached(*session, some_tokens(100, 4), cache);
  CHECK((holds(1) && !holds(2) && holds(3) && holds(4)));
  age(4000), cached(*session, some_tokens(100, 5), cache);
  CHECK((holds(1) && !holds(3) && holds(4) && holds(5)));
  CHECK_FALSE(std::filesystem::exists(cache.path + "/g4-0-0.g4kv.abc123"));
  CHECK(read_file(cache.path + "/notes.txt") == "mine");
  cache.limit_bytes = 1;  // less than one file: nothing stays, and it works all the same
  CHECK(cached(*session, some_tokens(100, 6), cache).status.ok());
  CHECK_FALSE(holds(6));
}

TEST_CASE("A cache that cannot be used costs time, not the answer", "[kv][reuse]") {
  const TempDir dir;
  const std::vector<int32_t> tokens = some_tokens(100);
  auto straight = open_tiny("e2b-tiny", with(KvType::kF16));
  feed(*straight, tokens, 100);
  const auto check = [&](const CacheOptions& cache, absl::StatusCode code, bool written) {
    auto session = open_tiny("e2b-tiny", with(KvType::kF16));
    const CacheUse use = cached(*session, tokens, cache);
    INFO(use.status.message());
    CHECK(use.status.code() == code);
    CHECK((use.written_bytes > 0) == written);
    CHECK(use.reused == 0);
    CHECK(logits_of(*session) == logits_of(*straight));
  };
  const std::string file = dir.path("one.g4kv");
  check({file, true}, absl::StatusCode::kOk, true);
  auto other = open_tiny("e4b-tiny", with(KvType::kF16));
  CHECK(cached(*other, tokens, {file, true}).status.code() == absl::StatusCode::kPermissionDenied);
  check({file, true}, absl::StatusCode::kPermissionDenied, true);  // replaced each time
  std::string damaged = read_file(file);
  damaged[damaged.size() / 2] ^= 1;
  check({dir.write("one.g4kv", damaged), true}, absl::StatusCode::kDataLoss, true);
  check({dir.write("junk", "junk"), true}, absl::StatusCode::kDataLoss, true);
  check({dir.write("plain", "x")}, absl::StatusCode::kUnavailable, false);  // no folder
  check({dir.path("no/such")}, absl::StatusCode::kUnavailable, false);
  check({dir.path("no/such"), true}, absl::StatusCode::kUnavailable, false);
  // A damaged file in a folder is passed over and goes.
  const CacheOptions folder{dir.path("folder")};
  check(folder, absl::StatusCode::kOk, true);
  const std::string path = std::filesystem::directory_iterator(folder.path)->path().string();
  damaged = read_file(path);
  damaged[damaged.size() / 2] ^= 1;
  dir.write("folder/" + std::filesystem::path(path).filename().string(), damaged);
  check(folder, absl::StatusCode::kOk, true);
  CHECK(cached(*open_tiny("e2b-tiny", with(KvType::kF16)), tokens, folder).reused == 100);
}

TEST_CASE("A failed cached extend changes nothing, though a file was loaded", "[kv][reuse]") {
  const TempDir dir;
  const CacheOptions cache{dir.path("cache")};
  const std::vector<int32_t> tokens = some_tokens(200), own = some_tokens(80, 9);
  cached(*open_tiny("e2b-tiny", with(KvType::kF16)), std::span(tokens).first(100), cache);
  auto session = open_tiny("e2b-tiny", with(KvType::kF16));
  feed(*session, own, 80);
  const std::vector<float> logits = logits_of(*session);
  const auto stop = [](size_t, size_t) { return false; };
  CHECK(absl::IsCancelled(session->extend_cached(tokens, cache, stop).status()));
  CHECK(std::ranges::equal(session->tokens(), own));
  CHECK(logits_of(*session) == logits);
  auto straight = open_tiny("e2b-tiny", with(KvType::kF16));
  feed(*straight, own, 80);
  CHECK(greedy(*session, 40) == greedy(*straight, 40));
}
}  // namespace g4
