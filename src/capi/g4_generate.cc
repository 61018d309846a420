// The C ABI's part about picking tokens and generating: see g4.cc.
#include <memory>
#include <utility>
#include <vector>

#include "capi/names.h"
#include "g4/g4.h"
#include "session/generate.h"

struct g4_generation {
  g4_generation(g4::Session& s, g4::GenerateOptions options) : session(s), state(s, std::move(options)) {}
  g4::Session& session;
  g4::Generation state;
  g4::GenerateEvents events;  // of the caller; token is not sent
};

namespace {
StatusOr<g4::SamplingOptions> sampling_options(const g4_sampling* given) {
  G4_ASSIGN_OR_RETURN(const g4_sampling s, read_struct(given, "g4_sampling"));
  G4_RETURN_IF_ERROR(check_flags(s.flags, G4_SAMPLING_GREEDY));
  G4_RETURN_IF_ERROR(check_count(s.biases, s.bias_count, "biases"));
  g4::SamplingOptions out;
  const auto set = [](float value, float* target) {
    if (value != 0) *target = value;
  };
  set(s.temperature, &out.temperature);
  set(s.top_p, &out.top_p);
  set(s.repetition_penalty, &out.repetition_penalty);
  if (s.flags & G4_SAMPLING_GREEDY) out.temperature = 0;
  if (s.top_k < -1)
    return argument_error(StrCat("top_k is ", s.top_k, "; allowed is -1 (all), 0 (default) or more"));
  if (s.top_k != 0) out.top_k = s.top_k == -1 ? 0 : s.top_k;
  out.min_p = s.min_p;
  out.presence_penalty = s.presence_penalty;
  out.frequency_penalty = s.frequency_penalty;
  out.seed = s.seed;
  for (size_t i = 0; i < s.bias_count; ++i) out.bias.push_back({s.biases[i].token, s.biases[i].bias});
  return out;
}

g4_event token_event(int32_t token, g4::Channel channel, std::string_view text, size_t count) {
  g4_event event = event_of(G4_EVENT_TOKEN, count, 0);
  event.token = token;
  event.channel = static_cast<g4_channel>(channel);
  event.text = text.data();
  event.text_bytes = text.size();
  return event;
}

g4::GenerateEvents generate_events(const g4_generate_options& o, g4_event_callback callback, void* payload) {
  g4::GenerateEvents events;
  if (callback == nullptr) return events;
  events.prefill = progress_events(G4_EVENT_PREFILL, callback, payload);
  events.token = [=](int32_t token, g4::Channel channel, std::string_view text, size_t count) {
    const g4_event event = token_event(token, channel, text, count);
    return callback(&event, payload) == 0;
  };
  if ((o.flags & G4_GENERATE_LOGITS_EVENTS) != 0)
    events.logits = [=](std::span<float> logits) {
      g4_event event = event_of(G4_EVENT_LOGITS, 0, 0);
      event.logits = logits.data();
      event.logits_count = logits.size();
      return callback(&event, payload) == 0;
    };
  return events;
}

StatusOr<g4::GenerateOptions> generate_options(const g4_generate_options& o) {
  G4_RETURN_IF_ERROR(
      check_flags(o.flags, G4_GENERATE_IGNORE_STOP | G4_GENERATE_LOGITS_EVENTS | G4_GENERATE_EXTEND));
  G4_RETURN_IF_ERROR(check_count(o.prompt, o.prompt_count, "prompt"));
  G4_RETURN_IF_ERROR(check_count(o.stops, o.stop_count, "stops"));
  g4::GenerateOptions out;
  out.prompt = {o.prompt, o.prompt_count};
  out.max_tokens = o.max_token_count;
  out.whole = (o.flags & G4_GENERATE_EXTEND) != 0;
  out.ignore_stop_tokens = (o.flags & G4_GENERATE_IGNORE_STOP) != 0;
  for (size_t i = 0; i < o.stop_count; ++i) {
    G4_RETURN_IF_ERROR(require(o.stops[i], "a stop string"));
    out.stops.emplace_back(o.stops[i]);
  }
  G4_ASSIGN_OR_RETURN(out.sampling, sampling_options(o.sampling));
  return out;
}

Status write_result(g4_generate_result* to, const g4::GenerateResult& r) {
  g4_generate_result out = {};
  out.finish_reason = static_cast<g4_finish_reason>(r.finish);
  out.prompt_token_count = r.prompt_tokens;
  out.generated_token_count = r.generated_tokens;
  out.reused_token_count = r.reused_tokens;
  out.prefill_ns = r.prefill_ns;
  out.decode_ns = r.decode_ns;
  return write_struct(to, out, "g4_generate_result");
}
}  // namespace

