// Made from include/g4/g4.h by tools/make_rust.py.
use core::marker::{PhantomData, PhantomPinned};
use std::os::raw::{c_char, c_void};

// Library

pub const G4_ABI_VERSION: u32 = 1;
/// Status numbers never change meaning; new ones may be added.
pub type g4_status = i32;

pub const G4_OK: g4_status = 0;
/// an argument is wrong; the message says which and why
pub const G4_ERR_ARGUMENT: g4_status = 10;
/// the caller's buffer is too small; \*needed says how much
pub const G4_ERR_BUFFER: g4_status = 11;
/// the call does not fit the session's state (no logits yet, another call running, ...)
pub const G4_ERR_STATE: g4_status = 12;
/// a file cannot be read or written
pub const G4_ERR_IO: g4_status = 20;
/// a file is damaged or inconsistent
pub const G4_ERR_FORMAT: g4_status = 21;
/// a file or option is valid but g4 does not support it
pub const G4_ERR_UNSUPPORTED: g4_status = 22;
/// a KV file of another model, KV type or geometry
pub const G4_ERR_MISMATCH: g4_status = 23;
/// not enough memory
pub const G4_ERR_MEMORY: g4_status = 30;
/// the tokens do not fit the rest of the context
pub const G4_ERR_CONTEXT_FULL: g4_status = 31;
/// g4_cancel, or a callback returned 1
pub const G4_ERR_CANCELLED: g4_status = 40;
/// a fault of g4 itself; please report it
pub const G4_ERR_INTERNAL: g4_status = 90;

// Events

pub type g4_event_kind = i32;

/// opening: done_count of total_count bytes
pub const G4_EVENT_LOAD: g4_event_kind = 1;
/// prompt: done_count of total_count tokens
pub const G4_EVENT_PREFILL: g4_event_kind = 2;
/// generation: one token, its text and its channel
pub const G4_EVENT_TOKEN: g4_event_kind = 3;
/// before a token is picked: logits may be changed in place (G4_GENERATE_LOGITS_EVENTS)
pub const G4_EVENT_LOGITS: g4_event_kind = 4;
/// from g4_generation_next: the answer is complete
pub const G4_EVENT_END: g4_event_kind = 5;
pub type g4_channel = i32;

pub const G4_CHANNEL_TEXT: g4_channel = 0;
pub const G4_CHANNEL_THOUGHT: g4_channel = 1;
pub const G4_CHANNEL_TOOL_CALL: g4_channel = 2;
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct g4_event {
    pub struct_size: u32,
    pub kind: g4_event_kind,
    pub done_count: u64,
    pub total_count: u64,
    /// G4_EVENT_TOKEN
    pub token: i32,
    /// G4_EVENT_TOKEN
    pub channel: g4_channel,
    /// G4_EVENT_TOKEN: whole UTF-8 characters to show, zero-terminated, may be ""; valid during the callback
    pub text: *const c_char,
    pub text_bytes: usize,
    /// G4_EVENT_LOGITS: \[logits_count\], valid during the callback
    pub logits: *mut f32,
    pub logits_count: usize,
}

/// Return 0 to go on, 1 to stop. Runs on the thread that made the call. It may call g4_cancel and functions that only read, and
/// must not call others on the same session (they return G4_ERR_STATE).
pub type g4_event_callback = unsafe extern "C" fn(event: *const g4_event, payload: *mut c_void) -> i32;

// Opening

/// weights + disk embedding + KV registry + KV cache
#[repr(C)]
pub struct g4_session {
    _opaque: [u8; 0],
    _not_send_sync_unpin: PhantomData<(*mut u8, PhantomPinned)>,
}

/// a picture, sound or video, encoded
#[repr(C)]
pub struct g4_media {
    _opaque: [u8; 0],
    _not_send_sync_unpin: PhantomData<(*mut u8, PhantomPinned)>,
}

/// vocabulary and chat format
#[repr(C)]
pub struct g4_tokenizer {
    _opaque: [u8; 0],
    _not_send_sync_unpin: PhantomData<(*mut u8, PhantomPinned)>,
}

pub type g4_kv_type = i32;

/// f16
pub const G4_KV_DEFAULT: g4_kv_type = 0;
pub const G4_KV_F16: g4_kv_type = 1;
pub const G4_KV_F32: g4_kv_type = 2;
/// 8 bits, a scale per 32 values: half the memory of f16 (docs/KV.md says what it costs)
pub const G4_KV_Q8_0: g4_kv_type = 3;
pub type g4_precision = i32;

