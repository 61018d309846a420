// Fork-join pool owned by one session. No globals; the calling thread is worker 0.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <span>

#include "base/status.h"

namespace g4 {
class ThreadPool {
 public:
  // thread_count >= 1, the caller included. `processors`: where workers stay, one after the other, if there
  // are any; the first is the caller's, who is left where it is. Errors: memory, when the system refuses a
  // thread.
  static StatusOr<std::unique_ptr<ThreadPool>> create(int thread_count, std::span<const int> processors = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const;

  // Calls body(worker, i) once for every i < count, each time for the next i that nobody has taken yet;
  // returns when all have ended. worker < size() is never the same in two threads at once; the caller is 0. A
  // worker that the system does not run in time is not waited for. The body must not throw and must not call
  // the pool again. One caller at a time.
  template <typename Body>
  void for_each(size_t count, Body&& body) {
    std::atomic<size_t> next{0};
    auto work = [&](int worker) {
      for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) body(worker, i);
    };
    if (count <= 1) return work(0);
    run([](void* context, int worker) { (*static_cast<decltype(work)*>(context))(worker); }, &work);
  }

  // Calls body(begin, end) on contiguous shares of [0, count), one for each worker if there are so many; each
  // but the last is a multiple of `grain`.
  template <typename Body>
  void parallel_for(size_t count, size_t grain, Body&& body) {
    const size_t units = (count + grain - 1) / grain;
    const size_t shares = std::min(units, static_cast<size_t>(size()));
    for_each(shares, [&](int, size_t i) {
      body(units * i / shares * grain, std::min(count, units * (i + 1) / shares * grain));
    });
  }

 private:
  struct Impl;
  explicit ThreadPool(std::unique_ptr<Impl> impl);
  // Calls call(context, worker) in the caller, and in the workers that come while the caller's has not ended.
  void run(void (*call)(void*, int), void* context);
  std::unique_ptr<Impl> impl_;
};
}  // namespace g4
