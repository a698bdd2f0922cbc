"""Runs sluice-prep: finds it, shows its progress, turns its errors into exceptions and its warnings into Python's, and hands
Ctrl-C on."""

from __future__ import annotations

import codecs
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import threading
import warnings
from typing import Any, List, Optional, Tuple

from .errors import Error, Place, UsageError, made

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_FRAME = re.compile(r"^.*: .*/s(, .* left)?$")
_LOG = re.compile(r"^\d\d:\d\d:\d\d (\w+) (.*)$")
_NAME = "sluice-prep"
_HERE = os.path.dirname(os.path.abspath(__file__))


def _beside() -> str:
    """$SLUICE_PREP, that of the wheel, or that of the build folder; else empty."""
    candidates = [
        os.environ.get("SLUICE_PREP", ""),
        os.path.join(_HERE, "bin", _NAME),
        os.path.join(_HERE, "..", "..", _NAME),  # build/<preset>/python/sluice
    ]
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK) and os.path.isfile(candidate):
            return os.path.normpath(candidate)
    return ""


def tool() -> str:
    """The sluice-prep that is run: $SLUICE_PREP, that of the wheel, that of the build folder, or that of PATH."""
    found = _beside() or shutil.which(_NAME)
    if found:
        return found
    raise UsageError(f"{_NAME} is not there", "install the wheel, or build it and set SLUICE_PREP to its path")


def main() -> None:
    """The command `sluice-prep` of an installed wheel: becomes the tool that lies in it. It is itself what PATH has."""
    program = _beside()
    if not program:
        sys.exit(f"error: the wheel has no {_NAME}\n  hint: install it anew")
    os.execv(program, [program, *sys.argv[1:]])


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and hasattr(shell, "kernel")


def _watched() -> bool:
    return _in_notebook() or bool(getattr(sys.stderr, "isatty", lambda: False)())


class _Said:
    """What the tool says on stderr: progress is shown on one line, other lines above it; errors are kept for the exception,
    and warnings for Python's, whether anything is shown or not."""

    def __init__(self, shown: bool) -> None:
        self._shown = shown
        self._width = 0
        self._rest = ""
        self._error = False
        self.errors: List[str] = []
        self.warnings: List[str] = []

    def add(self, text: str) -> None:
        *lines, self._rest = re.split(r"[\r\n]+", self._rest + text)
        for line in lines:
            self._take(_ESCAPES.sub("", line))

    def end(self) -> None:
        self._take(_ESCAPES.sub("", self._rest))
        if self._width:
            self._write("\n")
            self._width = 0

    def _write(self, text: str) -> None:
        if self._shown:
            sys.stderr.write(text)
            sys.stderr.flush()

    def _take(self, line: str) -> None:
        if not line.strip():
            return
        log = _LOG.match(line)
        # An error is the last thing that is said, and may go on over lines.
        if self._error or line.startswith("error: "):
            self._error = True
            self.errors.append(line)
        elif log and log.group(1) == "warning":
            self.warnings.append(log.group(2))
        elif _FRAME.match(line) and not log:
            self._write("\r" + line + " " * max(0, self._width - len(line)))
            self._width = len(line)
        else:
            self._write(("\r" + " " * self._width + "\r" if self._width else "") + line + "\n")
            self._width = 0


def _follow(descriptor: int, said: _Said) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while True:
        try:
            data = os.read(descriptor, 65536)
        except OSError:  # a terminal whose other side is closed
            break
        if not data:
            break
        said.add(decoder.decode(data))
    said.end()


def _place_of(raw: Any) -> Place:
    if not isinstance(raw, dict):
        return Place()
    return Place(raw.get("file", ""), raw.get("line", -1), raw.get("column", -1), raw.get("offset", -1))


def _error(status: int, out: str, said: _Said) -> Error:
    """From the JSON that was printed, else from the text."""
    message, hint, place = "", "", Place()
    try:
        error = json.loads(out)["error"]
        message, hint, place = error["message"], error["hint"], _place_of(error.get("place"))
    except (ValueError, KeyError, TypeError):
        text = "\n".join(said.errors)
        message, _, hint = text.partition("\n  hint: ")
        message = message[len("error: "):] if message.startswith("error: ") else message
    where = str(place)
    if where and message.startswith(where + ": "):
        message = message[len(where) + 2:]
    if not message:
        message = f"{_NAME} ended with {'signal ' + str(-status) if status < 0 else 'exit code ' + str(status)}"
    return made(status, message, hint, place)


def warn(text: str) -> None:
    """A warning of the line that called into the package."""
    level, frame = 1, sys._getframe().f_back
    while frame is not None and os.path.dirname(os.path.abspath(frame.f_code.co_filename)) == _HERE:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level + 1)


def _wait(child: "subprocess.Popen[bytes]") -> Tuple[str, bool]:
    """Its standard output, and whether Ctrl-C came: that is handed on once, and again."""
    interrupted = False
    while True:
        try:
            out, _ = child.communicate()
            return (out or b"").decode("utf-8", "replace"), interrupted
        except KeyboardInterrupt:
            interrupted = True
            child.send_signal(signal.SIGINT)


def run(arguments: List[str], *, progress: Optional[bool], json_wanted: bool = True) -> Any:
    """Runs a command. Returns its JSON, or its output as text."""
    shown = _watched() if progress is None else progress
    command = [tool(), *arguments] + ([] if shown else ["--quiet"])
    # A terminal of its own, so that it tells how far it is as often as to people.
    ours, theirs = pty.openpty() if shown else os.pipe()
    # A session of its own: Ctrl-C comes to it from here alone, once.
    try:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs, start_new_session=True
        )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    said = _Said(shown)
    follower = threading.Thread(target=_follow, args=(ours, said), daemon=True)
    follower.start()
    try:
        out, interrupted = _wait(child)
        follower.join()
    except BaseException:
        child.kill()
        child.wait()
        raise
    finally:
        follower.join()
        os.close(ours)
    if interrupted or child.returncode == 130:
        raise KeyboardInterrupt
    for warning in said.warnings:
        warn(warning)
    if child.returncode != 0:
        raise _error(child.returncode, out, said)
    return json.loads(out) if json_wanted else out
