package g4

/*
#include <g4/g4.h>
*/
import "C"

import (
	"fmt"
	"image"
	"image/draw"
	"runtime"
	"sync"
	"time"
	"unsafe"
)

// Media is a picture, sound or video, encoded by a session. Keep it until its tokens are evaluated, in any session of the model. It never
// changes: use it from any number of goroutines at once.
type Media struct {
	mutex sync.RWMutex
	own   *C.g4_media
}

// Close frees it. A media that is forgotten closes itself.
func (m *Media) Close() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	runtime.SetFinalizer(m, nil)
	C.g4_media_free(m.own)
	m.own = nil
}

// with calls function with the C media, which lives until it returns.
func (m *Media) with(function func(media *C.g4_media) error) error {
	defer runtime.KeepAlive(m)
	m.mutex.RLock()
	defer m.mutex.RUnlock()
	if m.own == nil {
		return &Error{StatusState, "the media is closed"}
	}
	return function(m.own)
}

// Tokens are those of the media as they stand in a prompt: begin, rows, end.
func (m *Media) Tokens(tokenizer *Tokenizer) (tokens []int32, err error) {
	err = m.with(func(media *C.g4_media) error {
		return tokenizer.with(func(t *C.g4_tokenizer) error {
			tokens, err = fill(300, func(out *int32, capacity C.size_t, needed *C.size_t) C.g4_status {
				return C.g4_media_tokens((*C.int32_t)(out), capacity, needed, media, t, 0)
			})
			return err
		})
	})
	return tokens, err
}

// MediaPart is a picture, a clip of a sound, or a frame of a video.
type MediaPart struct {
	Begin    time.Duration
	End      time.Duration
	RowCount int // its tokens
}

// Parts of the media: one, or the clips of a sound, or the frames of a video.
func (m *Media) Parts() (parts []MediaPart, err error) {
	err = m.with(func(media *C.g4_media) error {
		for i := C.size_t(0); i < C.g4_media_part_count(media); i++ {
			var c C.g4_media_part
			c.struct_size = C.uint32_t(unsafe.Sizeof(c))
			if err := call(func() C.g4_status { return C.g4_media_get_part(&c, media, i) }); err != nil {
				return err
			}
			parts = append(parts, MediaPart{time.Duration(c.begin_ns), time.Duration(c.end_ns), int(c.row_count)})
		}
		return nil
	})
	return parts, err
}

// encode makes a call on the session that gives a media.
func (s *Session) encode(function func(out **C.g4_media, session *C.g4_session) C.g4_status) (*Media, error) {
	media := &Media{}
	var out *C.g4_media
	if err := s.with(func(session *C.g4_session) C.g4_status { return function(&out, session) }); err != nil {
		return nil, err
	}
	media.own = out
	runtime.SetFinalizer(media, (*Media).Close)
	return media, nil
}

// image copies a picture as RGBA into C memory.
func (memory *arena) image(picture image.Image) *C.g4_image {
	size := picture.Bounds().Size()
	pixels := image.NewNRGBA(image.Rect(0, 0, size.X, size.Y))
	draw.Draw(pixels, pixels.Rect, picture, picture.Bounds().Min, draw.Src)
	out := (*C.g4_image)(memory.alloc(1, unsafe.Sizeof(C.g4_image{})))
	out.struct_size = C.uint32_t(unsafe.Sizeof(*out))
	out.width, out.height, out.channel_count = C.uint32_t(size.X), C.uint32_t(size.Y), 4
	if count := len(pixels.Pix); count > 0 {
		out.pixels = (*C.uint8_t)(memory.alloc(count, 1))
		copy(unsafe.Slice((*byte)(out.pixels), count), pixels.Pix)
	}
	return out
}

// EncodeImage encodes a picture. tokenBudget is the most tokens it may take, 70, 140, 280, 560 or 1120; 0: 280. Alpha is ignored.
func (s *Session) EncodeImage(picture image.Image, tokenBudget int) (*Media, error) {
	var memory arena
	defer memory.free()
	c := memory.image(picture)
	return s.encode(func(out **C.g4_media, session *C.g4_session) C.g4_status {
		return C.g4_encode_image(out, session, c, C.uint32_t(clamp(tokenBudget)))
	})
}

