"""What g4 raises: one class for each status of the C interface, each also of the built-in kind a caller would expect."""

from __future__ import annotations


class Error(Exception):
    """A failure that g4 reports. `status` is the number of the C interface (G4_ERR_...), the text says what to do."""

    status: int = 0


class ArgumentError(Error, ValueError):
    """An argument is wrong: the text says which and why."""

    status = 10


class StateError(Error, RuntimeError):
    """The call does not fit the session's state: closed, busy in another thread, nothing evaluated yet."""

    status = 12


class FileError(Error, OSError):
    """A file cannot be read or written."""

    status = 20


class FormatError(Error, ValueError):
    """A file is damaged or inconsistent."""

    status = 21


class UnsupportedError(Error):
    """A file or option is valid, but g4 does not support it."""

    status = 22


class MismatchError(Error, ValueError):
    """A KV file of another model, KV type or geometry."""

    status = 23


class OutOfMemoryError(Error, MemoryError):
    """There is not enough memory."""

    status = 30


class ContextFullError(Error):
    """The tokens do not fit the rest of the context."""

    status = 31


class CancelledError(Error):
    """`Session.cancel` has ended the call."""

    status = 40


class InternalError(Error, RuntimeError):
    """A fault of g4 itself: please report it."""

    status = 90


class CacheWarning(UserWarning):
    """A cache of prompts on disk could not be used, or not be written: the prompt was evaluated without it."""


_BY_STATUS = {kind.status: kind for kind in Error.__subclasses__()}


def error_of(status: int, message: str) -> Error:
    """The exception for a status of the C interface."""
    error = _BY_STATUS.get(status, Error)(message)
    error.status = status
    return error
