// Any bytes as a picture for the command line tool: pixels, or a failure with a reason.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "cli/media_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const g4::cli::Picture picture = g4::cli::decode_picture({data, size}, "input");
    if (picture.pixels.size() != size_t{picture.width} * picture.height * picture.channel_count) std::abort();
  } catch (const g4::cli::Failure&) {
  }
  return 0;
}
