"""Pictures, sounds, videos: the reference's numbers, the demo model's answers, inputs of every form."""

import base64
import builtins
import io
import json
import os
import signal
import struct
import subprocess
import sys
import threading
import wave

import numpy as np
import pytest
from conftest import SOURCE
from test_errors import raises
from test_golden import read_safetensors, relative_error

import g4

MEDIA = SOURCE / "examples" / "media"
CIRCLE = MEDIA / "red-circle-dark-blue.png"
SEEN = "A red circle on a dark blue background."
RISING = MEDIA / "rising.wav"
HEARD = "A rising chirp."


def ask(question, **part):
    kind = next(name for name in part if name in ("image", "audio", "video"))
    return [{"role": "user", "content": [{"type": kind, **part}, {"type": "text", "text": question}]}]


def read_wav(path):
    with wave.open(str(path)) as file:
        return np.frombuffer(file.readframes(file.getnframes()), np.int16), file.getframerate()


@pytest.fixture(scope="module")
def pil():
    return pytest.importorskip("PIL.Image")


@pytest.fixture(scope="module")
def soundfile():
    return pytest.importorskip("soundfile")


@pytest.fixture(scope="module")
def circle(pil):
    return np.asarray(pil.open(CIRCLE).convert("RGB"))


# ---- The reference


@pytest.fixture(scope="module", params=["mm-tiny", "mm31b-tiny"])
def tiny(request, goldens):
    folder = goldens / "tiny" / request.param
    golden = read_safetensors(folder / "goldens.safetensors")
    options = {"mmproj": folder / "mmproj.gguf", "kv_type": "f32", "precision": "f32"}
    with g4.Session(folder / "model.gguf", **options) as session:
        yield session, golden


def golden_media(session, golden):
    media = {name.split(".")[0]: session.encode_image(golden[name], 70) for name in golden if name.endswith(".rgb")}
    media.update({name.split(".")[0]: session.encode_audio(golden[name]) for name in golden if name.endswith(".pcm")})
    return media


def parts_of(session, ids, media):
    """The golden's ids with the media in the places of its runs of placeholders."""
    placeholders = session.tokenize("<|image|><|audio|><|video|>", special=True, bos=False)
    parts, media = [[]], list(media)
    for id in ids.ravel():
        if id not in placeholders:
            parts[-1].append(int(id))
        elif parts[-1]:
            parts += [media.pop(0), []]
    assert not media
    return parts


def test_rows_are_those_of_the_reference(tiny):
    session, golden = tiny
    media = golden_media(session, golden)
    assert len(media) >= 2
    for name, each in media.items():
        assert relative_error(each.rows, golden[f"{name}.projected"]) < 1e-4
        assert len(each) == len(each.rows) == each.spans[0].rows.stop
        assert each.kind == ("image" if name.startswith("image") else "audio")
        assert each.rows.dtype == np.float32 and not each.rows.flags.writeable


def test_logits_after_mixed_prompts(tiny):
    session, golden = tiny
    media = golden_media(session, golden)
    prompts = {"img2": ["image0", "image1"], "mixed": ["image1", "audio0"], "aud0": ["audio0"]}
    checked = 0
    for prompt, names in prompts.items():
        if f"{prompt}.ids" not in golden:
            continue
        parts = parts_of(session, golden[f"{prompt}.ids"], [media[name] for name in names])
        session.reset()
        every = session.prefill(parts, logits="all")
        assert len(every) == session.position == golden[f"{prompt}.ids"].size
        tail = every if f"{prompt}.logits" in golden else every[-48:]
        picked = [row for row in range(len(tail)) if row % 8 == 0 or row >= len(tail) - 4]
        expected = golden.get(f"{prompt}.logits", golden.get(f"{prompt}.logits_tail"))
        assert relative_error(tail[picked], expected) < 2e-4
        session.reset()
        assert (session.prefill(parts) == every[-1]).all()
        checked += 1
    assert checked >= 1


