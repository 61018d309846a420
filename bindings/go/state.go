package g4

/*
#include <g4/g4.h>
#include <stdlib.h>
*/
import "C"

import (
	"context"
	"time"
	"unsafe"
)

// Tokens gives the tokens held, in order.
func (s *Session) Tokens() (tokens []int32, err error) {
	err = s.with(func(session *C.g4_session) C.g4_status {
		tokens = make([]int32, int(C.g4_position(session))+1)
		var needed C.size_t
		status := C.g4_tokens((*C.int32_t)(&tokens[0]), C.size_t(len(tokens)), &needed, session)
		tokens = tokens[:needed]
		return status
	})
	return tokens, err
}

// Reset goes back to position 0; the weights stay loaded.
func (s *Session) Reset() error {
	return s.with(func(session *C.g4_session) C.g4_status { return C.g4_reset(session) })
}

// Truncate forgets all from position on; going on gives exactly what it would have given the first time. Where that is not exact it
// fails with ErrState, or with reevaluate evaluates the tokens that stay again, as far as needed.
func (s *Session) Truncate(position int, reevaluate bool) error {
	if position < 0 {
		return &Error{StatusArgument, "the position is negative"}
	}
	return s.with(func(session *C.g4_session) C.g4_status {
		return C.g4_truncate(session, C.size_t(position), flag(reevaluate, C.G4_TRUNCATE_REEVALUATE))
	})
}

// Cache says where ExtendCached keeps prompts.
type Cache struct {
	Path       string // a folder, made if it is missing; any number of processes may share it
	SingleFile bool   // Path is one KV file, of the last prompt, instead of a folder
	LimitBytes uint64 // of a folder: the files that were unused for longest go when all take more; 0: 4 GiB
}

// Cached is what came of ExtendCached.
type Cached struct {
	ReusedCount  int    // positions kept or restored instead of evaluated
	WrittenBytes int64  // size of the file that was written; 0: none was
	Problem      Status // what was wrong with the cache, which was passed over then; 0: nothing
}

// ExtendCached is Extend with a cache on disk, which finds prompts again by content. A cache that cannot be used makes the call slower
// but never fail; the result tells.
func (s *Session) ExtendCached(ctx context.Context, tokens []int32, cache Cache) (Cached, error) {
	var memory arena
	defer memory.free()
	if err := noZero("the path", cache.Path); err != nil {
		return Cached{}, err
	}
	var options C.g4_cache_options
	options.struct_size = C.uint32_t(unsafe.Sizeof(options))
	options.flags = flag(cache.SingleFile, C.G4_CACHE_FILE)
	options.path = memory.text(cache.Path)
	options.limit_bytes = C.uint64_t(cache.LimitBytes)
	var result C.g4_cache_result
	result.struct_size = C.uint32_t(unsafe.Sizeof(result))
	err := s.withContext(ctx, func(session *C.g4_session) C.g4_status {
		return C.g4_extend_cached(&result, session, data[int32, C.int32_t](tokens), C.size_t(len(tokens)), &options, nil)
	})
	return Cached{int(result.reused_count), int64(result.written_bytes), Status(result.cache_status)}, err
}

