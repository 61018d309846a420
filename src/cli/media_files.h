// Pictures and sounds from files: PNG, JPEG, WAV, FLAC.
#pragma once
#include <cstdint>
#include <g4/g4.hpp>
#include <span>
#include <string>
#include <vector>

#include "cli/terminal.h"

namespace g4::cli {
struct Picture {
  std::vector<uint8_t> pixels;  // [height, width, channel_count]
  uint32_t width = 0, height = 0, channel_count = 3;
  g4_image view() const;
};
struct Sound {
  std::vector<float> samples;  // [instants, channel_count]
  uint32_t rate = 0, channel_count = 0;
  g4_sound view() const;
};

// The whole file. Throws Failure if it cannot be read or has more than 512 MiB.
std::vector<uint8_t> read_media_file(const std::string& path);
// What a file holds; `name` is for messages. Throw Failure: damaged, another format, or beyond 100 million
// pixels or 64 million samples.
Picture decode_picture(std::span<const uint8_t> file, const std::string& name);
Sound decode_sound(std::span<const uint8_t> file, const std::string& name);
}  // namespace g4::cli
