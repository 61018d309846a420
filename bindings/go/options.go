package g4

/*
#include <g4/g4.h>
#include <stdlib.h>
*/
import "C"

import "unsafe"

// KVType is how the KV cache stores its numbers.
type KVType int32

// The KV types.
const (
	KVDefault KVType = C.G4_KV_DEFAULT
	KVF16     KVType = C.G4_KV_F16
	KVF32     KVType = C.G4_KV_F32
	KVQ8_0    KVType = C.G4_KV_Q8_0 // 8 bits, a scale per 32 values: half the memory of f16
)

// Options say how a session is opened.
type Options struct {
	ContextCount int                      // positions the session may hold; 0: the model's maximum, at most 32768
	ThreadCount  int                      // 0: the physical cores
	KVType       KVType                   // how the KV cache stores its numbers
	Precise      bool                     // float32 activations everywhere: slower, for comparisons
	CPU          string                   // a name of CPUs(); "": the best
	PLEPath      string                   // a GGUF file that holds per_layer_token_embd.weight; "": the model file
	MMProjPath   string                   // a GGUF file with the vision and audio towers; "": the model neither sees nor hears
	PinThreads   bool                     // keep each worker thread on a core of its own
	PLERead      bool                     // read the per-layer embeddings with plain reads instead of a mapping
	ChunkCount   int                      // tokens a prefill step takes at most; 0: 256. Does not change results
	RewindCount  int                      // positions that sliding layers keep beyond their window, for exact rewinds; 0: 256
	Progress     func(done, total uint64) // bytes read while opening
}

// Sampling says how the next token is picked.
type Sampling struct {
	Greedy            bool        // always the best token; the other fields but penalties and biases are ignored
	Temperature       float32     // default 1
	TopK              int         // default 64; -1: all
	TopP              float32     // default 0.95; 1: all
	MinP              float32     // default 0: off
	RepetitionPenalty float32     // default 1: off; over all tokens of the session
	PresencePenalty   float32     // default 0; over the tokens generated since the last prefill
	FrequencyPenalty  float32     // default 0; likewise, per occurrence
	Seed              uint64      // same seed and same history, same token
	Biases            []LogitBias // added to the logits
}

// LogitBias is added to the logit of a token; negative infinity forbids it.
type LogitBias struct {
	Token int32
	Bias  float32
}

// GenerateOptions say how an answer is generated.
type GenerateOptions struct {
	Sampling      Sampling
	MaxTokenCount int                    // 0: as many as the context holds
	Stops         []string               // strings that end the answer; they are not part of it
	Extend        bool                   // the prompt is the whole conversation: only what is new of it is evaluated
	IgnoreStop    bool                   // go on after tokens that end an answer
	Logits        func(logits []float32) // called before each token is picked; may change the logits, must not keep them
	Progress      func(done, total int)  // tokens of the prompt
}

// ChatTemplate is one of the two chat formats.
type ChatTemplate int32

// The chat formats.
const (
	TemplateAuto        ChatTemplate = C.G4_TEMPLATE_AUTO // what the file carries, else plain
	TemplatePlain       ChatTemplate = C.G4_TEMPLATE_PLAIN
	TemplateInterleaved ChatTemplate = C.G4_TEMPLATE_INTERLEAVED // thoughts between tool calls are kept
)

// ChatOptions say how a conversation becomes a prompt.
type ChatOptions struct {
	Thinking           bool // ask the model to think first
	NoGenerationPrompt bool // do not open the model's turn at the end
	Template           ChatTemplate
}

func flag(on bool, bit C.uint32_t) C.uint32_t {
	if on {
		return bit
	}
	return 0
}

// arena holds C memory that options point at until the call has returned.
type arena []unsafe.Pointer

func (memory *arena) alloc(count int, bytes uintptr) unsafe.Pointer {
	pointer := C.calloc(C.size_t(count), C.size_t(bytes))
	if pointer == nil {
		panic("g4: out of memory")
	}
	*memory = append(*memory, pointer)
	return pointer
}

func (memory *arena) text(text string) *C.char {
	pointer := C.CString(text)
	*memory = append(*memory, unsafe.Pointer(pointer))
	return pointer
}

func (memory *arena) free() {
	for _, pointer := range *memory {
		C.free(pointer)
	}
}

