/* g4: Gemma 4 inside your program. The whole C interface and its reference manual.
 *
 * In one minute:
 *
 *     g4_session* session;
 *     if (g4_session_open(&session, "model.gguf", NULL) != G4_OK) puts(g4_last_error());
 *     g4_prefill(session, tokens, token_count, NULL);            read a prompt
 *     g4_generate(NULL, session, NULL, on_event, NULL);          stream the answer
 *     g4_session_free(session);
 *
 * A session is one conversation: weights (shared with its forks), the per-layer-embedding table on disk, the KV registry and the KV
 * cache. It has a position: the number of tokens whose keys and values it holds.
 *
 * Rules that hold for every function:
 *   - Results come first in the argument list, then the object, then the inputs, then a callback and its payload.
 *   - A function that can fail returns a g4_status; on failure it has changed nothing, except where it says otherwise.
 *   - Options are structs: set struct_size to sizeof the struct, zero the rest for defaults (G4_INIT does both). NULL: all defaults.
 *   - Variable-length results go into a buffer of the caller: pointer, capacity, and *needed, which is always written when the
 *     call could work out the size. Capacity 0 (pointer may be NULL) asks for the size: the status is then G4_OK. A capacity
 *     that is too small is G4_ERR_BUFFER and nothing is written to the buffer. Text results are not zero-terminated by count:
 *     *needed counts bytes without a terminator, and a terminator is added only if the capacity allows.
 *   - Strings are UTF-8. Sizes in bytes end in _bytes, counts in _count, times in _ns.
 *   - Nothing prints, exits, aborts, throws, reads the environment, or writes files other than those named by the caller.
 *
 * Each function says: what it does; shape: sizes; errors: its own, besides G4_ERR_ARGUMENT for a NULL where none is allowed or a
 * struct_size of 0, and G4_ERR_MEMORY; owner: who frees what; threads: what may run at once; since: the ABI version it came with.
 */
#ifndef G4_G4_H
#define G4_G4_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define G4_API
#else
#define G4_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Library ------------------------------------------------------------------------------------------------------------- */

#define G4_ABI_VERSION 1

/* Zero-initialises an options or result struct with its size: g4_session_options options = G4_INIT(g4_session_options); */
#ifdef __cplusplus
#define G4_INIT(type) (::g4_init_helper<type>())
#else
#define G4_INIT(type) {.struct_size = (uint32_t)sizeof(type)}
#endif

/* Status numbers never change meaning; new ones may be added. */
typedef int32_t g4_status;
#define G4_OK 0
#define G4_ERR_ARGUMENT 10     /* an argument is wrong; the message says which and why */
#define G4_ERR_BUFFER 11       /* the caller's buffer is too small; *needed says how much */
#define G4_ERR_STATE 12        /* the call does not fit the session's state (no logits yet, another call running, ...) */
#define G4_ERR_IO 20           /* a file cannot be read or written */
#define G4_ERR_FORMAT 21       /* a file is damaged or inconsistent */
#define G4_ERR_UNSUPPORTED 22  /* a file or option is valid but g4 does not support it */
#define G4_ERR_MISMATCH 23     /* a KV file of another model, KV type or geometry */
#define G4_ERR_MEMORY 30       /* not enough memory */
#define G4_ERR_CONTEXT_FULL 31 /* the tokens do not fit the rest of the context */
#define G4_ERR_CANCELLED 40    /* g4_cancel, or a callback returned 1 */
#define G4_ERR_INTERNAL 90     /* a fault of g4 itself; please report it */

/* The ABI version of the library that runs, to compare with G4_ABI_VERSION of the header compiled against.
 * shape: -  errors: none  owner: -  threads: any  since: 1 */
G4_API uint32_t g4_abi_version(void);

/* The version of the library, "1.2.3".
 * shape: -  errors: none  owner: static  threads: any  since: 1 */
G4_API const char* g4_version(void);

/* One phrase for a status number; "unknown status" for a number that is none.
 * shape: -  errors: none  owner: static  threads: any  since: 1 */
G4_API const char* g4_status_phrase(g4_status status);

/* What went wrong in the last failed call of this thread: names the thing, the value and what to do. For people; never parse it.
 * "" before the first failure.
 * shape: -  errors: none  owner: valid until the next failing call on this thread  threads: each has its own  since: 1 */
G4_API const char* g4_last_error(void);

/* The names of the kernel rows this machine can run, best first, separated by spaces: "avx2 generic".
 * shape: -  errors: none  owner: static  threads: any  since: 1 */
G4_API const char* g4_cpus(void);

/* ---- Events -------------------------------------------------------------------------------------------------------------- */

typedef int32_t g4_event_kind;
#define G4_EVENT_LOAD 1    /* opening: done_count of total_count bytes */
#define G4_EVENT_PREFILL 2 /* prompt: done_count of total_count tokens */
#define G4_EVENT_TOKEN 3   /* generation: one token, its text and its channel */
#define G4_EVENT_LOGITS 4  /* before a token is picked: logits may be changed in place (G4_GENERATE_LOGITS_EVENTS) */
#define G4_EVENT_END 5     /* from g4_generation_next: the answer is complete */

typedef int32_t g4_channel;
#define G4_CHANNEL_TEXT 0
#define G4_CHANNEL_THOUGHT 1
#define G4_CHANNEL_TOOL_CALL 2

