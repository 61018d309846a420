// The audio tower (gemma4.md 4), a conformer: features to soft tokens.
#pragma once
#include <span>
#include <vector>

#include "media/tower_layers.h"
#include "media/towers.h"

namespace g4 {
// mel [frames, kMelBins] to the tower's outputs [(frames + 3) / 4, outputs], before the projection.
// Errors: cancelled, memory.
StatusOr<std::vector<float>> run_audio_tower(const AudioWeights& weights, std::span<const float> mel,
                                             const MediaCompute& compute);
}  // namespace g4
