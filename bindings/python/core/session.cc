#include "session.h"

#include <utility>

#include "failure.h"
#include "long_call.h"

namespace g4_python {
namespace {
// Text of a file: bytes that make no character become U+FFFD.
py::object text(const char* bytes) { return py::bytes(bytes).attr("decode")("utf-8", "replace"); }

double seconds(uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

void in_background(const std::function<g4_status()>& call) {
  Outcome outcome;
  {
    py::gil_scoped_release no_gil;
    outcome = Outcome(call());
  }
  outcome.check();
}
}  // namespace

g4_session_options SessionOptions::c() const {
  g4_session_options options = G4_INIT(g4_session_options);
  options.context_count = context;
  options.thread_count = threads;
  options.kv_type = kv_type;
  options.precision = precision;
  options.cpu = cpu.empty() ? nullptr : cpu.c_str();
  options.ple_path = ple_path.empty() ? nullptr : ple_path.c_str();
  options.mmproj_path = mmproj.empty() ? nullptr : mmproj.c_str();
  return options;
}

g4_sampling Sampling::c() const {
  g4_sampling sampling = values;
  sampling.biases = biases.data();
  sampling.bias_count = biases.size();
  return sampling;
}

// Holds the session for a call that computes: the handle lives on if another thread closes the session.
class Session::Use {
 public:
  explicit Use(Session& session) : session_(session) {
    session.check_open();
    if (session.runner_ != std::thread::id())
      throw Failure(G4_ERR_STATE,
                    "a call is running on this session; wait for it, or use fork() for a second one");
    handle_ = session.handle_;
    session.runner_ = std::this_thread::get_id();
  }
  ~Use() { session_.runner_ = std::thread::id(); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  g4_session* handle() const { return handle_.get(); }
  void moved_to(std::thread::id runner) { session_.runner_ = runner; }

 private:
  Session& session_;
  std::shared_ptr<g4_session> handle_;
};

// A process made by os.fork lacks the threads of the session's pool: there it is left alone, even at the end.
std::shared_ptr<g4_session> Session::own(g4_session* handle) {
  return {handle, [process = getpid()](g4_session* session) {
            if (getpid() == process) g4_session_free(session);
          }};
}

void Session::check_open() const {
  if (!handle_) throw Failure(G4_ERR_STATE, "the session is closed; open another with g4.Session(path)");
  if (getpid() != process_)
    throw Failure(G4_ERR_STATE,
                  "the session belongs to the process that opened it; open one in this process");
}

g4_session* Session::readable() const {
  check_open();
  if (runner_ != std::thread::id() && runner_ != std::this_thread::get_id())
    throw Failure(G4_ERR_STATE, "a call is running on this session in another thread; wait for it");
  return handle_.get();
}

template <typename Call>
void Session::run(Call call) {
  const Use use(*this);
  in_background([&] { return call(use.handle()); });
}

void Session::evaluate(const std::function<g4_status(g4_session*, g4_event_callback, void*)>& call,
                       py::object progress) {
  Use use(*this);
  Events events(std::move(progress), py::none());
  const Outcome outcome =
      run_long([&] { return call(use.handle(), &Events::callback, &events); },
               [&] { g4_cancel(use.handle()); }, [&](std::thread::id runner) { use.moved_to(runner); });
  events.rethrow();
  outcome.check();
}

namespace {
// Runs call(options with the events of `progress`), which an interrupt ends.
template <typename Call>
void run_opening(const SessionOptions& options, py::object progress, Call call) {
  Events events(std::move(progress), py::none());
  g4_session_options c = options.c();
  c.callback = &Events::callback;
  c.payload = &events;
  const Outcome outcome = run_long([&] { return call(c); }, [&] { events.stop(); }, [](auto) {});
  events.rethrow();
  outcome.check();
}
}  // namespace

Session::Session(const std::string& path, const SessionOptions& options, py::object progress) {
  struct Opened {  // freed if an interrupt comes at the last moment
    ~Opened() { g4_session_free(handle); }
    g4_session* handle = nullptr;
  } opened;
  run_opening(options, std::move(progress),
              [&](const g4_session_options& c) { return g4_session_open(&opened.handle, path.c_str(), &c); });
  handle_ = own(std::exchange(opened.handle, nullptr));
}

std::shared_ptr<Session> Session::fork() {
  g4_session* handle = nullptr;
  run([&](g4_session* session) { return g4_session_fork(&handle, session); });
  return std::shared_ptr<Session>(new Session(own(handle)));
}

void Session::close() {
  if (runner_ != std::thread::id()) cancel();
  std::shared_ptr<g4_session> last = std::move(handle_);
  py::gil_scoped_release no_gil;
  last.reset();
}

void Session::cancel() {
  check_open();
  g4_cancel(handle_.get());
}

void Session::prefill(const Ids& ids, py::object progress) {
  evaluate(
      [&](g4_session* session, g4_event_callback callback, void* payload) {
        g4_prefill_options options = G4_INIT(g4_prefill_options);
        options.callback = callback;
        options.payload = payload;
        return g4_prefill(session, ids.data(), static_cast<size_t>(ids.size()), &options);
      },
      std::move(progress));
}

py::array_t<float> Session::prefill_all(const Ids& ids, py::object progress) {
  const auto vocabulary = static_cast<py::ssize_t>(g4_vocab_count(g4_session_tokenizer(readable())));
  py::array_t<float> logits({ids.size(), vocabulary});
  float* data = logits.mutable_data();
  const auto size = static_cast<size_t>(logits.size());
  evaluate(
      [&](g4_session* session, g4_event_callback callback, void* payload) {
        g4_prefill_options options = G4_INIT(g4_prefill_options);
        options.all_logits = data;
        options.all_logits_count = size;
        options.callback = callback;
        options.payload = payload;
        return g4_prefill(session, ids.data(), static_cast<size_t>(ids.size()), &options);
      },
      std::move(progress));
  return logits;
}

size_t Session::extend(const Ids& ids, py::object progress) {
  size_t reused = 0;
  evaluate(
      [&](g4_session* session, g4_event_callback callback, void* payload) {
        g4_prefill_options options = G4_INIT(g4_prefill_options);
        options.callback = callback;
        options.payload = payload;
        return g4_extend(&reused, session, ids.data(), static_cast<size_t>(ids.size()), &options);
      },
      std::move(progress));
  return reused;
}

std::tuple<size_t, g4_status, std::string> Session::extend_cached(const Ids& ids, const std::string& path,
                                                                  bool single_file, uint64_t limit_bytes,
                                                                  py::object progress) {
  g4_cache_options cache = G4_INIT(g4_cache_options);
  cache.flags = single_file ? G4_CACHE_FILE : 0;
  cache.path = path.c_str();
  cache.limit_bytes = limit_bytes;
  g4_cache_result result = G4_INIT(g4_cache_result);
  std::string message;
  evaluate(
      [&](g4_session* session, g4_event_callback callback, void* payload) {
        g4_prefill_options options = G4_INIT(g4_prefill_options);
        options.callback = callback;
        options.payload = payload;
        const g4_status status =
            g4_extend_cached(&result, session, ids.data(), static_cast<size_t>(ids.size()), &cache, &options);
        if (result.cache_status != G4_OK) message = g4_last_error();
        return status;
      },
      std::move(progress));
  return {result.reused_count, result.cache_status, std::move(message)};
}

std::shared_ptr<Media> Session::encode(const std::function<g4_status(g4_media**, g4_session*)>& call) {
  std::shared_ptr<const g4_media> media;
  evaluate(
      [&](g4_session* session, g4_event_callback, void*) {
        g4_media* out = nullptr;
        const g4_status status = call(&out, session);
        media.reset(out, [](const g4_media* owned) { g4_media_free(const_cast<g4_media*>(owned)); });
        return status;
      },
      py::none());
  return std::make_shared<Media>(std::move(media));
}

std::shared_ptr<Media> Session::encode_image(const Pixels& pixels, uint32_t budget) {
  const g4_image image = image_of(pixels);
  return encode(
      [&](g4_media** out, g4_session* session) { return g4_encode_image(out, session, &image, budget); });
}

std::shared_ptr<Media> Session::encode_video(const std::vector<Pixels>& frames,
                                             const std::vector<uint64_t>& times_ns, uint32_t budget) {
  if (frames.size() != times_ns.size()) throw Failure(G4_ERR_ARGUMENT, "a video has a time for each frame");
  std::vector<g4_image> images;
  for (const Pixels& frame : frames) images.push_back(image_of(frame));
  std::vector<const g4_image*> pointers;
  for (const g4_image& image : images) pointers.push_back(&image);
  return encode([&](g4_media** out, g4_session* session) {
    return g4_encode_video(out, session, pointers.data(), times_ns.data(), pointers.size(), budget);
  });
}

int32_t Session::sample(const Sampling& sampling) {
  const g4_sampling c = sampling.c();
  int32_t token = 0;
  run([&](g4_session* session) { return g4_sample(&token, session, &c); });
  return token;
}

int32_t Session::decode(const Sampling& sampling) {
  const g4_sampling c = sampling.c();
  int32_t token = 0;
  run([&](g4_session* session) { return g4_decode(&token, session, &c); });
  return token;
}

py::array_t<float> Session::logits() {
  const float* data = nullptr;
  size_t count = 0;
  check(g4_logits(&data, &count, readable()));
  py::array_t<float> copy(static_cast<py::ssize_t>(count), data);
  copy.attr("setflags")(py::arg("write") = false);
  return copy;
}

std::vector<int32_t> Session::tokens() {
  std::vector<int32_t> tokens(position());
  size_t needed = 0;
  check(g4_tokens(tokens.data(), tokens.size(), &needed, readable()));
  return tokens;
}

void Session::truncate(size_t position, bool reevaluate) {
  evaluate([&](g4_session* session, g4_event_callback,
               void*) { return g4_truncate(session, position, reevaluate ? G4_TRUNCATE_REEVALUATE : 0); },
           py::none());
}

uint64_t Session::save_kv(const std::string& path) {
  uint64_t written = 0;
  run([&](g4_session* session) { return g4_save_kv(&written, session, path.c_str()); });
  return written;
}

size_t Session::load_kv(const std::string& path, const std::optional<Ids>& ids) {
  size_t restored = 0;
  run([&](g4_session* session) {
    return g4_load_kv(&restored, session, path.c_str(), ids ? ids->data() : nullptr,
                      ids ? static_cast<size_t>(ids->size()) : 0);
  });
  return restored;
}

py::dict Session::info() {
  g4_info info = G4_INIT(g4_info);
  check(g4_session_info(&info, readable()));
  uint8_t fingerprint[16];
  check(g4_model_fingerprint(fingerprint, handle_.get()));
  py::dict out;
  out["architecture"] = info.architecture;
  out["name"] = text(info.name);
  out["variant"] = info.variant;
  out["quantisation"] = info.quantisation;
  out["layers"] = info.layer_count;
  out["hidden"] = info.hidden_size;
  out["heads"] = info.head_count;
  out["vocabulary"] = info.vocab_count;
  out["context"] = info.context_count;
  out["model_context"] = info.model_context_count;
  out["sliding_window"] = info.sliding_window;
  out["shared_kv_layers"] = info.shared_kv_layer_count;
  out["ple"] = info.ple_size;
  out["experts"] = info.expert_count;
  out["threads"] = info.thread_count;
  out["weights_bytes"] = info.weights_bytes;
  out["ple_bytes"] = info.ple_bytes;
  out["kv_type"] = info.kv_type;
  out["precision"] = info.precision;
  out["cpu"] = info.cpu;
  out["can_see"] = info.can_see != 0;
  out["can_hear"] = info.can_hear != 0;
  out["fingerprint"] =
      py::bytes(reinterpret_cast<const char*>(fingerprint), sizeof fingerprint).attr("hex")();
  return out;
}

std::vector<py::dict> Session::kv_layers() {
  g4_info info = G4_INIT(g4_info);
  check(g4_session_info(&info, readable()));
  std::vector<py::dict> rows;
  for (uint32_t layer = 0; layer < info.layer_count; ++layer) {
    g4_kv_layer row = G4_INIT(g4_kv_layer);
    check(g4_kv_layer_info(&row, handle_.get(), layer));
    py::dict out;
    out["sliding"] = row.is_sliding != 0;
    out["source"] = row.source_layer;
    out["window"] = row.window;
    out["kv_heads"] = row.kv_head_count;
    out["head_size"] = row.head_size;
    rows.push_back(out);
  }
  return rows;
}

py::dict Session::stats() {
  g4_stats stats = G4_INIT(g4_stats);
  g4_session* session = readable();
  check(g4_session_stats(&stats, session));
  size_t layers = 0;
  check(g4_layer_rows(nullptr, 0, &layers, session));
  std::vector<uint64_t> rows(layers);
  check(g4_layer_rows(rows.data(), layers, &layers, session));
  py::dict out;
  out["tokens"] = stats.evaluated_token_count;
  out["prefill_tokens"] = stats.prefill_token_count;
  out["decode_tokens"] = stats.decode_token_count;
  out["reused_tokens"] = stats.reused_token_count;
  out["prefill_seconds"] = seconds(stats.prefill_ns);
  out["decode_seconds"] = seconds(stats.decode_ns);
  out["layer_rows"] = rows;
  out["kv_bytes"] = stats.kv_bytes;
  out["scratch_bytes"] = stats.scratch_bytes;
  out["ple_rows"] = stats.ple_row_count;
  out["ple_read_bytes"] = stats.ple_read_bytes;
  out["ple_seconds"] = seconds(stats.ple_ns);
  return out;
}

std::shared_ptr<Tokenizer> Session::tokenizer() {
  g4_tokenizer* tokenizer = nullptr;
  check(g4_tokenizer_share(&tokenizer, g4_session_tokenizer(readable())));
  return std::make_shared<Tokenizer>(tokenizer);
}

Generation::Generation(std::shared_ptr<Session> session, const Sampling& sampling, size_t max_tokens,
                       const std::vector<std::string>& stops, bool ignore_stop, py::object logits_hook)
    : session_(std::move(session)), events_(py::none(), logits_hook) {
  const g4_sampling c_sampling = sampling.c();
  std::vector<const char*> c_stops;
  for (const std::string& stop : stops) c_stops.push_back(stop.c_str());
  g4_generate_options options = G4_INIT(g4_generate_options);
  options.sampling = &c_sampling;
  options.max_token_count = max_tokens;
  options.stops = c_stops.data();
  options.stop_count = c_stops.size();
  if (ignore_stop) options.flags |= G4_GENERATE_IGNORE_STOP;
  if (!logits_hook.is_none()) options.flags |= G4_GENERATE_LOGITS_EVENTS;
  const Session::Use use(*session_);
  keep_ = session_->handle_;
  g4_generation* generation = nullptr;
  in_background(
      [&] { return g4_generation_begin(&generation, use.handle(), &options, &Events::callback, &events_); });
  generation_.reset(generation, g4_generation_free);
}

std::optional<std::tuple<int32_t, g4_channel, std::string>> Generation::next() {
  const Session::Use use(*session_);
  g4_event event = G4_INIT(g4_event);
  Outcome outcome;
  {
    py::gil_scoped_release no_gil;
    outcome = Outcome(g4_generation_next(&event, generation_.get()));
  }
  events_.rethrow();
  outcome.check();
  if (event.kind == G4_EVENT_END) return std::nullopt;
  return std::tuple(event.token, event.channel, std::string(event.text, event.text_bytes));
}

g4_finish_reason Generation::finish_reason() {
  session_->readable();
  g4_generate_result result = G4_INIT(g4_generate_result);
  check(g4_generation_result(&result, generation_.get()));
  return result.finish_reason;
}

py::dict estimate(const std::string& path, const SessionOptions& options) {
  const g4_session_options c = options.c();
  g4_memory_estimate estimate = G4_INIT(g4_memory_estimate);
  in_background([&] { return g4_estimate(&estimate, path.c_str(), &c); });
  py::dict out;
  out["weights"] = estimate.weights_bytes;
  out["ple_disk"] = estimate.ple_disk_bytes;
  out["kv"] = estimate.kv_bytes;
  out["scratch"] = estimate.scratch_bytes;
  out["total"] = estimate.total_bytes;
  return out;
}

void prepare(const std::string& path, const std::string& out_path, const SessionOptions& options,
             py::object progress) {
  run_opening(options, std::move(progress),
              [&](const g4_session_options& c) { return g4_prepare(path.c_str(), out_path.c_str(), &c); });
}

py::dict probe_kv(const std::string& path) {
  g4_kv_probe_result result = G4_INIT(g4_kv_probe_result);
  std::vector<int32_t> tokens;
  in_background([&] {
    g4_status status = g4_kv_probe(&result, nullptr, 0, nullptr, path.c_str());
    if (status != G4_OK) return status;
    tokens.resize(result.position_count);
    size_t needed = 0;
    status = g4_kv_probe(&result, tokens.data(), tokens.size(), &needed, path.c_str());
    if (status == G4_OK) tokens.resize(needed);
    return status;
  });
  py::dict out;
  out["positions"] = result.position_count;
  out["tokens"] = tokens;
  out["has_logits"] = result.has_logits != 0;
  out["kv_type"] = static_cast<const char*>(result.kv_type);
  out["fingerprint"] =
      py::bytes(reinterpret_cast<const char*>(result.model), sizeof result.model).attr("hex")();
  out["file_bytes"] = result.file_bytes;
  return out;
}
}  // namespace g4_python