typedef struct g4_event {
  uint32_t struct_size;
  g4_event_kind kind;
  uint64_t done_count;
  uint64_t total_count;
  int32_t token;       /* G4_EVENT_TOKEN */
  g4_channel channel;  /* G4_EVENT_TOKEN */
  const char* text;    /* G4_EVENT_TOKEN: whole UTF-8 characters to show, zero-terminated, may be ""; valid during the callback */
  size_t text_bytes;
  float* logits;       /* G4_EVENT_LOGITS: [logits_count], valid during the callback */
  size_t logits_count;
} g4_event;

/* Return 0 to go on, 1 to stop. Runs on the thread that made the call. It may call g4_cancel and functions that only read, and
 * must not call others on the same session (they return G4_ERR_STATE). */
typedef int32_t (*g4_event_callback)(const g4_event* event, void* payload);

/* ---- Opening ------------------------------------------------------------------------------------------------------------- */

typedef struct g4_session g4_session;     /* weights + disk embedding + KV registry + KV cache */
typedef struct g4_media g4_media;         /* a picture, sound or video, encoded */
typedef struct g4_tokenizer g4_tokenizer; /* vocabulary and chat format */

typedef int32_t g4_kv_type;
#define G4_KV_DEFAULT 0 /* f16 */
#define G4_KV_F16 1
#define G4_KV_F32 2
#define G4_KV_Q8_0 3    /* 8 bits, a scale per 32 values: half the memory of f16 (docs/KV.md says what it costs) */

typedef int32_t g4_precision;
#define G4_PRECISION_DEFAULT 0 /* int8 activations (scale per 32 values) against quantised weights: fast. Pictures and sounds: docs/MEDIA.md */
#define G4_PRECISION_F32 1     /* float32 activations everywhere: slower, for comparisons */

#define G4_SESSION_PLE_READ 1u /* read the PLE table with plain reads instead of a mapping: for media where a mapping may fault */
#define G4_SESSION_PIN 2u      /* keep each worker thread on a core of its own; the calling thread stays where you put it (best the first core) */

typedef struct g4_session_options {
  uint32_t struct_size;
  uint32_t context_count; /* positions the session may hold; 0: the model's maximum, at most 32768. Memory is taken as it fills */
  uint32_t thread_count;  /* 0: the physical cores */
  uint32_t flags;         /* G4_SESSION_... */
  g4_kv_type kv_type;
  g4_precision precision;
  const char* cpu;        /* a name of g4_cpus(); NULL: the best */
  const char* ple_path;   /* GGUF that holds per_layer_token_embd.weight; NULL: the model file */
  uint32_t chunk_count;   /* tokens a prefill step takes at most; 0: 256. Does not change results */
  uint32_t rewind_count;  /* positions that sliding layers keep beyond their window, for exact rewinds; 0: 256 */
  g4_event_callback callback; /* G4_EVENT_LOAD while opening; NULL: none */
  void* payload;
  const char* mmproj_path; /* GGUF with the vision and audio towers that go with the model; NULL: it neither sees nor hears */
} g4_session_options;

/* Opens a Gemma 4 GGUF file and returns a session at position 0.
 * shape:   -
 * errors:  G4_ERR_ARGUMENT (an option), G4_ERR_IO, G4_ERR_FORMAT (damaged or inconsistent: names key or tensor), G4_ERR_UNSUPPORTED
 *          (another architecture, tensor type, split file), G4_ERR_MEMORY, G4_ERR_CANCELLED. On error *out is NULL.
 * owner:   caller frees *out with g4_session_free. path and options are not kept. The file must stay unchanged while in use.
 * threads: any thread; a session may move between threads but serves one call at a time.
 * since:   1 */
G4_API g4_status g4_session_open(g4_session** out, const char* path, const g4_session_options* options);

/* A second session of the same model: shares the weights, starts as an exact copy (tokens, KV cache, logits), then goes its own way.
 * Costs no computation and little memory: KV pages are shared until one of the two writes.
 * shape:   -
 * errors:  G4_ERR_MEMORY, G4_ERR_STATE (a call is running on `session`). On error *out is NULL.
 * owner:   caller frees *out; either may be freed first.
 * threads: counts as a call on `session`; afterwards both may be used on different threads at once.
 * since:   1 */
G4_API g4_status g4_session_fork(g4_session** out, g4_session* session);

/* Frees a session. NULL is a no-op. No call may be running on it.
 * shape: -  errors: none  owner: ends the session; borrowed pointers end with it  threads: any one  since: 1 */
G4_API void g4_session_free(g4_session* session);

typedef struct g4_memory_estimate {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t weights_bytes;    /* mapped and read: resident once used */
  uint64_t ple_disk_bytes;   /* PLE table, stays on disk */
  uint64_t kv_bytes;         /* KV cache when the context is full */
  uint64_t scratch_bytes;    /* activations of the largest prefill step, and tables */
  uint64_t total_bytes;      /* weights + kv + scratch: what must fit in memory */
} g4_memory_estimate;

/* What a session with these options will need, from the file's header alone.
 * shape:   -
 * errors:  as g4_session_open
 * owner:   fills *estimate, whose struct_size the caller has set
 * threads: any
 * since:   1 */
G4_API g4_status g4_estimate(g4_memory_estimate* estimate, const char* path, const g4_session_options* options);