// SaveKV writes the session's state to a file and returns its bytes. If it fails, an old file of this name stays whole.
func (s *Session) SaveKV(path string) (int64, error) {
	if err := noZero("the path", path); err != nil {
		return 0, err
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var bytes C.uint64_t
	err := s.with(func(session *C.g4_session) C.g4_status { return C.g4_save_kv(&bytes, session, name) })
	return int64(bytes), err
}

// LoadKV takes over the state of a file; going on from it gives the same bits as never having saved. With a prompt it restores only the
// longest common prefix that is exact. It returns the positions restored.
func (s *Session) LoadKV(path string, prompt []int32) (int, error) {
	if err := noZero("the path", path); err != nil {
		return 0, err
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var restored C.size_t
	err := s.with(func(session *C.g4_session) C.g4_status {
		return C.g4_load_kv(&restored, session, name, data[int32, C.int32_t](prompt), C.size_t(len(prompt)))
	})
	return int(restored), err
}

// KVProbe is what the header of a KV file tells.
type KVProbe struct {
	PositionCount int
	HasLogits     bool
	FileBytes     int64
	Model         [16]byte // the fingerprint of the model it was saved with
	KVType        string   // "f16", "f32", …
}

// ProbeKV reads a KV file's header only.
func ProbeKV(path string) (KVProbe, error) {
	if err := noZero("the path", path); err != nil {
		return KVProbe{}, err
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var c C.g4_kv_probe_result
	c.struct_size = C.uint32_t(unsafe.Sizeof(c))
	if err := call(func() C.g4_status { return C.g4_kv_probe(&c, nil, 0, nil, name) }); err != nil {
		return KVProbe{}, err
	}
	return KVProbe{
		PositionCount: int(c.position_count),
		HasLogits:     c.has_logits != 0,
		FileBytes:     int64(c.file_bytes),
		Model:         *(*[16]byte)(unsafe.Pointer(&c.model)),
		KVType:        C.GoString(&c.kv_type[0]),
	}, nil
}

// ModelFingerprint tells a session's model apart from others.
func (s *Session) ModelFingerprint() (fingerprint [16]byte, err error) {
	err = s.with(func(session *C.g4_session) C.g4_status {
		return C.g4_model_fingerprint((*C.uint8_t)(&fingerprint[0]), session)
	})
	return fingerprint, err
}

// Info is what a session runs.
type Info struct {
	Architecture       string // "gemma4"
	Name               string // general.name of the file, or ""
	Variant            string // "E2B", "E4B", "31B", "26B-A4B", or "custom"
	Quantisation       string // the type of most weights: "Q4_0"
	CPU                string // the kernels in use
	LayerCount         int
	HiddenSize         int
	HeadCount          int
	VocabCount         int
	ContextCount       int // positions this session may hold
	ModelContextCount  int // positions the model was made for
	SlidingWindow      int
	SharedKVLayerCount int
	PLESize            int // 0: no per-layer embeddings
	ExpertCount        int // 0: dense
	ThreadCount        int
	WeightsBytes       int64 // mapped, without the per-layer embeddings
	PLEBytes           int64 // per-layer embeddings, on disk
	KVType             KVType
	Precise            bool // float32 activations everywhere
	CanSee             bool // EncodeImage works
	CanHear            bool // EncodeSound works
}

// Info tells what the session runs.
func (s *Session) Info() (info Info, err error) {
	var c C.g4_info
	c.struct_size = C.uint32_t(unsafe.Sizeof(c))
	err = s.with(func(session *C.g4_session) C.g4_status {
		status := C.g4_session_info(&c, session)
		if status == C.G4_OK {
			info = Info{
				C.GoString(c.architecture), C.GoString(c.name), C.GoString(c.variant), C.GoString(c.quantisation), C.GoString(c.cpu),
				int(c.layer_count), int(c.hidden_size), int(c.head_count), int(c.vocab_count), int(c.context_count),
				int(c.model_context_count), int(c.sliding_window), int(c.shared_kv_layer_count), int(c.ple_size), int(c.expert_count),
				int(c.thread_count), int64(c.weights_bytes), int64(c.ple_bytes), KVType(c.kv_type), c.precision == C.G4_PRECISION_F32, c.can_see != 0, c.can_hear != 0,
			}
		}
		return status
	})
	return info, err
}

// Stats are the counters of a session.
type Stats struct {
	EvaluatedTokenCount int64 // since the session was opened or forked
	ReusedTokenCount    int64 // kept by Extend or restored by LoadKV instead of evaluated
	PrefillTokenCount   int64
	PrefillTime         time.Duration
	DecodeTokenCount    int64
	DecodeTime          time.Duration
	KVBytes             int64 // KV pages held, those shared with forks included
	ScratchBytes        int64
	PLERowCount         int64 // of all sessions of the model
	PLEReadBytes        int64
	PLETime             time.Duration
}

// Stats gives the counters of the session.
func (s *Session) Stats() (Stats, error) {
	var c C.g4_stats
	c.struct_size = C.uint32_t(unsafe.Sizeof(c))
	err := s.with(func(session *C.g4_session) C.g4_status { return C.g4_session_stats(&c, session) })
	return Stats{
		EvaluatedTokenCount: int64(c.evaluated_token_count),
		ReusedTokenCount:    int64(c.reused_token_count),
		PrefillTokenCount:   int64(c.prefill_token_count),
		PrefillTime:         time.Duration(c.prefill_ns),
		DecodeTokenCount:    int64(c.decode_token_count),
		DecodeTime:          time.Duration(c.decode_ns),
		KVBytes:             int64(c.kv_bytes),
		ScratchBytes:        int64(c.scratch_bytes),
		PLERowCount:         int64(c.ple_row_count),
		PLEReadBytes:        int64(c.ple_read_bytes),
		PLETime:             time.Duration(c.ple_ns),
	}, err
}

// MemoryEstimate is what a session will need, in bytes.
type MemoryEstimate struct {
	WeightsBytes int64 // mapped and read: resident once used
	PLEDiskBytes int64 // the per-layer embeddings, which stay on disk
	KVBytes      int64 // the KV cache when the context is full
	ScratchBytes int64 // activations of the largest prefill step, and tables
	TotalBytes   int64 // weights, KV cache and scratch: what must fit in memory
}

// Estimate tells the memory a session with these options will need, from the file's header alone.
func Estimate(path string, options *Options) (MemoryEstimate, error) {
	var memory arena
	defer memory.free()
	if err := noZero("the path", path); err != nil {
		return MemoryEstimate{}, err
	}
	o, err := options.session(&memory)
	if err != nil {
		return MemoryEstimate{}, err
	}
	name := memory.text(path)
	var c C.g4_memory_estimate
	c.struct_size = C.uint32_t(unsafe.Sizeof(c))
	err = call(func() C.g4_status { return C.g4_estimate(&c, name, &o) })
	return MemoryEstimate{int64(c.weights_bytes), int64(c.ple_disk_bytes), int64(c.kv_bytes), int64(c.scratch_bytes),
		int64(c.total_bytes)}, err
}
