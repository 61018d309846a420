// Calls that may take long, from the main thread: Ctrl-C gets through.
#pragma once
#include <pybind11/pybind11.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "failure.h"

namespace g4_python {
namespace py = pybind11;

// Runs `call` without the GIL. Python handles signals on its main thread only, and not during a call: there
// `call` runs on a thread of its own, while this one looks for signals and, when a handler raises
// (KeyboardInterrupt), calls `cancel` until `call` has ended. Then the handler's exception comes out.
// started: told the thread that runs it.
inline Outcome run_long(const std::function<g4_status()>& call, const std::function<void()>& cancel,
                        const std::function<void(std::thread::id)>& started) {
  constexpr auto kLook = std::chrono::milliseconds(20);
  const py::object main = py::module_::import("threading").attr("main_thread")().attr("ident");
  if (main.is_none() || main.cast<unsigned long>() != PyThread_get_thread_ident()) {
    py::gil_scoped_release no_gil;
    return Outcome(call());
  }

  std::mutex mutex;
  std::condition_variable ended;
  bool has_ended = false, raised = false;
  Outcome outcome;
  std::thread worker([&] {
    Outcome result(call());
    const std::lock_guard lock(mutex);
    outcome = std::move(result);
    has_ended = true;
    ended.notify_one();
  });
  started(worker.get_id());
  {
    py::gil_scoped_release no_gil;
    std::unique_lock lock(mutex);
    while (!ended.wait_for(lock, kLook, [&] { return has_ended; })) {
      lock.unlock();
      if (!raised) {
        py::gil_scoped_acquire gil;
        raised = PyErr_CheckSignals() != 0;
      }
      if (raised) cancel();
      lock.lock();
    }
    lock.unlock();
    worker.join();
  }
  if (raised) throw py::error_already_set();
  return outcome;
}
}  // namespace g4_python