/* Writes a prepared file: the model with its matrices in the order that the kernels of options->cpu want. It is as large as the GGUF file,
 * goes wherever a GGUF file of a model goes, opens in a fraction of a second and is used where it lies, so that processes share its
 * memory. On a machine with other kernels it works too, as a GGUF file does. KV files fit both. Of the options count cpu, thread_count,
 * callback (G4_EVENT_LOAD) and payload.
 * shape:   -
 * errors:  as g4_session_open; G4_ERR_ARGUMENT (out_path is the model itself). On error an old file at out_path stays whole.
 * owner:   keeps nothing. out_path is written beside itself first, then renamed.
 * threads: any
 * since:   1 */
G4_API g4_status g4_prepare(const char* path, const char* out_path, const g4_session_options* options);

/* ---- Text and tokens ----------------------------------------------------------------------------------------------------- */

/* The tokenizer of a GGUF file, which may hold no tensors.
 * shape:   -
 * errors:  G4_ERR_IO, G4_ERR_FORMAT, G4_ERR_UNSUPPORTED. On error *out is NULL.
 * owner:   caller frees *out with g4_tokenizer_free
 * threads: a tokenizer never changes: any number of threads at once
 * since:   1 */
G4_API g4_status g4_tokenizer_open(g4_tokenizer** out, const char* path);

/* Frees a tokenizer made by g4_tokenizer_open. NULL is a no-op. Not for the borrowed one of a session.
 * shape: -  errors: none  owner: ends the tokenizer  threads: any one  since: 1 */
G4_API void g4_tokenizer_free(g4_tokenizer* tokenizer);

/* The tokenizer of a session.
 * shape: -  errors: none; NULL for NULL  owner: borrowed, valid as long as the session  threads: any  since: 1 */
G4_API const g4_tokenizer* g4_session_tokenizer(const g4_session* session);

#define G4_TOKENIZE_BOS 1u     /* put <bos> in front */
#define G4_TOKENIZE_SPECIAL 2u /* control tokens written in the text count as such; without it they are plain text */

/* Text to token ids.
 * shape:   tokens [capacity]; *needed ids
 * errors:  G4_ERR_BUFFER, G4_ERR_ARGUMENT (text of 2 GiB or more)
 * owner:   fills the caller's buffer
 * threads: any
 * since:   1 */
G4_API g4_status g4_tokenize(int32_t* tokens, size_t capacity, size_t* needed, const g4_tokenizer* tokenizer, const char* text,
                             size_t text_bytes, uint32_t flags);

#define G4_DETOKENIZE_SPECIAL 1u /* write control tokens out as <...> instead of leaving them out */

/* Token ids to text. The text of single tokens, one after the other, is the text of all; one alone may end inside a character.
 * shape:   text [capacity]; *needed bytes; tokens [token_count]
 * errors:  G4_ERR_BUFFER, G4_ERR_ARGUMENT (an id outside the vocabulary)
 * owner:   fills the caller's buffer
 * threads: any
 * since:   1 */
G4_API g4_status g4_detokenize(char* text, size_t capacity, size_t* needed, const g4_tokenizer* tokenizer, const int32_t* tokens,
                               size_t token_count, uint32_t flags);

/* Another handle of the same tokenizer, for one that outlives the session it was borrowed from.
 * shape:   -
 * errors:  none besides the general ones
 * owner:   caller frees *out with g4_tokenizer_free
 * threads: any
 * since:   1 */
G4_API g4_status g4_tokenizer_share(g4_tokenizer** out, const g4_tokenizer* tokenizer);

/* Number of tokens in the vocabulary; 0 for NULL.
 * shape: -  errors: none  owner: -  threads: any  since: 1 */
G4_API uint32_t g4_vocab_count(const g4_tokenizer* tokenizer);

/* 1 if this token ends an answer (<eos>, <turn|>, ...), else 0.
 * shape: -  errors: none  owner: -  threads: any  since: 1 */
G4_API int32_t g4_is_stop(const g4_tokenizer* tokenizer, int32_t token);

typedef int32_t g4_chat_template;
#define G4_TEMPLATE_AUTO 0        /* what the file carries, else plain */
#define G4_TEMPLATE_PLAIN 1
#define G4_TEMPLATE_INTERLEAVED 2 /* thoughts between tool calls are kept */

#define G4_CHAT_THINKING 1u             /* ask the model to think first */
#define G4_CHAT_NO_GENERATION_PROMPT 2u /* do not open the model's turn at the end */

typedef struct g4_chat_options {
  uint32_t struct_size;
  uint32_t flags; /* G4_CHAT_... */
  g4_chat_template chat_template;
  uint32_t reserved; /* 0 */
  const g4_media* const* media; /* [media_count] one for each media part of the messages, in order; NULL: those parts become */
  size_t media_count;           /* placeholders alone */
} g4_chat_options;

/* A conversation to the exact text of the official Gemma 4 template, for looking at. To evaluate it, use g4_chat_tokenize: text that
 * is tokenized again can no longer tell the user's words from control tokens.
 * conversation: JSON, an array of messages or {"messages": [...], "tools": [...]}, as in OpenAI's chat API (docs/CHAT.md).
 * shape:   text [capacity]; *needed bytes
 * errors:  G4_ERR_BUFFER, G4_ERR_ARGUMENT (says which message and field is wrong)
 * owner:   fills the caller's buffer
 * threads: any
 * since:   1 */
