#include "base/thread_pool.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace g4 {
namespace {
constexpr int kMaxThreads = 1024;

// Between two runs of a forward pass there are a few microseconds, while waking a thread takes up to 100: so
// who waits spins for longer than that, or two threads that wake each other would both be asleep most of the
// time. While it spins it offers its processor to others, another pool perhaps, again and again.
constexpr std::chrono::microseconds kSpinTime{200};
constexpr int kPausesBetweenYields = 50;

#if defined(__x86_64__)
void pause() { __builtin_ia32_pause(); }
#elif defined(__aarch64__)
void pause() { asm volatile("yield"); }
#else
void pause() {}
#endif

// True as soon as done(); false when it is time to sleep.
template <typename Done>
bool spin_until(Done done) {
  const auto deadline = std::chrono::steady_clock::now() + kSpinTime;
  do {
    for (int i = 0; i < kPausesBetweenYields; ++i) {
      if (done()) return true;
      pause();
    }
    std::this_thread::yield();
  } while (std::chrono::steady_clock::now() < deadline);
  return done();
}

// Threads that wait for something: they spin first, then sleep. Who changes what they wait for calls wake():
// that is one load while nobody sleeps. Either the sleeper sees the change in its last look, or it is counted
// before the other looks whether somebody sleeps: both sides write before they read, in one order for all.
class Waiting {
 public:
  template <typename Done>
  void wait(Done done) {
    if (spin_until(done)) return;
    std::unique_lock lock(mutex_);
    ++asleep_;
    changed_.wait(lock, done);
    --asleep_;
  }
  void wake() {
    if (asleep_ == 0) return;
    { std::lock_guard lock(mutex_); }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<int> asleep_{0};
};
}  // namespace

// A run is published by its number, and over when no worker is left in it.
struct ThreadPool::Impl {
  std::vector<std::thread> threads;
  void (*call)(void*, int) = nullptr;
  void* context = nullptr;
  std::atomic<uint32_t> run_number{0};
  std::atomic<int> running{0};  // workers that have not ended the current run
  std::atomic<bool> stopping{false};
  Waiting for_run, for_end;

  void work(int worker) {
    for (uint32_t seen = 0;; ++seen) {
      for_run.wait([&] { return run_number != seen; });
      if (stopping.load(std::memory_order_relaxed)) return;
      call(context, worker);
      if (--running == 0) for_end.wake();
    }
  }

  void publish() {
    ++run_number;
    for_run.wake();
  }

  void stop() {
    stopping.store(true, std::memory_order_relaxed);
    publish();
    for (std::thread& thread : threads) thread.join();
  }
};

StatusOr<std::unique_ptr<ThreadPool>> ThreadPool::create(int thread_count) {
  if (thread_count < 1 || thread_count > kMaxThreads)
    return argument_error(StrCat("thread count is ", thread_count, ", expected 1 to ", kMaxThreads));
  auto impl = std::make_unique<Impl>();
  impl->threads.reserve(static_cast<size_t>(thread_count - 1));
  try {
    for (int worker = 1; worker < thread_count; ++worker)
      impl->threads.emplace_back([shared = impl.get(), worker] { shared->work(worker); });
  } catch (const std::system_error&) {
    const size_t started = impl->threads.size();
    impl->stop();
    return memory_error(
        StrCat("the system refuses thread ", started + 1, " of ", thread_count, "; ask for fewer threads"));
  }
  return std::unique_ptr<ThreadPool>(new ThreadPool(std::move(impl)));
}

ThreadPool::ThreadPool(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ThreadPool::~ThreadPool() { impl_->stop(); }
int ThreadPool::size() const { return static_cast<int>(impl_->threads.size()) + 1; }

void ThreadPool::run_erased(void (*call)(void*, int), void* context) {
  Impl& impl = *impl_;
  if (impl.threads.empty()) return call(context, 0);
  impl.call = call;
  impl.context = context;
  impl.running.store(size() - 1, std::memory_order_relaxed);
  impl.publish();
  call(context, 0);
  impl.for_end.wait([&] { return impl.running == 0; });
}
}  // namespace g4
