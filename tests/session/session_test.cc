#include "session/session.h"

#include <algorithm>
#include <thread>

#include "base/cpu.h"
#include "tests/session/open_session.h"

namespace g4 {
namespace {
constexpr size_t kWindow = 16;  // of the tiny models
const std::vector<KvType> kKvTypes = {KvType::kF16, KvType::kF32};

SessionOptions with(KvType kv_type, int chunk, int threads, Precision precision = Precision::kF32) {
  SessionOptions options = exact_options();
  options.kv_type = kv_type;
  options.chunk = chunk;
  options.thread_count = threads;
  options.precision = precision;
  return options;
}
}  // namespace

TEST_CASE("Any chunking, any calls, any number of threads: the same logits bit for bit", "[session]") {
  const std::vector<int32_t> tokens = some_tokens(3 * kWindow + 5 + 60);
  for (const std::string& name : kTinyModels) {
    const auto model = open_model("tiny/" + name + "/model.gguf");
    for (const KvType kv_type : kKvTypes) {
      auto reference = new_session(model, with(kv_type, 512, 1));
      const std::vector<float> expected = all_logits(*reference, tokens);
      const size_t V = reference->logits().size();
      for (const size_t length : {kWindow - 1, kWindow, kWindow + 1, 3 * kWindow + 5, tokens.size()}) {
        for (const int chunk : {1, 3, 16, 512}) {
          auto session = new_session(model, with(kv_type, chunk, 1 + chunk % 2));
          feed(*session, std::span(tokens).first(length), length);
          INFO(name << " length " << length << " chunk " << chunk);
          CHECK(logits_of(*session) == row(expected, length - 1, V));
        }
      }
      // Prefill, then one token at a time.
      auto session = new_session(model, with(kv_type, 7, 2));
      feed(*session, std::span(tokens).first(kWindow + 3), kWindow + 3);
      for (size_t i = kWindow + 3; i < tokens.size(); ++i) {
        feed(*session, std::span(tokens).subspan(i, 1), 1);
        REQUIRE(logits_of(*session) == row(expected, i, V));
      }
    }
  }
}

TEST_CASE("int8 activations: the same bits for any chunking and threads too", "[session]") {
  const std::vector<int32_t> tokens = some_tokens(70);
  for (const char* type : {"Q4_0", "Q8_0", "MIX", "Q6_K"}) {
    const auto model = open_model(std::string("tiny/quant-tiny/model-") + type + ".gguf");
    auto reference = new_session(model, with(KvType::kF16, 512, 1, Precision::kInt8));
    feed(*reference, tokens, tokens.size());
    for (const int chunk : {1, 3, 16}) {
      auto session = new_session(model, with(KvType::kF16, chunk, 2, Precision::kInt8));
      feed(*session, tokens, tokens.size());
      INFO(type << " chunk " << chunk);
      CHECK(logits_of(*session) == logits_of(*reference));
    }
  }
}

TEST_CASE("Prefill pruning: rows nobody reads stop at the last K/V they feed", "[session]") {
  const std::vector<int32_t> tokens = some_tokens(50);
  for (const std::string& name : kTinyModels) {
    INFO(name);
    const auto model = open_model("tiny/" + name + "/model.gguf");
    const int first_shared = model->config().first_shared_layer();
    const auto rows_of = [&](Session& session) {
      return std::vector<uint64_t>(session.layer_rows().begin(), session.layer_rows().end());
    };
    // The last owning layer writes K and V for all rows, but runs in full for the last one only.
    std::vector<uint64_t> pruned(model->config().layers.size(), 1);
    std::fill_n(pruned.begin(), first_shared - 1, 50);

    auto session = new_session(model, with(KvType::kF32, 8, 1));
    feed(*session, tokens, tokens.size());
    CHECK(rows_of(*session) == pruned);

    auto unpruned = new_session(model, with(KvType::kF32, 8, 1));
    const std::vector<float> logits = all_logits(*unpruned, tokens);
    CHECK(rows_of(*unpruned) == std::vector<uint64_t>(model->config().layers.size(), 50));
    CHECK(logits_of(*unpruned) == logits_of(*session));
    CHECK(logits_of(*unpruned) == row(logits, 49, session->logits().size()));

    // Several sessions in one pass: still one row each.
    auto a = new_session(model, with(KvType::kF32, 64, 1)), b = new_session(model, with(KvType::kF32, 64, 1)),
         c = new_session(model, with(KvType::kF32, 64, 1));
    Session* const sessions[] = {a.get(), b.get(), c.get()};
    const std::span<const int32_t> lists[] = {std::span(tokens).first(20), std::span(tokens).first(29),
                                              std::span(tokens).first(1)};
    REQUIRE(Session::prefill_batch(sessions, lists).ok());
    std::vector<uint64_t> batch(model->config().layers.size(), 3);
    std::fill_n(batch.begin(), first_shared - 1, 50);
    CHECK(rows_of(*a) == batch);
  }
}

TEST_CASE("A batch of sessions gives each what it gets alone", "[session]") {
  for (const std::string& name : kTinyModels) {
    const auto model = open_model("tiny/" + name + "/model.gguf");
    constexpr size_t kSessions = 4;
    const size_t lengths[kSessions] = {1, kWindow + 1, 3 * kWindow + 5, 40};
    std::vector<std::unique_ptr<Session>> batch, alone;
    std::vector<std::vector<int32_t>> tokens;
    for (size_t i = 0; i < kSessions; ++i) {
      batch.push_back(
          new_session(model, with(KvType::kF16, 30, 2)));  // chunks of 30 rows cut through the sessions
      alone.push_back(new_session(model, with(KvType::kF16, 512, 1)));
      tokens.push_back(some_tokens(lengths[i], static_cast<uint32_t>(i)));
    }
    for (int round = 0; round < 4; ++round) {
      std::vector<Session*> sessions;
      std::vector<std::span<const int32_t>> lists;
      for (size_t i = 0; i < kSessions; ++i) {
        if (round > 0)
          tokens[i] =
              some_tokens(i == 2 ? 5 : 1, static_cast<uint32_t>(100 * round) + static_cast<uint32_t>(i));
        sessions.push_back(batch[i].get());
        lists.push_back(tokens[i]);
        feed(*alone[i], tokens[i], tokens[i].size());
      }
      REQUIRE(Session::prefill_batch(sessions, lists).ok());
      for (size_t i = 0; i < kSessions; ++i) {
        INFO(name << " round " << round << " session " << i);
        REQUIRE(logits_of(*batch[i]) == logits_of(*alone[i]));
      }
    }
  }
}

TEST_CASE("Two sessions on two threads give what each gives alone", "[session][threads]") {
  const auto model = open_model("tiny/e2b-tiny/model.gguf");
  const auto run = [&](uint32_t seed, std::vector<float>* out) {
    auto session = Session::create(model, with(KvType::kF16, 5, 2));
    const std::vector<int32_t> tokens = some_tokens(90, seed);
    for (size_t i = 0; i < tokens.size(); i += 9) {
      if (!(*session)->prefill(std::span(tokens).subspan(i, 9), nullptr, {}).ok()) return;
    }
    *out = logits_of(**session);
  };
  std::vector<float> alone[2], together[2];
  run(1, &alone[0]);
  run(2, &alone[1]);
  {
    std::jthread first([&] { run(1, &together[0]); }), second([&] { run(2, &together[1]); });
  }
  CHECK(alone[0] != alone[1]);
  CHECK(together[0] == alone[0]);
  CHECK(together[1] == alone[1]);
}

TEST_CASE("A fork starts as a copy and goes its own way", "[session]") {
  const std::vector<int32_t> prompt = some_tokens(45), left = some_tokens(30, 5), right = some_tokens(25, 6);
  for (const std::string& name : kTinyModels) {
    INFO(name);
    auto session = open_tiny(name);
    feed(*session, prompt, prompt.size());
    auto fork = *session->fork();
    CHECK(fork->position() == session->position());
    CHECK(logits_of(*fork) == logits_of(*session));
    CHECK(std::equal(fork->tokens().begin(), fork->tokens().end(), prompt.begin(), prompt.end()));
    feed(*session, left, 4);
    feed(*fork, right, 25);
    const auto straight = [&](const std::vector<int32_t>& end) {
      std::vector<int32_t> all = prompt;
      all.insert(all.end(), end.begin(), end.end());
      auto fresh = new_session(open_model("tiny/" + name + "/model.gguf"), exact_options());
      feed(*fresh, all, all.size());
      return logits_of(*fresh);
    };
    CHECK(logits_of(*session) == straight(left));
    session.reset();  // the fork lives on
    CHECK(logits_of(*fork) == straight(right));
  }
}

TEST_CASE("Forks on two threads do not disturb each other", "[session][threads]") {
  auto session = open_tiny("e2b-tiny");
  const std::vector<int32_t> prompt = some_tokens(50), end = some_tokens(60, 9);
  feed(*session, prompt, prompt.size());
  std::vector<std::unique_ptr<Session>> forks;
  for (int i = 0; i < 3; ++i) forks.push_back(*session->fork());
  {
    std::vector<std::jthread> threads;
    for (auto& fork : forks)
      threads.emplace_back([&] {
        for (const int32_t token : end) static_cast<void>(fork->prefill({&token, 1}, nullptr, {}));
      });
  }
  feed(*session, end, end.size());
  for (auto& fork : forks) CHECK(logits_of(*fork) == logits_of(*session));
}

TEST_CASE("Truncate goes back exactly, down to rewind_min and to 0", "[session]") {
  const std::vector<int32_t> tokens = some_tokens(400), other = some_tokens(40, 3);
  for (const std::string& name : kTinyModels) {
    INFO(name);
    SessionOptions options = exact_options();
    options.rewind_margin = 64;
    options.chunk = 16;
    const auto model = open_model("tiny/" + name + "/model.gguf");
    auto session = new_session(model, options);
    feed(*session, tokens, 100);
    const int lowest = session->rewind_min();
    CHECK(lowest > 0);
    CHECK(lowest <= 400 - 64);
    REQUIRE(session->truncate(lowest).ok());
    CHECK(session->logits().empty());
    CHECK(session->sample({}).status().code() == absl::StatusCode::kFailedPrecondition);
    feed(*session, other, 40);
    auto straight = new_session(model, options);
    feed(*straight, std::span(tokens).first(static_cast<size_t>(lowest)), 400);
    feed(*straight, other, 40);
    CHECK(logits_of(*session) == logits_of(*straight));

    const std::vector<float> before = logits_of(*session);
    CHECK(session->truncate(session->rewind_min() - 1).code() == absl::StatusCode::kFailedPrecondition);
    CHECK(session->truncate(session->position() + 1).code() == absl::StatusCode::kInvalidArgument);
    CHECK(session->truncate(-1).code() == absl::StatusCode::kInvalidArgument);
    REQUIRE(session->truncate(session->position()).ok());
    CHECK(logits_of(*session) == before);

    REQUIRE(session->reset().ok());
    CHECK(session->position() == 0);
    feed(*session, other, 40);
    auto fresh = new_session(model, options);
    feed(*fresh, other, 40);
    CHECK(logits_of(*session) == logits_of(*fresh));
  }
}

TEST_CASE("A failed prefill changes nothing: bad token, full context, stopped, cancelled", "[session]") {
  for (const std::string& name : kTinyModels) {
    SessionOptions options = exact_options();
    options.context = 200;
    options.chunk = 10;
    options.rewind_margin = 0;
    auto session = open_tiny(name, options);
    const std::vector<int32_t> start = some_tokens(40), more = some_tokens(100, 2);
    feed(*session, start, start.size());
    const std::vector<float> before = logits_of(*session);
    const auto unchanged = [&] {
      return session->position() == 40 && logits_of(*session) == before && session->tokens().size() == 40;
    };
    for (const int32_t bad : {-1, 640, INT32_MIN, INT32_MAX}) {
      std::vector<int32_t> tokens = more;
      tokens[70] = bad;
      const Status status = session->prefill(tokens, nullptr, {});
      CHECK(status.code() == absl::StatusCode::kInvalidArgument);
      CHECK_THAT(std::string(status.message()),
                 Catch::Contains(std::to_string(bad)) && Catch::Contains("index 70"));
      CHECK(unchanged());
    }
    CHECK(session->prefill({}, nullptr, {}).code() == absl::StatusCode::kInvalidArgument);
    const Status full = session->prefill(some_tokens(161), nullptr, {});
    CHECK(full.code() == absl::StatusCode::kOutOfRange);
    CHECK_THAT(std::string(full.message()), Catch::Contains("161") && Catch::Contains("160"));
    CHECK(unchanged());
    for (const size_t stop_at : {0u, 30u, 90u, 100u}) {
      CHECK(absl::IsCancelled(
          session->prefill(more, nullptr, [&](size_t done, size_t) { return done < stop_at; })));
      CHECK(unchanged());
      CHECK(absl::IsCancelled(session->prefill(more, nullptr, [&](size_t done, size_t) {
              if (done >= stop_at) session->cancel();
              return true;
            })) == (stop_at < 100));
      if (stop_at == 100) {  // a cancel after the last row comes too late: the call has done its work
        REQUIRE(session->truncate(0).ok());
        feed(*session, start, start.size());
      }
      CHECK(unchanged());
    }
    session->cancel();  // without a running call: nothing
    feed(*session, more, 100);
    auto straight = open_tiny(name, options);
    feed(*straight, start, 40);
    feed(*straight, more, 100);
    CHECK(logits_of(*session) == logits_of(*straight));
  }
}

TEST_CASE("Progress of a prefill comes layer by layer, in order, from nothing to all", "[session]") {
  auto session = open_tiny("e2b-tiny");
  std::vector<size_t> seen;
  REQUIRE(session
              ->prefill(some_tokens(100), nullptr,
                        [&](size_t done, size_t total) {
                          CHECK(total == 100);
                          seen.push_back(done);
                          return true;
                        })
              .ok());
  CHECK(seen.front() == 0);
  CHECK(seen.back() == 100);
  CHECK(std::is_sorted(seen.begin(), seen.end()));
  CHECK(seen.size() > 3);  // all 100 are one chunk
}

TEST_CASE("A cancel from another thread ends a prefill; the session goes on", "[session][threads]") {
  auto session = open_tiny("e2b-tiny");
  const std::vector<int32_t> tokens = some_tokens(4000);
  std::atomic<bool> started{false};
  std::jthread other([&] {
    while (!started) std::this_thread::yield();
    session->cancel();
  });
  const Status status = session->prefill(tokens, nullptr, [&](size_t done, size_t) {
    if (done > 0) started = true;
    return true;
  });
  CHECK(absl::IsCancelled(status));
  CHECK(session->position() == 0);
  feed(*session, std::span(tokens).first(20), 20);
}

TEST_CASE("Calls from a callback of the same session get a status", "[session]") {
  auto session = open_tiny("e2b-tiny");
  const std::vector<int32_t> tokens = some_tokens(5);
  Status nested;
  REQUIRE(session
              ->prefill(tokens, nullptr,
                        [&](size_t, size_t) {
                          nested = session->prefill(tokens, nullptr, {});
                          CHECK(session->truncate(0).code() == absl::StatusCode::kFailedPrecondition);
                          CHECK(session->fork().status().code() == absl::StatusCode::kFailedPrecondition);
                          return true;
                        })
              .ok());
  CHECK(nested.code() == absl::StatusCode::kFailedPrecondition);
  CHECK(session->position() == 5);
}

TEST_CASE("Session options out of range are refused by name", "[session]") {
  const auto model = open_model("tiny/e2b-tiny/model.gguf");
  const auto message = [&](auto change) {
    SessionOptions options;
    change(options);
    return std::string(Session::create(model, options).status().message());
  };
  CHECK(message([](auto&) {}) == "");
  CHECK_THAT(message([](auto& o) { o.context = 4097; }), Catch::Contains("4097") && Catch::Contains("4096"));
  CHECK_THAT(message([](auto& o) { o.context = -1; }), Catch::Contains("context"));
  CHECK_THAT(message([](auto& o) { o.thread_count = 100000; }), Catch::Contains("100000"));
  CHECK_THAT(message([](auto& o) { o.chunk = 1 << 20; }), Catch::Contains("chunk"));
}

TEST_CASE("A cpu that is unknown or not this machine's is refused by name", "[session]") {
  std::vector<std::string> names = {"z80"};
  size_t count = 0;
  const Kernels* const* rows = kernel_rows(&count);
  for (size_t i = 0; i < count; ++i)
    if (select_kernels(detect_cpu_features(), rows[i]->name) == nullptr) names.push_back(rows[i]->name);
  for (const std::string& name : names) {
    ModelOptions options;
    options.cpu = name;
    const auto model = Model::open(golden_path("tiny/e2b-tiny/model.gguf"), options, {});
    REQUIRE_FALSE(model.ok());
    CHECK_THAT(std::string(model.status().message()),
               Catch::Contains('"' + name + '"') && Catch::Contains("not supported by this machine"));
  }
}

TEST_CASE("The estimate covers what a full session holds", "[session]") {
  const std::vector<int32_t> tokens = some_tokens(1000);
  for (const std::string& name : kTinyModels) {
    SessionOptions options = exact_options();
    options.context = 1000;
    auto session = open_tiny(name, options);
    const MemoryEstimate estimate = *Session::estimate(session->model(), options);
    feed(*session, tokens, 250);
    INFO(name);
    CHECK(session->kv_bytes() <= estimate.kv);
    CHECK(static_cast<double>(session->kv_bytes()) >= 0.5 * static_cast<double>(estimate.kv));
    CHECK(session->scratch_bytes() <= estimate.scratch);
    CHECK(static_cast<double>(session->scratch_bytes()) >= 0.9 * static_cast<double>(estimate.scratch));
  }
}
}  // namespace g4
