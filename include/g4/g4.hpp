// g4 for C++20: the handles of g4.h as move-only objects, results as vectors and strings, failures as
// exceptions. Header only, and nothing but g4.h beneath it: g4.h is the manual, one line here says what
// changes.
//
//     g4::Session session = g4::Session::open("model.gguf");
//     std::vector<int32_t> prompt = session.tokenizer().chat_tokenize(R"([{"role": "user", "content":
//     "Hi"}])"); session.generate(prompt, {}, [](const g4_event& event) {
//       if (event.kind == G4_EVENT_TOKEN) std::cout << event.text << std::flush;
//       return true;
//     });
//
// A function throws g4::Error where the C function fails. Option structs are those of g4.h, {} for the
// defaults; struct_size is filled in here. Event callbacks take a const g4_event& and return bool: true goes
// on, false stops. What a callback throws ends the call and comes out of it.
#ifndef G4_G4_HPP
#define G4_G4_HPP

#include <g4/g4.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace g4 {
// The inline namespace keeps these names apart from the library's own C++ (also g4::Session, ...) when it is
// linked statically.
inline namespace cpp {

class Error : public std::runtime_error {
 public:
  Error(g4_status status, const char* message) : std::runtime_error(message), status_(status) {}
  g4_status status() const noexcept { return status_; }  // G4_ERR_...

 private:
  g4_status status_;
};

template <typename F>
concept EventCallback = std::is_invocable_r_v<bool, F&, const g4_event&>;

// The callback where none is wanted.
struct NoEvents {
  bool operator()(const g4_event&) const noexcept { return true; }
};

namespace detail {
inline void check(g4_status status) {
  if (status != G4_OK) throw Error(status, g4_last_error());
}

template <typename T>
T sized(T value) {
  value.struct_size = static_cast<uint32_t>(sizeof(T));
  return value;
}

// Fills a vector or string by call(data, capacity, &needed): with room for `guess` elements first, once more
// if that was too small.
template <typename Container, typename Call>
Container fill(size_t guess, Call call) {
  Container result(guess, {});
  size_t needed = 0;
  g4_status status = call(result.data(), result.size(), &needed);
  if (status == G4_ERR_BUFFER || (status == G4_OK && needed > result.size())) {
    result.resize(needed);
    status = call(result.data(), result.size(), &needed);
  }
  check(status);
  result.resize(needed);
  return result;
}

// Carries a callable through the C interface and keeps what it throws until the C function has returned.
template <EventCallback F>
class Events {
 public:
  explicit Events(F& callback) : callback_(callback) {}
  static int32_t call(const g4_event* event, void* payload) noexcept {
    Events& self = *static_cast<Events*>(payload);
    if (self.thrown_) return 1;
    try {
      return self.callback_(*event) ? 0 : 1;
    } catch (...) {
      self.thrown_ = std::current_exception();
      return 1;
    }
  }
  void finish(g4_status status) const {
    if (thrown_) std::rethrow_exception(thrown_);
    check(status);
  }

 private:
  F& callback_;
  std::exception_ptr thrown_;
};

struct SessionFree {
  void operator()(g4_session* session) const noexcept { g4_session_free(session); }
};
struct TokenizerFree {
  void operator()(g4_tokenizer* tokenizer) const noexcept { g4_tokenizer_free(tokenizer); }
};
struct MediaFree {
  void operator()(g4_media* media) const noexcept { g4_media_free(media); }
};
}  // namespace detail

// A tokenizer that someone else owns: a session, or a Tokenizer.
class TokenizerView {
 public:
  explicit TokenizerView(const g4_tokenizer* handle) noexcept : handle_(handle) {}
  const g4_tokenizer* get() const noexcept { return handle_; }

  // Ids of a text. flags: G4_TOKENIZE_...
  std::vector<int32_t> tokenize(std::string_view text, uint32_t flags = 0) const {
    return detail::fill<std::vector<int32_t>>(
        text.size() / 2 + 8, [&](int32_t* data, size_t capacity, size_t* needed) {
          return g4_tokenize(data, capacity, needed, handle_, text.data(), text.size(), flags);
        });
  }
  // Text of ids. flags: G4_DETOKENIZE_... Throws G4_ERR_ARGUMENT for an id outside the vocabulary.
  std::string detokenize(std::span<const int32_t> tokens, uint32_t flags = 0) const {
    return detail::fill<std::string>(tokens.size() * 8 + 8, [&](char* data, size_t capacity, size_t* needed) {
      return g4_detokenize(data, capacity, needed, handle_, tokens.data(), tokens.size(), flags);
    });
  }
  uint32_t vocab_count() const noexcept { return g4_vocab_count(handle_); }
  bool is_stop(int32_t token) const noexcept { return g4_is_stop(handle_, token) != 0; }

  // A conversation (JSON messages) as the template's text, for looking at. Throws G4_ERR_ARGUMENT naming
  // message and field.
  std::string chat_render(std::string_view conversation, g4_chat_options options = {}) const {
    options = detail::sized(options);
    return detail::fill<std::string>(
        conversation.size() + 256, [&](char* data, size_t capacity, size_t* needed) {
          return g4_chat_render(data, capacity, needed, handle_, conversation.data(), conversation.size(),
                                &options);
        });
  }
  // A conversation (JSON messages) as the ids to evaluate, <bos> included. Throws as chat_render.
  std::vector<int32_t> chat_tokenize(std::string_view conversation, g4_chat_options options = {}) const {
    options = detail::sized(options);
    return detail::fill<std::vector<int32_t>>(
        conversation.size() + 64, [&](int32_t* data, size_t capacity, size_t* needed) {
          return g4_chat_tokenize(data, capacity, needed, handle_, conversation.data(), conversation.size(),
                                  &options);
        });
  }
  // The ids of an answer as a JSON message, ready to be appended to the conversation.
  std::string chat_parse(std::span<const int32_t> tokens) const {
    return detail::fill<std::string>(
        tokens.size() * 8 + 256, [&](char* data, size_t capacity, size_t* needed) {
          return g4_chat_parse(data, capacity, needed, handle_, tokens.data(), tokens.size());
        });
  }

 private:
  const g4_tokenizer* handle_;
};

// The tokenizer of a GGUF file, which may hold no tensors.
class Tokenizer {
 public:
  static Tokenizer open(const std::string& path) {
    g4_tokenizer* handle = nullptr;
    detail::check(g4_tokenizer_open(&handle, path.c_str()));
    return Tokenizer(handle);
  }
  TokenizerView view() const noexcept { return TokenizerView(handle_.get()); }
  operator TokenizerView() const noexcept { return view(); }

 private:
  explicit Tokenizer(g4_tokenizer* handle) noexcept : handle_(handle) {}
  std::unique_ptr<g4_tokenizer, detail::TokenizerFree> handle_;
};

// A picture, sound or video, encoded by a Session. To be kept until its tokens are evaluated.
class Media {
 public:
  explicit Media(g4_media* handle) noexcept : handle_(handle) {}
  const g4_media* get() const noexcept { return handle_.get(); }
  // As they stand in a prompt. flags: G4_MEDIA_... Throws G4_ERR_UNSUPPORTED for a vocabulary without media.
  std::vector<int32_t> tokens(TokenizerView tokenizer, uint32_t flags = 0) const {
    return detail::fill<std::vector<int32_t>>(1200, [&](int32_t* data, size_t capacity, size_t* needed) {
      return g4_media_tokens(data, capacity, needed, get(), tokenizer.get(), flags);
    });
  }
  size_t part_count() const noexcept { return g4_media_part_count(get()); }
  g4_media_part part(size_t index) const {  // its rows live as long as the media
    g4_media_part part = detail::sized(g4_media_part{});
    detail::check(g4_media_get_part(&part, get(), index));
    return part;
  }

 private:
  std::unique_ptr<g4_media, detail::MediaFree> handle_;
};

// One conversation: weights (shared with forks), KV cache, position. One call at a time; cancel from any
// thread.
class Session {
 public:
  // Opens a GGUF file at position 0; G4_EVENT_LOAD events. The options' own callback and payload are not
  // used.
  template <EventCallback F = NoEvents>
  static Session open(const std::string& path, g4_session_options options = {}, F&& on_event = {}) {
    detail::Events<std::remove_reference_t<F>> events(on_event);
    options = detail::sized(options);
    options.callback = &decltype(events)::call;
    options.payload = &events;
    g4_session* handle = nullptr;
    const g4_status status = g4_session_open(&handle, path.c_str(), &options);
    Session session(handle);
    events.finish(status);
    return session;
  }
  // A second session of the same model that starts as an exact copy of this one.
  Session fork() {
    g4_session* handle = nullptr;
    detail::check(g4_session_fork(&handle, get()));
    return Session(handle);
  }

  g4_session* get() const noexcept { return handle_.get(); }
  TokenizerView tokenizer() const noexcept {
    return TokenizerView(g4_session_tokenizer(get()));
  }  // lives as long as the session

  // Encode a picture, frames of a video with their times, a sound. A token budget of 0 is the default.
  // Throw G4_ERR_ARGUMENT, G4_ERR_UNSUPPORTED (no mmproj_path), G4_ERR_CANCELLED.
  Media encode_image(g4_image image, uint32_t token_budget = 0) {
    image = detail::sized(image);
    g4_media* handle = nullptr;
    detail::check(g4_encode_image(&handle, get(), &image, token_budget));
    return Media(handle);
  }
  Media encode_video(std::span<const g4_image> frames, std::span<const uint64_t> times_ns,
                     uint32_t token_budget = 0) {
    if (frames.size() != times_ns.size())
      throw std::invalid_argument("encode_video: as many times as frames");
    std::vector<g4_image> images;
    for (const g4_image& frame : frames) images.push_back(detail::sized(frame));
    std::vector<const g4_image*> pointers;
    for (const g4_image& image : images) pointers.push_back(&image);
    g4_media* handle = nullptr;
    detail::check(
        g4_encode_video(&handle, get(), pointers.data(), times_ns.data(), pointers.size(), token_budget));
    return Media(handle);
  }
  Media encode_sound(g4_sound sound, uint32_t flags = 0) {
    sound = detail::sized(sound);
    g4_media* handle = nullptr;
    detail::check(g4_encode_sound(&handle, get(), &sound, flags));
    return Media(handle);
  }

  // Appends tokens [T]; G4_EVENT_PREFILL events. Throws G4_ERR_CONTEXT_FULL, G4_ERR_CANCELLED, ...; then the
  // position is unchanged.
  template <EventCallback F = NoEvents>
  void prefill(std::span<const int32_t> tokens, F&& on_event = {}) {
    prefill_into(nullptr, 0, tokens, on_event);
  }
  // prefill that returns the logits after every token, [T, V].
  template <EventCallback F = NoEvents>
  std::vector<float> prefill_all(std::span<const int32_t> tokens, F&& on_event = {}) {
    std::vector<float> logits(tokens.size() * tokenizer().vocab_count());
    prefill_into(logits.data(), logits.size(), tokens, on_event);
    return logits;
  }
  // prefill of several forks in one pass: tokens[i] goes to sessions[i].
  static void prefill_batch(std::span<Session* const> sessions,
                            std::span<const std::span<const int32_t>> tokens) {
    if (sessions.size() != tokens.size())
      throw std::invalid_argument("prefill_batch: as many token lists as sessions");
    std::vector<g4_session*> handles;
    std::vector<const int32_t*> data;
    std::vector<size_t> counts;
    for (Session* session : sessions) handles.push_back(session->get());
    for (std::span<const int32_t> list : tokens) data.push_back(list.data()), counts.push_back(list.size());
    detail::check(g4_prefill_batch(handles.data(), data.data(), counts.data(), handles.size()));
  }

  // The logits [V] after the last position, valid until the session changes. Throws G4_ERR_STATE if there are
  // none.
  std::span<const float> logits() {
    const float* data = nullptr;
    size_t count = 0;
    detail::check(g4_logits(&data, &count, get()));
    return {data, count};
  }
  // The next token, not evaluated. Throws G4_ERR_STATE (no logits), G4_ERR_ARGUMENT (option out of range).
  int32_t sample(g4_sampling sampling = {}) {
    sampling = detail::sized(sampling);
    int32_t token = 0;
    detail::check(g4_sample(&token, get(), &sampling));
    return token;
  }
  // The next token, evaluated; may be a stop token. Throws as sample and prefill.
  int32_t decode(g4_sampling sampling = {}) {
    sampling = detail::sized(sampling);
    int32_t token = 0;
    detail::check(g4_decode(&token, get(), &sampling));
    return token;
  }
  // Evaluates the prompt [T] (none: goes on from the current logits), then generates; all events. The result
  // says why it ended.
  template <EventCallback F = NoEvents>
  g4_generate_result generate(std::span<const int32_t> prompt, g4_generate_options options = {},
                              F&& on_event = {}) {
    detail::Events<std::remove_reference_t<F>> events(on_event);
    options = detail::sized(options);
    options.prompt = prompt.empty() ? nullptr : prompt.data();
    options.prompt_count = prompt.size();
    const g4_sampling sampling = detail::sized(options.sampling ? *options.sampling : g4_sampling{});
    options.sampling = &sampling;
    g4_generate_result result = detail::sized(g4_generate_result{});
    events.finish(g4_generate(&result, get(), &options, &decltype(events)::call, &events));
    return result;
  }
  // Ends the call that runs on another thread, or from a signal handler; the session stays usable.
  void cancel() const noexcept { g4_cancel(get()); }

  size_t position() const noexcept { return g4_position(get()); }
  std::vector<int32_t> tokens() {  // those held, [position]
    return detail::fill<std::vector<int32_t>>(position(),
                                              [&](int32_t* data, size_t capacity, size_t* needed) {
                                                return g4_tokens(data, capacity, needed, get());
                                              });
  }
  void reset() { detail::check(g4_reset(get())); }                     // back to position 0
  size_t rewind_min() const noexcept { return g4_rewind_min(get()); }  // truncate is exact from here on
  // Forgets all from position on. Throws G4_ERR_STATE where that is not exact, unless flags say
  // G4_TRUNCATE_REEVALUATE.
  void truncate(size_t position, uint32_t flags = 0) { detail::check(g4_truncate(get(), position, flags)); }
  // Holds exactly these tokens [T] afterwards, evaluating only what is new. Returns the positions kept.
  // Throws as prefill.
  template <EventCallback F = NoEvents>
  size_t extend(std::span<const int32_t> tokens, F&& on_event = {}) {
    detail::Events<std::remove_reference_t<F>> events(on_event);
    g4_prefill_options options = detail::sized(g4_prefill_options{});
    options.callback = &decltype(events)::call;
    options.payload = &events;
    size_t reused = 0;
    events.finish(g4_extend(&reused, get(), tokens.data(), tokens.size(), &options));
    return reused;
  }
  // extend with a cache on disk: options.path is a folder, or with G4_CACHE_FILE one file. Throws as prefill;
  // what is wrong with the cache itself is told in the result's cache_status.
  template <EventCallback F = NoEvents>
  g4_cache_result extend_cached(std::span<const int32_t> tokens, g4_cache_options cache, F&& on_event = {}) {
    detail::Events<std::remove_reference_t<F>> events(on_event);
    g4_prefill_options options = detail::sized(g4_prefill_options{});
    options.callback = &decltype(events)::call;
    options.payload = &events;
    cache = detail::sized(cache);
    g4_cache_result result = detail::sized(g4_cache_result{});
    events.finish(g4_extend_cached(&result, get(), tokens.data(), tokens.size(), &cache, &options));
    return result;
  }
  // Writes the state to a file; returns its bytes. Throws G4_ERR_IO; an old file then stays whole.
  uint64_t save_kv(const std::string& path) {
    uint64_t bytes = 0;
    detail::check(g4_save_kv(&bytes, get(), path.c_str()));
    return bytes;
  }
  // Takes over a saved state, with tokens [T] the longest exact common prefix with them. Returns the
  // positions restored. Throws G4_ERR_IO, G4_ERR_FORMAT, G4_ERR_MISMATCH, G4_ERR_CONTEXT_FULL; the session is
  // then unchanged.
  size_t load_kv(const std::string& path, std::span<const int32_t> tokens = {}) {
    size_t restored = 0;
    detail::check(g4_load_kv(&restored, get(), path.c_str(), tokens.data(), tokens.size()));
    return restored;
  }

  g4_info info() const {  // its strings live as long as the session
    g4_info info = detail::sized(g4_info{});
    detail::check(g4_session_info(&info, get()));
    return info;
  }
  g4_kv_layer kv_layer(
      uint32_t layer) const {  // a row of the KV registry; throws G4_ERR_ARGUMENT past the last layer
    g4_kv_layer row = detail::sized(g4_kv_layer{});
    detail::check(g4_kv_layer_info(&row, get(), layer));
    return row;
  }
  g4_stats stats() const {
    g4_stats stats = detail::sized(g4_stats{});
    detail::check(g4_session_stats(&stats, get()));
    return stats;
  }
  std::vector<uint64_t> layer_rows() const {  // token rows each layer has run in full, [L]
    return detail::fill<std::vector<uint64_t>>(64, [&](uint64_t* data, size_t capacity, size_t* needed) {
      return g4_layer_rows(data, capacity, needed, get());
    });
  }

 private:
  explicit Session(g4_session* handle) noexcept : handle_(handle) {}

  template <EventCallback F>
  void prefill_into(float* logits, size_t logits_count, std::span<const int32_t> tokens, F& on_event) {
    detail::Events<F> events(on_event);
    g4_prefill_options options = detail::sized(g4_prefill_options{});
    options.all_logits = logits;
    options.all_logits_count = logits_count;
    options.callback = &decltype(events)::call;
    options.payload = &events;
    events.finish(g4_prefill(get(), tokens.data(), tokens.size(), &options));
  }

  std::unique_ptr<g4_session, detail::SessionFree> handle_;
};

// Tokens that the rows of a picture or sound will take. Throw G4_ERR_ARGUMENT for what cannot be encoded.
inline uint64_t image_tokens(uint32_t width, uint32_t height, uint32_t token_budget = 0) {
  uint64_t count = 0;
  detail::check(g4_image_tokens(&count, width, height, token_budget));
  return count;
}
inline uint64_t sound_tokens(uint64_t instant_count, uint32_t rate, uint32_t flags = 0) {
  uint64_t count = 0;
  detail::check(g4_sound_tokens(&count, instant_count, rate, flags));
  return count;
}

// The memory a session with these options will need, from the file's header alone. Throws as Session::open.
inline g4_memory_estimate estimate(const std::string& path, g4_session_options options = {}) {
  options = detail::sized(options);
  g4_memory_estimate estimate = detail::sized(g4_memory_estimate{});
  detail::check(g4_estimate(&estimate, path.c_str(), &options));
  return estimate;
}

// Writes a model as a prepared file, which opens at once; G4_EVENT_LOAD events. Throws as Session::open.
template <EventCallback F = NoEvents>
void prepare(const std::string& path, const std::string& out_path, g4_session_options options = {},
             F&& on_event = {}) {
  detail::Events<std::remove_reference_t<F>> events(on_event);
  options = detail::sized(options);
  options.callback = &decltype(events)::call;
  options.payload = &events;
  events.finish(g4_prepare(path.c_str(), out_path.c_str(), &options));
}

}  // namespace cpp
}  // namespace g4

#endif  // G4_G4_HPP
