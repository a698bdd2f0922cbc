#!/usr/bin/env python3
"""scripts/docs_keys writes what the tools print, sees a page that is not current, and skips without tools; run by ctest."""

import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "docs_keys"
PAGE = "# A\n\n<!-- keys: begin -->\nold\n<!-- keys: end -->\n\nrest\n"
failures = 0


def expect(truth, what):
    global failures
    if not truth:
        failures += 1
        print(f"failed: {what}")


def run(root, *arguments):
    return subprocess.run([sys.executable, SCRIPT, "--root", root, *arguments], capture_output=True, text=True,
                          check=False)


def tool(path, arguments, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\n[ "$*" = "{arguments}" ] || exit 2\nprintf \'{text}\'\n')
    path.chmod(0o755)


with tempfile.TemporaryDirectory() as folder:
    root = pathlib.Path(folder)
    (root / "docs").mkdir()
    training, importing = root / "docs/training.md", root / "docs/import.md"
    for page in (training, importing):
        page.write_text(PAGE)
    expect(run(root, "--check").returncode == 77, "without tools: skipped")
    expect(run(root).returncode == 77 and training.read_text() == PAGE, "without tools nothing is written")

    tool(root / "build/prep/sluice-prep", "import --keys", "root = 1\\n")
    expect(run(root, "--check").returncode == 1, "an old page is not current")
    expect(run(root).returncode == 0, "the tool that is there is run")
    expect(importing.read_text() == PAGE.replace("old\n", "```text\nroot = 1\n```\n"), importing.read_text())
    expect(training.read_text() == PAGE, "the page of the other tool stays")
    expect(run(root, "--check").returncode == 0, "current")

    tool(root / "build/release/sluice-prep", "import --keys", "root = 2\\n")
    tool(root / "build/release/sluice-train", "config keys", "seed = 1\\n")
    said = run(root, "--check")
    expect(said.returncode == 1 and "docs/import.md: not what" in said.stdout, "build/release goes before build/prep")
    expect(run(root, "--check", str(root / "build/prep")).returncode == 0, "a named folder alone")
    expect(run(root).returncode == 0 and "seed = 1" in training.read_text(), "both pages")
    expect(run(root, "--check").returncode == 0, "both current")

    training.write_text("# no marks\n")
    expect(run(root, "--check").returncode not in (0, 77), "a page without marks is an error")
    training.write_text(PAGE)
    (root / "build/release/sluice-train").write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    expect(run(root).returncode not in (0, 77), "a tool that fails is an error")

print(f"{failures} failures")
sys.exit(failures > 0)
