"""Shows the model a picture and a sound: files take pip install 'g4[media]', arrays need nothing."""
import pathlib

import numpy as np

import g4

MEDIA = pathlib.Path(__file__).resolve().parents[1] / "media"


def ask(question, **part):
    return [{"role": "user", "content": [part, {"type": "text", "text": question}]}]


with g4.Session() as session:  # the demo model; of yours: g4.Session("model.gguf", mmproj="mmproj.gguf")
    messages = ask("What do you see?", type="image", image=MEDIA / "red-circle-dark-blue.png")
    answer = session.chat(messages, temperature=0)
    print(answer)
    messages += [answer, {"role": "user", "content": "What shape is it?"}]
    print(session.chat(messages, temperature=0))  # the picture is not read again

    seconds = np.arange(16000) / 16000
    tone = (np.sin(2 * np.pi * 2500 * seconds) * 0.5).astype(np.float32)
    sound = session.encode_audio(tone, rate=16000)  # to be used as often as wanted
    print(sound, "as", g4.audio_tokens(len(tone)), "tokens, from", sound.spans[0].begin, "to", sound.spans[0].end, "s")
    print(session.chat(ask("What do you hear?", type="audio", audio=sound), temperature=0))
