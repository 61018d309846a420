// The C ABI: each function checks its arguments, calls one method and translates the status. No logic lives
// here.
#include "g4/g4.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu.h"
#include "capi/names.h"
#include "model/read_config.h"
#include "session/session.h"

namespace {
struct OpenOptions {
  g4::ModelOptions model;
  g4::SessionOptions session;
  g4::LoadProgress progress;
};

StatusOr<OpenOptions> open_options(const g4_session_options* given) {
  G4_ASSIGN_OR_RETURN(const g4_session_options o, read_struct(given, "g4_session_options"));
  G4_RETURN_IF_ERROR(check_flags(o.flags, G4_SESSION_PLE_READ | G4_SESSION_PIN));
  constexpr uint32_t kMost = 1u << 30;
  if (o.context_count > kMost || o.thread_count > kMost || o.chunk_count > kMost)
    return argument_error("context_count, thread_count or chunk_count is out of range");
  OpenOptions out;
  if (o.flags & G4_SESSION_PLE_READ) out.model.ple_mode = g4::DiskEmbedding::Mode::kRead;
  out.session.pin_threads = (o.flags & G4_SESSION_PIN) != 0;
  if (o.ple_path != nullptr) out.model.ple_path = o.ple_path;
  if (o.mmproj_path != nullptr) out.model.mmproj_path = o.mmproj_path;
  if (o.cpu != nullptr) out.model.cpu = o.cpu;
  out.session.context = static_cast<int>(o.context_count);
  out.model.thread_count = out.session.thread_count = static_cast<int>(o.thread_count);
  out.session.chunk = static_cast<int>(o.chunk_count);
  if (o.kv_type < G4_KV_DEFAULT || o.kv_type > G4_KV_Q8_0)
    return argument_error(StrCat("kv_type ", o.kv_type, " is unknown"));
  if (o.kv_type != G4_KV_DEFAULT) out.session.kv_type = static_cast<g4::KvType>(o.kv_type - G4_KV_F16);
  if (o.rewind_count > kMost) return argument_error("rewind_count is out of range");
  if (o.rewind_count != 0) out.session.rewind_margin = static_cast<int>(o.rewind_count);
  if (o.precision != G4_PRECISION_DEFAULT && o.precision != G4_PRECISION_F32)
    return argument_error(StrCat("precision ", o.precision, " is unknown"));
  out.session.precision = o.precision == G4_PRECISION_F32 ? g4::Precision::kF32 : g4::Precision::kInt8;
  out.progress = progress_events(G4_EVENT_LOAD, o.callback, o.payload);
  return out;
}
}  // namespace

extern "C" {

uint32_t g4_abi_version(void) { return G4_ABI_VERSION; }
const char* g4_version(void) { return G4_VERSION; }

const char* g4_status_phrase(g4_status status) {
  switch (status) {
    case G4_OK:
      return "ok";
    case G4_ERR_ARGUMENT:
      return "wrong argument";
    case G4_ERR_BUFFER:
      return "buffer too small";
    case G4_ERR_STATE:
      return "not possible in this state";
    case G4_ERR_IO:
      return "cannot read or write a file";
    case G4_ERR_FORMAT:
      return "damaged or inconsistent file";
    case G4_ERR_UNSUPPORTED:
      return "not supported";
    case G4_ERR_MISMATCH:
      return "belongs to another model or KV type";
    case G4_ERR_MEMORY:
      return "out of memory";
    case G4_ERR_CONTEXT_FULL:
      return "context full";
    case G4_ERR_CANCELLED:
      return "cancelled";
    case G4_ERR_INTERNAL:
      return "internal error";
    default:
      return "unknown status";
  }
}

const char* g4_last_error(void) { return g4::last_error_message(); }

const char* g4_cpus(void) {
  static const std::string names = [] {
    std::string list;
    size_t count = 0;
    const g4::Kernels* const* rows = g4::kernel_rows(&count);
    const uint32_t features = g4::detect_cpu_features();
    for (size_t i = 0; i < count; ++i)
      if ((rows[i]->required_features & ~features) == 0)
        list += (list.empty() ? "" : " ") + std::string(rows[i]->name);
    return list;
  }();
  return names.c_str();
}

g4_status g4_session_open(g4_session** out, const char* path, const g4_session_options* options) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(out, "out"));
    *out = nullptr;
    G4_RETURN_IF_ERROR(require(path, "path"));
    G4_ASSIGN_OR_RETURN(const OpenOptions o, open_options(options));
    G4_ASSIGN_OR_RETURN(std::shared_ptr<const g4::Model> model, g4::Model::open(path, o.model, o.progress));
    G4_ASSIGN_OR_RETURN(std::unique_ptr<g4::Session> session,
                        g4::Session::create(std::move(model), o.session));
    *out = new g4_session(std::move(session));
    return absl::OkStatus();
  });
}

