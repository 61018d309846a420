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
}  // namespace

// A run is published by its number, and over when no worker is left in it. Who gives up spinning sleeps on a
// condition; who changes what that one waits for takes the lock before waking it, so that no change falls
// between its last look and its sleep.
struct ThreadPool::Impl {
  std::vector<std::thread> threads;
  void (*call)(void*, int) = nullptr;
  void* context = nullptr;
  std::atomic<uint32_t> run_number{0};
  std::atomic<int> running{0};  // workers that have not ended the current run
  std::atomic<bool> stopping{false};
  std::mutex mutex;
  std::condition_variable run_published, run_ended;

  void work(int worker) {
    for (uint32_t seen = 0;;) {
      const auto published = [&] { return run_number.load(std::memory_order_acquire) != seen; };
      if (!spin_until(published)) {
        std::unique_lock lock(mutex);
        run_published.wait(lock, published);
      }
      if (stopping.load(std::memory_order_relaxed)) return;
      ++seen;
      call(context, worker);
      if (running.fetch_sub(1, std::memory_order_acq_rel) == 1) notify(run_ended);
    }
  }

  void publish() {
    run_number.fetch_add(1, std::memory_order_release);
    notify(run_published);
  }

  void notify(std::condition_variable& condition) {
    { std::lock_guard lock(mutex); }
    condition.notify_all();
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
  const auto ended = [&] { return impl.running.load(std::memory_order_acquire) == 0; };
  if (spin_until(ended)) return;
  std::unique_lock lock(impl.mutex);
  impl.run_ended.wait(lock, ended);
}
}  // namespace g4