G4_API g4_status g4_chat_render(char* text, size_t capacity, size_t* needed, const g4_tokenizer* tokenizer,
                                const char* conversation, size_t conversation_bytes, const g4_chat_options* options);

/* A conversation to the ids to evaluate, <bos> included. What the messages contain is always plain text: no message can forge a turn
 * or a tool call.
 * shape:   tokens [capacity]; *needed ids
 * errors:  as g4_chat_render
 * owner:   fills the caller's buffer
 * threads: any
 * since:   1 */
G4_API g4_status g4_chat_tokenize(int32_t* tokens, size_t capacity, size_t* needed, const g4_tokenizer* tokenizer,
                                  const char* conversation, size_t conversation_bytes, const g4_chat_options* options);

/* The tokens of an answer (whole, or cut anywhere) to a message: {"role":"assistant","content":"...","reasoning_content":"...",
 * "tool_calls":[...]}, absent parts left out. It can be appended to the conversation as it is.
 * shape:   json [capacity]; *needed bytes; tokens [token_count]
 * errors:  G4_ERR_BUFFER, G4_ERR_ARGUMENT (an id outside the vocabulary)
 * owner:   fills the caller's buffer
 * threads: any
 * since:   1 */
G4_API g4_status g4_chat_parse(char* json, size_t capacity, size_t* needed, const g4_tokenizer* tokenizer, const int32_t* tokens,
                               size_t token_count);

/* ---- Pictures, sounds, videos -------------------------------------------------------------------------------------------- */

/* A g4_media stands in a prompt as tokens like text: g4_chat_tokenize and g4_media_tokens give them. Those of its rows are negative and
 * made of its content: where token lists are compared (g4_extend, g4_load_kv), the same picture counts as the same and another one does
 * not. Evaluating them takes the g4_media they are of: keep it until they are evaluated. Any session of the model (a fork) may do so. A
 * picture is evaluated whole, and kept or forgotten whole by g4_extend and g4_truncate. */

typedef struct g4_image {
  uint32_t struct_size;
  uint32_t width;         /* pixels, 1 to 65536 */
  uint32_t height;
  uint32_t channel_count; /* 3: RGB; 4: RGBA, alpha is ignored */
  const uint8_t* pixels;  /* 8 bits a channel, rows from the top */
  size_t stride_bytes;    /* from a row to the next; 0: width * channel_count */
} g4_image;

typedef int32_t g4_sample_type;
#define G4_SAMPLE_F32 1 /* float, -1 to 1 */
#define G4_SAMPLE_I16 2 /* int16_t */

typedef struct g4_sound {
  uint32_t struct_size;
  g4_sample_type sample_type;
  uint32_t rate;          /* instants a second, 1000 to 384000; resampled to 16000 */
  uint32_t channel_count; /* 1 to 32, side by side; their mean is heard */
  const void* samples;    /* [instant_count, channel_count] */
  uint64_t instant_count;
} g4_sound;

#define G4_SOUND_SPLIT 1u /* cut a sound of more than 30 s into clips of about equal length; g4_media_part says where */

/* Encodes a picture. token_budget: the most tokens it may take, 70, 140, 280, 560 or 1120; 0: 280. More show finer detail.
 * shape:   as g4_image says
 * errors:  G4_ERR_ARGUMENT (no image, or a budget that is none), G4_ERR_UNSUPPORTED (no mmproj_path, or towers that do not see or lack
 *          positions for an image this long), G4_ERR_CANCELLED, G4_ERR_STATE. On error *out is NULL.
 * owner:   caller frees *out with g4_media_free; pixels are read during the call only
 * threads: counts as a call on the session
 * since:   1 */
G4_API g4_status g4_encode_image(g4_media** out, g4_session* session, const g4_image* image, uint32_t token_budget);

/* Encodes frames of a video and the times they are of, which the prompt will tell as mm:ss. token_budget: of a frame; 0: 70.
 * shape:   frames, times_ns [frame_count], frame_count >= 1
 * errors:  as g4_encode_image
 * owner:   as g4_encode_image
 * threads: counts as a call on the session
 * since:   1 */
G4_API g4_status g4_encode_video(g4_media** out, g4_session* session, const g4_image* const* frames, const uint64_t* times_ns,
                                 size_t frame_count, uint32_t token_budget);

/* Encodes a sound, about 25 tokens a second.
 * shape:   as g4_sound says
 * errors:  G4_ERR_ARGUMENT (no samples, fewer than make a token, more than 30 s without G4_SOUND_SPLIT, more than an hour with it, a
 *          sample that is no number), G4_ERR_UNSUPPORTED (no mmproj_path, or towers that do not hear), G4_ERR_CANCELLED, G4_ERR_STATE.
 *          On error *out is NULL.
 * owner:   caller frees *out with g4_media_free; samples are read during the call only
 * threads: counts as a call on the session
 * since:   1 */
G4_API g4_status g4_encode_sound(g4_media** out, g4_session* session, const g4_sound* sound, uint32_t flags);

/* Frees a g4_media. NULL is a no-op. Its tokens can be evaluated no more, unless another g4_media has the same content.
 * shape: -  errors: none  owner: ends the media  threads: any one  since: 1 */
G4_API void g4_media_free(g4_media* media);

/* Tokens that the rows of a picture of this size will take, before encoding it; a video frame's are the same.
 * shape: -  errors: G4_ERR_ARGUMENT  owner: fills *token_count  threads: any  since: 1 */
