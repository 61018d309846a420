// A status that is not G4_OK on its way to Python, where it becomes the exception that g4._errors has for it.
#pragma once
#include <g4/g4.h>

#include <exception>
#include <string>
#include <utility>

namespace g4_python {
class Failure : public std::exception {
 public:
  Failure(g4_status status, std::string message) : status_(status), message_(std::move(message)) {}
  g4_status status() const { return status_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  g4_status status_;
  std::string message_;
};

// What a C call gave, and its message, which only the thread that made the call can ask for.
struct Outcome {
  Outcome() = default;
  explicit Outcome(g4_status s) : status(s), message(s == G4_OK ? "" : g4_last_error()) {}
  void check() const {
    if (status != G4_OK) throw Failure(status, message);
  }
  g4_status status = G4_OK;
  std::string message;
};

inline void check(g4_status status) { Outcome(status).check(); }
}  // namespace g4_python
