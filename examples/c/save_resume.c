/* Never reads the same prompt twice: keeps what was read in a file beside the model's answer, and takes it up again the next time.
 *     save_resume MODEL.gguf STATE.g4kv "What is the capital of Kenya?" */
#include <g4/g4.h>
#include <stdio.h>
#include <string.h>

enum { kMostTokens = 4096 };

static int32_t on_token(const g4_event* event, void* payload) {
  if (event->kind == G4_EVENT_TOKEN) fputs(event->text, payload);
  return 0;
}

static g4_status answer(g4_session* session, const char* path, const char* text) {
  int32_t tokens[kMostTokens];
  size_t count = 0;
  size_t restored = 0;
  g4_status status = g4_tokenize(tokens, kMostTokens, &count, g4_session_tokenizer(session), text, strlen(text), G4_TOKENIZE_BOS);
  if (status != G4_OK) return status;
  /* Restores as much of the file as this text begins with: nothing if there is no file, or if it is of another model. */
  if (g4_load_kv(&restored, session, path, tokens, count) != G4_OK) printf("(%s)\n", g4_last_error());
  printf("(%zu of %zu tokens restored)\n", restored, count);
  if (restored < count) {
    status = g4_prefill(session, tokens + restored, count - restored, NULL);
    if (status == G4_OK) status = g4_save_kv(NULL, session, path);
    if (status != G4_OK) return status;
  }
  return g4_generate(NULL, session, NULL, on_token, stdout);
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: %s MODEL.gguf STATE.g4kv TEXT\n", argv[0]);
    return 2;
  }
  g4_session* session = NULL;
  g4_status status = g4_session_open(&session, argv[1], NULL);
  if (status == G4_OK) status = answer(session, argv[2], argv[3]);
  putchar('\n');
  if (status != G4_OK) fprintf(stderr, "%s\n", g4_last_error());
  g4_session_free(session);
  return status == G4_OK ? 0 : 1;
}
