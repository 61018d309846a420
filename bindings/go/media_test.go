package g4

import (
	"image"
	"image/color"
	"math"
	"strings"
	"testing"
	"time"
)

const towers = "../../examples/models/mmproj-g4-demo-bf16.gguf"

// A red disc on dark blue.
func disc() image.Image {
	picture := image.NewNRGBA(image.Rect(0, 0, 96, 96))
	for y := 0; y < 96; y++ {
		for x := 0; x < 96; x++ {
			picture.SetNRGBA(x, y, color.NRGBA{20, 20, 80, 255})
			if (x-48)*(x-48)+(y-48)*(y-48) < 900 {
				picture.SetNRGBA(x, y, color.NRGBA{220, 30, 30, 255})
			}
		}
	}
	return picture
}

func TestPicturesAndSoundsStandInPrompts(t *testing.T) {
	session := must[*Session](t)(Open(demo, &Options{ThreadCount: 1, MMProjPath: towers}))
	defer session.Close()
	info := must[Info](t)(session.Info())
	expect(t, info.CanSee && info.CanHear, info)
	picture := must[*Media](t)(session.EncodeImage(disc(), 70))
	rows := must[int](t)(ImageTokens(96, 96, 70))
	expect(t, len(must[[]int32](t)(picture.Tokens(session.Tokenizer()))) == rows+2, rows)
	parts := must[[]MediaPart](t)(picture.Parts())
	expect(t, len(parts) == 1 && parts[0].RowCount == rows, parts)
	question := `[{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What do you see?"}]}]`
	prompt := must[[]int32](t)(session.Tokenizer().ChatTokenizeWith(question, nil, picture))
	text := answer(t, session, prompt)
	expect(t, strings.Contains(text, "red"), text)

	tone := make([]float32, 16000)
	for i := range tone {
		tone[i] = float32(math.Sin(float64(i)*0.2)) / 2
	}
	sound := must[*Media](t)(session.EncodeSound(tone, 16000, 1, false))
	heard := must[[]MediaPart](t)(sound.Parts())
	expect(t, heard[0].RowCount == must[int](t)(SoundTokens(16000, 16000, false)), heard)
	times := []time.Duration{0, time.Second}
	video := must[*Media](t)(session.EncodeVideo([]image.Image{disc(), disc()}, times, 0))
	expect(t, must[[]MediaPart](t)(video.Parts())[1].Begin == time.Second, "times")

	_, err := session.EncodeVideo([]image.Image{disc()}, times, 0)
	expectStatus(t, err, ErrArgument, "2 times")
	_, err = session.EncodeSound(nil, 16000, 1, false)
	expectStatus(t, err, ErrArgument)
	_, err = session.EncodeImage(image.NewNRGBA(image.Rect(0, 0, 0, 0)), 0)
	expectStatus(t, err, ErrArgument)
	picture.Close()
	picture.Close()
	_, err = picture.Tokens(session.Tokenizer())
	expectStatus(t, err, ErrState, "closed")
	_, err = session.Tokenizer().ChatTokenizeWith(question, nil, picture)
	expectStatus(t, err, ErrState, "closed")
	blind, _ := open(t)
	_, err = blind.EncodeImage(disc(), 0)
	expectStatus(t, err, ErrUnsupported)
}