G4_API g4_status g4_image_tokens(uint64_t* token_count, uint32_t width, uint32_t height, uint32_t token_budget);

/* Tokens that the rows of a sound of this length will take, before encoding it.
 * shape: -  errors: as g4_encode_sound  owner: fills *token_count  threads: any  since: 1 */
G4_API g4_status g4_sound_tokens(uint64_t* token_count, uint64_t instant_count, uint32_t rate, uint32_t flags);

#define G4_MEDIA_ROWS_ONLY 1u /* without the control tokens and times around the rows */

/* The tokens of a g4_media as they stand in a prompt: begin, rows, end; for each frame of a video also its time.
 * shape:   tokens [capacity]; *needed ids
 * errors:  G4_ERR_BUFFER, G4_ERR_UNSUPPORTED (a vocabulary without the control tokens)
 * owner:   fills the caller's buffer; tokenizer may be NULL with G4_MEDIA_ROWS_ONLY
 * threads: any
 * since:   1 */
G4_API g4_status g4_media_tokens(int32_t* tokens, size_t capacity, size_t* needed, const g4_media* media, const g4_tokenizer* tokenizer,
                                 uint32_t flags);

typedef struct g4_media_part {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t begin_ns;  /* of a sound's clip; of a frame: its time */
  uint64_t end_ns;
  size_t row_count;   /* its tokens */
  size_t row_width;   /* the model's hidden size */
  const float* rows;  /* [row_count, row_width], as the network takes them */
} g4_media_part;

/* Parts of a g4_media: 1, the clips of a sound, or the frames of a video; 0 for NULL.
 * shape: -  errors: none  owner: -  threads: any  since: 1 */
G4_API size_t g4_media_part_count(const g4_media* media);

/* One part of a g4_media.
 * shape: index < g4_media_part_count  errors: G4_ERR_ARGUMENT  owner: fills *part; rows are valid as long as the media  threads: any
 * since: 1 */
G4_API g4_status g4_media_get_part(g4_media_part* part, const g4_media* media, size_t index);

/* ---- Evaluating ---------------------------------------------------------------------------------------------------------- */

typedef struct g4_prefill_options {
  uint32_t struct_size;
  uint32_t flags;          /* 0 */
  float* all_logits;       /* not NULL: logits after every token of this call, [token_count, V]; switches pruning off */
  size_t all_logits_count; /* floats at all_logits: at least token_count * V */
  g4_event_callback callback; /* G4_EVENT_PREFILL; NULL: none */
  void* payload;
} g4_prefill_options;

/* Appends tokens to the KV cache; afterwards g4_logits gives the logits after the last of them. All or nothing: on error the
 * position is unchanged.
 * shape:   tokens [token_count], 1 <= token_count <= context left
 * errors:  G4_ERR_ARGUMENT (an id outside the vocabulary), G4_ERR_CONTEXT_FULL, G4_ERR_CANCELLED, G4_ERR_IO (disk embedding),
 *          G4_ERR_STATE (another call is running)
 * owner:   tokens are read during the call only
 * threads: one call at a time per session; g4_cancel may come from any thread
 * since:   1 */
G4_API g4_status g4_prefill(g4_session* session, const int32_t* tokens, size_t token_count, const g4_prefill_options* options);

/* g4_prefill for several sessions of one model (forks) in one pass: reads the weights once for all. All or nothing.
 * shape:   sessions, tokens, token_counts [session_count]; the sessions are distinct
 * errors:  as g4_prefill; G4_ERR_ARGUMENT if the sessions are not of one model or one is given twice
 * owner:   as g4_prefill
 * threads: counts as a call on each of the sessions
 * since:   1 */
G4_API g4_status g4_prefill_batch(g4_session* const* sessions, const int32_t* const* tokens, const size_t* token_counts,
                                  size_t session_count);

/* The logits after the last position.
 * shape:   *logits [*logits_count] = [V]
 * errors:  G4_ERR_STATE (nothing evaluated yet, or the last position was removed by g4_truncate)
 * owner:   borrowed, valid until the next call that changes the session
 * threads: as a call on the session
 * since:   1 */
G4_API g4_status g4_logits(const float** logits, size_t* logits_count, g4_session* session);

typedef struct g4_logit_bias {
  int32_t token;
  float bias; /* added to the logit; -INFINITY forbids the token */
} g4_logit_bias;

#define G4_SAMPLING_GREEDY 1u /* always the best token; the other fields but penalties and bias are ignored */

/* A field of 0 means its default, except where 0 is said to mean something. In order: penalties, bias, temperature, top-k, top-p, min-p. */
typedef struct g4_sampling {
  uint32_t struct_size;
  uint32_t flags;           /* G4_SAMPLING_GREEDY */
  float temperature;        /* default 1 */
  int32_t top_k;            /* default 64; -1: all */
  float top_p;              /* default 0.95; 1: all */
  float min_p;              /* default 0: off */
  float repetition_penalty; /* default 1: off; over all tokens of the session */
  float presence_penalty;   /* default 0; over the tokens generated since the last prefill */
  float frequency_penalty;  /* default 0; likewise, per occurrence */
  uint32_t reserved;        /* 0 */
  uint64_t seed;            /* same seed and same history, same token */
  const g4_logit_bias* biases;
  size_t bias_count;
} g4_sampling;

