// G4_DCHECK: our own invariants, checked in debug and sanitizer builds only. Input is never checked with it.
#pragma once
#ifdef G4_ENABLE_DCHECK
#include <cstdlib>
#define G4_DCHECK(condition) ((condition) ? (void)0 : std::abort())
#else
#define G4_DCHECK(condition) ((void)0)
#endif