// session makes the C options; the caller adds the callback.
func (options *Options) session(memory *arena) (C.g4_session_options, error) {
	var out C.g4_session_options
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	if options == nil {
		return out, nil
	}
	if err := noZero("CPU", options.CPU); err != nil {
		return out, err
	}
	if err := noZero("PLEPath", options.PLEPath); err != nil {
		return out, err
	}
	if err := noZero("MMProjPath", options.MMProjPath); err != nil {
		return out, err
	}
	if options.ContextCount < 0 || options.ThreadCount < 0 || options.ChunkCount < 0 || options.RewindCount < 0 {
		return out, &Error{StatusArgument, "ContextCount, ThreadCount, ChunkCount or RewindCount is negative"}
	}
	out.context_count = C.uint32_t(clamp(options.ContextCount))
	out.thread_count = C.uint32_t(clamp(options.ThreadCount))
	out.chunk_count = C.uint32_t(clamp(options.ChunkCount))
	out.rewind_count = C.uint32_t(clamp(options.RewindCount))
	out.flags = flag(options.PLERead, C.G4_SESSION_PLE_READ) | flag(options.PinThreads, C.G4_SESSION_PIN)
	out.kv_type = C.g4_kv_type(options.KVType)
	if options.Precise {
		out.precision = C.G4_PRECISION_F32
	}
	if options.CPU != "" {
		out.cpu = memory.text(options.CPU)
	}
	if options.PLEPath != "" {
		out.ple_path = memory.text(options.PLEPath)
	}
	if options.MMProjPath != "" {
		out.mmproj_path = memory.text(options.MMProjPath)
	}
	return out, nil
}

// clamp keeps what C numbers can hold; the library refuses what makes no sense.
func clamp(value int) int {
	const most = 1<<31 - 1
	if value > most {
		return most
	}
	if value < -most {
		return -most
	}
	return value
}

func (sampling *Sampling) c(memory *arena) C.g4_sampling {
	var out C.g4_sampling
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	if sampling == nil {
		return out
	}
	out.flags = flag(sampling.Greedy, C.G4_SAMPLING_GREEDY)
	out.temperature = C.float(sampling.Temperature)
	out.top_k = C.int32_t(clamp(sampling.TopK))
	out.top_p = C.float(sampling.TopP)
	out.min_p = C.float(sampling.MinP)
	out.repetition_penalty = C.float(sampling.RepetitionPenalty)
	out.presence_penalty = C.float(sampling.PresencePenalty)
	out.frequency_penalty = C.float(sampling.FrequencyPenalty)
	out.seed = C.uint64_t(sampling.Seed)
	if count := len(sampling.Biases); count > 0 {
		out.biases = (*C.g4_logit_bias)(memory.alloc(count, unsafe.Sizeof(C.g4_logit_bias{})))
		out.bias_count = C.size_t(count)
		for i, bias := range sampling.Biases {
			unsafe.Slice(out.biases, count)[i] = C.g4_logit_bias{token: C.int32_t(bias.Token), bias: C.float(bias.Bias)}
		}
	}
	return out
}

// generate makes the C options. The prompt is copied: C may not keep pointers to Go memory inside a struct.
func (options *GenerateOptions) generate(memory *arena, prompt []int32) (*C.g4_generate_options, error) {
	out := (*C.g4_generate_options)(memory.alloc(1, unsafe.Sizeof(C.g4_generate_options{})))
	out.struct_size = C.uint32_t(unsafe.Sizeof(*out))
	if count := len(prompt); count > 0 {
		out.prompt = (*C.int32_t)(memory.alloc(count, 4))
		out.prompt_count = C.size_t(count)
		copy(unsafe.Slice((*int32)(out.prompt), count), prompt)
	}
	if options == nil {
		return out, nil
	}
	if options.MaxTokenCount < 0 {
		return nil, &Error{StatusArgument, "MaxTokenCount is negative"}
	}
	out.max_token_count = C.size_t(options.MaxTokenCount)
	out.flags = flag(options.IgnoreStop, C.G4_GENERATE_IGNORE_STOP) | flag(options.Extend, C.G4_GENERATE_EXTEND) |
		flag(options.Logits != nil, C.G4_GENERATE_LOGITS_EVENTS)
	sampling := (*C.g4_sampling)(memory.alloc(1, unsafe.Sizeof(C.g4_sampling{})))
	*sampling = options.Sampling.c(memory)
	out.sampling = sampling
	if count := len(options.Stops); count > 0 {
		out.stops = (**C.char)(memory.alloc(count, unsafe.Sizeof(uintptr(0))))
		out.stop_count = C.size_t(count)
		for i, stop := range options.Stops {
			if err := noZero("stop string", stop); err != nil {
				return nil, err
			}
			unsafe.Slice(out.stops, count)[i] = memory.text(stop)
		}
	}
	return out, nil
}

func (options *ChatOptions) c() C.g4_chat_options {
	var out C.g4_chat_options
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	if options != nil {
		out.flags = flag(options.Thinking, C.G4_CHAT_THINKING) | flag(options.NoGenerationPrompt, C.G4_CHAT_NO_GENERATION_PROMPT)
		out.chat_template = C.g4_chat_template(options.Template)
	}
	return out
}
