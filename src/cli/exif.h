// How a camera was held: the orientation that a JPEG file tells, and pixels turned by it.
#pragma once
#include <cstdint>
#include <span>

#include "cli/media_files.h"

namespace g4::cli {
// 1 to 8 as Exif defines them; 1, upright, if the file says nothing or nothing that can be understood.
int exif_orientation(std::span<const uint8_t> jpeg);
// The picture as it was meant to be looked at.
Picture upright(Picture stored, int orientation);
}  // namespace g4::cli
