// The vision tower (gemma4.md 3): pixels to soft tokens.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "media/image.h"
#include "media/tower_layers.h"
#include "media/towers.h"

namespace g4 {
// rgb [size.height, size.width, 3] to the tower's outputs [size.soft_tokens(), H], before the projection.
// Errors: unsupported (more patches in a direction than the tower has positions), cancelled, memory.
StatusOr<std::vector<float>> run_vision_tower(const VisionWeights& weights, std::span<const uint8_t> rgb,
                                              ImageSize size, const MediaCompute& compute);
}  // namespace g4
