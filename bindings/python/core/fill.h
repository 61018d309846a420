// Results of the C interface whose length it tells only when asked.
#pragma once
#include <pybind11/pybind11.h>

#include "failure.h"

namespace g4_python {
// Asks without the GIL, with room for a guess first. call(data, capacity, &needed)
template <typename Container, typename Call>
Container fill(size_t guess, Call call) {
  Container result(guess, {});
  Outcome outcome;
  {
    pybind11::gil_scoped_release no_gil;
    size_t needed = 0;
    outcome = Outcome(call(result.data(), result.size(), &needed));
    if (outcome.status == G4_ERR_BUFFER || (outcome.status == G4_OK && guess == 0 && needed > 0)) {
      result.resize(needed);
      outcome = Outcome(call(result.data(), result.size(), &needed));
    }
    if (outcome.status == G4_OK) result.resize(needed);
  }
  outcome.check();
  return result;
}
}  // namespace g4_python
