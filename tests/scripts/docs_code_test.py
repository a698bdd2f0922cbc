#!/usr/bin/env python3
"""The code in docs/cpp.md, docs/embeddings.md and docs/training.md is that of examples/ and tests/consumer/, which are compiled and run; run by ctest.

Each block of C++, CMake or Python is a whole file, which the line before names in backquotes; a comment at a file's top is left out.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"`((?:examples|tests/consumer)/[\w/.]+)`[^`]*:\n\n```(?:cpp|cmake|python)\n(.*?)```", re.DOTALL)
HEAD = re.compile(r"\A((//|#(?!include))[^\n]*\n)+")

failures, num_blocks = [], 0
for page in ("docs/cpp.md", "docs/embeddings.md", "docs/training.md"):
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    num_blocks += len(blocks)
    if len(blocks) != len(re.findall(r"^```(?:cpp|cmake|python)$", text, re.MULTILINE)):
        failures.append(f"{page} has a block of code whose file is not named in the line before it")
    for name, code in blocks:
        if code.strip() != HEAD.sub("", (ROOT / name).read_text(encoding="utf-8")).strip():
            failures.append(f"{page} has other code than {name}")
if failures:
    sys.exit("\n".join(failures))
print(f"{num_blocks} blocks of code: ok")
