#include "base/thread_pool.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/cpu.h"

namespace g4 {
namespace {
constexpr int kMaxThreads = 1024;

// Between two runs of a forward pass there are a few microseconds, while waking a thread takes up to 100: so
// who waits spins for about that long, or two threads that wake each other would both be asleep most of the
// time. It does not yield: on a busy machine a yield gives the rest of a time slice away, at every run.
constexpr std::chrono::microseconds kSpinTime{100};
constexpr int kPausesBetweenLooksAtTheClock = 50;

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
    for (int i = 0; i < kPausesBetweenLooksAtTheClock; ++i) {
      if (done()) return true;
      pause();
    }
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

// A run is open from its publication until the caller has found nothing more to do; workers join it while it
// is open, and it is over when it is closed and nobody is left in it. All of this is one number, so that
// joining and closing exclude each other: the run's number, whether it is closed, how many workers are in it.
struct ThreadPool::Impl {
  static constexpr uint64_t kRun = uint64_t{1} << 32, kClosed = kRun >> 1, kWorkers = kClosed - 1;
  std::vector<std::thread> threads;
  void (*call)(void*, int) = nullptr;
  void* context = nullptr;
  std::atomic<uint64_t> state{kClosed};
  std::atomic<bool> stopping{false};
  Waiting for_run, for_end;

  bool join(uint64_t run) {
    uint64_t seen = state;
    while (seen / kRun == run && (seen & kClosed) == 0)
      if (state.compare_exchange_weak(seen, seen + 1)) return true;
    return false;
  }

  void work(int worker) {
    for (uint64_t run = 0;;) {
      for_run.wait([&] { return state / kRun != run; });
      run = state / kRun;
      if (stopping) return;  // asked after the run was read: the one that stop() publishes is none to join
      if (!join(run)) continue;
      call(context, worker);
      if ((--state & kWorkers) == 0) for_end.wake();
    }
  }

  void publish() {
    state = (state / kRun + 1) * kRun;
    for_run.wake();
  }

  void stop() {
    stopping = true;
    publish();
    for (std::thread& thread : threads) thread.join();
  }
};

StatusOr<std::unique_ptr<ThreadPool>> ThreadPool::create(int thread_count, std::span<const int> processors) {
  if (thread_count < 1 || thread_count > kMaxThreads)
    return argument_error(StrCat("thread count is ", thread_count, ", expected 1 to ", kMaxThreads));
  auto impl = std::make_unique<Impl>();
  impl->threads.reserve(static_cast<size_t>(thread_count - 1));
  try {
    for (int worker = 1; worker < thread_count; ++worker) {
      const int place = processors.empty() ? -1 : processors[static_cast<size_t>(worker) % processors.size()];
      impl->threads.emplace_back([shared = impl.get(), worker, place] {
        if (place >= 0) pin_thread(place);
        shared->work(worker);
      });
    }
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

void ThreadPool::run(void (*call)(void*, int), void* context) {
  Impl& impl = *impl_;
  if (impl.threads.empty()) return call(context, 0);
  impl.call = call;
  impl.context = context;
  impl.publish();
  call(context, 0);
  if (((impl.state |= Impl::kClosed) & Impl::kWorkers) == 0) return;
  impl.for_end.wait([&] { return (impl.state & Impl::kWorkers) == 0; });
}
}  // namespace g4