/// int8 activations (scale per 32 values) against quantised weights: fast. Pictures and sounds: docs/MEDIA.md
pub const G4_PRECISION_DEFAULT: g4_precision = 0;
/// float32 activations everywhere: slower, for comparisons
pub const G4_PRECISION_F32: g4_precision = 1;
/// read the PLE table with plain reads instead of a mapping: for media where a mapping may fault
pub const G4_SESSION_PLE_READ: u32 = 1;
/// keep each worker thread on a core of its own; the calling thread stays where you put it (best the first core)
pub const G4_SESSION_PIN: u32 = 2;
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct g4_session_options {
    pub struct_size: u32,
    /// positions the session may hold; 0: the model's maximum, at most 32768. Memory is taken as it fills
    pub context_count: u32,
    /// 0: the physical cores
    pub thread_count: u32,
    /// G4_SESSION_...
    pub flags: u32,
    pub kv_type: g4_kv_type,
    pub precision: g4_precision,
    /// a name of g4_cpus(); NULL: the best
    pub cpu: *const c_char,
    /// GGUF that holds per_layer_token_embd.weight; NULL: the model file
    pub ple_path: *const c_char,
    /// tokens a prefill step takes at most; 0: 256. Does not change results
    pub chunk_count: u32,
    /// positions that sliding layers keep beyond their window, for exact rewinds; 0: 256
    pub rewind_count: u32,
    /// G4_EVENT_LOAD while opening; NULL: none
    pub callback: Option<g4_event_callback>,
    pub payload: *mut c_void,
    /// GGUF with the vision and audio towers that go with the model; NULL: it neither sees nor hears
    pub mmproj_path: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct g4_memory_estimate {
    pub struct_size: u32,
    pub reserved: u32,
    /// mapped and read: resident once used
    pub weights_bytes: u64,
    /// PLE table, stays on disk
    pub ple_disk_bytes: u64,
    /// KV cache when the context is full
    pub kv_bytes: u64,
    /// activations of the largest prefill step, and tables
    pub scratch_bytes: u64,
    /// weights + kv + scratch: what must fit in memory
    pub total_bytes: u64,
}

// Text and tokens

/// put \<bos\> in front
pub const G4_TOKENIZE_BOS: u32 = 1;
/// control tokens written in the text count as such; without it they are plain text
pub const G4_TOKENIZE_SPECIAL: u32 = 2;
/// write control tokens out as \<...\> instead of leaving them out
pub const G4_DETOKENIZE_SPECIAL: u32 = 1;
pub type g4_chat_template = i32;

/// what the file carries, else plain
pub const G4_TEMPLATE_AUTO: g4_chat_template = 0;
pub const G4_TEMPLATE_PLAIN: g4_chat_template = 1;
/// thoughts between tool calls are kept
pub const G4_TEMPLATE_INTERLEAVED: g4_chat_template = 2;
/// ask the model to think first
pub const G4_CHAT_THINKING: u32 = 1;
/// do not open the model's turn at the end
pub const G4_CHAT_NO_GENERATION_PROMPT: u32 = 2;
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct g4_chat_options {
    pub struct_size: u32,
    /// G4_CHAT_...
    pub flags: u32,
    pub chat_template: g4_chat_template,
    /// 0
    pub reserved: u32,
    /// \[media_count\] one for each media part of the messages, in order; NULL: those parts become
    pub media: *const *const g4_media,
    /// placeholders alone
    pub media_count: usize,
}

// Pictures, sounds, videos

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct g4_image {
    pub struct_size: u32,
    /// pixels, 1 to 65536
    pub width: u32,
    pub height: u32,
    /// 3: RGB; 4: RGBA, alpha is ignored
    pub channel_count: u32,
    /// 8 bits a channel, rows from the top
    pub pixels: *const u8,
    /// from a row to the next; 0: width \* channel_count
    pub stride_bytes: usize,
}

pub type g4_sample_type = i32;

/// float, -1 to 1
pub const G4_SAMPLE_F32: g4_sample_type = 1;
/// int16_t
pub const G4_SAMPLE_I16: g4_sample_type = 2;
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct g4_sound {
    pub struct_size: u32,
    pub sample_type: g4_sample_type,
    /// instants a second, 1000 to 384000; resampled to 16000
    pub rate: u32,
    /// 1 to 32, side by side; their mean is heard
    pub channel_count: u32,
    /// \[instant_count, channel_count\]
    pub samples: *const c_void,
    pub instant_count: u64,
}

/// cut a sound of more than 30 s into clips of about equal length; g4_media_part says where
pub const G4_SOUND_SPLIT: u32 = 1;
/// without the control tokens and times around the rows
pub const G4_MEDIA_ROWS_ONLY: u32 = 1;
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct g4_media_part {
    pub struct_size: u32,
    pub reserved: u32,
    /// of a sound's clip; of a frame: its time
    pub begin_ns: u64,
    pub end_ns: u64,
    /// its tokens
    pub row_count: usize,
    /// the model's hidden size
    pub row_width: usize,
    /// \[row_count, row_width\], as the network takes them
    pub rows: *const f32,
}

// Evaluating

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct g4_prefill_options {
    pub struct_size: u32,
    /// 0
    pub flags: u32,
    /// not NULL: logits after every token of this call, \[token_count, V\]; switches pruning off
    pub all_logits: *mut f32,
    /// floats at all_logits: at least token_count \* V
    pub all_logits_count: usize,
    /// G4_EVENT_PREFILL; NULL: none
    pub callback: Option<g4_event_callback>,
    pub payload: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct g4_logit_bias {
    pub token: i32,
    /// added to the logit; -INFINITY forbids the token
    pub bias: f32,
}

/// always the best token; the other fields but penalties and bias are ignored
pub const G4_SAMPLING_GREEDY: u32 = 1;
/// A field of 0 means its default, except where 0 is said to mean something. In order: penalties, bias, temperature, top-k, top-p, min-p.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct g4_sampling {
    pub struct_size: u32,
    /// G4_SAMPLING_GREEDY
    pub flags: u32,
    /// default 1
    pub temperature: f32,
    /// default 64; -1: all
    pub top_k: i32,
    /// default 0.95; 1: all
    pub top_p: f32,
    /// default 0: off
    pub min_p: f32,
    /// default 1: off; over all tokens of the session
    pub repetition_penalty: f32,
    /// default 0; over the tokens generated since the last prefill
    pub presence_penalty: f32,
    /// default 0; likewise, per occurrence
    pub frequency_penalty: f32,
    /// 0
    pub reserved: u32,
    /// same seed and same history, same token
    pub seed: u64,
    pub biases: *const g4_logit_bias,
    pub bias_count: usize,
}

pub type g4_finish_reason = i32;

pub const G4_FINISH_NONE: g4_finish_reason = 0;
/// \<turn|\>: the model ended its turn
pub const G4_FINISH_TURN: g4_finish_reason = 1;
/// \<eos\>, or another end that the file declares
pub const G4_FINISH_EOS: g4_finish_reason = 2;
/// \<|tool_response\>: the model called a tool and waits for its answer
pub const G4_FINISH_TOOL_CALL: g4_finish_reason = 3;
/// a string of options.stops came up; it is not part of the text
pub const G4_FINISH_STOP_STRING: g4_finish_reason = 4;
/// max_token_count, or the context is full
pub const G4_FINISH_LENGTH: g4_finish_reason = 5;
/// the callback returned 1
pub const G4_FINISH_CALLBACK: g4_finish_reason = 6;
/// g4_cancel
pub const G4_FINISH_CANCELLED: g4_finish_reason = 7;
/// go on after stop tokens
pub const G4_GENERATE_IGNORE_STOP: u32 = 1;
/// send G4_EVENT_LOGITS before each token
pub const G4_GENERATE_LOGITS_EVENTS: u32 = 2;
/// prompt is the whole conversation: only what is new of it is evaluated, as g4_extend does
pub const G4_GENERATE_EXTEND: u32 = 4;
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct g4_generate_options {
    pub struct_size: u32,
    /// G4_GENERATE_...
    pub flags: u32,
    /// evaluated first, with G4_EVENT_PREFILL events; NULL: go on from the current logits
    pub prompt: *const i32,
    pub prompt_count: usize,
    /// 0: as many as the context holds
    pub max_token_count: usize,
    /// strings that end the answer
    pub stops: *const *const c_char,
    pub stop_count: usize,
    /// NULL: the defaults
    pub sampling: *const g4_sampling,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct g4_generate_result {
    pub struct_size: u32,
    pub finish_reason: g4_finish_reason,
    /// evaluated for the prompt
    pub prompt_token_count: usize,
    /// stop token included
    pub generated_token_count: usize,
    pub prefill_ns: u64,
    pub decode_ns: u64,
    /// of the prompt, kept instead of evaluated (G4_GENERATE_EXTEND)
    pub reused_token_count: usize,
}

/// an answer that is asked for token by token
#[repr(C)]
pub struct g4_generation {
    _opaque: [u8; 0],
    _not_send_sync_unpin: PhantomData<(*mut u8, PhantomPinned)>,
}

// Position

/// where it cannot be exact, evaluate the tokens that stay again (as far as needed)
pub const G4_TRUNCATE_REEVALUATE: u32 = 1;

// Never the same prompt twice

/// path is one KV file, of the last prompt, instead of a folder
pub const G4_CACHE_FILE: u32 = 1;
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct g4_cache_options {
    pub struct_size: u32,
    /// G4_CACHE_...
    pub flags: u32,
    /// a folder, made if it is missing; any number of processes may share it
    pub path: *const c_char,
    /// of a folder: the files that were unused for longest go when all take more; 0: 4 GiB
    pub limit_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct g4_cache_result {
    pub struct_size: u32,
    /// what was wrong with the cache (g4_last_error says more), else G4_OK: a file of another model or a damaged one, which is passed over and replaced; or the new file could not be written
    pub cache_status: g4_status,
    /// positions kept or restored instead of evaluated
    pub reused_count: usize,
    /// size of the file that was written; 0: none was
    pub written_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct g4_kv_probe_result {
    pub struct_size: u32,
    pub has_logits: u32,
    pub position_count: u64,
    pub file_bytes: u64,
    /// fingerprint of the model it was saved with: configuration and samples of the weights
    pub model: [u8; 16],
    /// "f16", "f32", "q8_0"
    pub kv_type: [c_char; 8],
}

// Information

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct g4_info {
    pub struct_size: u32,
    pub layer_count: u32,
    pub hidden_size: u32,
    pub head_count: u32,
    pub vocab_count: u32,
    /// of this session
    pub context_count: u32,
    /// that the model was made for
    pub model_context_count: u32,
    pub sliding_window: u32,
    pub shared_kv_layer_count: u32,
    /// 0: no per-layer embeddings
    pub ple_size: u32,
    /// 0: dense
    pub expert_count: u32,
    pub thread_count: u32,
    /// mapped, without the PLE table
    pub weights_bytes: u64,
    /// PLE table on disk
    pub ple_bytes: u64,
    pub kv_type: g4_kv_type,
    pub precision: g4_precision,
    /// "gemma4"
    pub architecture: *const c_char,
    /// general.name of the file, or ""
    pub name: *const c_char,
    /// "E2B", "E4B", "31B", "26B-A4B", or "custom"
    pub variant: *const c_char,
    /// the type of most weights: "Q4_0"
    pub quantisation: *const c_char,
    /// the kernel row in use
    pub cpu: *const c_char,
    /// 1: g4_encode_image works
    pub can_see: u32,
    /// 1: g4_encode_sound works
    pub can_hear: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct g4_kv_layer {
    pub struct_size: u32,
    pub is_sliding: u32,
    /// whose K and V this layer reads: itself, or for a KV-shared layer the last owning one of its kind
    pub source_layer: u32,
    /// positions seen; 0: all
    pub window: u32,
    pub kv_head_count: u32,
    pub head_size: u32,
    /// of this layer's K and V among the bytes one position takes; of the source's for a shared layer
    pub offset_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct g4_stats {
    pub struct_size: u32,
    pub reserved: u32,
    /// since the session was opened or forked
    pub evaluated_token_count: u64,
    pub prefill_ns: u64,
    /// calls that evaluated one token
    pub decode_ns: u64,
    pub prefill_token_count: u64,
    pub decode_token_count: u64,
    /// KV pages this session holds, those shared with forks included
    pub kv_bytes: u64,
    pub scratch_bytes: u64,
    /// of all sessions of the model
    pub ple_row_count: u64,
    pub ple_read_bytes: u64,
    pub ple_ns: u64,
    /// kept by g4_extend or restored by g4_load_kv instead of evaluated
    pub reused_token_count: u64,
}

extern "C" {
    /// The ABI version of the library that runs, to compare with G4_ABI_VERSION of the header compiled against.
    ///
    /// - shape: -
    /// - errors: none
    /// - owner: -
    /// - threads: any
    /// - since: 1
    pub fn g4_abi_version() -> u32;

    /// The version of the library, "1.2.3".
    ///
    /// - shape: -
    /// - errors: none
    /// - owner: static
    /// - threads: any
    /// - since: 1
    pub fn g4_version() -> *const c_char;

    /// One phrase for a status number; "unknown status" for a number that is none.
    ///
    /// - shape: -
    /// - errors: none
    /// - owner: static
    /// - threads: any
    /// - since: 1
    pub fn g4_status_phrase(status: g4_status) -> *const c_char;

    /// What went wrong in the last failed call of this thread: names the thing, the value and what to do. For people; never parse it.
    /// "" before the first failure.
    ///
    /// - shape: -
    /// - errors: none
    /// - owner: valid until the next failing call on this thread
    /// - threads: each has its own
    /// - since: 1
    pub fn g4_last_error() -> *const c_char;

    /// The names of the kernel rows this machine can run, best first, separated by spaces: "avx2 generic".
    ///
    /// - shape: -
    /// - errors: none
    /// - owner: static
    /// - threads: any
    /// - since: 1
    pub fn g4_cpus() -> *const c_char;

    /// Opens a Gemma 4 GGUF file and returns a session at position 0.
    ///
    /// - shape: -
    /// - errors: G4_ERR_ARGUMENT (an option), G4_ERR_IO, G4_ERR_FORMAT (damaged or inconsistent: names key or tensor), G4_ERR_UNSUPPORTED (another architecture, tensor type, split file), G4_ERR_MEMORY, G4_ERR_CANCELLED. On error \*out is NULL.
    /// - owner: caller frees \*out with g4_session_free. path and options are not kept. The file must stay unchanged while in use.
    /// - threads: any thread; a session may move between threads but serves one call at a time.
    /// - since: 1
    pub fn g4_session_open(out: *mut *mut g4_session, path: *const c_char, options: *const g4_session_options) -> g4_status;

    /// A second session of the same model: shares the weights, starts as an exact copy (tokens, KV cache, logits), then goes its own way.
    /// Costs no computation and little memory: KV pages are shared until one of the two writes.
    ///
    /// - shape: -
    /// - errors: G4_ERR_MEMORY, G4_ERR_STATE (a call is running on `session`). On error \*out is NULL.
    /// - owner: caller frees \*out; either may be freed first.
    /// - threads: counts as a call on `session`; afterwards both may be used on different threads at once.
    /// - since: 1
    pub fn g4_session_fork(out: *mut *mut g4_session, session: *mut g4_session) -> g4_status;

    /// Frees a session. NULL is a no-op. No call may be running on it.
    ///
    /// - shape: -
    /// - errors: none
    /// - owner: ends the session; borrowed pointers end with it
    /// - threads: any one
    /// - since: 1
    pub fn g4_session_free(session: *mut g4_session);

    /// What a session with these options will need, from the file's header alone.
    ///
    /// - shape: -
    /// - errors: as g4_session_open
    /// - owner: fills \*estimate, whose struct_size the caller has set
    /// - threads: any
    /// - since: 1
    pub fn g4_estimate(estimate: *mut g4_memory_estimate, path: *const c_char, options: *const g4_session_options) -> g4_status;

    /// Writes a prepared file: the model with its matrices in the order that the kernels of options-\>cpu want. It is as large as the GGUF file,
    /// goes wherever a GGUF file of a model goes, opens in a fraction of a second and is used where it lies, so that processes share its
    /// memory. On a machine with other kernels it works too, as a GGUF file does. KV files fit both. Of the options count cpu, thread_count,
    /// callback (G4_EVENT_LOAD) and payload.
    ///
    /// - shape: -
    /// - errors: as g4_session_open; G4_ERR_ARGUMENT (out_path is the model itself). On error an old file at out_path stays whole.
    /// - owner: keeps nothing. out_path is written beside itself first, then renamed.
    /// - threads: any
    /// - since: 1
    pub fn g4_prepare(path: *const c_char, out_path: *const c_char, options: *const g4_session_options) -> g4_status;

    /// The tokenizer of a GGUF file, which may hold no tensors.
    ///
    /// - shape: -
    /// - errors: G4_ERR_IO, G4_ERR_FORMAT, G4_ERR_UNSUPPORTED. On error \*out is NULL.
    /// - owner: caller frees \*out with g4_tokenizer_free
    /// - threads: a tokenizer never changes: any number of threads at once
    /// - since: 1
    pub fn g4_tokenizer_open(out: *mut *mut g4_tokenizer, path: *const c_char) -> g4_status;

    /// Frees a tokenizer made by g4_tokenizer_open. NULL is a no-op. Not for the borrowed one of a session.
    ///
    /// - shape: -
    /// - errors: none
    /// - owner: ends the tokenizer
    /// - threads: any one
    /// - since: 1
    pub fn g4_tokenizer_free(tokenizer: *mut g4_tokenizer);

    /// The tokenizer of a session.
    ///
    /// - shape: -
    /// - errors: none; NULL for NULL
    /// - owner: borrowed, valid as long as the session
    /// - threads: any
    /// - since: 1
    pub fn g4_session_tokenizer(session: *const g4_session) -> *const g4_tokenizer;

    /// Text to token ids.
    ///
    /// - shape: tokens \[capacity\]; \*needed ids
    /// - errors: G4_ERR_BUFFER, G4_ERR_ARGUMENT (text of 2 GiB or more)
    /// - owner: fills the caller's buffer
    /// - threads: any
    /// - since: 1
    pub fn g4_tokenize(tokens: *mut i32, capacity: usize, needed: *mut usize, tokenizer: *const g4_tokenizer, text: *const c_char, text_bytes: usize, flags: u32) -> g4_status;

    /// Token ids to text. The text of single tokens, one after the other, is the text of all; one alone may end inside a character.
    ///
    /// - shape: text \[capacity\]; \*needed bytes; tokens \[token_count\]
    /// - errors: G4_ERR_BUFFER, G4_ERR_ARGUMENT (an id outside the vocabulary)
    /// - owner: fills the caller's buffer
    /// - threads: any
    /// - since: 1
    pub fn g4_detokenize(text: *mut c_char, capacity: usize, needed: *mut usize, tokenizer: *const g4_tokenizer, tokens: *const i32, token_count: usize, flags: u32) -> g4_status;

    /// Another handle of the same tokenizer, for one that outlives the session it was borrowed from.
    ///
    /// - shape: -
    /// - errors: none besides the general ones
    /// - owner: caller frees \*out with g4_tokenizer_free
    /// - threads: any
    /// - since: 1
    pub fn g4_tokenizer_share(out: *mut *mut g4_tokenizer, tokenizer: *const g4_tokenizer) -> g4_status;

    /// Number of tokens in the vocabulary; 0 for NULL.
    ///
    /// - shape: -
    /// - errors: none
    /// - owner: -
    /// - threads: any
    /// - since: 1
    pub fn g4_vocab_count(tokenizer: *const g4_tokenizer) -> u32;

    /// 1 if this token ends an answer (\<eos\>, \<turn|\>, ...), else 0.
    ///
    /// - shape: -
    /// - errors: none
    /// - owner: -
    /// - threads: any
    /// - since: 1
    pub fn g4_is_stop(tokenizer: *const g4_tokenizer, token: i32) -> i32;

    /// A conversation to the exact text of the official Gemma 4 template, for looking at. To evaluate it, use g4_chat_tokenize: text that
    /// is tokenized again can no longer tell the user's words from control tokens.
    /// conversation: JSON, an array of messages or {"messages": \[...\], "tools": \[...\]}, as in OpenAI's chat API (docs/CHAT.md).
    ///
    /// - shape: text \[capacity\]; \*needed bytes
    /// - errors: G4_ERR_BUFFER, G4_ERR_ARGUMENT (says which message and field is wrong)
    /// - owner: fills the caller's buffer
    /// - threads: any
    /// - since: 1
    pub fn g4_chat_render(text: *mut c_char, capacity: usize, needed: *mut usize, tokenizer: *const g4_tokenizer, conversation: *const c_char, conversation_bytes: usize, options: *const g4_chat_options) -> g4_status;

    /// A conversation to the ids to evaluate, \<bos\> included. What the messages contain is always plain text: no message can forge a turn
    /// or a tool call.
    ///
    /// - shape: tokens \[capacity\]; \*needed ids
    /// - errors: as g4_chat_render
    /// - owner: fills the caller's buffer
    /// - threads: any
    /// - since: 1
    pub fn g4_chat_tokenize(tokens: *mut i32, capacity: usize, needed: *mut usize, tokenizer: *const g4_tokenizer, conversation: *const c_char, conversation_bytes: usize, options: *const g4_chat_options) -> g4_status;

    /// The tokens of an answer (whole, or cut anywhere) to a message: {"role":"assistant","content":"...","reasoning_content":"...",
    /// "tool_calls":\[...\]}, absent parts left out. It can be appended to the conversation as it is.
    ///
    /// - shape: json \[capacity\]; \*needed bytes; tokens \[token_count\]
    /// - errors: G4_ERR_BUFFER, G4_ERR_ARGUMENT (an id outside the vocabulary)
    /// - owner: fills the caller's buffer
    /// - threads: any
    /// - since: 1
    pub fn g4_chat_parse(json: *mut c_char, capacity: usize, needed: *mut usize, tokenizer: *const g4_tokenizer, tokens: *const i32, token_count: usize) -> g4_status;

    /// Encodes a picture. token_budget: the most tokens it may take, 70, 140, 280, 560 or 1120; 0: 280. More show finer detail.
    ///
    /// - shape: as g4_image says
    /// - errors: G4_ERR_ARGUMENT (no image, or a budget that is none), G4_ERR_UNSUPPORTED (no mmproj_path, or towers that do not see or lack positions for an image this long), G4_ERR_CANCELLED, G4_ERR_STATE. On error \*out is NULL.
    /// - owner: caller frees \*out with g4_media_free; pixels are read during the call only
    /// - threads: counts as a call on the session
    /// - since: 1
    pub fn g4_encode_image(out: *mut *mut g4_media, session: *mut g4_session, image: *const g4_image, token_budget: u32) -> g4_status;

    /// Encodes frames of a video and the times they are of, which the prompt will tell as mm:ss. token_budget: of a frame; 0: 70.
    ///
    /// - shape: frames, times_ns \[frame_count\], frame_count \>= 1
    /// - errors: as g4_encode_image
    /// - owner: as g4_encode_image
    /// - threads: counts as a call on the session
    /// - since: 1
    pub fn g4_encode_video(out: *mut *mut g4_media, session: *mut g4_session, frames: *const *const g4_image, times_ns: *const u64, frame_count: usize, token_budget: u32) -> g4_status;

    /// Encodes a sound, about 25 tokens a second.
    ///
    /// - shape: as g4_sound says
    /// - errors: G4_ERR_ARGUMENT (no samples, fewer than make a token, more than 30 s without G4_SOUND_SPLIT, more than an hour with it, a sample that is no number), G4_ERR_UNSUPPORTED (no mmproj_path, or towers that do not hear), G4_ERR_CANCELLED, G4_ERR_STATE. On error \*out is NULL.
    /// - owner: caller frees \*out with g4_media_free; samples are read during the call only
    /// - threads: counts as a call on the session
    /// - since: 1
    pub fn g4_encode_sound(out: *mut *mut g4_media, session: *mut g4_session, sound: *const g4_sound, flags: u32) -> g4_status;

    /// Frees a g4_media. NULL is a no-op. Its tokens can be evaluated no more, unless another g4_media has the same content.
    ///
    /// - shape: -
    /// - errors: none
    /// - owner: ends the media
    /// - threads: any one
    /// - since: 1
    pub fn g4_media_free(media: *mut g4_media);

    /// Tokens that the rows of a picture of this size will take, before encoding it; a video frame's are the same.
    ///
    /// - shape: -
    /// - errors: G4_ERR_ARGUMENT
    /// - owner: fills \*token_count
    /// - threads: any
    /// - since: 1
    pub fn g4_image_tokens(token_count: *mut u64, width: u32, height: u32, token_budget: u32) -> g4_status;

    /// Tokens that the rows of a sound of this length will take, before encoding it.
    ///
    /// - shape: -
    /// - errors: as g4_encode_sound
    /// - owner: fills \*token_count
    /// - threads: any
    /// - since: 1
    pub fn g4_sound_tokens(token_count: *mut u64, instant_count: u64, rate: u32, flags: u32) -> g4_status;

    /// The tokens of a g4_media as they stand in a prompt: begin, rows, end; for each frame of a video also its time.
    ///
    /// - shape: tokens \[capacity\]; \*needed ids
    /// - errors: G4_ERR_BUFFER, G4_ERR_UNSUPPORTED (a vocabulary without the control tokens)
    /// - owner: fills the caller's buffer; tokenizer may be NULL with G4_MEDIA_ROWS_ONLY
    /// - threads: any
    /// - since: 1
    pub fn g4_media_tokens(tokens: *mut i32, capacity: usize, needed: *mut usize, media: *const g4_media, tokenizer: *const g4_tokenizer, flags: u32) -> g4_status;

    /// Parts of a g4_media: 1, the clips of a sound, or the frames of a video; 0 for NULL.
    ///
    /// - shape: -
    /// - errors: none
    /// - owner: -
    /// - threads: any
    /// - since: 1
    pub fn g4_media_part_count(media: *const g4_media) -> usize;

    /// One part of a g4_media.
    ///
    /// - shape: index \< g4_media_part_count
    /// - errors: G4_ERR_ARGUMENT
    /// - owner: fills \*part; rows are valid as long as the media
    /// - threads: any
    /// - since: 1
    pub fn g4_media_get_part(part: *mut g4_media_part, media: *const g4_media, index: usize) -> g4_status;

    /// Appends tokens to the KV cache; afterwards g4_logits gives the logits after the last of them. All or nothing: on error the
    /// position is unchanged.
    ///
    /// - shape: tokens \[token_count\], 1 \<= token_count \<= context left
    /// - errors: G4_ERR_ARGUMENT (an id outside the vocabulary), G4_ERR_CONTEXT_FULL, G4_ERR_CANCELLED, G4_ERR_IO (disk embedding), G4_ERR_STATE (another call is running)
    /// - owner: tokens are read during the call only
    /// - threads: one call at a time per session; g4_cancel may come from any thread
    /// - since: 1
    pub fn g4_prefill(session: *mut g4_session, tokens: *const i32, token_count: usize, options: *const g4_prefill_options) -> g4_status;

    /// g4_prefill for several sessions of one model (forks) in one pass: reads the weights once for all. All or nothing.
    ///
    /// - shape: sessions, tokens, token_counts \[session_count\]; the sessions are distinct
    /// - errors: as g4_prefill; G4_ERR_ARGUMENT if the sessions are not of one model or one is given twice
    /// - owner: as g4_prefill
    /// - threads: counts as a call on each of the sessions
    /// - since: 1
    pub fn g4_prefill_batch(sessions: *const *mut g4_session, tokens: *const *const i32, token_counts: *const usize, session_count: usize) -> g4_status;

    /// The logits after the last position.
    ///
    /// - shape: \*logits \[\*logits_count\] = \[V\]
    /// - errors: G4_ERR_STATE (nothing evaluated yet, or the last position was removed by g4_truncate)
    /// - owner: borrowed, valid until the next call that changes the session
    /// - threads: as a call on the session
    /// - since: 1
    pub fn g4_logits(logits: *mut *const f32, logits_count: *mut usize, session: *mut g4_session) -> g4_status;

    /// Picks the next token from the current logits; changes nothing.
    ///
    /// - shape: -
    /// - errors: G4_ERR_STATE (no logits), G4_ERR_ARGUMENT (an option out of range)
    /// - owner: -
    /// - threads: as a call on the session
    /// - since: 1
    pub fn g4_sample(token: *mut i32, session: *mut g4_session, sampling: *const g4_sampling) -> g4_status;

    /// One step of generation: g4_sample, then the token is evaluated. \*token may be a stop token (g4_is_stop).
    ///
    /// - shape: -
    /// - errors: as g4_sample and g4_prefill
    /// - owner: -
    /// - threads: one call at a time per session
    /// - since: 1
    pub fn g4_decode(token: *mut i32, session: *mut g4_session, sampling: *const g4_sampling) -> g4_status;

    /// Generates until something ends it. Every token is evaluated, the stop token too, so that the conversation can go on.
    /// A stop by callback, cancel or length is not an error: \*result says why it ended.
    ///
    /// - shape: -
    /// - errors: as g4_sample and g4_prefill; a failed prompt leaves the position unchanged, a later failure leaves the tokens so far
    /// - owner: result may be NULL; callback may be NULL
    /// - threads: one call at a time per session; g4_cancel may come from any thread
    /// - since: 1
    pub fn g4_generate(result: *mut g4_generate_result, session: *mut g4_session, options: *const g4_generate_options, callback: Option<g4_event_callback>, payload: *mut c_void) -> g4_status;

    /// g4_generate for iterators: evaluates the prompt now, each g4_generation_next makes one token. Between them the session may be read, and
    /// saved; the answer can be left at any token. The callback is sent G4_EVENT_PREFILL and G4_EVENT_LOGITS, not tokens. A prompt stopped by
    /// callback or cancel is an answer without tokens.
    ///
    /// - shape: -
    /// - errors: as g4_generate. On error \*out is NULL and the position is unchanged.
    /// - owner: caller frees \*out with g4_generation_free, before the session. Options are read during the call only; callback and payload stay in use.
    /// - threads: counts as a call on the session
    /// - since: 1
    pub fn g4_generation_begin(out: *mut *mut g4_generation, session: *mut g4_session, options: *const g4_generate_options, callback: Option<g4_event_callback>, payload: *mut c_void) -> g4_status;

    /// The next token of the answer, evaluated: a G4_EVENT_TOKEN, done_count of them so far; G4_EVENT_END when something has ended it. After
    /// g4_cancel the token at hand is dropped.
    ///
    /// - shape: -
    /// - errors: as g4_sample and g4_prefill; G4_ERR_STATE if the session's position is not where the last token left it
    /// - owner: fills \*event, whose struct_size the caller has set; its text is valid until the next call
    /// - threads: counts as a call on the session
    /// - since: 1
    pub fn g4_generation_next(event: *mut g4_event, generation: *mut g4_generation) -> g4_status;

    /// Why the answer ended (G4_FINISH_NONE if it did not yet) and the counts so far.
    ///
    /// - shape: -
    /// - errors: -
    /// - owner: fills \*result
    /// - threads: as a call on the session
    /// - since: 1
    pub fn g4_generation_result(result: *mut g4_generate_result, generation: *const g4_generation) -> g4_status;

    /// Ends an answer, complete or not. NULL is a no-op.
    ///
    /// - shape: -
    /// - errors: none
    /// - owner: ends the generation, not the session
    /// - threads: any one
    /// - since: 1
    pub fn g4_generation_free(generation: *mut g4_generation);

    /// Asks the call that runs on the session to end: within 100 ms it returns G4_ERR_CANCELLED (prefill: position unchanged), or, if
    /// generating, ends with G4_FINISH_CANCELLED. The session stays usable. Without a running call it does nothing.
    ///
    /// - shape: -
    /// - errors: none
    /// - owner: -
    /// - threads: any, at any time before g4_session_free
    /// - since: 1
    pub fn g4_cancel(session: *mut g4_session);

    /// Tokens held; 0 for NULL.
    ///
    /// - shape: -
    /// - errors: none
    /// - owner: -
    /// - threads: as a call on the session
    /// - since: 1
    pub fn g4_position(session: *const g4_session) -> usize;

    /// The tokens held, in order.
    ///
    /// - shape: tokens \[capacity\]; \*needed ids = g4_position
    /// - errors: G4_ERR_BUFFER
    /// - owner: fills the caller's buffer
    /// - threads: as a call on the session
    /// - since: 1
    pub fn g4_tokens(tokens: *mut i32, capacity: usize, needed: *mut usize, session: *mut g4_session) -> g4_status;

    /// Back to position 0; weights stay loaded.
    ///
    /// - shape: -
    /// - errors: G4_ERR_STATE
    /// - owner: -
    /// - threads: as a call on the session
    /// - since: 1
    pub fn g4_reset(session: *mut g4_session) -> g4_status;

    /// g4_truncate is exact at every position from this one on: sliding layers keep a window of positions and a margin of 256. The ends of the
    /// last few prompts can be reached exactly too, however far back.
    ///
    /// - shape: -
    /// - errors: none; 0 for NULL
    /// - owner: -
    /// - threads: as a call on the session
    /// - since: 1
    pub fn g4_rewind_min(session: *const g4_session) -> usize;

    /// Forgets all from `position` on; going on from there gives exactly what it would have given the first time. The logits are gone unless
    /// nothing was removed, or something was evaluated again.
    ///
    /// - shape: position \<= g4_position
    /// - errors: G4_ERR_ARGUMENT (beyond the end, or within a picture or sound), G4_ERR_STATE (not exact there: names positions that are); with G4_TRUNCATE_REEVALUATE as g4_prefill
    /// - owner: -
    /// - threads: one call at a time per session
    /// - since: 1
    pub fn g4_truncate(session: *mut g4_session, position: usize, flags: u32) -> g4_status;

    /// Makes the session hold exactly `tokens`, a whole conversation: keeps the longest common prefix with what it holds that it can keep
    /// exactly, and evaluates only the rest. For chats: after each turn pass the whole new conversation. All or nothing.
    ///
    /// - shape: tokens \[token_count\]; \*reused_count positions were kept (may be NULL)
    /// - errors: as g4_prefill
    /// - owner: tokens are read during the call only; options as g4_prefill, without all_logits
    /// - threads: one call at a time per session; g4_cancel may come from any thread
    /// - since: 1
    pub fn g4_extend(reused_count: *mut usize, session: *mut g4_session, tokens: *const i32, token_count: usize, options: *const g4_prefill_options) -> g4_status;

    /// g4_extend with a cache on disk, which finds prompts again by content: begins with the file that gives the longest exact prefix of
    /// `tokens`, if that is more than the session holds, evaluates the rest, and keeps the new state there. A cache that cannot be used makes
    /// the call slower but never fail. All or nothing.
    ///
    /// - shape: tokens \[token_count\], a whole conversation
    /// - errors: as g4_prefill; G4_ERR_ARGUMENT (no path)
    /// - owner: result may be NULL; all arguments are read during the call only; options as g4_extend
    /// - threads: one call at a time per session; any number of sessions and processes per folder
    /// - since: 1
    pub fn g4_extend_cached(result: *mut g4_cache_result, session: *mut g4_session, tokens: *const i32, token_count: usize, cache: *const g4_cache_options, options: *const g4_prefill_options) -> g4_status;

    /// Writes the session's state (tokens, keys and values, logits) to a file: temporary file, sync, rename. If it fails, an old file of this
    /// name stays whole.
    ///
    /// - shape: \*written_bytes is the file's size (may be NULL)
    /// - errors: G4_ERR_IO (names path and reason), G4_ERR_STATE
    /// - owner: -
    /// - threads: one call at a time per session; several processes may use one path
    /// - since: 1
    pub fn g4_save_kv(written_bytes: *mut u64, session: *mut g4_session, path: *const c_char) -> g4_status;

    /// Replaces the session's state by that of a file. Going on from it gives the same bits as never having saved
    /// (with the same precision and cpu). With tokens (a prompt),
    /// restores only the longest common prefix with them that is exact, so that evaluating tokens\[\*restored_count ...\] gives the prompt's
    /// logits; if \*restored_count equals token_count, they are there already. All or nothing: everything is verified before it is used.
    ///
    /// - shape: tokens \[token_count\] or NULL, 0; \*restored_count positions (may be NULL), 0 if nothing fits: the session is then empty
    /// - errors: G4_ERR_IO, G4_ERR_FORMAT (damaged), G4_ERR_MISMATCH (another model, KV type or geometry), G4_ERR_UNSUPPORTED (a newer format), G4_ERR_CONTEXT_FULL (more positions than this session may hold)
    /// - owner: tokens are read during the call only
    /// - threads: one call at a time per session
    /// - since: 1
    pub fn g4_load_kv(restored_count: *mut usize, session: *mut g4_session, path: *const c_char, tokens: *const i32, token_count: usize) -> g4_status;

    /// Reads a KV file's header only.
    ///
    /// - shape: tokens \[capacity\]; \*needed = position_count; tokens, needed may be NULL with capacity 0
    /// - errors: G4_ERR_IO, G4_ERR_FORMAT, G4_ERR_UNSUPPORTED, G4_ERR_BUFFER
    /// - owner: fills \*result and the caller's buffer
    /// - threads: any
    /// - since: 1
    pub fn g4_kv_probe(result: *mut g4_kv_probe_result, tokens: *mut i32, capacity: usize, needed: *mut usize, path: *const c_char) -> g4_status;

    /// The fingerprint of a session's model, as in g4_kv_probe_result.
    ///
    /// - shape: fingerprint \[16\]
    /// - errors: -
    /// - owner: fills the caller's bytes
    /// - threads: any
    /// - since: 1
    pub fn g4_model_fingerprint(fingerprint: *mut u8, session: *const g4_session) -> g4_status;

    /// What the session runs.
    ///
    /// - shape: -
    /// - errors: -
    /// - owner: fills \*info; its strings are valid as long as the session
    /// - threads: any
    /// - since: 1
    pub fn g4_session_info(info: *mut g4_info, session: *const g4_session) -> g4_status;

    /// One row of the KV registry.
    ///
    /// - shape: layer \< layer_count
    /// - errors: G4_ERR_ARGUMENT
    /// - owner: fills \*row
    /// - threads: any
    /// - since: 1
    pub fn g4_kv_layer_info(row: *mut g4_kv_layer, session: *const g4_session, layer: u32) -> g4_status;

    /// Counters of the session.
    ///
    /// - shape: -
    /// - errors: -
    /// - owner: fills \*stats
    /// - threads: as a call on the session
    /// - since: 1
    pub fn g4_session_stats(stats: *mut g4_stats, session: *const g4_session) -> g4_status;

    /// How many token rows each layer has run in full (attention and feed-forward), since opening or forking: shows what prefill pruning
    /// saves.
    ///
    /// - shape: rows \[capacity\]; \*needed = layer_count
    /// - errors: G4_ERR_BUFFER
    /// - owner: fills the caller's buffer
    /// - threads: as a call on the session
    /// - since: 1
    pub fn g4_layer_rows(rows: *mut u64, capacity: usize, needed: *mut usize, session: *const g4_session) -> g4_status;
}
