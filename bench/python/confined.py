"""What the scripts beside it share: runs of the tools in a memory cgroup of a budget and what comes on top of one."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
IN_CGROUP = ROOT / "scripts/in_cgroup"
OVERHEAD = 300 << 20  # of code and libraries: docs/memory.md
SKIPPED = 77
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def bytes_of(text):
    for unit, size in UNITS.items():
        if text.endswith(unit):
            return int(float(text[:-3]) * size)
    return int(text.removesuffix("B"))


def may_confine(cgroup):
    """Whether runs get a cgroup of their own, as --cgroup (auto, off or require) says; ends where they must and cannot."""
    if cgroup == "off":
        return False
    tried = subprocess.run([IN_CGROUP, "64MiB", "true"], capture_output=True, text=True, check=False)
    if tried.returncode == 0:
        return True
    why = tried.stderr.strip() or f"exit code {tried.returncode}"
    if cgroup == "require":
        print(f"skipped: no memory cgroup may be made here: {why}", file=sys.stderr)
        sys.exit(SKIPPED)
    print(f"warning: runs are not confined: {why}", file=sys.stderr)
    return False


def confine(budget, words):
    """The command that runs `words` in a cgroup of the budget and what comes on top, with nothing in the page cache."""
    return [IN_CGROUP, "--cold", str(budget + OVERHEAD), *words]
