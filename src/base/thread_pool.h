// Fork-join pool owned by one session. No globals; the calling thread is worker 0.
#pragma once
#include <atomic>
#include <cstddef>
#include <memory>
#include <type_traits>

#include "base/status.h"

namespace g4 {
class ThreadPool {
 public:
  // thread_count >= 1, the caller included. Errors: memory, when the system refuses a thread.
  static StatusOr<std::unique_ptr<ThreadPool>> create(int thread_count);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const;

  // Calls task(worker) once for every worker in [0, size()) and returns when all have ended. The task must
  // not throw and must not call run again. One caller at a time.
  template <typename Task>
  void run(Task&& task) {
    run_erased(
        [](void* context, int worker) { (*static_cast<std::remove_reference_t<Task>*>(context))(worker); },
        &task);
  }

  // Calls body(begin, end) on contiguous shares of [0, count), each share but the last a multiple of `grain`.
  template <typename Body>
  void parallel_for(size_t count, size_t grain, Body&& body) {
    if (size() == 1 || count <= grain) {
      if (count > 0) body(size_t{0}, count);
      return;
    }
    const size_t units = (count + grain - 1) / grain, workers = static_cast<size_t>(size());
    run([&](int worker) {
      const size_t w = static_cast<size_t>(worker);
      const size_t begin = units * w / workers * grain, end = units * (w + 1) / workers * grain;
      if (begin < count && begin < end) body(begin, end < count ? end : count);
    });
  }

  // Calls body(worker, i) once for every i < count, each time for the next i that no worker has taken yet.
  template <typename Body>
  void for_each(size_t count, Body&& body) {
    std::atomic<size_t> next{0};
    auto work = [&](int worker) {
      for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) body(worker, i);
    };
    if (count > 1)
      run(work);
    else
      work(0);
  }

 private:
  struct Impl;
  explicit ThreadPool(std::unique_ptr<Impl> impl);
  void run_erased(void (*call)(void*, int), void* context);
  std::unique_ptr<Impl> impl_;
};
}  // namespace g4
