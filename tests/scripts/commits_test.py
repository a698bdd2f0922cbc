#!/usr/bin/env python3
"""scripts/check_commits takes good subjects, names bad ones, and skips where there is no history; run by ctest."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

CHECK = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_commits"
if not shutil.which("git"):
    print("no git here")
    sys.exit(77)
QUIET = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}

# messages of commits after the first, and what the check says ("" for nothing)
CASES = [
    ([], "0 commits: ok"),
    (["Fix the reader", "x" * 72], "2 commits: ok"),
    (["Fix the reader", "x" * 73], "73 characters in the subject, at most 72: xxx"),
    (["x" * 80, "Fix the reader"], "80 characters in the subject, at most 72: xxx"),
    (["Größe: " + "ä" * 65], "1 commits: ok"),
    (["Subject\n\nA body of " + "many words " * 20], "1 commits: ok"),
    (["Subject\nno empty line"], "no empty line between subject and body: Subject"),
]


def git(root, *arguments):
    command = ["git", "-C", root, "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=QUIET).stdout.strip()


def commit(root, message):
    git(root, "commit", "--quiet", "--allow-empty", "--cleanup=verbatim", "-m", message)
    return git(root, "rev-parse", "HEAD")


def check(*arguments):
    return subprocess.run([sys.executable, CHECK, *arguments], capture_output=True, text=True, check=False, env=QUIET)


failures = 0
for messages, expected in CASES:
    with tempfile.TemporaryDirectory() as root:
        git(root, "init", "--quiet")
        first = commit(root, "y" * 100)  # before the stated commit: not looked at
        for message in messages:
            commit(root, message)
        run = check(first, "--root", root)
        if run.returncode != (0 if expected.endswith("ok") else 1) or expected not in run.stdout:
            failures += 1
            print(f"{messages}: expected {expected!r}, got {run.returncode}: {run.stdout}{run.stderr}")

with tempfile.TemporaryDirectory() as root:
    failures += check("--root", root).returncode != 77  # no repository
    git(root, "init", "--quiet")
    commit(root, "Begin")
    failures += check("0123abc", "--root", root).returncode != 77  # history that does not reach back
print(f"{len(CASES) + 2} cases, {failures} failures")
sys.exit(failures > 0)
