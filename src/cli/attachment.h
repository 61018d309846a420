// Pictures and sounds that go with a message.
#pragma once
#include <cstdint>
#include <g4/g4.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/open_model.h"
#include "cli/terminal.h"

namespace g4::cli {
struct MediaOptions {
  std::vector<std::string> images, sounds;  // files
  uint32_t image_tokens = 0;                // 0: the library's default
  bool split_audio = false;                 // sounds over 30 s as several clips
};

struct Attachment {
  std::string type;  // of the message's part: "image", "audio"
  std::shared_ptr<const Media> media;
};

// Read a file and encode it. Throw Failure naming the file; Ctrl-C ends it with G4_ERR_CANCELLED.
Attachment attach_image(Session& session, const std::string& path, const MediaOptions& options);
Attachment attach_sound(Session& session, const std::string& path, const MediaOptions& options);
// The demo model knows pictures of 70 tokens only: its default.
MediaOptions for_model(MediaOptions options, const ModelOptions& model);
// All files of the options: pictures, then sounds.
std::vector<Attachment> attach_all(Session& session, const MediaOptions& options);
// "64 tokens", and where a sound was split.
std::string describe(const Attachment& attachment);
}  // namespace g4::cli
