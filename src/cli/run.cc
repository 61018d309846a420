// g4 run: one prompt, one answer.
#include <unistd.h>

#include "cli/commands.h"
#include "cli/conversation.h"

namespace g4::cli {
namespace {
// -p, or what is piped in, without the newline at its end.
std::string read_prompt(const RunOptions& options) {
  std::string prompt = options.prompt.value_or("");
  const bool is_piped = options.prompt ? prompt == "-" : isatty(STDIN_FILENO) == 0;
  if (is_piped) {
    prompt = read_standard_input();
    if (prompt.ends_with('\n')) prompt.pop_back();
  }
  if (prompt.empty()) throw Failure(kUsage, "there is no prompt: give one with -p TEXT, or pipe it in");
  return prompt;
}

std::vector<int32_t> tokenize_prompt(const TokenizerView& tokenizer, const RunOptions& options,
                                     const std::string& prompt) {
  if (options.raw) {
    const bool brings_bos = options.special && prompt.starts_with("<bos>");
    return tokenizer.tokenize(
        prompt, (brings_bos ? 0 : G4_TOKENIZE_BOS) | (options.special ? G4_TOKENIZE_SPECIAL : 0));
  }
  Conversation conversation;
  conversation.set_system(options.system);
  conversation.add_user(prompt);
  return tokenizer.chat_tokenize(conversation.json(), chat_options(options.answer));
}

void load_state(Terminal& terminal, Session& session, const std::string& path,
                std::span<const int32_t> tokens) {
  const size_t restored = session.load_kv(path, tokens);
  terminal.err.write("(" + path + ": " + std::to_string(restored) + " of " + std::to_string(tokens.size()) +
                         " prompt tokens reused)\n",
                     Style::kDim);
}

// Brings the session as far as KV files reach, and writes those that are asked for.
void use_kv_files(Terminal& terminal, Session& session, const RunOptions& options,
                  std::span<const int32_t> tokens) {
  if (!options.load_kv.empty()) load_state(terminal, session, options.load_kv, tokens);
  bool writes_cache = !options.cache.empty();
  if (writes_cache && access(options.cache.c_str(), F_OK) == 0) {
    try {
      load_state(terminal, session, options.cache, tokens);
      writes_cache = session.position() < tokens.size();
    } catch (const Error& error) {  // of another model, or damaged: replaced
      terminal.err.write("(" + std::string(error.what()) + "; it will be written anew)\n", Style::kDim);
    }
  }
  if (!writes_cache && options.save_kv.empty()) return;
  Progress progress(terminal.err, "reading");
  const interrupt::Watch watch(session);
  try {
    session.extend(tokens, [&](const g4_event& event) {
      progress.update(event.done_count, event.total_count);
      return !interrupt::pending();
    });
  } catch (const Error& error) {
    if (error.status() != G4_ERR_CANCELLED) throw;
    progress.clear();
    interrupt::end_process();
  }
  progress.clear();
  if (writes_cache) session.save_kv(options.cache);
  if (!options.save_kv.empty()) session.save_kv(options.save_kv);
}
}  // namespace

int run(Terminal& terminal, const RunOptions& options) {
  const std::string prompt = read_prompt(options);
  interrupt::install();
  Session session = open_session(terminal, options.model);
  const std::vector<int32_t> tokens = tokenize_prompt(session.tokenizer(), options, prompt);
  use_kv_files(terminal, session, options, tokens);
  const Answer answer = stream_answer(terminal, session, tokens, options.answer);
  const bool is_stopped = answer.result.finish_reason == G4_FINISH_CANCELLED;
  if (!is_stopped) explain_end(terminal, session, answer);
  if (options.answer.stats) print_stats(terminal, session, answer);
  if (is_stopped) interrupt::end_process();
  return 0;
}
}  // namespace g4::cli
