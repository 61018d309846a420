/* Reads a conversation and streams the answer:
 *     generate MODEL.gguf '[{"role": "user", "content": "What is the capital of Kenya?"}]' */
#include <g4/g4.h>
#include <stdio.h>
#include <string.h>

static int32_t on_event(const g4_event* event, void* payload) {
  if (event->kind == G4_EVENT_TOKEN) fputs(event->text, payload);
  return fflush(payload) == 0 ? 0 : 1; /* 1 stops */
}

static g4_status answer(g4_session** session, const char* model, const char* conversation) {
  int32_t tokens[1024];
  size_t count = 0;
  g4_status status = g4_session_open(session, model, NULL);
  if (status == G4_OK) {
    status = g4_chat_tokenize(tokens, 1024, &count, g4_session_tokenizer(*session), conversation,
                              strlen(conversation), NULL);
  }
  if (status == G4_OK) status = g4_prefill(*session, tokens, count, NULL);
  if (status == G4_OK) status = g4_generate(NULL, *session, NULL, on_event, stdout);
  return status;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s MODEL.gguf CONVERSATION\n", argv[0]);
    return 2;
  }
  g4_session* session = NULL;
  const g4_status status = answer(&session, argv[1], argv[2]);
  putchar('\n');
  if (status != G4_OK) fprintf(stderr, "%s\n", g4_last_error());
  g4_session_free(session);
  return status == G4_OK ? 0 : 1;
}
