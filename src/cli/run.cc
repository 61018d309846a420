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

std::vector<int32_t> tokenize_prompt(Session& session, const RunOptions& options, const std::string& prompt,
                                     std::vector<Attachment> attachments) {
  const TokenizerView tokenizer = session.tokenizer();
  if (options.raw) {
    const bool brings_bos = options.special && prompt.starts_with("<bos>");
    return tokenizer.tokenize(
        prompt, (brings_bos ? 0 : G4_TOKENIZE_BOS) | (options.special ? G4_TOKENIZE_SPECIAL : 0));
  }
  Conversation conversation;
  conversation.set_system(options.system);
  conversation.add_user(prompt, std::move(attachments));
  return conversation.tokenize(tokenizer, options.answer);
}
}  // namespace

int run(Terminal& terminal, const RunOptions& options) {
  const std::string prompt = read_prompt(options);
  interrupt::install();
  Session session = open_session(terminal, options.model);
  const std::vector<Attachment> attachments =
      attach_all(session, for_model(options.media, options.model));  // held until the end
  const std::vector<int32_t> tokens = tokenize_prompt(session, options, prompt, attachments);
  if (!options.load_kv.empty()) load_state(terminal, session, options.load_kv, tokens);
  use_cache(terminal, session, options.cache, tokens);
  if (!options.save_kv.empty()) save_state(terminal, session, options.save_kv, tokens);
  const Answer answer = stream_answer(terminal, session, tokens, options.answer);
  const bool is_stopped = answer.result.finish_reason == G4_FINISH_CANCELLED;
  if (!is_stopped) explain_end(terminal, session, answer);
  if (options.answer.stats) print_stats(terminal, session, answer);
  if (is_stopped) interrupt::end_process();
  return 0;
}
}  // namespace g4::cli