extern "C" {

g4_status g4_sample(int32_t* token, g4_session* session, const g4_sampling* sampling) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(token, "token"));
    G4_RETURN_IF_ERROR(require(session, "session"));
    G4_ASSIGN_OR_RETURN(const g4::SamplingOptions options, sampling_options(sampling));
    G4_ASSIGN_OR_RETURN(*token, session->session->sample(options));
    return absl::OkStatus();
  });
}

g4_status g4_decode(int32_t* token, g4_session* session, const g4_sampling* sampling) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(token, "token"));
    G4_RETURN_IF_ERROR(require(session, "session"));
    G4_ASSIGN_OR_RETURN(const g4::SamplingOptions options, sampling_options(sampling));
    G4_ASSIGN_OR_RETURN(*token, session->session->decode(options));
    return absl::OkStatus();
  });
}

g4_status g4_generate(g4_generate_result* result, g4_session* session, const g4_generate_options* options,
                      g4_event_callback callback, void* payload) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(session, "session"));
    G4_ASSIGN_OR_RETURN(const g4_generate_options o, read_struct(options, "g4_generate_options"));
    G4_ASSIGN_OR_RETURN(const g4::GenerateOptions generate, generate_options(o));
    G4_ASSIGN_OR_RETURN(const g4::GenerateResult r,
                        g4::generate(*session->session, generate, generate_events(o, callback, payload)));
    return result == nullptr ? absl::OkStatus() : write_result(result, r);
  });
}

g4_status g4_generation_begin(g4_generation** out, g4_session* session, const g4_generate_options* options,
                              g4_event_callback callback, void* payload) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(out, "out"));
    *out = nullptr;
    G4_RETURN_IF_ERROR(require(session, "session"));
    G4_ASSIGN_OR_RETURN(const g4_generate_options o, read_struct(options, "g4_generate_options"));
    G4_ASSIGN_OR_RETURN(g4::GenerateOptions generate, generate_options(o));
    auto generation = std::make_unique<g4_generation>(*session->session, std::move(generate));
    generation->events = generate_events(o, callback, payload);
    g4::Session::Busy busy(*session->session);
    G4_RETURN_IF_ERROR(busy.status());
    G4_RETURN_IF_ERROR(generation->state.begin(generation->events));
    *out = generation.release();
    return absl::OkStatus();
  });
}

g4_status g4_generation_next(g4_event* event, g4_generation* generation) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(generation, "generation"));
    g4::Generation& state = generation->state;
    g4_event out = event_of(G4_EVENT_END, state.result().generated_tokens, 0);
    G4_RETURN_IF_ERROR(write_struct(event, out, "g4_event"));
    if (state.finished()) return absl::OkStatus();
    g4::Session::Busy busy(generation->session);
    G4_RETURN_IF_ERROR(busy.status());
    g4::GenerateEvents events = generation->events;
    events.token = [&](int32_t token, g4::Channel channel, std::string_view text, size_t count) {
      out = token_event(token, channel, text, count);
      return true;
    };
    const size_t before = state.result().generated_tokens;
    G4_RETURN_IF_ERROR(state.step(events));
    const bool evaluated = state.result().generated_tokens > before;
    return evaluated ? write_struct(event, out, "g4_event") : absl::OkStatus();
  });
}

g4_status g4_generation_result(g4_generate_result* result, const g4_generation* generation) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(generation, "generation"));
    return write_result(result, generation->state.result());
  });
}

void g4_generation_free(g4_generation* generation) { delete generation; }

}  // extern "C"