def test_a_video_is_frames_and_times(goldens, pil):
    folder = goldens / "tiny" / "mm-tiny"
    golden = read_safetensors(folder / "goldens.safetensors")
    with g4.Session(folder / "model.gguf", mmproj=folder / "mmproj.gguf", kv_type="f32", precision="f32") as session:
        picture = golden["image0.rgb"]
        # The reference inverts the second frame after it is resized.
        resized = np.asarray(pil.fromarray(picture).resize((480, 288), pil.BICUBIC))
        video = session.encode_video([picture, 255 - resized], [0, 61.5])
        assert video.kind == "video" and [span.begin for span in video.spans] == [0, 61.5]
        assert [span.rows for span in video.spans] == [slice(0, 60), slice(60, 120)] and video.rows.shape == (120, 64)
        text = session.detokenize([id for id in video.placeholder_ids if id >= 0], special=True)
        assert text == "00:00 <|image><image|> 01:01 <|image><image|>"
        rows = iter([id for id in video.placeholder_ids if id < 0])
        placeholder = session.tokenize("<|video|>", special=True, bos=False)[0]
        ids = [next(rows) if id == placeholder else int(id) for id in golden["video.ids"].ravel()]
        tail = session.prefill(ids, logits="all")[-16:]
        assert relative_error(tail[[0, 8, 12, 13, 14, 15]], golden["video.logits_tail"]) < 2e-4


# ---- The demo model


@pytest.fixture(scope="module")
def cases(goldens):
    cases = [case for case in json.loads((goldens / "demo" / "expected.json").read_text())["cases"]
             if {"image", "audio"} & case.keys()]
    assert len(cases) == 16
    return cases


def check_answers(session, cases):
    for case in cases:
        kind = "image" if "image" in case else "audio"
        options = {"budget": 70} if kind == "image" else {}
        question = case["messages"][0]["content"][1]["text"]
        path = MEDIA / os.path.basename(case[kind])
        stream = session.chat(ask(question, **{kind: path}, **options), stream=True, temperature=0)
        assert stream.finish().text == case["answer"] and stream.tokens == case["answer_ids"], case["id"]
        assert stream.message.usage.prompt_tokens + stream.message.usage.reused_tokens == len(case["prompt_ids"])


def test_the_f32_files_answer_token_for_token(goldens, cases, pil, soundfile):
    towers = os.path.join(os.path.dirname(g4.demo_model()), "mmproj-g4-demo-bf16.gguf")
    path = goldens / "demo" / "g4-demo-f32.gguf"
    with g4.Session(path, mmproj=towers, kv_type="f32", precision="f32") as session:
        check_answers(session, cases)


def test_the_demo_model_answers_token_for_token(session, cases, pil, soundfile):
    assert session.info["can_see"] and session.info["can_hear"]
    check_answers(session, cases)


def test_a_picture_at_the_default_budget(session, pil):
    assert session.chat(ask("What do you see?", image=CIRCLE), temperature=0).text == SEEN


# ---- In prompts


def test_a_media_by_itself(session, circle):
    media = session.encode_image(circle)
    assert len(media) == g4.image_tokens(circle.shape[1], circle.shape[0]) and repr(media) == f"<g4.Media image, {len(media)} rows>"
    begin, *rows, end = media.placeholder_ids
    assert session.detokenize([begin, end], special=True) == "<|image><image|>"
    assert len(rows) == len(media) and all(id < 0 for id in rows)
    assert media.rows.shape == (len(media), session.info["hidden"])
    with pytest.raises(ValueError):
        media.rows[0, 0] = 0
    samples, rate = read_wav(RISING)
    sound = session.encode_audio(samples, rate)
    assert len(sound) == g4.audio_tokens(len(samples), rate) == g4.audio_tokens(samples, rate)
    assert sound.spans[0].begin == 0 and sound.spans[0].end == pytest.approx(len(samples) / 16000)


def test_prompts_of_parts(session, circle):
    media = session.encode_image(circle, 70)
    begin, *rows, end = media.placeholder_ids
    ids = session.tokenize("Look: ") + media.placeholder_ids + session.tokenize(" What?", bos=False)
    expected = session.prefill(ids, logits="all")
    for parts in (["Look: ", media.placeholder_ids, " What?"], ("Look: ", [begin], media, np.array([end]), " What?"),
                  [session.tokenize("Look: ") + [begin], media, [end] + session.tokenize(" What?", bos=False)]):
        session.reset()
        assert (session.prefill(parts, logits="all") == expected).all()
        assert session.tokens == ids and session.extend(parts) == len(ids)
    session.reset()
    assert session.prefill(media, "none") is None and session.position == len(media)
    session.prefill("Look: ", "none")
    assert session.tokens == rows + session.tokenize("Look: ", bos=False)
    session.reset()
    assert session.generate(["Look: ", media], max_tokens=3, temperature=0) and session.position == 3 + len(
        session.tokenize("Look: ")) + len(media)
    raises(TypeError, "part 1 of ids must hold ints", session.prefill, ["x", [1.5]])
    raises(TypeError, "part 1 of ids must be token ids, not bytes", session.prefill, ["x", b"y"])
    raises(TypeError, "part 1 of ids must be a flat sequence of ints", session.prefill, [media, None])


