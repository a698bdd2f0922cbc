#!/usr/bin/env python3
"""scripts/bench_results writes what the lines say, sees a page that is not current, and keeps new lines; run by ctest."""

import json
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "bench_results"
README = "# A\n\n<!-- bench_results: begin -->\n<!-- bench_results: end -->\n\nthe rest\n"
ABOUT = {"program": "p", "command": "build/release/bench/p", "commit": "0123abc", "date": "2026-01-02", "machine": "M"}
failures = 0


def expect(truth, what):
    global failures
    if not truth:
        failures += 1
        print(f"failed: {what}")


def run(root, *arguments, text=None):
    return subprocess.run([sys.executable, SCRIPT, "--root", root, *arguments], capture_output=True, text=True,
                          check=False, input=text)


def checkout(root, rows, readme=README):
    root = pathlib.Path(root)
    (root / "bench").mkdir()
    (root / "README.md").write_text(readme)
    (root / "bench/results.jsonl").write_text("".join(json.dumps({**ABOUT, **row}) + "\n" for row in rows))
    return root


def row_of(root, start):
    lines = (root / "bench/RESULTS.md").read_text().splitlines()
    return next((line for line in lines if line.startswith(start)), "")


# What a line says, and what its row holds.
ROWS = [
    ({"case": "a", "seconds": 0.5, "work": 10, "unit": "edges", "rate": 20, "peer": "X", "peer_rate": 10, "of_peer": 2},
     "| 0.5 s | X: 1 s | 2.0 times as fast |"),
    ({"case": "a", "seconds": 2, "peer": "X", "peer_seconds": 1}, "| 2 s | X: 1 s | 2.0 times as long |"),
    ({"case": "a", "show": "rate", "unit": "edges", "rate": 78.6e6, "peer": "X", "peer_rate": 11.1e6, "of_peer": 7.1},
     "| 78.6 M edges/s | X: 11.1 M edges/s | 7.1 times as fast |"),
    ({"case": "a", "seconds": 2, "work": 4e9, "disk_rate": 4e9, "of_disk": 0.5},
     "| 2 s | the bare disk: 4 GB/s | 0.50 of its rate |"),
    ({"case": "a", "show": "bytes", "work": 3.48e9, "peer": "X", "peer_bytes": 10.53e9},
     "| 3.48 GB | X: 10.5 GB | 3.0 times fewer bytes |"),
    ({"case": "a", "seconds": 11.5, "peer": "memory", "times_in_memory": 1.11}, "| 11.5 s | memory | 1.11 times as long |"),
    ({"case": "a", "ours": "4 min", "command": None, "no_command": "lost"}, "| 4 min |  |  | none: lost |"),
    ({"case": "a", "part": "reads", "what": "a | b", "seconds": 1}, "`p` a reads | a \\| b | 1 s |"),
]
for row, expected in ROWS:
    with tempfile.TemporaryDirectory() as folder:
        root = checkout(folder, [row])
        said = run(root)
        expect(said.returncode == 0 and expected in row_of(root, "| `p` a"), f"{row}: {row_of(root, '| `p` a')} {said.stderr}")

with tempfile.TemporaryDirectory() as folder:  # a second peer is a row of its own
    root = checkout(folder, [{"case": "a", "seconds": 1, "peer": "X", "peer_seconds": 3,
                              "peers": {"x": {"peer": "X", "seconds": 3}, "y": {"peer": "Y", "seconds": 10}}}])
    run(root)
    rows = [line for line in (root / "bench/RESULTS.md").read_text().splitlines() if line.startswith("| `p` a")]
    expect(len(rows) == 2 and "Y: 10 s | 10.0 times as fast | as above" in rows[1], f"peers: {rows}")