g4_status g4_session_fork(g4_session** out, g4_session* session) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(out, "out"));
    *out = nullptr;
    G4_RETURN_IF_ERROR(require(session, "session"));
    G4_ASSIGN_OR_RETURN(std::unique_ptr<g4::Session> copy, session->session->fork());
    *out = new g4_session(std::move(copy));
    return absl::OkStatus();
  });
}

void g4_session_free(g4_session* session) { delete session; }

g4_status g4_estimate(g4_memory_estimate* estimate, const char* path, const g4_session_options* options) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(path, "path"));
    G4_ASSIGN_OR_RETURN(const OpenOptions o, open_options(options));
    G4_ASSIGN_OR_RETURN(std::shared_ptr<const g4::Model> model, g4::Model::open_headers(path, o.model));
    G4_ASSIGN_OR_RETURN(const g4::MemoryEstimate e, g4::Session::estimate(*model, o.session));
    g4_memory_estimate result = {};
    result.weights_bytes = e.weights;
    result.ple_disk_bytes = e.ple_disk;
    result.kv_bytes = e.kv;
    result.scratch_bytes = e.scratch;
    result.total_bytes = e.weights + e.kv + e.scratch;
    return write_struct(estimate, result, "g4_memory_estimate");
  });
}

g4_status g4_prepare(const char* path, const char* out_path, const g4_session_options* options) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(path, "path"));
    G4_RETURN_IF_ERROR(require(out_path, "out_path"));
    G4_ASSIGN_OR_RETURN(const OpenOptions o, open_options(options));
    return g4::Model::prepare(path, out_path, o.model, o.progress);
  });
}

g4_status g4_prefill(g4_session* session, const int32_t* tokens, size_t token_count,
                     const g4_prefill_options* options) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(session, "session"));
    G4_RETURN_IF_ERROR(check_count(tokens, token_count, "tokens"));
    G4_ASSIGN_OR_RETURN(const g4_prefill_options o, read_struct(options, "g4_prefill_options"));
    G4_RETURN_IF_ERROR(check_flags(o.flags, 0));
    uint64_t logits_count = 0;
    const uint64_t V = static_cast<uint64_t>(session->session->model().config().vocab_size);
    if (o.all_logits != nullptr &&
        (!g4::checked_mul(token_count, V, &logits_count) || o.all_logits_count < logits_count))
      return argument_error(StrCat("all_logits holds ", o.all_logits_count, " values; ", token_count,
                                   " tokens need ", token_count, " * ", V));
    return session->session->prefill({tokens, token_count}, o.all_logits,
                                     progress_events(G4_EVENT_PREFILL, o.callback, o.payload));
  });
}

g4_status g4_prefill_batch(g4_session* const* sessions, const int32_t* const* tokens,
                           const size_t* token_counts, size_t session_count) {
  return guarded([&]() -> Status {
    if (session_count == 0) return argument_error("session_count is 0");
    G4_RETURN_IF_ERROR(require(sessions, "sessions"));
    G4_RETURN_IF_ERROR(require(tokens, "tokens"));
    G4_RETURN_IF_ERROR(require(token_counts, "token_counts"));
    std::vector<g4::Session*> list;
    std::vector<std::span<const int32_t>> token_lists;
    for (size_t i = 0; i < session_count; ++i) {
      G4_RETURN_IF_ERROR(require(sessions[i], "a session"));
      G4_RETURN_IF_ERROR(check_count(tokens[i], token_counts[i], "tokens of a session"));
      list.push_back(sessions[i]->session.get());
      token_lists.emplace_back(tokens[i], token_counts[i]);
    }
    return g4::Session::prefill_batch(list, token_lists);
  });
}

g4_status g4_logits(const float** logits, size_t* logits_count, g4_session* session) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(logits, "logits"));
    G4_RETURN_IF_ERROR(require(logits_count, "logits_count"));
    G4_RETURN_IF_ERROR(require(session, "session"));
    const std::span<const float> values = session->session->logits();
    if (values.empty()) return g4::state_error("there are no logits: evaluate at least one token first");
    *logits = values.data();
    *logits_count = values.size();
    return absl::OkStatus();
  });
}