def test_a_session_keeps_what_it_holds(session, circle):
    picture = 255 - circle
    ids = session.encode_image(picture, 70).placeholder_ids
    raises(g4.Error, "", session.prefill, ids)  # nobody has kept it
    session.prefill([[5] * 300, session.encode_image(picture, 70), [6] * 400])
    logits = session.logits
    session.truncate(310 + len(ids), reevaluate=True)
    session.prefill([6] * (700 + len(ids) - 2 - session.position))
    assert (session.logits == logits).all()
    fork = session.fork()
    session.close()
    fork.truncate(100, reevaluate=True)
    assert fork.position == 100


def test_a_media_outlives_its_session(circle):
    with g4.Session() as session:
        media = session.encode_image(circle, 70)
        fork = session.fork()
        rows = media.rows
    copy = rows.copy()
    with fork:
        fork.prefill(["Look: ", media])
    ids = media.placeholder_ids
    del session, fork, media
    assert (rows == copy).all() and len(ids) == len(rows) + 2
    with g4.Session() as other:
        raises(g4.Error, "", other.prefill, ids)


def test_a_conversation_encodes_once(session, circle, monkeypatch):
    encoded = []
    monkeypatch.setattr(g4.Session, "_encode", lambda self, *arguments, encode=g4.Session._encode: (
        encoded.append(self), encode(self, *arguments))[1])
    messages = ask("What do you see?", image=circle)
    first = session.chat(messages, temperature=0)
    messages += [first, {"role": "user", "content": "What shape is it?"}]
    second = session.chat(messages, temperature=0)
    assert (first.text, second.text) == (SEEN, "The shape is a circle.") and len(encoded) == 1
    assert second.usage.reused_tokens > 280
    session.fork().chat([*messages, second, {"role": "user", "content": "Which colour is it?"}], temperature=0)
    assert len(encoded) == 1
    other = np.ascontiguousarray(circle[::-1])
    session.chat(ask("What do you see?", image=other), temperature=0)
    session.chat(ask("What do you see?", image=other, budget=140), temperature=0)
    assert len(encoded) == 3


def test_parts_of_messages(session, circle):
    picture, sound = session.encode_image(circle), session.encode_audio(*read_wav(RISING))
    for part in ({"type": "image", "image": picture}, {"type": "image", "image": circle, "budget": 280},
                 {"type": "image_url", "image_url": {"url": "data:image/png;base64," + base64.b64encode(CIRCLE.read_bytes()).decode()}}):
        if part["type"] == "image_url":
            pytest.importorskip("PIL")
        messages = [{"role": "user", "content": [part, {"type": "text", "text": "What do you see?"}]}]
        assert session.chat(messages, temperature=0).text == SEEN
    samples, rate = read_wav(RISING)
    for part in ({"type": "audio", "audio": sound}, {"type": "audio", "audio": samples, "rate": rate},
                 {"type": "input_audio", "input_audio": {"data": base64.b64encode(RISING.read_bytes()).decode(), "format": "wav"}}):
        if part["type"] == "input_audio":
            pytest.importorskip("soundfile")
        messages = [{"role": "user", "content": [part, {"type": "text", "text": "What do you hear?"}]}]
        assert session.chat(messages, temperature=0).text == HEARD
    long = session.chat([{"role": "user", "content": [{"type": "audio", "audio": np.zeros(31 * 16000), "split": True}]}])
    assert long.usage.prompt_tokens > 700
    clip = session.chat(ask("What?", video=[circle, circle], times=[0, 61]), max_tokens=1)
    assert clip.usage.prompt_tokens > 2 * 60

    tokenizer = session.tokenizer
    assert "<|image|>What?" in tokenizer.render(ask("What?", image="no.png"))  # a placeholder
    expanded = tokenizer.render(ask("What?", image=picture))
    assert "<|image><|image|><image|>What?" in expanded  # one placeholder for all rows
    ids = tokenizer.tokenize_chat(ask("What do you see?", image=picture))
    session.reset()
    assert session.generate(ids, temperature=0) == SEEN
    both = [{"role": "user", "content": [{"type": "image", "image": picture}, {"type": "audio"}]}]
    raises(g4.ArgumentError, "media", tokenizer.tokenize_chat, both)


