// g4 run: one prompt, one answer.
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/answer.h"
#include "cli/commands.h"

namespace g4::cli {
namespace {
struct RunOptions {
  ModelOptions model;
  AnswerOptions answer;
  std::optional<std::string> prompt;
  std::string system;
  bool raw = false;
  bool special = false;
};

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
  nlohmann::json messages = nlohmann::json::array();
  if (!options.system.empty()) messages.push_back({{"role", "system"}, {"content", options.system}});
  messages.push_back({{"role", "user"}, {"content", prompt}});
  return tokenizer.chat_tokenize(conversation_text(messages), options.answer.chat_options());
}

int run(Terminal& terminal, RunOptions& options) {
  const std::string prompt = read_prompt(options);
  interrupt::install();
  Session session = options.model.open(terminal);
  const std::vector<int32_t> tokens = tokenize_prompt(session.tokenizer(), options, prompt);
  const Answer answer = stream_answer(terminal, session, tokens, options.answer);
  const bool is_stopped = answer.result.finish_reason == G4_FINISH_CANCELLED;
  if (!is_stopped) explain_end(terminal, session, answer);
  if (options.answer.stats) print_stats(terminal, session, answer);
  if (is_stopped) interrupt::end_process();
  return 0;
}
}  // namespace

Command add_run(CLI::App& program) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* app = program.add_subcommand("run", "Answer one prompt");
  options->model.add_to(*app);
  app->add_option("-p,--prompt", options->prompt, "The prompt; - or left out: what is piped in")
      ->option_text("TEXT");
  app->add_option("--system", options->system, "System message")->option_text("TEXT");
  CLI::Option* raw =
      app->add_flag("--raw", options->raw, "Go on from the text as it is, without the chat format");
  app->add_flag("--special", options->special, "With --raw: control tokens written in the prompt count")
      ->needs(raw);
  options->answer.add_to(*app);
  return {app, [options](Terminal& terminal) { return run(terminal, *options); }};
}
}  // namespace g4::cli
