"""What goes wrong, as exceptions: one class a kind, each with a message, a hint and a place."""

from __future__ import annotations

from typing import Dict, NamedTuple, Type

__all__ = ["Error", "UsageError", "DataError", "ResourceError", "IoError", "InternalError", "Place"]


class Place(NamedTuple):
    """Where an error is. What is not known is empty or negative."""

    file: str = ""
    """Path as it was given."""
    line: int = -1
    """From 1."""
    column: int = -1
    """From 1."""
    offset: int = -1
    """Bytes, in binary files."""

    def __str__(self) -> str:
        if not self.file:
            return ""
        if self.offset >= 0:
            return f"{self.file} at byte {self.offset}"
        return ":".join([self.file] + [str(n) for n in (self.line, self.column) if n >= 0])


class Error(Exception):
    """Something that Sluice refuses or that failed; its classes say what kind of thing."""

    code = "internal"
    """"usage", "data", "resource", "io" or "internal": as the tools' --json has it."""

    def __init__(self, message: str, hint: str = "", place: Place = Place()) -> None:
        super().__init__(message, hint, place)
        self.message = message
        """What went wrong."""
        self.hint = hint
        """What to do about it; may be empty."""
        self.place = place
        """Where."""

    def __str__(self) -> str:
        where = str(self.place)
        text = f"{where}: {self.message}" if where else self.message
        return f"{text}\n  hint: {self.hint}" if self.hint else text


class UsageError(Error):
    """An option or argument: the call must change."""

    code = "usage"


class DataError(Error):
    """The user's files or a dataset are not as they must be."""

    code = "data"


class ResourceError(Error):
    """Too little memory or disk for what was asked."""

    code = "resource"


class IoError(Error):
    """The disk or the file system failed."""

    code = "io"


class InternalError(Error):
    """A bug in Sluice: please report it."""

    code = "internal"


# By the tools' exit codes.
_BY_NUMBER: Dict[int, Type[Error]] = {2: UsageError, 3: DataError, 4: ResourceError, 5: IoError, 70: InternalError}


def made(number: int, message: str, hint: str = "", place: Place = Place()) -> Error:
    """The exception of an exit code of the tools; the engine makes its own by this too."""
    return _BY_NUMBER.get(number, InternalError)(message, hint, place)