@pytest.mark.parametrize("part, error, words", [
    ({"type": "image"}, g4.ArgumentError, "a part of type 'image' has no 'image'"),
    ({"type": "image", "image": "nowhere.png"}, g4.FileError, "nowhere.png"),
    ({"type": "image", "image": 5}, TypeError, "not int"),
    ({"type": "image", "image": np.zeros((9, 9, 3), np.uint8), "budget": 7}, g4.ArgumentError, "budget is 7"),
    ({"type": "audio", "audio": np.zeros(5)}, g4.ArgumentError, "5 samples"),
    ({"type": "video", "video": [np.zeros((9, 9, 3), np.uint8)], "times": []}, g4.ArgumentError, "1 frames and 0 times"),
    ({"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}, g4.ArgumentError, "data URL"),
    ({"type": "image_url", "image_url": {"url": "data:image/png;base64,?"}}, g4.ArgumentError, "base64"),
    ({"type": "image_url", "image_url": {}}, g4.ArgumentError, "base64"),
    ({"type": "input_audio", "input_audio": {"data": 5}}, g4.ArgumentError, "not int"),
    ({"type": "smell", "smell": 5}, g4.ArgumentError, "smell"),
])
def test_parts_that_are_wrong(session, part, error, words):
    if "nowhere" in str(part):
        pytest.importorskip("PIL")
    raises(error, words, session.chat, [{"role": "user", "content": [part]}])
    assert session.position == 0


def test_a_media_of_another_kind_or_model(session, circle, goldens):
    sound = session.encode_audio(*read_wav(RISING))
    raises(g4.ArgumentError, "kind 'audio'", session.chat, ask("What?", image=sound))
    with g4.Session(goldens / "tiny" / "e2b-tiny" / "model.gguf") as other:
        assert not other.info["can_see"]
        raises(g4.UnsupportedError, "mmproj", other.encode_image, circle)
        raises(g4.UnsupportedError, "mmproj", other.encode_audio, np.zeros(16000))
        raises(g4.Error, "", other.prefill, sound)
    raises(g4.FileError, "nothing.gguf", g4.Session, mmproj="nothing.gguf")
    raises(g4.Error, "mmproj", g4.Session, g4.demo_model(), mmproj=g4.demo_model())


def test_kv_files_hold_pictures(session, circle, tmp_path):
    media = session.encode_image(circle)
    ids = session.tokenizer.tokenize_chat(ask("What do you see?", image=media))
    session.prefill(ids)
    session.save_kv(tmp_path / "seen.g4kv")
    expected = session.logits
    with g4.Session() as other:  # which has no media: the file is enough
        assert other.load_kv(tmp_path / "seen.g4kv") == len(ids)
        assert (other.logits == expected).all() and other.generate(temperature=0) == SEEN
        own = other.encode_image(circle)
        assert own.placeholder_ids == media.placeholder_ids
        assert other.load_kv(tmp_path / "seen.g4kv", other.tokenizer.tokenize_chat(ask("What do you see?", image=own))) == len(ids)
        another = other.encode_image(255 - circle)
        kept = other.load_kv(tmp_path / "seen.g4kv", other.tokenizer.tokenize_chat(ask("What do you see?", image=another)))
        assert kept <= ids.index(media.placeholder_ids[1])
    begin = ids.index(media.placeholder_ids[1])
    raises(g4.ArgumentError, "picture", session.truncate, begin + 3)
    session.truncate(begin)
    session.prefill([media, ids[begin + len(media):]])
    assert (session.logits == expected).all()


# ---- Forms of pictures


def test_arrays_of_pixels(session, circle):
    expected = session.encode_image(circle, 70).placeholder_ids
    wide = np.repeat(circle, 2, axis=1)
    for same in (np.dstack([circle, circle[:, :, :1]]), np.asfortranarray(circle), wide[:, ::2], wide[::1, 1::2],
                 np.ascontiguousarray(circle[::-1])[::-1], np.ascontiguousarray(circle[:, :, ::-1])[:, :, ::-1],
                 np.pad(circle, ((3, 5), (7, 2), (0, 1)))[3:-5, 7:-2, :3]):
        assert session.encode_image(same, 70).placeholder_ids == expected
    assert session.encode_image(circle[::-1], 70).placeholder_ids != expected


def test_pil_images_of_every_mode(session, pil, circle):
    grey = pil.fromarray(circle).convert("L")
    expected = session.encode_image(grey.convert("RGB"), 70).placeholder_ids
    sixteen = (np.asarray(grey).astype(np.uint16) * 257)
    for same in (grey, grey.convert("LA"), grey.convert("RGBA"), grey.convert("RGBX"), grey.convert("P"), grey.convert("CMYK"),
                 pil.fromarray(sixteen), pil.fromarray(sixteen.astype(np.int32))):
        assert session.encode_image(same, 70).placeholder_ids == expected, same.mode
    for mode in ("1", "YCbCr", "HSV", "LAB", "La", "RGBa", "PA", "I;16B"):
        image = {"La": lambda: grey.convert("LA").convert("La"), "RGBa": lambda: grey.convert("RGBA").convert("RGBa"),
                 "LAB": lambda: pil.new("LAB", (50, 40)), "PA": lambda: grey.convert("P").convert("PA"),
                 "I;16B": lambda: pil.new("I;16B", (50, 40))}.get(
            mode, lambda: grey.convert("RGB").convert(mode))()
        assert image.mode == mode and len(session.encode_image(image, 70)) == g4.image_tokens(*image.size, budget=70), mode
    raises(g4.ArgumentError, "mode 'F'", session.encode_image, pil.new("F", (50, 40)))


def test_the_camera_may_lie_on_its_side(session, pil, circle, tmp_path):
    picture = circle[:, :100]
    turned = pil.fromarray(np.rot90(picture, 1))
    exif = pil.Exif()
    exif[0x0112] = 6  # the right side is up: turn by 270 degrees
    turned.save(tmp_path / "turned.png", exif=exif)
    expected = session.encode_image(picture, 70).placeholder_ids
    assert session.encode_image(tmp_path / "turned.png", 70).placeholder_ids == expected
    assert session.encode_image(pil.open(tmp_path / "turned.png"), 70).placeholder_ids == expected
    assert session.encode_image(np.array(turned), 70).placeholder_ids != expected


def test_picture_files(session, pil, circle, tmp_path):
    expected = session.encode_image(circle, 70).placeholder_ids
    with open(CIRCLE, "rb") as file:
        for same in (str(CIRCLE), os.fsencode(CIRCLE), CIRCLE, file, io.BytesIO(CIRCLE.read_bytes())):
            assert session.encode_image(same, 70).placeholder_ids == expected
    jpeg = io.BytesIO()
    pil.fromarray(circle).convert("CMYK").save(jpeg, "jpeg")
    assert len(session.encode_image(jpeg, 70)) == len(expected) - 2
    frames = [pil.fromarray(circle), pil.fromarray(255 - circle)]
    frames[0].save(tmp_path / "moving.gif", save_all=True, append_images=frames[1:])
    assert len(session.encode_image(tmp_path / "moving.gif", 70)) == len(expected) - 2


def bomb():
    return (b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", 20000, 20000, 8, 2, 0, 0, 0)
            + struct.pack(">I", 0x4FE35A2A))


@pytest.mark.parametrize("content", [b"", b"hello", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0" + bytes(100), b"GIF89a" + bytes(20),
                                     b"II*\0" + bytes(50), os.urandom(5000)])
def test_files_that_are_no_pictures(session, pil, tmp_path, content):
    path = tmp_path / "bad"
    path.write_bytes(content)
    assert raises(g4.FormatError, "bad", session.encode_image, path).status == 21
    raises(g4.FileError, "Is a directory", session.encode_image, tmp_path)
    raises(g4.ArgumentError, "zero byte", session.encode_image, "a\0b")


def test_damaged_and_huge_picture_files(session, pil, circle, tmp_path):
    for kind in ("png", "jpeg", "gif", "bmp", "webp", "tiff"):
        whole = io.BytesIO()
        pil.fromarray(circle).save(whole, kind)
        for cut in (0.3, 0.9):
            path = tmp_path / f"cut.{kind}"
            path.write_bytes(whole.getvalue()[:int(len(whole.getvalue()) * cut)])
            try:
                session.encode_image(path)
            except g4.FormatError as error:
                assert str(path) in str(error)
    (tmp_path / "bomb.png").write_bytes(bomb())
    raises(g4.Error, "bomb.png", session.encode_image, tmp_path / "bomb.png")


@pytest.mark.parametrize("size", [(1, 1), (10000, 1), (1, 10000), (65536, 1)])
def test_sizes_of_pictures(session, size):
    """Elongated ones take more positions than the demo model's tower has: a status; the session goes on."""
    try:
        media = session.encode_image(np.zeros((*size, 3), np.uint8))
        assert len(media) == g4.image_tokens(size[1], size[0]) and np.isfinite(media.rows).all()
    except g4.UnsupportedError as error:
        assert "position" in str(error)


def test_a_very_large_picture(session):
    media = session.encode_image(np.full((6000, 6000, 3), 90, np.uint8), 70)
    assert len(media) == g4.image_tokens(6000, 6000, 70)


@pytest.mark.parametrize("image, error, words", [
    (5, TypeError, "not int"),
    (None, TypeError, "not NoneType"),
    ([[1]], TypeError, "not list"),
    (np.zeros((9, 9), np.uint8), g4.ArgumentError, "shape (9, 9)"),
    (np.zeros((9, 9, 1), np.uint8), g4.ArgumentError, "[height, width, 3 or 4]"),
    (np.zeros((3, 9, 9), np.uint8), g4.ArgumentError, "shape (3, 9, 9)"),
    (np.zeros((9, 9, 3)), g4.ArgumentError, "holds float64; it must be uint8"),
    (np.zeros((9, 9, 3), np.float32), ValueError, "float32"),
    (np.zeros((9, 9, 3), np.uint16), ValueError, "uint16"),
    (np.zeros((9, 9, 3), np.int8), ValueError, "int8"),
    (np.zeros((9, 9, 3), bool), ValueError, "bool"),
    (np.zeros((0, 9, 3), np.uint8), ValueError, "height is 0"),
    (np.zeros((9, 0, 3), np.uint8), ValueError, "width is 0"),
    (np.broadcast_to(np.uint8(1), (2**40, 1, 3)), ValueError, "height is"),
    (np.broadcast_to(np.uint8(1), (1, 65537, 3)), ValueError, "width is 65537"),
])
def test_arrays_that_are_no_pictures(session, image, error, words):
    raises(error, words, session.encode_image, image)
    raises(error, words, session.encode_video, [image], [0])


@pytest.mark.parametrize("budget", [0, -1, 1, 281, 2**31, 2**40, True, "70", None, 70.0])
def test_budgets(session, circle, budget):
    error = g4.ArgumentError if type(budget) is int else TypeError
    raises(error, "budget", session.encode_image, circle, budget)
    raises(error, "budget", g4.image_tokens, 10, 10, budget)


def test_videos_that_are_none(session, circle):
    raises(g4.ArgumentError, "no frames", session.encode_video, [], [])
    raises(g4.ArgumentError, "1 frames and 2 times", session.encode_video, [circle], [0, 1])
    raises(TypeError, "a time must be a number", session.encode_video, [circle], ["x"])
    for time in (-1, float("nan"), float("inf"), 1e30):
        raises(g4.ArgumentError, "a time of a video", session.encode_video, [circle], [time])


# ---- Forms of sounds


def test_arrays_of_samples(session):
    samples, rate = read_wav(RISING)
    assert rate == 16000
    expected = session.encode_audio(samples).placeholder_ids
    floats = samples.astype(np.float32) / 32768
    twice = np.repeat(samples, 2)
    for same in (floats, floats.astype(np.float64), list(map(float, floats)), samples.astype(np.int32) << 16, samples[:, np.newaxis],
                 twice[::2], samples.astype(">i2"), np.asfortranarray(np.stack([samples, samples], axis=1))):
        assert session.encode_audio(same).placeholder_ids == expected
    assert session.encode_audio(floats, 44100).placeholder_ids != expected
    left = np.stack([floats, np.zeros_like(floats)], axis=1)
    assert session.encode_audio(left).placeholder_ids == session.encode_audio(floats / 2).placeholder_ids


def test_sound_files(session, soundfile, tmp_path):
    samples, rate = read_wav(RISING)
    expected = session.encode_audio(samples).placeholder_ids
    soundfile.write(tmp_path / "rising.flac", samples, rate)
    soundfile.write(tmp_path / "rising24.wav", samples / 32768, rate, subtype="PCM_24")
    with open(RISING, "rb") as file:
        for same in (str(RISING), RISING, file, io.BytesIO(RISING.read_bytes()), tmp_path / "rising.flac", tmp_path / "rising24.wav"):
            assert session.encode_audio(same).placeholder_ids == expected
    soundfile.write(tmp_path / "slow.wav", samples, 8000)
    assert len(session.encode_audio(tmp_path / "slow.wav")) == g4.audio_tokens(len(samples), 8000)


def wav(rate=16000, channels=1, bits=16, frames=8000, claims=None):
    data = bytes(frames * channels * bits // 8)
    size = len(data) if claims is None else claims
    return (b"RIFF" + struct.pack("<I", (36 + size) % 2**32) + b"WAVEfmt " + struct.pack(
        "<IHHIIHH", 16, 1, channels, rate, rate * channels * bits // 8 % 2**32, channels * bits // 8 % 2**16, bits)
        + b"data" + struct.pack("<I", size) + data)


@pytest.mark.parametrize("content", [b"", b"hello", b"RIFF", wav()[:30], wav(channels=0), os.urandom(5000)])
def test_files_that_are_no_sounds(session, soundfile, tmp_path, content):
    path = tmp_path / "bad.wav"
    path.write_bytes(content)
    raises(g4.FormatError, "bad.wav", session.encode_audio, path)
    raises(g4.FileError, "no.wav", session.encode_audio, tmp_path / "no.wav")


def test_headers_that_lie(session, soundfile, tmp_path):
    path = tmp_path / "liar.wav"
    for content in (wav(claims=2**32 - 1), wav(claims=2**31), wav(rate=0), wav(rate=1), wav(rate=2**31), wav(rate=10**9),
                    wav(channels=255, frames=800), wav(frames=0), wav(frames=1)):
        path.write_bytes(content)
        try:
            assert len(session.encode_audio(path)) > 0
        except g4.Error as error:
            assert error.status in (10, 21, 22)
    path.write_bytes(wav(frames=40_000_000, channels=2, bits=8))  # 42 minutes, stereo
    raises(g4.UnsupportedError, "samples", session.encode_audio, path, split=True)


@pytest.mark.parametrize("samples, options, error, words", [
    (5, {}, TypeError, "not int"),
    (None, {}, TypeError, "not NoneType"),
    (np.zeros(0), {}, g4.ArgumentError, "0 samples"),
    (np.zeros(1), {}, g4.ArgumentError, "1 samples"),
    (np.zeros(160), {}, g4.ArgumentError, "160 samples"),
    (np.zeros((9, 9, 9)), {}, g4.ArgumentError, "shape (9, 9, 9)"),
    (np.float32(5), {}, g4.ArgumentError, "shape ()"),
    (np.zeros((2, 16000)), {}, g4.ArgumentError, "samples.T"),
    (np.zeros((16000, 0)), {}, g4.ArgumentError, "channel"),
    (np.zeros(16000, np.uint8), {}, g4.ArgumentError, "hold uint8"),
    (np.zeros(16000, np.int64), {}, ValueError, "hold int64"),
    (np.zeros(16000, complex), {}, ValueError, "hold complex128"),
    (np.array(["a"] * 200), {}, ValueError, "samples hold"),
    (np.full(16000, np.nan), {}, g4.ArgumentError, "no finite number"),
    (np.full(16000, np.inf), {}, g4.ArgumentError, "no finite number"),
    (np.full(16000, 1e300), {}, g4.ArgumentError, "no finite number"),
    (np.zeros(16000), {"rate": 0}, g4.ArgumentError, "rate"),
    (np.zeros(16000), {"rate": 10**9}, g4.ArgumentError, "rate"),
    (np.zeros(16000), {"rate": -1}, g4.ArgumentError, "rate is -1"),
    (np.zeros(16000), {"rate": 44100.0}, TypeError, "rate must be an int"),
    (np.zeros(31 * 16000), {}, g4.ArgumentError, "31 s"),
])
def test_arrays_that_are_no_sounds(session, samples, options, error, words):
    raises(error, words, session.encode_audio, samples, **options)


def test_lengths_of_sounds(session):
    for count in (161, 320, 321, 1000, 30 * 16000):
        assert len(session.encode_audio(np.zeros(count, np.int16))) == g4.audio_tokens(count)
    raises(g4.ArgumentError, "31 s", g4.audio_tokens, 31 * 16000)
    raises(g4.ArgumentError, "samples is -1", g4.audio_tokens, -1)
    raises(TypeError, "samples must be an int", g4.audio_tokens, 1.5)
    long = session.encode_audio(np.zeros(31 * 16000, np.int16), split=True)
    assert len(long) == g4.audio_tokens(31 * 16000, split=True) and long.rows.shape == (len(long), 128)
    assert [(span.begin, span.end) for span in long.spans] == [(0, 15.5), (15.5, 31)]
    assert sum(span.rows.stop - span.rows.start for span in long.spans) == len(long) and not long.rows.flags.writeable
    raises(g4.ArgumentError, "3840 s", session.encode_audio, np.zeros(3841 * 1000, np.int16), 1000, True)


# ---- Manners


def test_a_missing_package_is_named(session, monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **options):
        if name.split(".")[0] in ("PIL", "soundfile"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    for name in [name for name in sys.modules if name.split(".")[0] in ("PIL", "soundfile")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(builtins, "__import__", without)
    raises(ImportError, "picture files are read with Pillow: pip install 'g4[media]'", session.encode_image, CIRCLE)
    raises(ImportError, "sound files are read with soundfile: pip install 'g4[media]'", session.encode_audio, RISING)
    assert len(session.encode_image(np.zeros((48, 48, 3), np.uint8)))


def test_encoding_leaves_the_lock_to_others_and_the_session_busy(demo):
    with g4.Session(threads=1, cpu="generic") as session:
        there = threading.Event()

        def encode():
            there.set()
            session.encode_image(np.zeros((2000, 2000, 3), np.uint8), 280)

        thread = threading.Thread(target=encode)
        thread.start()
        there.wait()
        count = refused = 0
        while thread.is_alive():
            count += 1
            try:
                session.position
            except g4.StateError:
                refused += 1
        assert count > 1000 and refused > 0
        assert session.position == 0


INTERRUPTED = """
import numpy as np
import g4
session = g4.Session(threads=1, cpu="generic")
try:
    print("encoding", flush=True)
    while True:
        session.encode_image(np.zeros((1000, 1000, 3), np.uint8), 1120)
except KeyboardInterrupt:
    print(session.position, len(session.encode_image(np.zeros((48, 48, 3), np.uint8), 70)) > 0)
"""


def test_ctrl_c_ends_encoding():
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "encoding\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "0 True\n"
        assert process.wait(60) == 0


def test_cancel_ends_encoding():
    with g4.Session(threads=1, cpu="generic") as session:
        ended = threading.Event()

        def cancel():
            while not ended.wait(0.01):
                session.cancel()

        thread = threading.Thread(target=cancel)
        thread.start()
        try:
            with pytest.raises(g4.CancelledError):
                for _ in range(100):
                    session.encode_image(np.zeros((1000, 1000, 3), np.uint8), 1120)
        finally:
            ended.set()
            thread.join()
        assert len(session.encode_image(np.zeros((48, 48, 3), np.uint8), 70)) > 0


def test_threads_share_a_media(session, circle):
    media = session.encode_image(circle, 70)
    forks = [session.fork() for _ in range(4)]
    logits = [None] * len(forks)

    def run(index):
        logits[index] = forks[index].prefill(["Look: ", media])

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(forks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((each == logits[0]).all() for each in logits)


def test_after_close(circle):
    session = g4.Session()
    media = session.encode_image(circle, 70)
    session.close()
    raises(g4.StateError, "closed", session.encode_image, circle)
    raises(g4.StateError, "closed", session.encode_audio, np.zeros(16000))
    raises(g4.StateError, "closed", session.prefill, media)
    assert len(media.rows) == len(media)
