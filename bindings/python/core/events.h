// Python callables as g4 callbacks, on whatever thread the call runs.
#pragma once
#include <g4/g4.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <atomic>
#include <exception>

namespace g4_python {
namespace py = pybind11;

// Keeps what a callable raises until the C function has returned. Made and destroyed with the GIL.
class Events {
 public:
  // progress(done, total) and logits_hook(array) are callables or None; both return None.
  Events(py::object progress, py::object logits_hook)
      : progress_(std::move(progress)), logits_hook_(std::move(logits_hook)) {}
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  static int32_t callback(const g4_event* event, void* self);
  // Ends the call at its next event; from any thread.
  void stop() { stopped_ = true; }
  // Raises what a callable has raised.
  void rethrow();

 private:
  void call(const g4_event& event);
  void call_logits_hook(const g4_event& event);

  py::object progress_, logits_hook_;
  py::array_t<float> logits_;  // what the hook sees: a copy, so that it may keep it
  std::exception_ptr raised_;
  std::atomic<bool> stopped_{false};
};
}  // namespace g4_python
