// Pixels to what the vision tower takes: the size of the reference, resized as Pillow does it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "base/thread_pool.h"

namespace g4 {
inline constexpr int kPatchSize = 16;  // pixels
inline constexpr int kPoolSize = 3;    // patches that become one soft token, in each direction
inline constexpr int kTokenSize = kPatchSize * kPoolSize;
inline constexpr int kMaxImageSide = 1 << 16;

// Somebody's pixels, 8 bits a channel, rows from the top.
struct ImageView {
  const uint8_t* pixels = nullptr;
  int width = 0, height = 0;
  int channels = 3;         // RGB, or RGBA whose alpha is ignored
  size_t stride_bytes = 0;  // from a row to the next
};

struct ImageSize {
  int width = 0, height = 0;
  int soft_tokens() const { return width / kTokenSize * (height / kTokenSize); }
};

// The largest size of about this aspect that makes at most `budget` soft tokens. Errors: argument (a side of
// 0 or beyond kMaxImageSide, a budget other than 70, 140, 280, 560, 1120).
StatusOr<ImageSize> target_size(int width, int height, int budget);

// RGB [size.height, size.width, 3]: antialiased bicubic, bit for bit as Pillow. Memory: the result and a few
// rows of the image. Errors: argument (no pixels, another number of channels, a stride that is too small).
StatusOr<std::vector<uint8_t>> resize_image(const ImageView& image, ImageSize size, ThreadPool& pool);
}  // namespace g4
