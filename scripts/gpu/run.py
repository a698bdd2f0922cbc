"""Running commands one after the other within a time, and the report of what was run and what came of it."""

import os
import shutil
import signal
import subprocess
import time

LATE = 124  # exit code of what ran out of time, as timeout(1) has it
SHOWN = 6000  # characters of a command's output that are printed; all of it is in its log
KEPT = 2 << 20  # bytes of a log that go into the file of all logs


class Outcome:
    def __init__(self, code, output, seconds):
        self.code, self.output, self.seconds = code, output, seconds

    @property
    def late(self):
        return self.code == LATE


class Report:
    """One step's: commands in the order they ran, failures, what was skipped or not done for time, and figures by name."""

    def __init__(self, step):
        self.fields = {"step": step, "ok": False, "failures": [], "unfinished": [], "skipped": [], "commands": []}

    def fail(self, what):
        print(f"FAILED: {what}", flush=True)
        self.fields["failures"].append(what)

    def unfinished(self, what):
        print(f"NOT DONE: {what}", flush=True)
        self.fields["unfinished"].append(what)

    def skip(self, what):
        print(f"skipped: {what}", flush=True)
        self.fields["skipped"].append(what)

    def exit_code(self):
        return 1 if self.fields["failures"] else 3 if self.fields["unfinished"] else 0


class Runner:
    """Each command in a session of its own, which ends with it or with the time: nothing goes on beside the next."""

    def __init__(self, report, seconds, logs):
        self.report, self.end, self.logs = report, time.monotonic() + seconds, logs
        shutil.rmtree(logs, ignore_errors=True)  # what an earlier call left there is never read
        os.makedirs(logs)

    def left(self):
        return self.end - time.monotonic()

    def run(self, name, command, limit, environment=None):
        """An Outcome; `limit` in seconds, or what is left of the step where that is less."""
        limit = max(1.0, min(limit, self.left()))
        print(f"== {name}: {' '.join(command)}", flush=True)
        log = os.path.join(self.logs, name.replace(" ", "-") + ".log")
        begin = time.monotonic()
        with open(log, "wb") as file:
            try:
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                                           env={**os.environ, **(environment or {})}, start_new_session=True)
            except OSError as error:
                file.write(str(error).encode())
                process = None
        code = 127 if process is None else self.wait(process, limit)
        with open(log, encoding="utf-8", errors="replace") as file:
            outcome = Outcome(code, file.read(), round(time.monotonic() - begin, 1))
        print(outcome.output[-SHOWN:], flush=True)
        self.report.fields["commands"].append(
            {"name": name, "command": command, "exit": code, "seconds": outcome.seconds, "limit": round(limit)})
        return outcome

    @staticmethod
    def wait(process, limit):
        """The exit code. What the command leaves behind is ended, too, also when this program is told to end."""
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            return LATE
        finally:
            end_session(process)


def end_session(process):
    """Asked first, so that ninja ends its compilers."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in session(process.pid):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        until = time.monotonic() + 5
        while time.monotonic() < until and (process.poll() is None or session(process.pid)):
            time.sleep(0.05)


def session(leader):
    """The processes of the session that this one began, of any process group; those that have ended do not count."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                state, _, _, its_session = file.read().rpartition(")")[2].split()[:4]
        except (OSError, ValueError):
            continue
        if its_session == str(leader) and state not in "ZX":
            found.append(int(entry))
    return found


def join_logs(folder, target):
    """The logs in a folder, in the order they were written, as one file."""
    logs = sorted((os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".log")), key=os.path.getmtime)
    with open(target, "wb") as out:
        for log in logs:
            with open(log, "rb") as file:
                file.seek(max(0, os.path.getsize(log) - KEPT))
                out.write(f"== {os.path.basename(log)}\n".encode() + file.read() + b"\n")
