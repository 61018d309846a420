#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdlib>
#include <sstream>

#include "cli/commands.h"

namespace g4::cli {
namespace {
// What only the command line must refuse: in g4.h a 0 stands for the default, and numbers cannot overflow.
// The rest is the library's.
std::string must_not_be_zero(const std::string& text) {
  char* end = nullptr;
  const float value = std::strtof(text.c_str(), &end);
  return end != text.c_str() && value == 0 ? "0 is not allowed" : "";
}
std::string must_be_seed(const std::string& text) {
  uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole ? "" : text + " is not a whole number from 0 to " + std::to_string(UINT64_MAX);
}

// Adds options to one group of a command's help.
struct Group {
  CLI::App& app;
  const char* title = "Options";

  template <typename T>
  CLI::Option* option(const char* name, T& value, const char* argument, const std::string& what) {
    return app.add_option(name, value, what)->group(title)->option_text(argument);
  }
  CLI::Option* flag(const char* name, bool& value, const char* what) {
    return app.add_flag(name, value, what)->group(title);
  }
};

void add_threads(Group& group, uint32_t& thread_count) {
  group.option("--threads", thread_count, "N", "Threads (default: the physical cores)")
      ->check(CLI::Range(1, 4096));
}

void add_cpu(Group& group, std::string& cpu) {
  group.option("--cpu", cpu, "NAME", std::string("Kernels, the first of these unless told: ") + g4_cpus());
}

void add_ple(Group& group, std::string& path) {
  group.option("--ple", path, "FILE", "GGUF file with the per-layer embedding table, if MODEL has none");
}

void add_model(CLI::App& app, ModelOptions& model) {
  app.add_option("model", model.path, "A GGUF file; the demo model if left out")->option_text("MODEL");
  Group group = {app, "How to run it"};
  add_threads(group, model.thread_count);
  group.flag("--pin", model.pin, "Keep each thread but the first on a core of its own");
  group
      .option("--context", model.context_count, "N",
              "Tokens that fit (default: the model's maximum, at most 32768)")
      ->check(CLI::Range(1U, UINT32_MAX));
  add_cpu(group, model.cpu);
  group.option("--kv-type", model.kv_type, "f16|f32|q8_0", "Numbers of the KV cache [f16]")
      ->check(CLI::IsMember(kKvTypes));
  group.option("--precision", model.precision, "int8|f32", "Activations against quantised weights [int8]")
      ->check(CLI::IsMember({"int8", "f32"}));
  add_ple(group, model.ple_path);
  group.option("--mmproj", model.mmproj_path, "FILE", "GGUF file with the model's vision and audio towers");
  group.flag("--ple-read", model.ple_read, "Read that table with plain reads instead of a mapping");
}

void add_sampling(CLI::App& app, SamplingOptions& sampling) {
  Group group = {app, "Sampling"};
  group.flag("--greedy", sampling.greedy, "Always the most likely token");
  group.option("--temperature", sampling.temperature, "X", "Higher is wilder, 0 is greedy [1]");
  group.option("--top-k", sampling.top_k, "K", "Only the K most likely tokens; 0: all [64]")
      ->check(CLI::Range(0, INT32_MAX));
  group
      .option("--top-p", sampling.top_p, "X",
              "Only the most likely tokens that make up this share; 1: all [0.95]")
      ->check(must_not_be_zero);
  group.option("--min-p", sampling.min_p, "X", "Only tokens this likely relative to the best [0]");
  group
      .option("--repetition-penalty", sampling.repetition_penalty, "X",
              "Divides the logits of tokens seen; 1: off [1]")
      ->check(must_not_be_zero);
  group.option("--presence-penalty", sampling.presence_penalty, "X",
               "Taken once from tokens of the answer [0]");
  group.option("--frequency-penalty", sampling.frequency_penalty, "X",
               "Taken for each use from tokens of the answer [0]");
  group.option("--seed", sampling.seed, "N", "Same seed, same text (default: random; --stats shows it)")
      ->check(must_be_seed);
}

void add_answer(CLI::App& app, AnswerOptions& answer) {
  Group group = {app, "The answer"};
  group
      .option("--max-tokens", answer.max_token_count, "N", "Ends it after so many tokens (default: no limit)")
      ->check(CLI::Range(1, INT32_MAX));
  group.option("--stop", answer.stops, "TEXT", "Ends it before this text; may be given several times")
      ->allow_extra_args(false);
  group.flag("--thinking", answer.thinking, "Let the model think first");
  group.flag("--show-thoughts", answer.show_thoughts,
             "Write thoughts to standard error even if it is no terminal");
  group.flag("--stats", answer.stats, "Tokens, times and memory after it");
  add_sampling(app, answer.sampling);
}

Group add_cache(CLI::App& app, CacheOptions& cache) {
  Group group = {app, "Never the same prompt twice"};
  group.option("--cache", cache.file, "FILE",
               "Take the prompt's state from FILE as far as it fits, and keep it there");
  CLI::Option* folder = group.option("--cache-dir", cache.folder, "DIR",
                                     "The same with a folder of states, found by their content");
  group
      .option("--cache-limit", cache.limit_bytes, "SIZE",
              "What the folder may hold, as 500MB or 2GB; the longest unused go first [4GB]")
      ->needs(folder)
      ->transform(CLI::AsSizeValue(false));
  return group;
}

void add_media(CLI::App& app, MediaOptions& media) {
  Group group = {app, "Pictures and sounds"};
  group
      .option("--image", media.images, "FILE",
              "A picture (PNG, JPEG) to go with the prompt; may be given several times")
      ->allow_extra_args(false);
  group
      .option("--audio", media.sounds, "FILE",
              "A sound (WAV, FLAC) to go with the prompt; may be given several times")
      ->allow_extra_args(false);
  group
      .option("--image-tokens", media.image_tokens, "N",
              "Tokens a picture takes at most: 70, 140, 280, 560, 1120 [280]")
      ->check(CLI::IsMember({70, 140, 280, 560, 1120}));
  group.flag("--split-audio", media.split_audio, "Cut sounds of more than 30 s into clips");
}

void add_options(CLI::App& app, RunOptions& options) {
  Group group = {app};
  group.option("-p,--prompt", options.prompt, "TEXT", "The prompt; - or left out: what is piped in");
  group.option("--system", options.system, "TEXT", "System message");
  CLI::Option* raw =
      group.flag("--raw", options.raw, "Go on from the text as it is, without the chat format");
  group.flag("--special", options.special, "With --raw: control tokens written in the prompt count")
      ->needs(raw);
  add_media(app, options.media);
  for (const char* name : {"--image", "--audio"}) app.get_option(name)->excludes(raw);
  Group kv = add_cache(app, options.cache);
  kv.option("--load-kv", options.load_kv, "FILE",
            "Begin with the state in FILE, as far as it fits the prompt");
  kv.option("--save-kv", options.save_kv, "FILE", "Write the prompt's state to FILE");
  add_model(app, options.model);
  add_answer(app, options.answer);
}

void add_options(CLI::App& app, ChatOptions& options) {
  Group{app}.option("--system", options.system, "TEXT", "System message");
  add_media(app, options.media);
  add_cache(app, options.cache);
  add_model(app, options.model);
  add_answer(app, options.answer);
}

void add_options(CLI::App& app, InfoOptions& options) {
  Group{app}.flag("--json", options.json, "As a JSON object");
  add_model(app, options.model);
}

void add_options(CLI::App& app, PrepareOptions& options) {
  app.add_option("model", options.path, "A GGUF file")->option_text("MODEL")->required();
  app.add_option("out", options.out_path, "The prepared file to write")->option_text("OUT")->required();
  Group group = {app};
  add_cpu(group, options.cpu);
  add_ple(group, options.ple_path);
  add_threads(group, options.thread_count);
}

void add_options(CLI::App& app, TokenizeOptions& options) {
  Group group = {app};
  app.add_option("model", options.path, "A GGUF file, which may hold no tensors; the demo model if left out")
      ->option_text("MODEL");
  CLI::Option* text = group.option("-p,--text", options.text, "TEXT",
                                   "The text; - or left out: what is piped in, byte for byte");
  group
      .option("--decode", options.ids, "IDS",
              "Ids to turn into text, separated by spaces or commas; -: what is piped in")
      ->excludes(text);
  group.flag("--pieces", options.pieces, "One token a line, with its text");
  group.flag("--special", options.special,
             "Control tokens written in the text count; --decode writes them out");
  group.flag("--bos", options.bos, "Put <bos> in front");
  group.flag("--json", options.json, "As a JSON object");
}

void add_options(CLI::App& app, BenchOptions& options) {
  Group group = {app};
  const CLI::Range at_least_one(1, 1 << 24);
  group.option("--prefill", options.prefill_count, "N", "Tokens of the prompt [512]")->check(at_least_one);
  group.option("--decode", options.decode_count, "N", "Tokens to generate [32]")->check(at_least_one);
  group.option("--depth", options.depth, "N", "Tokens the session holds before [0]")
      ->check(CLI::Range(0, 1 << 24));
  group.option("--sessions", options.session_count, "N", "Sessions that generate together [1]")
      ->check(CLI::Range(1, 1024));
  group.option("--restore", options.restore_path, "FILE",
               "Save the prompt's state to FILE, restore it, and time that");
  group.option("--repeat", options.repeat_count, "N", "Runs; the median counts [3]")->check(at_least_one);
  group.flag("--json", options.json, "As a JSON object");
  add_model(app, options.model);
}

// What is wrong with the command line, and where to read how it should be.
std::string usage_message(const CLI::App& program, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = program.get_subcommands();
  if (!chosen.empty())
    return std::string(error.what()) + " (see g4 " + chosen.front()->get_name() + " --help)";
  const std::vector<std::string> words = program.remaining();
  return (words.empty() ? "no command given" : "there is no command " + words.front()) + " (see g4 --help)";
}
}  // namespace

std::function<int(Terminal&)> parse_command_line(int argc, char** argv) {
  CLI::App program("g4 runs Gemma 4 models on CPUs.\nMODEL is a GGUF file; left out, it is the demo model.",
                   "g4");
  program.set_version_flag("--version", std::string("g4 ") + g4_version(), "Print the version and exit");
  program.require_subcommand(1);
  program.get_formatter()->column_width(34);
  std::function<int(Terminal&)> chosen;
  const auto add = [&](const char* name, const char* what, auto options, auto command) {
    CLI::App* app = program.add_subcommand(name, what);
    const auto shared = std::make_shared<decltype(options)>(std::move(options));
    add_options(*app, *shared);
    app->callback([&chosen, shared, command] {
      chosen = [shared, command](Terminal& terminal) { return command(terminal, *shared); };
    });
  };
  add("run", "Answer one prompt", RunOptions(), run);
  add("chat", "Talk with the model", ChatOptions(), chat);
  add("info", "Show what a model is, its KV registry and the memory it needs", InfoOptions(), info);
  add("prepare", "Write a model in the form that opens at once on this machine", PrepareOptions(), prepare);
  add("tokenize", "Turn text into token ids, or ids into text", TokenizeOptions(), tokenize);
  add("bench", "Measure speed and memory", BenchOptions(), bench);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw Failure(kUsage, usage_message(program, error));
    std::ostringstream text;  // help or version
    program.exit(error, text, text);
    chosen = [text = text.str()](Terminal& terminal) {
      terminal.out.write(text);
      return 0;
    };
  }
  return chosen;
}
}  // namespace g4::cli