// EncodeVideo encodes frames of a video and the times they are of. tokenBudget is that of a frame; 0: 70.
func (s *Session) EncodeVideo(frames []image.Image, times []time.Duration, tokenBudget int) (*Media, error) {
	if len(frames) != len(times) {
		return nil, &Error{StatusArgument, fmt.Sprintf("%d frames but %d times", len(frames), len(times))}
	}
	var memory arena
	defer memory.free()
	images := (**C.g4_image)(memory.alloc(len(frames)+1, unsafe.Sizeof(uintptr(0))))
	for i, frame := range frames {
		unsafe.Slice(images, len(frames))[i] = memory.image(frame)
	}
	return s.encode(func(out **C.g4_media, session *C.g4_session) C.g4_status {
		return C.g4_encode_video(out, session, images, data[time.Duration, C.uint64_t](times), C.size_t(len(frames)),
			C.uint32_t(clamp(tokenBudget)))
	})
}

// EncodeSound encodes a sound, whose channels stand side by side; their mean is heard. rate is in instants a second. split: cut one of
// more than 30 s into clips.
func (s *Session) EncodeSound(samples []float32, rate, channels int, split bool) (*Media, error) {
	if channels < 1 {
		return nil, &Error{StatusArgument, "the sound has no channels"}
	}
	var memory arena
	defer memory.free()
	var c C.g4_sound
	c.struct_size = C.uint32_t(unsafe.Sizeof(c))
	c.sample_type, c.rate, c.channel_count = C.G4_SAMPLE_F32, C.uint32_t(clamp(rate)), C.uint32_t(clamp(channels))
	if count := len(samples); count > 0 {
		c.samples = memory.alloc(count, 4)
		c.instant_count = C.uint64_t(count / channels)
		copy(unsafe.Slice((*float32)(c.samples), count), samples)
	}
	return s.encode(func(out **C.g4_media, session *C.g4_session) C.g4_status {
		return C.g4_encode_sound(out, session, &c, flag(split, C.G4_SOUND_SPLIT))
	})
}

// ChatTokenizeWith is ChatTokenize with one media for each media part of the messages, in order.
func (t *Tokenizer) ChatTokenizeWith(conversation string, options *ChatOptions, media ...*Media) (tokens []int32, err error) {
	var memory arena
	defer memory.free()
	c, bytes := options.c(), []byte(conversation+"\x00")
	list := (**C.g4_media)(memory.alloc(len(media)+1, unsafe.Sizeof(uintptr(0))))
	for i, one := range media {
		one.mutex.RLock()
		defer one.mutex.RUnlock()
		if one.own == nil {
			return nil, &Error{StatusState, "a media is closed"}
		}
		unsafe.Slice(list, len(media))[i] = one.own
	}
	defer runtime.KeepAlive(media)
	c.media, c.media_count = list, C.size_t(len(media))
	err = t.with(func(tokenizer *C.g4_tokenizer) error {
		tokens, err = fill(len(conversation)+64, func(out *int32, capacity C.size_t, needed *C.size_t) C.g4_status {
			return C.g4_chat_tokenize((*C.int32_t)(out), capacity, needed, tokenizer, data[byte, C.char](bytes),
				C.size_t(len(conversation)), &c)
		})
		return err
	})
	return tokens, err
}

// ImageTokens are how many the rows of a picture of this size will take.
func ImageTokens(width, height, tokenBudget int) (int, error) {
	var count C.uint64_t
	err := call(func() C.g4_status {
		return C.g4_image_tokens(&count, C.uint32_t(clamp(width)), C.uint32_t(clamp(height)), C.uint32_t(clamp(tokenBudget)))
	})
	return int(count), err
}

// SoundTokens are how many the rows of a sound of this length will take. split: it may be cut into clips.
func SoundTokens(instants, rate int, split bool) (int, error) {
	var count C.uint64_t
	err := call(func() C.g4_status {
		return C.g4_sound_tokens(&count, C.uint64_t(instants), C.uint32_t(clamp(rate)), flag(split, C.G4_SOUND_SPLIT))
	})
	return int(count), err
}
