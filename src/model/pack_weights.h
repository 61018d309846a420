// Brings the matrices of a model into the form its kernels want.
#pragma once
#include <cstdint>
#include <functional>

#include "base/status.h"
#include "base/thread_pool.h"
#include "io/mapped_file.h"
#include "model/weights.h"

namespace g4 {
// (done bytes, total bytes) -> false to stop.
using LoadProgress = std::function<bool(uint64_t, uint64_t)>;

// Packs every matrix, but a token embedding that is not the output matrix too, for kernels of `lanes` lanes
// and points `weights` at the copies, which it owns from then on. The matrices lie in `file`, whose pages are
// given back as it goes, so that at most one copy and a little more is in memory. Errors: memory, cancelled;
// weights are then as before.
Status pack_weights(Weights& weights, size_t lanes, const MappedFile& file, ThreadPool& pool,
                    const LoadProgress& progress);
}  // namespace g4
