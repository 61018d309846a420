#include "cli/prompt_state.h"

namespace g4::cli {
namespace {
void say_reused(Terminal& terminal, const std::string& path, size_t reused, size_t count) {
  terminal.err.write("(" + path + ": " + std::to_string(reused) + " of " + std::to_string(count) +
                         " prompt tokens reused)\n",
                     Style::kDim);
}

// Calls evaluate(on_event) with a progress bar.
template <typename Evaluate>
auto with_progress(Terminal& terminal, Session& session, Evaluate evaluate) {
  Progress progress(terminal.err, "reading");
  const interrupt::Watch watch(session);
  try {
    return evaluate([&](const g4_event& event) {
      progress.update(event.done_count, event.total_count);
      return !interrupt::pending();
    });
  } catch (const Error& error) {
    if (error.status() != G4_ERR_CANCELLED) throw;
    progress.clear();
    interrupt::end_process();
  }
}

void use_cache_at(Terminal& terminal, Session& session, const std::string& path, uint32_t flags,
                  uint64_t limit_bytes, std::span<const int32_t> tokens) {
  if (path.empty()) return;
  g4_cache_options cache = G4_INIT(g4_cache_options);
  cache.path = path.c_str();
  cache.flags = flags;
  cache.limit_bytes = limit_bytes;
  const size_t held = session.position();
  const g4_cache_result result = with_progress(
      terminal, session, [&](auto&& on_event) { return session.extend_cached(tokens, cache, on_event); });
  if (result.cache_status != G4_OK) {
    const char* end = result.written_bytes > 0 ? "; written anew)\n" : ")\n";
    terminal.err.write("(" + std::string(g4_last_error()) + end, Style::kDim);
  } else if (result.reused_count > held) {
    say_reused(terminal, path, result.reused_count, tokens.size());
  }
}
}  // namespace

void use_cache(Terminal& terminal, Session& session, const CacheOptions& options,
               std::span<const int32_t> tokens) {
  use_cache_at(terminal, session, options.file, G4_CACHE_FILE, 0, tokens);
  use_cache_at(terminal, session, options.folder, 0, options.limit_bytes, tokens);
}

void load_state(Terminal& terminal, Session& session, const std::string& path,
                std::span<const int32_t> tokens) {
  say_reused(terminal, path, session.load_kv(path, tokens), tokens.size());
}

void save_state(Terminal& terminal, Session& session, const std::string& path,
                std::span<const int32_t> tokens) {
  with_progress(terminal, session, [&](auto&& on_event) { return session.extend(tokens, on_event); });
  session.save_kv(path);
}
}  // namespace g4::cli
