// Any bytes as a sound for the command line tool: samples, or a failure with a reason.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "cli/media_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const g4::cli::Sound sound = g4::cli::decode_sound({data, size}, "input");
    if (sound.channel_count == 0 || sound.samples.size() % sound.channel_count != 0) std::abort();
  } catch (const g4::cli::Failure&) {
  }
  return 0;
}
