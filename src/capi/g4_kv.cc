// The C ABI over the KV state: positions, files, caches. As g4.cc, no logic lives here.
#include <algorithm>

#include "capi/names.h"
#include "g4/g4.h"
#include "session/session.h"

namespace {
StatusOr<g4::PrefillProgress> extend_progress(const g4_prefill_options* options) {
  G4_ASSIGN_OR_RETURN(const g4_prefill_options o, read_struct(options, "g4_prefill_options"));
  G4_RETURN_IF_ERROR(check_flags(o.flags, 0));
  if (o.all_logits != nullptr)
    return argument_error("g4_extend gives the last logits only; use g4_prefill for all_logits");
  return progress_events(G4_EVENT_PREFILL, o.callback, o.payload);
}
}  // namespace

g4_status g4_reset(g4_session* session) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(session, "session"));
    return session->session->reset();
  });
}

size_t g4_rewind_min(const g4_session* session) {
  return session == nullptr ? 0 : static_cast<size_t>(session->session->rewind_min());
}

g4_status g4_truncate(g4_session* session, size_t position, uint32_t flags) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(session, "session"));
    G4_RETURN_IF_ERROR(check_flags(flags, G4_TRUNCATE_REEVALUATE));
    if (position > static_cast<size_t>(session->session->position()))
      return argument_error(StrCat("cannot truncate to position ", position, ": the session stands at ",
                                   session->session->position()));
    return session->session->truncate(static_cast<int>(position), (flags & G4_TRUNCATE_REEVALUATE) != 0);
  });
}

g4_status g4_extend(size_t* reused_count, g4_session* session, const int32_t* tokens, size_t token_count,
                    const g4_prefill_options* options) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(session, "session"));
    G4_RETURN_IF_ERROR(check_count(tokens, token_count, "tokens"));
    G4_ASSIGN_OR_RETURN(const auto progress, extend_progress(options));
    G4_ASSIGN_OR_RETURN(const size_t reused, session->session->extend({tokens, token_count}, progress));
    if (reused_count != nullptr) *reused_count = reused;
    return absl::OkStatus();
  });
}

g4_status g4_extend_cached(g4_cache_result* result, g4_session* session, const int32_t* tokens,
                           size_t token_count, const g4_cache_options* cache,
                           const g4_prefill_options* options) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(session, "session"));
    G4_RETURN_IF_ERROR(check_count(tokens, token_count, "tokens"));
    G4_ASSIGN_OR_RETURN(const g4_cache_options c, read_struct(cache, "g4_cache_options"));
    G4_RETURN_IF_ERROR(check_flags(c.flags, G4_CACHE_FILE));
    G4_RETURN_IF_ERROR(require(c.path, "g4_cache_options.path"));
    g4::CacheOptions where{c.path, (c.flags & G4_CACHE_FILE) != 0};
    if (c.limit_bytes != 0) where.limit_bytes = c.limit_bytes;
    G4_ASSIGN_OR_RETURN(const auto progress, extend_progress(options));
    g4_cache_result out = {};
    if (result != nullptr) G4_RETURN_IF_ERROR(write_struct(result, out, "g4_cache_result"));
    G4_ASSIGN_OR_RETURN(const g4::CacheUse use,
                        session->session->extend_cached({tokens, token_count}, where, progress));
    if (!use.status.ok()) out.cache_status = g4::report(use.status);
    out.reused_count = use.reused;
    out.written_bytes = use.written_bytes;
    return result == nullptr ? absl::OkStatus() : write_struct(result, out, "g4_cache_result");
  });
}

g4_status g4_save_kv(uint64_t* written_bytes, g4_session* session, const char* path) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(session, "session"));
    G4_RETURN_IF_ERROR(require(path, "path"));
    G4_ASSIGN_OR_RETURN(const uint64_t bytes, session->session->save_kv(path));
    if (written_bytes != nullptr) *written_bytes = bytes;
    return absl::OkStatus();
  });
}

g4_status g4_load_kv(size_t* restored_count, g4_session* session, const char* path, const int32_t* tokens,
                     size_t token_count) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(session, "session"));
    G4_RETURN_IF_ERROR(require(path, "path"));
    G4_RETURN_IF_ERROR(check_count(tokens, token_count, "tokens"));
    G4_ASSIGN_OR_RETURN(const size_t restored, session->session->load_kv(path, {tokens, token_count}));
    if (restored_count != nullptr) *restored_count = restored;
    return absl::OkStatus();
  });
}

g4_status g4_kv_probe(g4_kv_probe_result* result, int32_t* tokens, size_t capacity, size_t* needed,
                      const char* path) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(path, "path"));
    G4_ASSIGN_OR_RETURN(const g4::KvFileInfo info, g4::probe_kv(path));
    g4_kv_probe_result out = {};
    out.has_logits = info.has_logits ? 1 : 0;
    out.position_count = info.tokens.size();
    out.file_bytes = info.size_bytes;
    std::copy(info.model.begin(), info.model.end(), out.model);
    info.kv_type.copy(out.kv_type, sizeof out.kv_type - 1);
    G4_RETURN_IF_ERROR(write_struct(result, out, "g4_kv_probe_result"));
    return needed == nullptr && capacity == 0 ? absl::OkStatus()
                                              : write_buffer<int32_t>(info.tokens, tokens, capacity, needed);
  });
}

g4_status g4_model_fingerprint(uint8_t* fingerprint, const g4_session* session) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(fingerprint, "fingerprint"));
    G4_RETURN_IF_ERROR(require(session, "session"));
    const g4::Fingerprint& own = session->session->model().fingerprint();
    std::copy(own.begin(), own.end(), fingerprint);
    return absl::OkStatus();
  });
}
