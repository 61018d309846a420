// Pictures and sounds in a session: encoding them, and their rows among those of the tokens.
#include <algorithm>

#include "base/media_token.h"
#include "media/mel.h"
#include "session/session.h"

namespace g4 {
namespace {
Status no_towers() {
  return unsupported_error("the model was opened without an mmproj file: it can neither see nor hear");
}
}  // namespace

StatusOr<Media> Session::encode_image(const ImageView& image, int budget) {
  Busy busy(*this);
  G4_RETURN_IF_ERROR(busy.status());
  if (model().towers() == nullptr) return no_towers();
  G4_ASSIGN_OR_RETURN(MediaRunPtr run, g4::encode_image(*model().towers(), image, budget, MediaKind::kImage,
                                                        {kernels(), *pool_, cancel_, options_.precision}));
  model().media().add(run);
  return Media{MediaKind::kImage, {{0, 0, std::move(run)}}};
}

StatusOr<Media> Session::encode_video(std::span<const ImageView> frames, std::span<const uint64_t> times_ns,
                                      int budget) {
  Busy busy(*this);
  G4_RETURN_IF_ERROR(busy.status());
  if (model().towers() == nullptr) return no_towers();
  if (frames.empty()) return argument_error("the video has no frames");
  Media video{MediaKind::kVideoFrame, {}};
  for (size_t i = 0; i < frames.size(); ++i) {
    StatusOr<MediaRunPtr> run = g4::encode_image(*model().towers(), frames[i], budget, MediaKind::kVideoFrame,
                                                 {kernels(), *pool_, cancel_, options_.precision});
    if (!run.ok()) return Status(run.status().code(), StrCat("frame ", i, ": ", run.status().message()));
    video.parts.push_back({times_ns[i], times_ns[i], *std::move(run)});
  }
  for (const Media::Part& part : video.parts) model().media().add(part.run);
  return video;
}

StatusOr<Media> Session::encode_sound(const SoundView& sound, bool split) {
  Busy busy(*this);
  G4_RETURN_IF_ERROR(busy.status());
  if (model().towers() == nullptr) return no_towers();
  G4_ASSIGN_OR_RETURN(
      std::vector<SoundClip> clips,
      g4::encode_sound(*model().towers(), sound, split, {kernels(), *pool_, cancel_, options_.precision}));
  const auto to_ns = [](size_t samples) { return uint64_t{samples} * (1'000'000'000 / kSampleRate); };
  Media media{MediaKind::kAudio, {}};
  for (SoundClip& clip : clips) {
    model().media().add(clip.run);
    media.parts.push_back({to_ns(clip.begin), to_ns(clip.end), std::move(clip.run)});
  }
  return media;
}

StatusOr<StepInput> Session::make_input(std::span<const int32_t> tokens) {
  StepInput input{this, &kv_, tokens, {}};
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!is_media(tokens[i])) continue;
    MediaRunPtr run = model().media().find(tokens.subspan(i));
    if (run == nullptr)
      return argument_error(
          StrCat("token ", tokens[i], " at index ", i,
                 " is of a picture or sound that this model does not hold, or not whole: keep "
                 "it until its tokens are evaluated"));
    const bool sees_itself = model().config().bidirectional_media && run->kind != MediaKind::kAudio;
    input.media.push_back({i, std::move(run), sees_itself});
    i = input.media.back().end() - 1;
  }
  return input;
}

size_t StepInput::longest_whole_run() const {
  size_t longest = 0;
  for (const Place& place : media)
    if (place.sees_itself) longest = std::max(longest, place.run->row_count());
  return longest;
}

size_t StepInput::step_count(size_t begin, size_t room, bool is_empty) const {
  const size_t end = std::min(tokens.size(), begin + room);
  for (const Place& place : media) {
    if (!place.sees_itself || place.begin >= end || place.end() <= end) continue;
    if (place.begin > begin) return place.begin - begin;
    return is_empty ? place.end() - begin : 0;
  }
  return end - begin;
}

Row StepInput::row(size_t i, int position, float* logits) const {
  const Model& model = session->model();
  const SpecialTokens& special = model.tokenizer()->special();
  Row row{kv, position, tokens[i], logits};
  if (is_media(tokens[i])) {
    const Place& place =
        *std::find_if(media.begin(), media.end(), [i](const Place& p) { return i < p.end(); });
    row.token = special.pad;
    row.embedding = place.run->row(i - place.begin);
    if (place.sees_itself) row.seen_until = position + static_cast<int>(place.end() - i);
  } else if (model.towers() != nullptr &&
             (tokens[i] == special.image || tokens[i] == special.audio || tokens[i] == special.video)) {
    row.token = special.pad;  // a placeholder that stands for nothing, as the reference takes it
  }
  return row;
}
}  // namespace g4
