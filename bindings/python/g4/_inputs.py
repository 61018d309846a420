"""Pictures and sounds in any of the usual forms, as the extension module takes them."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from typing import Any, BinaryIO, Iterator, Sized, Union

import numpy as np
import numpy.typing as npt

from . import _core
from ._arguments import PathLike, kind, path_bytes, whole
from ._errors import ArgumentError, FileError, FormatError, UnsupportedError

Pixels = npt.NDArray[np.uint8]  # [height, width, 3 or 4]
Samples = Union[npt.NDArray[np.float32], npt.NDArray[np.int16]]  # [instants, channels]

BUDGETS = (70, 140, 280, 560, 1120)
MOST_SAMPLES = 64_000_000  # read from a file
MOST_CHANNELS = 32


def image_tokens(width: int, height: int, budget: int = 280) -> int:
    """The rows that a picture of this size will have, before it is encoded; a video's frame has the same.

    budget: the most rows it may have: 70, 140, 280, 560 or 1120. Raises ArgumentError.
    """
    return _core.image_tokens(whole(width, "width", 1, 2**16), whole(height, "height", 1, 2**16),
                              checked_budget(budget))


def audio_tokens(samples: int | Sized, rate: int = 16000, split: bool = False) -> int:
    """The rows that a sound will have, before it is encoded.

    samples: an array of them, or how many there are in each channel. split: it may be cut into clips.
    Raises ArgumentError, as Session.encode_audio.
    """
    count = len(samples) if isinstance(samples, Sized) else samples
    return _core.audio_tokens(whole(count, "samples", 0, 2**63), whole(rate, "rate", 0, 2**32 - 1), bool(split))


def checked_budget(budget: int) -> int:
    """One of the budgets there are."""
    if whole(budget, "budget", -2**63, 2**63) not in BUDGETS:
        raise ArgumentError(f"budget is {budget}; allowed is {', '.join(map(str, BUDGETS))}")
    return int(budget)


def pixels(image: Any) -> Pixels:
    """A PIL image, an array or a file as pixels."""
    if _is_file(image):
        return _file_pixels(image)
    if _is_pil(image):
        return _pil_pixels(image, "the PIL image")
    if not isinstance(image, np.ndarray) and not hasattr(image, "__array__"):
        raise TypeError(f"image must be a PIL image, a uint8 array [height, width, 3 or 4] or a file, not {kind(image)}")
    array = np.asarray(image)
    if array.ndim != 3 or array.shape[2] not in (3, 4):
        raise ArgumentError(f"image has shape {array.shape}; it must be [height, width, 3 or 4], RGB or RGBA")
    if array.dtype != np.uint8:
        raise ArgumentError(f"image holds {array.dtype}; it must be uint8, 0 to 255")
    image_tokens(array.shape[1], array.shape[0])  # no copy of what is too large
    return np.ascontiguousarray(array)


def samples(audio: Any, rate: int) -> tuple[Samples, int]:
    """An array or a file as samples, and their rate; a file knows its own."""
    if _is_file(audio):
        return _file_samples(audio)
    if not isinstance(audio, (np.ndarray, list, tuple)) and not hasattr(audio, "__array__"):
        raise TypeError(f"samples must be a float32 or int16 array [n] or [n, channels] or a file, not {kind(audio)}")
    array = np.asarray(audio)
    if array.ndim not in (1, 2):
        raise ArgumentError(f"samples have shape {array.shape}; it must be [n] or [n, channels]")
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.shape[1] > MOST_CHANNELS:
        raise ArgumentError(f"samples have shape {array.shape}, [n, channels]: more than {MOST_CHANNELS} channels; "
                            "an array [channels, n] must be transposed (samples.T)")
    rate = whole(rate, "rate", 0, 2**32 - 1)
    if array.dtype.kind == "i" and array.itemsize == 2:
        return np.ascontiguousarray(array, np.int16), rate
    if array.dtype.kind == "i" and array.itemsize == 4:  # what readers of 24 and 32 bit files give
        array = array / 2**31
    if array.dtype.kind != "f":
        raise ArgumentError(f"samples hold {array.dtype}; they must be float32, -1 to 1, or int16")
    with np.errstate(over="ignore"):  # infinity is refused later
        return np.ascontiguousarray(array, np.float32), rate


def _is_file(value: Any) -> bool:
    return isinstance(value, (str, bytes, os.PathLike)) or hasattr(value, "read")


def _is_pil(value: Any) -> bool:
    pil = sys.modules.get("PIL.Image")
    return pil is not None and isinstance(value, pil.Image)


@contextlib.contextmanager
def _opened(file: PathLike | BinaryIO) -> Iterator[tuple[BinaryIO, str]]:
    """The file, and what to call it."""
    if not isinstance(file, (str, bytes, os.PathLike)):
        yield file, str(getattr(file, "name", "the file"))
        return
    name = os.fsdecode(path_bytes(file))
    try:
        stream = open(name, "rb")
    except OSError as error:
        raise FileError(f"{name}: {error.strerror}") from None
    with stream:
        yield stream, name


def _needed(module: str, package: str, what: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(f"{what} are read with {package}: pip install 'g4[media]'") from None


def _file_pixels(file: PathLike | BinaryIO) -> Pixels:
    pil = _needed("PIL.Image", "Pillow", "picture files")
    with _opened(file) as (stream, name):
        try:
            image = pil.open(stream)
        except pil.UnidentifiedImageError:
            raise FormatError(f"{name} is no picture that Pillow can read") from None
        except pil.DecompressionBombError as error:
            raise UnsupportedError(f"{name} is too large: {error}") from None
        except Exception as error:
            raise FormatError(f"{name} is damaged: {error}") from error
        with image:
            return _pil_pixels(image, name)


def _pil_pixels(image: Any, name: str) -> Pixels:
    """As cameras mean it, the right side up; alpha is ignored."""
    from PIL import ImageOps  # there is a PIL image already

    image_tokens(image.width, image.height)  # nothing is decoded that is too large
    if image.mode == "F":
        raise ArgumentError(f"{name} has mode 'F', floats of no certain range: convert it to 'L' or 'RGB'")
    try:
        image = ImageOps.exif_transpose(image)
        if image.mode.startswith("I"):
            return _grey16_pixels(np.asarray(image))
        if image.mode in ("La", "RGBa", "PA"):  # the ways that Pillow has to RGB
            image = image.convert("LA" if image.mode == "La" else "RGBA")
        return np.asarray(image if image.mode in ("RGB", "RGBA") else image.convert("RGB"))
    except MemoryError:
        raise
    except Exception as error:  # Pillow lets through whatever its readers stumble over
        raise FormatError(f"{name} is damaged: {error}") from error


def _grey16_pixels(grey: npt.NDArray[Any]) -> Pixels:
    """Of 0 to 65535, what PNG files of 16 bits hold."""
    eight = ((np.clip(grey, 0, 65535).astype(np.int32) + 128) // 257).astype(np.uint8)
    return np.repeat(eight[:, :, np.newaxis], 3, axis=2)


def _file_samples(file: PathLike | BinaryIO) -> tuple[Samples, int]:
    soundfile = _needed("soundfile", "soundfile", "sound files")
    with _opened(file) as (stream, name):
        try:
            with soundfile.SoundFile(stream) as sound:
                if sound.frames * sound.channels > MOST_SAMPLES:
                    raise UnsupportedError(f"{name} has {sound.frames} x {sound.channels} samples; {MOST_SAMPLES} at most are read")
                return sound.read(dtype="float32", always_2d=True), sound.samplerate
        except (UnsupportedError, MemoryError):
            raise
        except Exception as error:
            reason = getattr(error, "error_string", error)
            raise FormatError(f"{name} is no sound that soundfile can read: {reason}") from error
