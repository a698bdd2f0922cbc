#!/usr/bin/env python3
"""The marks of sluice/mutex.h bite: clang refuses what touches a guarded member without its mutex; run by ctest."""

import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLANG = shutil.which("clang++-19")

# what a member function does, and what clang says of it ("" for nothing)
CASES = [
    ("MutexLock lock(mutex_); count_ = more(); lock.unlock(); lock.lock(); ++count_;", ""),
    ("MutexLock lock(mutex_); while (count_ == 0) changed_.wait(lock);", ""),
    ("const ReadLock lock(readers_); (void)read_;", ""),
    ("const WriteLock lock(readers_); read_ = 1;", ""),
    ("++count_;", "requires holding mutex 'mutex_'"),
    ("MutexLock lock(mutex_); lock.unlock(); ++count_;", "requires holding mutex 'mutex_'"),
    ("(void)more();", "calling function 'more' requires holding mutex 'mutex_'"),
    ("MutexLock lock(mutex_); [this] { ++count_; }();", "requires holding mutex 'mutex_'"),
    ("MutexLock lock(mutex_); lock.lock();", "already held"),
    ("const ReadLock lock(readers_); read_ = 2;", "requires holding mutex 'readers_' exclusively"),
    ("const WriteLock lock(readers_); ++count_;", "requires holding mutex 'mutex_'"),
]

CLASS = """#include "core/condition_variable.h"
#include "core/shared_mutex.h"
using namespace sluice;
class Counter {
  int more() SLUICE_REQUIRES(mutex_) { return count_ + 1; }
  Mutex mutex_;
  ConditionVariable changed_;
  int count_ SLUICE_GUARDED_BY(mutex_) = 0;
  SharedMutex readers_;
  int read_ SLUICE_GUARDED_BY(readers_) = 0;
"""

if CLANG is None:
    print("skipped: no clang++-19 here")
    sys.exit(77)
bodies = [f"  void body{number}() {{ {body} }}" for number, (body, _) in enumerate(CASES)]
run = subprocess.run([CLANG, "-std=c++20", "-fsyntax-only", "-Wthread-safety", f"-I{ROOT}/include", f"-I{ROOT}/src",
                      "-x", "c++", "-"], input="\n".join([CLASS.rstrip("\n"), *bodies, "};", ""]),
                     capture_output=True, text=True, check=False)
first_line = CLASS.count("\n") + 1
said = {number: [] for number in range(len(CASES))}
for line, text in re.findall(r"^<stdin>:(\d+):\d+: (?:warning|error): (.*)$", run.stderr, re.MULTILINE):
    said.setdefault(int(line) - first_line, []).append(text)

failures = 0
for number, texts in said.items():
    body, expected = CASES[number] if number in range(len(CASES)) else ("the class", "")
    if bool(texts) != bool(expected) or (texts and expected not in texts[0]):
        failures += 1
        print(f"{body}: expected {expected or 'nothing'!r}, got {texts}")
if "-Wthread-safety" not in (ROOT / "scripts/cmake/SluiceCompiler.cmake").read_text(encoding="utf-8"):
    failures += 1
    print("builds with clang do not ask for -Wthread-safety")
print(f"{len(CASES)} cases, {failures} failures")
sys.exit(failures > 0)