/* Picks the next token from the current logits; changes nothing.
 * shape:   -
 * errors:  G4_ERR_STATE (no logits), G4_ERR_ARGUMENT (an option out of range)
 * owner:   -
 * threads: as a call on the session
 * since:   1 */
G4_API g4_status g4_sample(int32_t* token, g4_session* session, const g4_sampling* sampling);

/* One step of generation: g4_sample, then the token is evaluated. *token may be a stop token (g4_is_stop).
 * shape:   -
 * errors:  as g4_sample and g4_prefill
 * owner:   -
 * threads: one call at a time per session
 * since:   1 */
G4_API g4_status g4_decode(int32_t* token, g4_session* session, const g4_sampling* sampling);

typedef int32_t g4_finish_reason;
#define G4_FINISH_NONE 0
#define G4_FINISH_TURN 1        /* <turn|>: the model ended its turn */
#define G4_FINISH_EOS 2         /* <eos>, or another end that the file declares */
#define G4_FINISH_TOOL_CALL 3   /* <|tool_response>: the model called a tool and waits for its answer */
#define G4_FINISH_STOP_STRING 4 /* a string of options.stops came up; it is not part of the text */
#define G4_FINISH_LENGTH 5      /* max_token_count, or the context is full */
#define G4_FINISH_CALLBACK 6    /* the callback returned 1 */
#define G4_FINISH_CANCELLED 7   /* g4_cancel */

#define G4_GENERATE_IGNORE_STOP 1u   /* go on after stop tokens */
#define G4_GENERATE_LOGITS_EVENTS 2u /* send G4_EVENT_LOGITS before each token */
#define G4_GENERATE_EXTEND 4u        /* prompt is the whole conversation: only what is new of it is evaluated, as g4_extend does */

typedef struct g4_generate_options {
  uint32_t struct_size;
  uint32_t flags;            /* G4_GENERATE_... */
  const int32_t* prompt;     /* evaluated first, with G4_EVENT_PREFILL events; NULL: go on from the current logits */
  size_t prompt_count;
  size_t max_token_count;    /* 0: as many as the context holds */
  const char* const* stops;  /* strings that end the answer */
  size_t stop_count;
  const g4_sampling* sampling; /* NULL: the defaults */
} g4_generate_options;

typedef struct g4_generate_result {
  uint32_t struct_size;
  g4_finish_reason finish_reason;
  size_t prompt_token_count;    /* evaluated for the prompt */
  size_t generated_token_count; /* stop token included */
  uint64_t prefill_ns;
  uint64_t decode_ns;
  size_t reused_token_count;    /* of the prompt, kept instead of evaluated (G4_GENERATE_EXTEND) */
} g4_generate_result;

/* Generates until something ends it. Every token is evaluated, the stop token too, so that the conversation can go on.
 * A stop by callback, cancel or length is not an error: *result says why it ended.
 * shape:   -
 * errors:  as g4_sample and g4_prefill; a failed prompt leaves the position unchanged, a later failure leaves the tokens so far
 * owner:   result may be NULL; callback may be NULL
 * threads: one call at a time per session; g4_cancel may come from any thread
 * since:   1 */
G4_API g4_status g4_generate(g4_generate_result* result, g4_session* session, const g4_generate_options* options,
                             g4_event_callback callback, void* payload);

typedef struct g4_generation g4_generation; /* an answer that is asked for token by token */

/* g4_generate for iterators: evaluates the prompt now, each g4_generation_next makes one token. Between them the session may be read, and
 * saved; the answer can be left at any token. The callback is sent G4_EVENT_PREFILL and G4_EVENT_LOGITS, not tokens. A prompt stopped by
 * callback or cancel is an answer without tokens.
 * shape:   -
 * errors:  as g4_generate. On error *out is NULL and the position is unchanged.
 * owner:   caller frees *out with g4_generation_free, before the session. Options are read during the call only; callback and payload stay
 *          in use.
 * threads: counts as a call on the session
 * since:   1 */
G4_API g4_status g4_generation_begin(g4_generation** out, g4_session* session, const g4_generate_options* options,
                                     g4_event_callback callback, void* payload);

/* The next token of the answer, evaluated: a G4_EVENT_TOKEN, done_count of them so far; G4_EVENT_END when something has ended it. After
 * g4_cancel the token at hand is dropped.
 * shape:   -
 * errors:  as g4_sample and g4_prefill; G4_ERR_STATE if the session's position is not where the last token left it
 * owner:   fills *event, whose struct_size the caller has set; its text is valid until the next call
 * threads: counts as a call on the session
 * since:   1 */
G4_API g4_status g4_generation_next(g4_event* event, g4_generation* generation);

/* Why the answer ended (G4_FINISH_NONE if it did not yet) and the counts so far.
 * shape: -  errors: -  owner: fills *result  threads: as a call on the session  since: 1 */
G4_API g4_status g4_generation_result(g4_generate_result* result, const g4_generation* generation);

/* Ends an answer, complete or not. NULL is a no-op.
 * shape: -  errors: none  owner: ends the generation, not the session  threads: any one  since: 1 */
G4_API void g4_generation_free(g4_generation* generation);

/* Asks the call that runs on the session to end: within 100 ms it returns G4_ERR_CANCELLED (prefill: position unchanged), or, if
 * generating, ends with G4_FINISH_CANCELLED. The session stays usable. Without a running call it does nothing.
 * shape: -  errors: none  owner: -  threads: any, at any time before g4_session_free  since: 1 */