void g4_cancel(g4_session* session) {
  if (session != nullptr) session->session->cancel();
}

size_t g4_position(const g4_session* session) {
  return session == nullptr ? 0 : static_cast<size_t>(session->session->position());
}

g4_status g4_tokens(int32_t* tokens, size_t capacity, size_t* needed, g4_session* session) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(session, "session"));
    return write_buffer<int32_t>(session->session->tokens(), tokens, capacity, needed);
  });
}

g4_status g4_session_info(g4_info* info, const g4_session* session) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(session, "session"));
    const g4::Session& s = *session->session;
    const g4::ModelConfig& c = s.model().config();
    g4_info out = {};
    out.layer_count = static_cast<uint32_t>(c.layer_count());
    out.hidden_size = static_cast<uint32_t>(c.hidden_dim);
    out.head_count = static_cast<uint32_t>(c.head_count);
    out.vocab_count = static_cast<uint32_t>(c.vocab_size);
    out.context_count = static_cast<uint32_t>(s.options().context);
    out.model_context_count = static_cast<uint32_t>(c.context_length);
    out.sliding_window = static_cast<uint32_t>(c.sliding_window);
    out.shared_kv_layer_count = static_cast<uint32_t>(c.shared_kv_layer_count);
    out.ple_size = static_cast<uint32_t>(c.ple_dim);
    out.expert_count = static_cast<uint32_t>(c.expert_count);
    out.thread_count = static_cast<uint32_t>(s.options().thread_count);
    out.weights_bytes = s.model().network().weights.mapped_bytes;
    out.ple_bytes = s.model().ple_bytes();
    out.kv_type = G4_KV_F16 + static_cast<g4_kv_type>(s.options().kv_type);
    out.precision = s.options().precision == g4::Precision::kF32 ? G4_PRECISION_F32 : G4_PRECISION_DEFAULT;
    out.architecture = c.architecture.c_str();
    out.name = c.name.c_str();
    out.variant = g4::variant_name(c);
    out.quantisation = s.model().quantisation();
    out.cpu = s.kernels().name;
    if (const g4::Towers* towers = s.model().towers(); towers != nullptr) {
      out.can_see = towers->vision.empty() ? 0 : 1;
      out.can_hear = towers->audio.empty() ? 0 : 1;
    }
    return write_struct(info, out, "g4_info");
  });
}

g4_status g4_kv_layer_info(g4_kv_layer* row, const g4_session* session, uint32_t layer) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(session, "session"));
    const g4::KvMeta& meta = session->session->model().network().kv_meta;
    if (layer >= static_cast<uint32_t>(meta.layer_count()))
      return argument_error(StrCat("layer ", layer, " does not exist; the model has ", meta.layer_count()));
    const g4::KvLayer& r = meta[static_cast<int>(layer)];
    g4_kv_layer out = {};
    out.is_sliding = r.is_sliding ? 1 : 0;
    out.source_layer = static_cast<uint32_t>(r.source_layer);
    out.window = static_cast<uint32_t>(r.window);
    out.kv_head_count = static_cast<uint32_t>(r.kv_head_count);
    out.head_size = static_cast<uint32_t>(r.head_dim);
    out.offset_bytes = meta.offset_bytes(static_cast<int>(layer), session->session->options().kv_type);
    return write_struct(row, out, "g4_kv_layer");
  });
}

g4_status g4_session_stats(g4_stats* stats, const g4_session* session) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(session, "session"));
    const g4::Session& s = *session->session;
    g4_stats out = {};
    out.prefill_ns = s.stats().prefill_ns;
    out.decode_ns = s.stats().decode_ns;
    out.prefill_token_count = s.stats().prefill_tokens;
    out.decode_token_count = s.stats().decode_tokens;
    out.evaluated_token_count = out.prefill_token_count + out.decode_token_count;
    out.kv_bytes = s.kv_bytes();
    out.scratch_bytes = s.scratch_bytes();
    out.reused_token_count = s.reused_tokens();
    if (s.model().network().ple != nullptr) {
      const g4::DiskEmbedding::Counters counters = s.model().network().ple->counters();
      out.ple_row_count = counters.rows;
      out.ple_read_bytes = counters.bytes;
      out.ple_ns = counters.ns;
    }
    return write_struct(stats, out, "g4_stats");
  });
}

g4_status g4_layer_rows(uint64_t* rows, size_t capacity, size_t* needed, const g4_session* session) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(session, "session"));
    return write_buffer<uint64_t>(session->session->layer_rows(), rows, capacity, needed);
  });
}

}  // extern "C"
