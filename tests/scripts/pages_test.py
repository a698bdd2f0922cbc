#!/usr/bin/env python3
"""scripts/pages finds each kind of breach, and names its line; run by ctest."""

import pathlib
import subprocess
import sys
import tempfile

PAGES = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "pages"
OTHER = "# Other\n\n## Two words, and `code`\n\n## Again\n\n## Again\n"
DECISION = """# 001. A

- Date: 2026-01-02, 2026-01-03
- Superseded by: none

## Context

## Choice

## Figure

"""

# file, its text, and what the check says of it ("" for nothing)
CASES = [
    ("README.md", "# A\n" * 200, ""),
    ("README.md", "# A\n" * 201, "README.md:201: 201 lines"),
    ("README.md", "a" * (16 * 1024 - 1) + "\n", ""),
    ("README.md", "a" * (16 * 1024) + "\n", "README.md:1: 16385 bytes"),
    ("ARCHITECTURE.md", "\n" * 300, ""),
    ("ARCHITECTURE.md", "\n" * 301, "ARCHITECTURE.md:301: 301 lines"),
    ("ARCHITECTURE.md", "a" * (30 * 1024) + "\n", "ARCHITECTURE.md:1: 30721 bytes"),
    ("docs/long.md", "a\n" * 900, ""),
    ("docs/a.md", "| a | b |\n| --- | --- |\n| 1 | " + "x" * 200 + " |\n", ""),
    ("docs/a.md", "| a | b |\n| --- | --- |\n| 1 | " + "x" * 201 + " |\n", "docs/a.md:3: a cell of 201"),
    ("storage/README.md", "| a |\n| --- |\n| a \\| " + "x" * 200 + " |\n", "storage/README.md:3: a cell of 205"),
    ("build/a.md", "| " + "x" * 300 + " |\n", ""),
    (".deps/a.md", "| " + "x" * 300 + " |\n", ""),
    ("docs/a.md", "```\n| " + "x" * 300 + " |\n```\n", ""),
    ("docs/a.md", "[b](other.md) [c](other.md#two-words-and-code) [d](#e)\n\n# E\n", ""),
    ("docs/a.md", "[b](other.md#again-1)\n", ""),
    ("docs/a.md", "[b](other.md#again-2)\n", "docs/a.md:1: link to 'other.md#again-2': there is no such heading"),
    ("docs/a.md", "[b](https://example.org/x#y)\n", ""),
    ("docs/a.md", "text\n[b](none.md)\n", "docs/a.md:2: link to 'none.md': there is no such file"),
    ("docs/a.md", "[b](../other.md)\n", "docs/a.md:1: link to '../other.md': there is no such file"),
    ("docs/a.md", "[b](/other.md)\n", "docs/a.md:1: link to '/other.md' begins"),
    ("docs/a.md", "[b](#none)\n", "docs/a.md:1: link to '#none': there is no such heading"),
    ("docs/a.md", "`[b](none.md)`\n\n```\n[c](none.md)\n```\n", ""),
    ("docs/a.md", "```\n# Not a heading\n```\n[b](#not-a-heading)\n", "docs/a.md:4: link to '#not-a-heading'"),
    ("docs/a.md", "see /home/anna/x\n", "docs/a.md:1: '/home/anna/x' is a path of one machine"),
    ("docs/a.md", "```\n--dir /wo" "rk/x.bin\n```\n", "docs/a.md:2: '/wo" "rk/x.bin' is a path of one machine"),
    ("docs/a.md", "build/work/x, ~/tmp/x, DIR/root/x, /proc/meminfo, {a}/tmp/b\n", ""),
    ("bench/results.jsonl", '{"command": "b --dir=/tmp/x"}\n', "bench/results.jsonl:1: '/tmp/x' is a path"),
    ("docs/a.md", "It is 3.5 times as fast.\n", "docs/a.md:1: '3.5 times as fast' is a figure"),
    ("docs/a.md", "It is .5 times faster.\n", "docs/a.md:1: '.5 times faster' is a figure"),
    ("docs/decisions/001-a.md", DECISION + "It is 3.5 times as fast.\n", ""),
    ("docs/decisions/001-a.md", DECISION.replace("- Date: 2026-01-02", "- Date: soon"), "docs/decisions/001-a.md:1: a dec"),
    ("docs/decisions/001-a.md", DECISION.replace("## Figure", "## Other"), "docs/decisions/001-a.md:1: a decision says"),
    ("bench/RESULTS.md", "It is 3.5 times as fast.\n", ""),
    ("README.md", "<!-- bench_results: begin -->\n3 times as fast\n<!-- bench_results: end -->\n", ""),
    ("README.md", "<!-- bench_results: begin -->\n<!-- bench_results: end -->\n3 times as fast\n", "README.md:3: '3 times"),
]

failures = 0
for name, text, expected in CASES:
    with tempfile.TemporaryDirectory() as root:
        for file, content in (("docs/other.md", OTHER), (name, text)):
            path = pathlib.Path(root, file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        run = subprocess.run([sys.executable, PAGES, root], capture_output=True, text=True, check=False)
        if run.returncode != (1 if expected else 0) or not run.stdout.startswith(expected):
            failures += 1
            print(f"{name} {text[:60]!r}: expected {expected or 'no breach'!r}, got {run.returncode}: "
                  f"{run.stdout}{run.stderr}")
with tempfile.TemporaryDirectory() as root:
    run = subprocess.run([sys.executable, PAGES, root], capture_output=True, text=True, check=False)
    failures += run.returncode != 1
print(f"{len(CASES) + 1} cases, {failures} failures")
sys.exit(failures > 0)