G4_API void g4_cancel(g4_session* session);

/* ---- Position ------------------------------------------------------------------------------------------------------------ */

/* Tokens held; 0 for NULL.
 * shape: -  errors: none  owner: -  threads: as a call on the session  since: 1 */
G4_API size_t g4_position(const g4_session* session);

/* The tokens held, in order.
 * shape:   tokens [capacity]; *needed ids = g4_position
 * errors:  G4_ERR_BUFFER
 * owner:   fills the caller's buffer
 * threads: as a call on the session
 * since:   1 */
G4_API g4_status g4_tokens(int32_t* tokens, size_t capacity, size_t* needed, g4_session* session);

/* Back to position 0; weights stay loaded.
 * shape: -  errors: G4_ERR_STATE  owner: -  threads: as a call on the session  since: 1 */
G4_API g4_status g4_reset(g4_session* session);

/* g4_truncate is exact at every position from this one on: sliding layers keep a window of positions and a margin of 256. The ends of the
 * last few prompts can be reached exactly too, however far back.
 * shape: -  errors: none; 0 for NULL  owner: -  threads: as a call on the session  since: 1 */
G4_API size_t g4_rewind_min(const g4_session* session);

#define G4_TRUNCATE_REEVALUATE 1u /* where it cannot be exact, evaluate the tokens that stay again (as far as needed) */

/* Forgets all from `position` on; going on from there gives exactly what it would have given the first time. The logits are gone unless
 * nothing was removed, or something was evaluated again.
 * shape:   position <= g4_position
 * errors:  G4_ERR_ARGUMENT (beyond the end, or within a picture or sound), G4_ERR_STATE (not exact there: names positions that are); with G4_TRUNCATE_REEVALUATE as
 *          g4_prefill
 * owner:   -
 * threads: one call at a time per session
 * since:   1 */
G4_API g4_status g4_truncate(g4_session* session, size_t position, uint32_t flags);

/* ---- Never the same prompt twice ----------------------------------------------------------------------------------------- */

/* Makes the session hold exactly `tokens`, a whole conversation: keeps the longest common prefix with what it holds that it can keep
 * exactly, and evaluates only the rest. For chats: after each turn pass the whole new conversation. All or nothing.
 * shape:   tokens [token_count]; *reused_count positions were kept (may be NULL)
 * errors:  as g4_prefill
 * owner:   tokens are read during the call only; options as g4_prefill, without all_logits
 * threads: one call at a time per session; g4_cancel may come from any thread
 * since:   1 */
G4_API g4_status g4_extend(size_t* reused_count, g4_session* session, const int32_t* tokens, size_t token_count,
                           const g4_prefill_options* options);

#define G4_CACHE_FILE 1u /* path is one KV file, of the last prompt, instead of a folder */

typedef struct g4_cache_options {
  uint32_t struct_size;
  uint32_t flags;       /* G4_CACHE_... */
  const char* path;     /* a folder, made if it is missing; any number of processes may share it */
  uint64_t limit_bytes; /* of a folder: the files that were unused for longest go when all take more; 0: 4 GiB */
} g4_cache_options;

typedef struct g4_cache_result {
  uint32_t struct_size;
  g4_status cache_status; /* what was wrong with the cache (g4_last_error says more), else G4_OK: a file of another model or a damaged
                             one, which is passed over and replaced; or the new file could not be written */
  size_t reused_count;    /* positions kept or restored instead of evaluated */
  uint64_t written_bytes; /* size of the file that was written; 0: none was */
} g4_cache_result;

/* g4_extend with a cache on disk, which finds prompts again by content: begins with the file that gives the longest exact prefix of
 * `tokens`, if that is more than the session holds, evaluates the rest, and keeps the new state there. A cache that cannot be used makes
 * the call slower but never fail. All or nothing.
 * shape:   tokens [token_count], a whole conversation
 * errors:  as g4_prefill; G4_ERR_ARGUMENT (no path)
 * owner:   result may be NULL; all arguments are read during the call only; options as g4_extend
 * threads: one call at a time per session; any number of sessions and processes per folder
 * since:   1 */
G4_API g4_status g4_extend_cached(g4_cache_result* result, g4_session* session, const int32_t* tokens, size_t token_count,
                                  const g4_cache_options* cache, const g4_prefill_options* options);

/* Writes the session's state (tokens, keys and values, logits) to a file: temporary file, sync, rename. If it fails, an old file of this
 * name stays whole.
 * shape:   *written_bytes is the file's size (may be NULL)
 * errors:  G4_ERR_IO (names path and reason), G4_ERR_STATE
 * owner:   -
 * threads: one call at a time per session; several processes may use one path
 * since:   1 */
G4_API g4_status g4_save_kv(uint64_t* written_bytes, g4_session* session, const char* path);

/* Replaces the session's state by that of a file. Going on from it gives the same bits as never having saved
 * (with the same precision and cpu). With tokens (a prompt),
 * restores only the longest common prefix with them that is exact, so that evaluating tokens[*restored_count ...] gives the prompt's
 * logits; if *restored_count equals token_count, they are there already. All or nothing: everything is verified before it is used.
 * shape:   tokens [token_count] or NULL, 0; *restored_count positions (may be NULL), 0 if nothing fits: the session is then empty
 * errors:  G4_ERR_IO, G4_ERR_FORMAT (damaged), G4_ERR_MISMATCH (another model, KV type or geometry), G4_ERR_UNSUPPORTED (a newer format),
 *          G4_ERR_CONTEXT_FULL (more positions than this session may hold)
 * owner:   tokens are read during the call only
 * threads: one call at a time per session
 * since:   1 */