with tempfile.TemporaryDirectory() as folder:  # README's table, and pages that are not current
    root = checkout(folder, [{"case": "a", "section": "Some Work, here", "why": "Work", "seconds": 1, "peer": "X",
                              "peer_seconds": 3}])
    expect(run(root, "--check").returncode == 1, "pages that were never written are not current")
    run(root)
    readme = (root / "README.md").read_text()
    expect("| Work | X | 3.0 times as fast | [Some Work, here](bench/RESULTS.md#some-work-here) |" in readme, readme)
    expect(readme.startswith("# A\n") and readme.endswith("\n\nthe rest\n"), "README's own text stays")
    expect(run(root, "--check").returncode == 0, "pages just written are current")
    (root / "README.md").write_text(readme.replace("3.0 times", "4.0 times"))
    said = run(root, "--check")
    expect(said.returncode == 1 and said.stdout.startswith("README.md:"), "a ratio changed by hand is seen")
    run(root)
    page = root / "bench/RESULTS.md"
    page.write_text(page.read_text() + "more\n")
    expect(run(root, "--check").returncode == 1, "RESULTS.md changed by hand is seen")

# What is refused.
for rows, readme, what in [([{"case": "a", "what": "x" * 201, "seconds": 1}], README, "a cell of 201"),
                           ([{"case": str(n), "why": "w", "seconds": 1} for n in range(9)], README, "at most 8"),
                           ([{"case": "a", "seconds": 1}], "# A\n", "README.md has no lines")]:
    with tempfile.TemporaryDirectory() as folder:
        said = run(checkout(folder, rows, readme))
        expect(said.returncode == 3 and what in said.stderr, f"{what}: {said.returncode} {said.stderr}")

with tempfile.TemporaryDirectory() as folder:  # new lines
    root = checkout(folder, [{"case": "a", "section": "S", "what": "words", "why": "W", "ours": "old", "seconds": 9},
                             {"case": "b", "section": "T", "seconds": 1}])
    printed = '{"case":"a","seconds":2}\nnot JSON\n{"case":"a","part":"reads","seconds":3}\n'
    said = run(root, "record", "--lines", "-", "--commit", "fedcba9", "--machine", "N", "--",
               "build/release/bench/p", "--dir", "/somewhere/here", "--file=/a/b", text=printed)
    kept = [json.loads(line) for line in (root / "bench/results.jsonl").read_text().splitlines()]
    expect(said.returncode == 0 and len(kept) == 3, f"record: {said.stdout}{said.stderr}{kept}")
    first, reads = kept[:2]
    expect(first["seconds"] == 2 and first["what"] == "words" and first["why"] == "W", f"words stay: {first}")
    expect("ours" not in first and first["commit"] == "fedcba9" and first["machine"] == "N", f"figures do not: {first}")
    expect(first["command"] == "build/release/bench/p --dir DIR --file=DIR", f"folders go: {first['command']}")
    expect(reads["part"] == "reads" and reads["section"] == "S", f"a new part stands by its case: {reads}")
    expect(run(root, "--check").returncode == 0, "record writes the pages")
    expect(run(root, "record", "--lines", "-", "--commit", "f", "--", "x", text="nothing\n").returncode == 3, "no line")

with tempfile.TemporaryDirectory() as folder:  # commits that are nowhere
    def git(*words):
        about = ["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", "-C", root, *about, *words], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    root = pathlib.Path(folder) / "whole"
    root.mkdir()
    checkout(root, [{"case": "a", "seconds": 1}])
    run(root)
    expect(run(root, "--check").returncode == 0, "without a repository nothing is asked of commits")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "first")
    said = run(root, "--check")
    expect(said.returncode == 1 and "case a: no commit 0123abc" in said.stdout, f"a commit that is nowhere: {said.stdout}")
    first = git("rev-parse", "--short=7", "HEAD")
    path = root / "bench/results.jsonl"
    path.write_text(path.read_text().replace("0123abc", first) + json.dumps({**ABOUT, "case": "b", "commit": first + "+"}) + "\n")
    run(root)
    said = run(root, "--check")
    expect(said.returncode == 0, f"commits that are there: {said.stdout}")
    git("commit", "-qam", "second")
    expect(run(root, "--check").returncode == 0, "a commit further back")
    git("clone", "-q", "--depth", "1", root.as_uri(), str(pathlib.Path(folder) / "shallow"))
    expect(run(pathlib.Path(folder) / "shallow", "--check").returncode == 0, "a clone without history is not asked")

print(f"{failures} failures")
sys.exit(failures > 0)
