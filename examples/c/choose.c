/* Completes a text with one of a few words: before each token is picked, all others are forbidden.
 *     choose MODEL.gguf "The capital of Kenya is" " Oslo" " Nairobi" */
#include <g4/g4.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { kMostWords = 16, kMostTokens = 1024 };

/* The words as tokens, and how many tokens have been picked. */
struct choice {
  int32_t words[kMostWords][8];
  size_t lengths[kMostWords];
  size_t word_count;
  size_t position;
};

static int32_t on_event(const g4_event* event, void* payload) {
  struct choice* choice = payload;
  if (event->kind == G4_EVENT_LOGITS) {
    float best = -INFINITY;
    int32_t token = -1;
    for (size_t i = 0; i < choice->word_count; ++i) {
      const int32_t next = choice->words[i][choice->position];
      if (choice->position < choice->lengths[i] && event->logits[next] > best) {
        best = event->logits[next];
        token = next;
      }
    }
    if (token < 0) return 1; /* the word is complete */
    for (size_t i = 0; i < event->logits_count; ++i) {
      if ((int32_t)i != token) event->logits[i] = -INFINITY;
    }
  } else if (event->kind == G4_EVENT_TOKEN) {
    fputs(event->text, stdout);
    for (size_t i = 0; i < choice->word_count; ++i) {
      if (choice->lengths[i] > 0 && choice->words[i][choice->position] != event->token) choice->lengths[i] = 0; /* not this word */
    }
    ++choice->position;
  }
  return 0;
}

static g4_status choose(g4_session* session, const char* text, char** words, size_t word_count) {
  static struct choice choice;
  int32_t tokens[kMostTokens];
  const g4_tokenizer* tokenizer = g4_session_tokenizer(session);
  choice.word_count = word_count;
  for (size_t i = 0; i < word_count; ++i) {
    const g4_status status = g4_tokenize(choice.words[i], 8, &choice.lengths[i], tokenizer, words[i], strlen(words[i]), 0);
    if (status != G4_OK) return status;
  }
  g4_generate_options options = G4_INIT(g4_generate_options);
  options.flags = G4_GENERATE_LOGITS_EVENTS;
  options.prompt = tokens;
  const g4_status status =
      g4_tokenize(tokens, kMostTokens, &options.prompt_count, tokenizer, text, strlen(text), G4_TOKENIZE_BOS);
  return status == G4_OK ? g4_generate(NULL, session, &options, on_event, &choice) : status;
}

int main(int argc, char** argv) {
  if (argc < 4 || argc - 3 > kMostWords) {
    fprintf(stderr, "usage: %s MODEL.gguf TEXT WORD WORD...\n", argv[0]);
    return 2;
  }
  g4_session* session = NULL;
  g4_status status = g4_session_open(&session, argv[1], NULL);
  if (status == G4_OK) status = choose(session, argv[2], argv + 3, (size_t)(argc - 3));
  putchar('\n');
  if (status != G4_OK) fprintf(stderr, "%s\n", g4_last_error());
  g4_session_free(session);
  return status == G4_OK ? 0 : 1;
}
