#include "cli/attachment.h"

#include "cli/media_files.h"

namespace g4::cli {
namespace {
template <typename Encode>
std::shared_ptr<const Media> encode_file(Session& session, const std::string& path, Encode encode) {
  const interrupt::Watch watch(session);
  try {
    return std::make_shared<const Media>(encode(read_media_file(path)));
  } catch (const Error& error) {
    if (error.status() == G4_ERR_CANCELLED) throw;
    throw Failure(kFailed, path + ": " + error.what());
  }
}
}  // namespace

Attachment attach_image(Session& session, const std::string& path, const MediaOptions& options) {
  return {"image", encode_file(session, path, [&](const std::vector<uint8_t>& file) {
            return session.encode_image(decode_picture(file, path).view(), options.image_tokens);
          })};
}

Attachment attach_sound(Session& session, const std::string& path, const MediaOptions& options) {
  return {"audio", encode_file(session, path, [&](const std::vector<uint8_t>& file) {
            return session.encode_sound(decode_sound(file, path).view(),
                                        options.split_audio ? G4_SOUND_SPLIT : 0);
          })};
}

MediaOptions for_model(MediaOptions options, const ModelOptions& model) {
  constexpr uint32_t kDemoImageTokens = 70;
  if (model.path.empty() && options.image_tokens == 0) options.image_tokens = kDemoImageTokens;
  return options;
}

std::vector<Attachment> attach_all(Session& session, const MediaOptions& options) {
  std::vector<Attachment> attachments;
  for (const std::string& path : options.images) attachments.push_back(attach_image(session, path, options));
  for (const std::string& path : options.sounds) attachments.push_back(attach_sound(session, path, options));
  return attachments;
}

std::string describe(const Attachment& attachment) {
  size_t tokens = 0;
  std::string spans;
  const size_t parts = attachment.media->part_count();
  for (size_t i = 0; i < parts; ++i) {
    const g4_media_part part = attachment.media->part(i);
    tokens += part.row_count;
    if (parts > 1)
      spans += format("%s%.1f-%.1f s", i == 0 ? ", as clips of " : ", ",
                      static_cast<double>(part.begin_ns) * 1e-9, static_cast<double>(part.end_ns) * 1e-9);
  }
  return format("%zu tokens", tokens) + spans;
}
}  // namespace g4::cli
