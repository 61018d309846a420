// Never the same prompt twice: prompts whose state is kept in files, the same way for `run` and `chat`.
#pragma once
#include <cstdint>
#include <g4/g4.hpp>
#include <span>
#include <string>

#include "cli/terminal.h"

namespace g4::cli {
struct CacheOptions {
  std::string file;  // "": none
  std::string folder;
  uint64_t limit_bytes = 0;  // of the folder; 0: the library's default
};

// Brings the session to `tokens` with what the caches hold, and keeps the state there; says what was reused.
// Does nothing without a cache. Ctrl-C ends the process.
void use_cache(Terminal& terminal, Session& session, const CacheOptions& options,
               std::span<const int32_t> tokens);

// Takes over the state in a file as far as it fits `tokens`, and says how far that is.
void load_state(Terminal& terminal, Session& session, const std::string& path,
                std::span<const int32_t> tokens);
// Evaluates what is missing of `tokens`, and writes the state to a file. Ctrl-C ends the process.
void save_state(Terminal& terminal, Session& session, const std::string& path,
                std::span<const int32_t> tokens);
}  // namespace g4::cli