G4_API g4_status g4_load_kv(size_t* restored_count, g4_session* session, const char* path, const int32_t* tokens, size_t token_count);

typedef struct g4_kv_probe_result {
  uint32_t struct_size;
  uint32_t has_logits;
  uint64_t position_count;
  uint64_t file_bytes;
  uint8_t model[16];  /* fingerprint of the model it was saved with: configuration and samples of the weights */
  char kv_type[8];    /* "f16", "f32", "q8_0" */
} g4_kv_probe_result;

/* Reads a KV file's header only.
 * shape:   tokens [capacity]; *needed = position_count; tokens, needed may be NULL with capacity 0
 * errors:  G4_ERR_IO, G4_ERR_FORMAT, G4_ERR_UNSUPPORTED, G4_ERR_BUFFER
 * owner:   fills *result and the caller's buffer
 * threads: any
 * since:   1 */
G4_API g4_status g4_kv_probe(g4_kv_probe_result* result, int32_t* tokens, size_t capacity, size_t* needed, const char* path);

/* The fingerprint of a session's model, as in g4_kv_probe_result.
 * shape: fingerprint [16]  errors: -  owner: fills the caller's bytes  threads: any  since: 1 */
G4_API g4_status g4_model_fingerprint(uint8_t* fingerprint, const g4_session* session);

/* ---- Information --------------------------------------------------------------------------------------------------------- */

typedef struct g4_info {
  uint32_t struct_size;
  uint32_t layer_count;
  uint32_t hidden_size;
  uint32_t head_count;
  uint32_t vocab_count;
  uint32_t context_count;       /* of this session */
  uint32_t model_context_count; /* that the model was made for */
  uint32_t sliding_window;
  uint32_t shared_kv_layer_count;
  uint32_t ple_size;            /* 0: no per-layer embeddings */
  uint32_t expert_count;        /* 0: dense */
  uint32_t thread_count;
  uint64_t weights_bytes;       /* mapped, without the PLE table */
  uint64_t ple_bytes;           /* PLE table on disk */
  g4_kv_type kv_type;
  g4_precision precision;
  const char* architecture;     /* "gemma4" */
  const char* name;             /* general.name of the file, or "" */
  const char* variant;          /* "E2B", "E4B", "31B", "26B-A4B", or "custom" */
  const char* quantisation;     /* the type of most weights: "Q4_0" */
  const char* cpu;              /* the kernel row in use */
  uint32_t can_see;             /* 1: g4_encode_image works */
  uint32_t can_hear;            /* 1: g4_encode_sound works */
} g4_info;

/* What the session runs.
 * shape: -  errors: -  owner: fills *info; its strings are valid as long as the session  threads: any  since: 1 */
G4_API g4_status g4_session_info(g4_info* info, const g4_session* session);

typedef struct g4_kv_layer {
  uint32_t struct_size;
  uint32_t is_sliding;
  uint32_t source_layer;  /* whose K and V this layer reads: itself, or for a KV-shared layer the last owning one of its kind */
  uint32_t window;        /* positions seen; 0: all */
  uint32_t kv_head_count;
  uint32_t head_size;
  uint64_t offset_bytes;  /* of this layer's K and V among the bytes one position takes; of the source's for a shared layer */
} g4_kv_layer;

/* One row of the KV registry.
 * shape: layer < layer_count  errors: G4_ERR_ARGUMENT  owner: fills *row  threads: any  since: 1 */
G4_API g4_status g4_kv_layer_info(g4_kv_layer* row, const g4_session* session, uint32_t layer);

typedef struct g4_stats {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t evaluated_token_count; /* since the session was opened or forked */
  uint64_t prefill_ns;
  uint64_t decode_ns;             /* calls that evaluated one token */
  uint64_t prefill_token_count;
  uint64_t decode_token_count;
  uint64_t kv_bytes;              /* KV pages this session holds, those shared with forks included */
  uint64_t scratch_bytes;
  uint64_t ple_row_count;         /* of all sessions of the model */
  uint64_t ple_read_bytes;
  uint64_t ple_ns;
  uint64_t reused_token_count;    /* kept by g4_extend or restored by g4_load_kv instead of evaluated */
} g4_stats;

/* Counters of the session.
 * shape: -  errors: -  owner: fills *stats  threads: as a call on the session  since: 1 */
G4_API g4_status g4_session_stats(g4_stats* stats, const g4_session* session);

/* How many token rows each layer has run in full (attention and feed-forward), since opening or forking: shows what prefill pruning
 * saves.
 * shape:   rows [capacity]; *needed = layer_count
 * errors:  G4_ERR_BUFFER
 * owner:   fills the caller's buffer
 * threads: as a call on the session
 * since:   1 */
G4_API g4_status g4_layer_rows(uint64_t* rows, size_t capacity, size_t* needed, const g4_session* session);

#ifdef __cplusplus
} /* extern "C" */
template <typename T>
inline T g4_init_helper() {
  T value = {};
  value.struct_size = static_cast<uint32_t>(sizeof(T));
  return value;
}
#endif

#endif /* G4_G4_H */
