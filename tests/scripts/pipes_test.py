#!/usr/bin/env python3
"""Tests that no shell script pipes into what stops reading early.

With `pipefail` the writer's SIGPIPE then ends the script with 141, now and then: only where the writer is still at it.
"""

import pathlib
import re
import sys

STOPS_EARLY = re.compile(r"(?<!\|)\|\s*(head\b|grep\s+(-\w+\s+)*-\w*[qm]|sed\s[^|]*\bq\b|awk\s[^|]*\bexit\b)")


def early_stops(text):
    return [number for number, line in enumerate(text.split("\n"), 1)
            if not line.lstrip().startswith("#") and STOPS_EARLY.search(line)]


failed = []
for line in ("sort -rn x | head -n 10 |", "a | grep -q b", "a | grep -i -q b", "a | grep -m1 b", "a | awk '{ print; exit }'"):
    if early_stops(line) != [1]:
        failed.append(f"not found: {line}")
for line in ("# sort | head", "head -n 1 file", "grep -q a file", "sort | awk 'NR <= 10'", "a || head -n 1 b"):
    if early_stops(line):
        failed.append(f"wrongly found: {line}")

root = pathlib.Path(__file__).resolve().parents[2]
scripts = [path for path in [*(root / "scripts").iterdir(), root / ".ci/run"] if path.is_file()]
shell = [path for path in scripts if re.match(r"#.*\b(ba)?sh\b", path.read_text(encoding="utf-8").split("\n")[0])]
if len(shell) < 10:
    failed.append(f"only {len(shell)} shell scripts found")
for path in shell:
    failed += [f"{path.relative_to(root)}:{number}: pipes into what may stop reading: its writer dies of SIGPIPE"
               for number in early_stops(path.read_text(encoding="utf-8"))]
print("\n".join(failed) or f"{len(shell)} scripts")
sys.exit(1 if failed else 0)
