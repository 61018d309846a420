// g4_session and g4_generation for Python: safe against use after close, from several threads and after
// os.fork.
#pragma once
#include <g4/g4.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "events.h"
#include "media.h"
#include "tokenizer.h"

namespace g4_python {
struct SessionOptions {
  uint32_t context, threads;
  g4_kv_type kv_type;
  g4_precision precision;
  std::string cpu, ple_path, mmproj;  // empty: the default
  g4_session_options c() const;
};

struct Sampling {
  g4_sampling c() const;
  g4_sampling values;  // without biases
  std::vector<g4_logit_bias> biases;
};

// All members but the destructor run with the GIL. A call that computes gives it up, and keeps others from
// the session meanwhile; what the call's own callbacks may do is read.
class Session {
 public:
  Session(const std::string& path, const SessionOptions& options, py::object progress);
  std::shared_ptr<Session> fork();
  void close();
  bool is_closed() const { return !handle_; }
  void cancel();

  void prefill(const Ids& ids, py::object progress);
  py::array_t<float> prefill_all(const Ids& ids, py::object progress);  // [n, V]
  size_t extend(const Ids& ids, py::object progress);
  // (positions kept, status of the cache and its message).
  std::tuple<size_t, g4_status, std::string> extend_cached(const Ids& ids, const std::string& path,
                                                           bool single_file, uint64_t limit_bytes,
                                                           py::object progress);
  int32_t sample(const Sampling& sampling);
  int32_t decode(const Sampling& sampling);
  py::array_t<float> logits();  // [V], a copy

  std::shared_ptr<Media> encode_image(const Pixels& pixels, uint32_t budget);
  std::shared_ptr<Media> encode_video(const std::vector<Pixels>& frames,
                                      const std::vector<uint64_t>& times_ns, uint32_t budget);
  template <typename Sample>
  std::shared_ptr<Media> encode_audio(const py::array_t<Sample, py::array::c_style>& samples, uint32_t rate,
                                      bool split) {
    const g4_sound sound = sound_of(samples, rate);
    return encode([&](g4_media** out, g4_session* session) {
      return g4_encode_sound(out, session, &sound, split ? G4_SOUND_SPLIT : 0);
    });
  }

  size_t position() { return g4_position(readable()); }
  size_t rewind_min() { return g4_rewind_min(readable()); }
  std::vector<int32_t> tokens();
  void truncate(size_t position, bool reevaluate);
  uint64_t save_kv(const std::string& path);
  size_t load_kv(const std::string& path, const std::optional<Ids>& ids);

  py::dict info();
  std::vector<py::dict> kv_layers();
  py::dict stats();
  std::shared_ptr<Tokenizer> tokenizer();

 private:
  friend class Generation;
  class Use;
  explicit Session(std::shared_ptr<g4_session> handle) : handle_(std::move(handle)) {}
  static std::shared_ptr<g4_session> own(g4_session* handle);
  void check_open() const;
  g4_session* readable() const;
  void evaluate(const std::function<g4_status(g4_session*, g4_event_callback, void*)>& call,
                py::object progress);
  std::shared_ptr<Media> encode(const std::function<g4_status(g4_media**, g4_session*)>& call);
  template <typename Call>
  void run(Call call);

  std::shared_ptr<g4_session> handle_;
  std::thread::id runner_;  // the thread that computes; none
  pid_t process_ = getpid();
};

// An answer, token by token, from the session's present logits on.
class Generation {
 public:
  Generation(std::shared_ptr<Session> session, const Sampling& sampling, size_t max_tokens,
             const std::vector<std::string>& stops, bool ignore_stop, py::object logits_hook);
  // (token, channel, text), or nothing when the answer is complete.
  std::optional<std::tuple<int32_t, g4_channel, std::string>> next();
  g4_finish_reason finish_reason();

 private:
  std::shared_ptr<Session> session_;
  std::shared_ptr<g4_session> keep_;  // outlives generation_
  std::shared_ptr<g4_generation> generation_;
  Events events_;
};

py::dict estimate(const std::string& path, const SessionOptions& options);
void prepare(const std::string& path, const std::string& out_path, const SessionOptions& options,
             py::object progress);
py::dict probe_kv(const std::string& path);
}  // namespace g4_python
