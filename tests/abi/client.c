/* A program of the time when ABI 1 was released: compiled against the header of that time (g4-1.h) and run with the library of today.
 * client MODEL.gguf KV_FILE */
#include "g4-1.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRE(condition)                                                                          \
  do {                                                                                              \
    if (!(condition)) {                                                                             \
      fprintf(stderr, "line %d: %s (last error: %s)\n", __LINE__, #condition, g4_last_error()); \
      exit(1);                                                                                      \
    }                                                                                               \
  } while (0)

enum { kCapacity = 512 };
static const char kChat[] = "[{\"role\": \"user\", \"content\": \"What is the capital of Kenya?\"}]";

struct heard {
  char text[4096];
  size_t load_count, prefill_count, token_count;
};

static int32_t on_event(const g4_event* event, void* payload) {
  struct heard* heard = payload;
  REQUIRE(event->struct_size >= sizeof(g4_event));
  if (event->kind == G4_EVENT_LOAD) ++heard->load_count;
  if (event->kind == G4_EVENT_PREFILL) ++heard->prefill_count;
  if (event->kind == G4_EVENT_TOKEN) {
    ++heard->token_count;
    REQUIRE(event->channel == G4_CHANNEL_TEXT && strlen(event->text) == event->text_bytes);
    strncat(heard->text, event->text, sizeof(heard->text) - strlen(heard->text) - 1);
  }
  return 0;
}

static g4_session* open_session(const char* model, struct heard* heard) {
  g4_session_options options = G4_INIT(g4_session_options);
  options.context_count = 256;
  options.thread_count = 1;
  options.kv_type = G4_KV_F32;
  options.callback = on_event;
  options.payload = heard;
  g4_session* session = NULL;
  REQUIRE(g4_session_open(&session, model, &options) == G4_OK && session != NULL);
  g4_memory_estimate estimate = G4_INIT(g4_memory_estimate);
  REQUIRE(g4_estimate(&estimate, model, &options) == G4_OK && estimate.total_bytes > estimate.kv_bytes);
  return session;
}

static void describe(g4_session* session) {
  g4_info info = G4_INIT(g4_info);
  REQUIRE(g4_session_info(&info, session) == G4_OK);
  REQUIRE(info.struct_size == sizeof(g4_info) && info.context_count == 256 && info.kv_type == G4_KV_F32);
  REQUIRE(strcmp(info.architecture, "gemma4") == 0 && info.layer_count == 10);
  g4_kv_layer row = G4_INIT(g4_kv_layer);
  REQUIRE(g4_kv_layer_info(&row, session, 9) == G4_OK && row.source_layer == 4);
  REQUIRE(g4_kv_layer_info(&row, session, 10) == G4_ERR_ARGUMENT);
  g4_stats stats = G4_INIT(g4_stats);
  REQUIRE(g4_session_stats(&stats, session) == G4_OK && stats.evaluated_token_count == g4_position(session));
}

static void answer(g4_session* session, struct heard* heard) {
  int32_t prompt[kCapacity];
  size_t prompt_count = 0;
  g4_chat_options chat = G4_INIT(g4_chat_options);
  REQUIRE(g4_chat_tokenize(prompt, kCapacity, &prompt_count, g4_session_tokenizer(session), kChat, strlen(kChat), &chat) == G4_OK);
  g4_prefill_options prefill = G4_INIT(g4_prefill_options);
  prefill.callback = on_event;
  prefill.payload = heard;
  REQUIRE(g4_prefill(session, prompt, prompt_count - 1, &prefill) == G4_OK && heard->prefill_count > 0);
  g4_sampling sampling = G4_INIT(g4_sampling);
  sampling.flags = G4_SAMPLING_GREEDY;
  g4_generate_options options = G4_INIT(g4_generate_options);
  options.prompt = prompt + prompt_count - 1;
  options.prompt_count = 1;
  options.max_token_count = 64;
  options.sampling = &sampling;
  g4_generate_result result = G4_INIT(g4_generate_result);
  REQUIRE(g4_generate(&result, session, &options, on_event, heard) == G4_OK);
  REQUIRE(result.finish_reason == G4_FINISH_TURN && result.generated_token_count == heard->token_count);
  REQUIRE(strstr(heard->text, "Nairobi") != NULL);
}

static void keep(g4_session* session, const char* path) {
  const float* logits = NULL;
  size_t count = 0;
  REQUIRE(g4_logits(&logits, &count, session) == G4_OK && count == g4_vocab_count(g4_session_tokenizer(session)));
  REQUIRE(isfinite(logits[0]));
  REQUIRE(g4_save_kv(NULL, session, path) == G4_OK);
  g4_kv_probe_result probe = G4_INIT(g4_kv_probe_result);
  REQUIRE(g4_kv_probe(&probe, NULL, 0, NULL, path) == G4_OK && probe.position_count == g4_position(session));
  REQUIRE(strcmp(probe.kv_type, "f32") == 0);
  g4_session* fork = NULL;
  REQUIRE(g4_session_fork(&fork, session) == G4_OK && g4_reset(fork) == G4_OK && g4_position(fork) == 0);
  size_t restored = 0;
  REQUIRE(g4_load_kv(&restored, fork, path, NULL, 0) == G4_OK && restored == g4_position(session));
  int32_t next_here = 0, next_there = 1;
  g4_sampling sampling = G4_INIT(g4_sampling);
  sampling.seed = 7;
  REQUIRE(g4_sample(&next_here, session, &sampling) == G4_OK && g4_sample(&next_there, fork, &sampling) == G4_OK);
  REQUIRE(next_here == next_there);
  REQUIRE(g4_truncate(fork, 1u << 20, 0) == G4_ERR_ARGUMENT && strlen(g4_last_error()) > 0);
  g4_session_free(fork);
}

int main(int argc, char** argv) {
  static struct heard heard;
  REQUIRE(argc == 3 && g4_abi_version() >= G4_ABI_VERSION);
  g4_session* session = open_session(argv[1], &heard);
  REQUIRE(heard.load_count > 0);
  answer(session, &heard);
  describe(session);
  keep(session, argv[2]);
  g4_session_free(session);
  puts("answered");
  return 0;
}
