// The C ABI's part about pictures, sounds and videos: see g4.cc.
#include <vector>

#include "capi/names.h"
#include "g4/g4.h"
namespace {
constexpr uint32_t kDefaultImageBudget = 280, kDefaultFrameBudget = 70;
constexpr uint32_t kMost = 1u << 30;  // of what fits an int; the exact limits are behind it

StatusOr<int> to_int(uint32_t value, const char* name) {
  if (value > kMost) return argument_error(StrCat(name, " is ", value, ": too large"));
  return static_cast<int>(value);
}

StatusOr<int> budget_of(uint32_t given, uint32_t otherwise) {
  return to_int(given == 0 ? otherwise : given, "token_budget");
}

StatusOr<g4::ImageView> image_view(const g4_image* given) {
  G4_RETURN_IF_ERROR(require(given, "image"));
  G4_ASSIGN_OR_RETURN(const g4_image image, read_struct(given, "g4_image"));
  g4::ImageView view;
  view.pixels = image.pixels;
  G4_ASSIGN_OR_RETURN(view.width, to_int(image.width, "width"));
  G4_ASSIGN_OR_RETURN(view.height, to_int(image.height, "height"));
  G4_ASSIGN_OR_RETURN(view.channels, to_int(image.channel_count, "channel_count"));
  view.stride_bytes =
      image.stride_bytes != 0 ? image.stride_bytes : size_t{image.width} * size_t{image.channel_count};
  return view;
}

StatusOr<g4::SoundView> sound_view(const g4_sound* given) {
  G4_RETURN_IF_ERROR(require(given, "sound"));
  G4_ASSIGN_OR_RETURN(const g4_sound sound, read_struct(given, "g4_sound"));
  g4::SoundView view;
  if (sound.sample_type == G4_SAMPLE_F32)
    view.samples = static_cast<const float*>(sound.samples);
  else if (sound.sample_type == G4_SAMPLE_I16)
    view.samples = static_cast<const int16_t*>(sound.samples);
  else
    return argument_error(StrCat("sample_type ", sound.sample_type, " is unknown"));
  view.frame_count = sound.instant_count;
  G4_ASSIGN_OR_RETURN(view.channels, to_int(sound.channel_count, "channel_count"));
  G4_ASSIGN_OR_RETURN(view.rate, to_int(sound.rate, "rate"));
  return view;
}
}  // namespace

extern "C" {

g4_status g4_encode_image(g4_media** out, g4_session* session, const g4_image* image, uint32_t token_budget) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(out, "out"));
    *out = nullptr;
    G4_RETURN_IF_ERROR(require(session, "session"));
    G4_ASSIGN_OR_RETURN(const g4::ImageView view, image_view(image));
    G4_ASSIGN_OR_RETURN(const int budget, budget_of(token_budget, kDefaultImageBudget));
    G4_ASSIGN_OR_RETURN(g4::Media media, session->session->encode_image(view, budget));
    *out = new g4_media{std::move(media)};
    return absl::OkStatus();
  });
}

g4_status g4_encode_video(g4_media** out, g4_session* session, const g4_image* const* frames,
                          const uint64_t* times_ns, size_t frame_count, uint32_t token_budget) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(out, "out"));
    *out = nullptr;
    G4_RETURN_IF_ERROR(require(session, "session"));
    G4_RETURN_IF_ERROR(check_count(frames, frame_count, "frames"));
    G4_RETURN_IF_ERROR(check_count(times_ns, frame_count, "times_ns"));
    std::vector<g4::ImageView> views;
    for (size_t i = 0; i < frame_count; ++i) {
      G4_ASSIGN_OR_RETURN(views.emplace_back(), image_view(frames[i]));
    }
    G4_ASSIGN_OR_RETURN(const int budget, budget_of(token_budget, kDefaultFrameBudget));
    G4_ASSIGN_OR_RETURN(g4::Media media,
                        session->session->encode_video(views, {times_ns, frame_count}, budget));
    *out = new g4_media{std::move(media)};
    return absl::OkStatus();
  });
}

g4_status g4_encode_sound(g4_media** out, g4_session* session, const g4_sound* sound, uint32_t flags) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(out, "out"));
    *out = nullptr;
    G4_RETURN_IF_ERROR(require(session, "session"));
    G4_RETURN_IF_ERROR(check_flags(flags, G4_SOUND_SPLIT));
    G4_ASSIGN_OR_RETURN(const g4::SoundView view, sound_view(sound));
    G4_ASSIGN_OR_RETURN(g4::Media media, session->session->encode_sound(view, (flags & G4_SOUND_SPLIT) != 0));
    *out = new g4_media{std::move(media)};
    return absl::OkStatus();
  });
}

void g4_media_free(g4_media* media) { delete media; }

g4_status g4_image_tokens(uint64_t* token_count, uint32_t width, uint32_t height, uint32_t token_budget) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(token_count, "token_count"));
    G4_ASSIGN_OR_RETURN(const int w, to_int(width, "width"));
    G4_ASSIGN_OR_RETURN(const int h, to_int(height, "height"));
    G4_ASSIGN_OR_RETURN(const int budget, budget_of(token_budget, kDefaultImageBudget));
    G4_ASSIGN_OR_RETURN(const g4::ImageSize size, g4::target_size(w, h, budget));
    *token_count = static_cast<uint64_t>(size.soft_tokens());
    return absl::OkStatus();
  });
}

g4_status g4_sound_tokens(uint64_t* token_count, uint64_t instant_count, uint32_t rate, uint32_t flags) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(token_count, "token_count"));
    G4_RETURN_IF_ERROR(check_flags(flags, G4_SOUND_SPLIT));
    G4_ASSIGN_OR_RETURN(const int hertz, to_int(rate, "rate"));
    G4_ASSIGN_OR_RETURN(*token_count, g4::sound_tokens(instant_count, hertz, (flags & G4_SOUND_SPLIT) != 0));
    return absl::OkStatus();
  });
}

g4_status g4_media_tokens(int32_t* tokens, size_t capacity, size_t* needed, const g4_media* media,
                          const g4_tokenizer* tokenizer, uint32_t flags) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(media, "media"));
    G4_RETURN_IF_ERROR(check_flags(flags, G4_MEDIA_ROWS_ONLY));
    std::vector<int32_t> ids;
    if ((flags & G4_MEDIA_ROWS_ONLY) != 0) {
      for (const g4::Media::Part& part : media->media.parts)
        ids.insert(ids.end(), part.run->tokens.begin(), part.run->tokens.end());
    } else {
      G4_RETURN_IF_ERROR(require(tokenizer, "tokenizer"));
      G4_ASSIGN_OR_RETURN(ids, g4::media_tokens(media->media, *tokenizer->tokenizer));
    }
    return write_buffer<int32_t>(ids, tokens, capacity, needed);
  });
}

size_t g4_media_part_count(const g4_media* media) { return media == nullptr ? 0 : media->media.parts.size(); }

g4_status g4_media_get_part(g4_media_part* part, const g4_media* media, size_t index) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(media, "media"));
    if (index >= media->media.parts.size())
      return argument_error(StrCat("part ", index, " does not exist; there are ", media->media.parts.size()));
    const g4::Media::Part& from = media->media.parts[index];
    g4_media_part out = {};
    out.begin_ns = from.begin_ns;
    out.end_ns = from.end_ns;
    out.row_count = from.run->row_count();
    out.row_width = from.run->row_width;
    out.rows = from.run->rows.data();
    return write_struct(part, out, "g4_media_part");
  });
}

}  // extern "C"
