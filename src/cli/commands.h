// The commands of g4 and what they can be told. Each returns the exit code.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "cli/answer.h"
#include "cli/attachment.h"
#include "cli/open_model.h"
#include "cli/prompt_state.h"
#include "cli/terminal.h"

namespace g4::cli {
struct RunOptions {
  ModelOptions model;
  AnswerOptions answer;
  MediaOptions media;
  std::optional<std::string> prompt;  // "-" or none: what is piped in
  std::string system;
  bool raw = false;      // no chat format
  bool special = false;  // with raw: control tokens in the prompt count
  CacheOptions cache;
  std::string load_kv;  // KV files; "": none
  std::string save_kv;
};
int run(Terminal& terminal, const RunOptions& options);

struct ChatOptions {
  ModelOptions model;
  AnswerOptions answer;
  MediaOptions media;  // go with the first message
  CacheOptions cache;
  std::string system;
};
int chat(Terminal& terminal, const ChatOptions& options);

struct InfoOptions {
  ModelOptions model;
  bool json = false;
};
int info(Terminal& terminal, const InfoOptions& options);

struct PrepareOptions {
  std::string path, out_path;
  std::string ple_path;
  std::string cpu;
  uint32_t thread_count = 0;
};
int prepare(Terminal& terminal, const PrepareOptions& options);

struct TokenizeOptions {
  std::string path;
  std::optional<std::string> text;  // "-" or none: what is piped in
  std::optional<std::string> ids;   // to text instead; "-": what is piped in
  bool pieces = false;
  bool special = false;
  bool bos = false;
  bool json = false;
};
int tokenize(Terminal& terminal, const TokenizeOptions& options);

struct BenchOptions {
  ModelOptions model;
  uint32_t prefill_count = 512;
  uint32_t decode_count = 32;
  uint32_t depth = 0;
  uint32_t session_count = 1;
  uint32_t repeat_count = 3;
  std::string restore_path;  // KV file to save the prompt in and restore it from; "": none
  bool json = false;
};
int bench(Terminal& terminal, const BenchOptions& options);
}  // namespace g4::cli
