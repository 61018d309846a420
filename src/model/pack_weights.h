// Brings the matrices of a model into the form its kernels want.
#pragma once
#include <cstdint>
#include <functional>

#include "base/status.h"
#include "base/thread_pool.h"
#include "io/file_writer.h"
#include "io/mapped_file.h"
#include "model/weights.h"

namespace g4 {
// (done bytes, total bytes) -> false to stop.
using LoadProgress = std::function<bool(uint64_t, uint64_t)>;

// Says of the matrices, just loaded from a prepared file, how they lie in it.
void mark_prepared(Weights& weights, size_t lanes);

// Packs every matrix, but a token embedding that is not the output matrix too, for kernels of `lanes` lanes
// and points `weights` at the copies, which it owns from then on. Matrices that lie in `file` packed like
// that are brought into memory and used there. The others' pages are given back as it goes, so that at most
// one copy and a little more is in memory. Errors: memory, cancelled; weights are then as before.
Status pack_weights(Weights& weights, size_t lanes, const MappedFile& file, ThreadPool& pool,
                    const LoadProgress& progress);

// Writes the GGUF that begins at `begin` of `file` to `out`, its matrices packed for `lanes` lanes: as many
// as fill whole groups, so that every byte else stays where it is. `weights` were loaded from it. Errors: io,
// memory, cancelled.
Status write_packed(Weights& weights, size_t lanes, const MappedFile& file, uint64_t begin, ThreadPool& pool,
                    const LoadProgress& progress, FileWriter& out);
}  // namespace g4
