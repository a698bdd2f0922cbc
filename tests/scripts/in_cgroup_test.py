#!/usr/bin/env python3
"""scripts/in_cgroup: exit codes, the limit, what it says, nothing left behind; run by ctest as root (77: skipped)."""

import os
import pathlib
import re
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "in_cgroup"
SAID = re.compile(r"limit (\d+) MiB; peak (\d+) MiB with page cache, anonymous at most (\d+) MiB .* (\d+) killed for memory")


def run(*arguments):
    return subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, check=False)


def hold(mib):
    return (sys.executable, "-c", f"import time; x = bytearray({mib} << 20); time.sleep(0.3)")


failures = []


def check(what, holds, outcome):
    if not holds:
        failures.append(f"{what}: exit code {outcome.returncode}: {outcome.stdout}{outcome.stderr}")


for bad in ((), ("64MiB",), ("sixty", "true"), ("--warm", "64MiB", "true")):
    outcome = run(*bad)
    check(f"{bad} is refused", outcome.returncode == 2 and outcome.stderr.startswith("error: "), outcome)

if os.geteuid() != 0:
    outcome = run("64MiB", "true")
    check("only root", outcome.returncode == 2 and "only root" in outcome.stderr, outcome)
elif run("64MiB", "true").returncode == 4:
    print("skipped: no memory cgroup can be made here")
    sys.exit(1 if failures else 77)
else:
    outcome = run("128MiB", *hold(60))
    said = SAID.search(outcome.stderr)
    check("a command within its limit", outcome.returncode == 0 and said is not None, outcome)
    if said is not None:
        limit, peak, anonymous, kills = map(int, said.groups())
        check("its figures", limit == 128 and 60 <= anonymous <= peak <= 128 and kills == 0, outcome)
    outcome = run("64MiB", *hold(200))
    said = SAID.search(outcome.stderr)
    check("a command beyond it", outcome.returncode == 137 and said is not None and int(said[4]) > 0, outcome)
    outcome = run("64MiB", "sh", "-c", "exit 3")
    check("its exit code", outcome.returncode == 3, outcome)
    outcome = run("64MiB", "sh", "-c", "cat /proc/self/cgroup")
    group = re.search(r"sluice-\d+", outcome.stdout)
    check("a group of its own", group is not None, outcome)
    mount = [line.split()[1] for line in pathlib.Path("/proc/mounts").read_text().splitlines() if " cgroup" in line]
    if group is not None:
        check("which is removed", not any(pathlib.Path(top, group[0]).exists() for top in mount), outcome)

print("\n".join(failures) or "in_cgroup: sound")
sys.exit(1 if failures else 0)
