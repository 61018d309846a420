#include "base/thread_pool.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <climits>
#include <ctime>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "base/cpu.h"

#if defined(__linux__)
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace g4 {
namespace {
std::unique_ptr<ThreadPool> make_pool(int threads) {
  auto pool = ThreadPool::create(threads);
  REQUIRE(pool.ok());
  return *std::move(pool);
}

TEST_CASE("parallel_for covers the range once, in shares of whole grains", "[base][threads]") {
  for (const int threads : {1, 2, 3, 5}) {
    const auto pool = make_pool(threads);
    for (const size_t count : {0, 1, 7, 8, 9, 63, 64, 65, 1000}) {
      for (const size_t grain : {1, 8, 64}) {
        std::vector<int> seen(count, 0);
        std::atomic<size_t> bad{0}, calls{0};
        pool->parallel_for(count, grain, [&](size_t begin, size_t end) {
          if (begin >= end || end > count || begin % grain != 0 || (end % grain != 0 && end != count)) ++bad;
          ++calls;
          for (size_t i = begin; i < end; ++i) ++seen[i];
        });
        CAPTURE(threads, count, grain);
        REQUIRE(bad == 0);
        REQUIRE(calls <= static_cast<size_t>(threads));
        REQUIRE(seen == std::vector<int>(count, 1));
      }
    }
  }
}

// Nothing is said of who does what, but that no two threads pass for the same worker.
TEST_CASE("for_each does everything once, the caller as worker 0", "[base][threads]") {
  for (const int threads : {1, 2, 3, 8}) {
    const auto pool = make_pool(threads);
    for (const size_t count : {0, 1, 2, 7, 1000}) {
      for (int run = 0; run < 50; ++run) {
        std::vector<int> seen(count, 0);
        std::vector<std::thread::id> ids(static_cast<size_t>(threads));
        std::atomic<int> bad{0};
        pool->for_each(count, [&](int worker, size_t i) {
          ++seen[i];
          std::thread::id& id = ids[static_cast<size_t>(worker)];  // plain: the worker's own
          if (id != std::thread::id() && id != std::this_thread::get_id()) ++bad;
          id = std::this_thread::get_id();
        });
        CAPTURE(threads, count);
        REQUIRE(bad == 0);
        REQUIRE(seen == std::vector<int>(count, 1));
        REQUIRE((ids[0] == std::thread::id() || ids[0] == std::this_thread::get_id()));
      }
    }
  }
}

TEST_CASE("what a run wrote is seen by the next one, in any worker", "[base][threads]") {
  const auto pool = make_pool(4);
  std::vector<uint64_t> values(64, 1), next(64), expected = values;
  for (int run = 0; run < 5000; ++run) {
    pool->for_each(64, [&](int, size_t i) { next[i] = (values[(i + 1) % 64] + 3 * values[i]) % 1000003; });
    values.swap(next);
  }
  for (int run = 0; run < 5000; ++run) {
    std::vector<uint64_t> step(64);
    for (size_t i = 0; i < 64; ++i) step[i] = (expected[(i + 1) % 64] + 3 * expected[i]) % 1000003;
    expected = step;
  }
  CHECK(values == expected);
}

// Runs with pauses between them: workers are found spinning, falling asleep and asleep.
TEST_CASE("a run works with workers in any state", "[base][threads]") {
  const auto pool = make_pool(3);
  for (const int microseconds : {0, 1, 10, 20, 50, 100, 150, 1000, 5000}) {
    for (int run = 0; run < 20; ++run) {
      std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
      std::atomic<int> calls{0};
      pool->for_each(6, [&](int, size_t i) {
        if (i % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
        ++calls;
      });
      REQUIRE(calls == 6);
    }
  }
}

TEST_CASE("workers do take part", "[base][threads]") {
  const auto pool = make_pool(2);
  std::atomic<bool> met{false};
  for (int run = 0; run < 100 && !met; ++run)
    pool->for_each(2, [&](int worker, size_t) {
      if (worker == 1) met = true;
      for (int i = 0; i < 100 && !met; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  CHECK(met);
}

TEST_CASE("pools are independent and end in any state", "[base][threads]") {
  std::atomic<int> calls{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        auto pool = ThreadPool::create(3);
        if (!pool.ok()) return;
        for (int run = 0; run < round; ++run) (*pool)->for_each(3, [&](int, size_t) { ++calls; });
      }
    });
  for (std::thread& caller : callers) caller.join();
  CHECK(calls == 4 * 3 * (19 * 20 / 2));
}

TEST_CASE("an idle pool sleeps", "[base][threads]") {
  const auto pool = make_pool(4);
  pool->for_each(8, [](int, size_t) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const std::clock_t before = std::clock();  // processor time of all threads
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const double used = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  CHECK(used < 0.1);  // three spinning workers would use 0.9 s, or 0.3 s on a machine with one processor
}

TEST_CASE("a pool without workers or with absurdly many is refused", "[base][threads]") {
  for (const int threads : {0, -1, INT_MIN, 1025, INT_MAX}) {
    const auto pool = ThreadPool::create(threads);
    CAPTURE(threads);
    REQUIRE_FALSE(pool.ok());
    CHECK(absl::IsInvalidArgument(pool.status()));
    CHECK(std::string(pool.status().message()).find(std::to_string(threads)) != std::string::npos);
  }
}

TEST_CASE("a pool that ends while its workers are just waking ends", "[base][threads]") {
  // More threads than processors: some are stopped between any two instructions.
  std::atomic<int> done{0};
  const auto use = [&done] {
    for (int i = 0; i < 1000; ++i) {
      const auto pool = *ThreadPool::create(3);
      for (int run = 0; run < 3; ++run) pool->for_each(2, [&](int, size_t) { ++done; });
    }
  };
  std::vector<std::thread> users;
  for (int i = 0; i < 8; ++i) users.emplace_back(use);
  for (std::thread& user : users) user.join();
  CHECK(done == 8 * 1000 * 6);
}

#if defined(__linux__)
TEST_CASE("pinned workers stay on their processors, the caller is left alone", "[base][threads]") {
  cpu_set_t before, after;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  const std::vector<int> cores = physical_cores();
  const auto pool = *ThreadPool::create(4, cores);
  std::array<int, 4> processor_of{-1, -1, -1, -1};
  // A worker that comes late takes no part: as often as it takes for all to have been there.
  for (int run = 0; run < 10000 && std::ranges::count(processor_of, -1) > 0; ++run)
    pool->for_each(64, [&](int worker, size_t) {
      cpu_set_t own;
      sched_getaffinity(0, sizeof own, &own);
      if (worker > 0 && CPU_COUNT(&own) == 1)
        processor_of[static_cast<size_t>(worker)] = sched_getcpu();
      else if (worker == 0)
        processor_of[0] = 0;
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    });
  for (size_t worker = 1; worker < processor_of.size(); ++worker)
    CHECK(processor_of[worker] == cores[worker % cores.size()]);
  REQUIRE(sched_getaffinity(0, sizeof after, &after) == 0);
  CHECK(CPU_EQUAL(&before, &after));
}
#endif

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// In a process of its own, without room for the stacks of so many threads.
TEST_CASE("when the system refuses a thread the pool is a status", "[base][threads]") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const rlimit limit{rlim_t{1} << 30, rlim_t{1} << 30};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(2);
    const auto pool = ThreadPool::create(1000);
    if (pool.ok()) _exit(3);
    if (!absl::IsResourceExhausted(pool.status())) _exit(4);
    const auto small = ThreadPool::create(2);  // those that had started are gone
    _exit(small.ok() ? 0 : 5);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
#endif
}  // namespace
}  // namespace g4
