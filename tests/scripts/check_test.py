#!/usr/bin/env python3
"""What scripts/check says of a small tree with one fault of each kind, and that it remembers what was clean; run by ctest."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN = ROOT / "scripts" / "run_tidy.py"

FILES = {
    "include/sluice/base.h": "#pragma once\n#include <string>\nstruct Base { std::string name; };\n",
    # What comes with a header of ours need not be said again.
    "src/core/good.h": '#pragma once\n#include <sluice/base.h>\n#include <vector>\nstd::vector<Base> all();\n',
    "src/core/good.cpp": '#include "core/good.h"\nstd::vector<Base> all() { std::string name; return {Base{name}}; }\n',
    "src/core/moved.cpp": "#include <string>\n#include <utility>\n"
                          "std::string twice(std::string a) {\n  std::string b = std::move(a);\n  return b + a;\n}\n",
    # What comes with an include that is not used must be.
    "src/core/missing.cpp": '#include "core/good.h"\n#include "core/other.h"\nOther other() { return {}; }\n'
                            "Base base() { return {}; }\n",
    "src/core/other.h": "#pragma once\nstruct Other {};\n",
    "src/core/unused.h": "#pragma once\n#include <map>\nstruct Unused {};\n",
    "src/core/unused.cpp": '#include "core/unused.h"\nUnused unused() { return {}; }\n',
    "src/core/wide.cpp": "#include <cstdint>\nstd::uint64_t bytes(int rows, int width) {\n"
                         "  return static_cast<std::uint64_t>(rows * width);\n}\n",
    "src/core/shadow.cpp": "int shadow(int a) {\n  { const int a = 1; (void)a; }\n  return a;\n}\n",
    "src/core/stray.h": "#pragma once\n",
}

# file, and what is said of it
CASES = [
    ("src/core/good.h", []),
    ("src/core/good.cpp", []),
    ("src/core/moved.cpp", ["src/core/moved.cpp:5: 'a' used after it was moved [bugprone-use-after-move]"]),
    ("src/core/missing.cpp", ["src/core/missing.cpp:1: included header good.h is not used directly [misc-include-cleaner]",
                              'src/core/missing.cpp:4: <sluice/base.h> is not included, which has "Base"']),
    ("src/core/unused.h", ["src/core/unused.h:2: included header map is not used directly [misc-include-cleaner]"]),
    ("src/core/wide.cpp", ["src/core/wide.cpp:3: either cast from 'int'"]),
    ("src/core/shadow.cpp", ["src/core/shadow.cpp:2: declaration shadows a local variable [clang-diagnostic-shadow]"]),
]


def run_tidy(root, files, *arguments):
    return subprocess.run([sys.executable, RUN, *arguments, "build"], input="".join(f"{file}\n" for file in files), cwd=root,
                          capture_output=True, text=True, check=False)


if shutil.which("clang-tidy-19") is None:
    print("skipped: no clang-tidy-19 here")
    sys.exit(77)
failures = 0


def expect(what, said, expected):
    global failures
    if not said:
        failures += 1
        print(f"{what}: {expected}")


with tempfile.TemporaryDirectory() as name:
    root = pathlib.Path(name)
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    shutil.copy(ROOT / ".clang-tidy", root)
    (root / "tests").mkdir(exist_ok=True)
    shutil.copy(ROOT / "tests/.clang-tidy", root / "tests")
    (root / "build").mkdir()
    (root / "build/compile_commands.json").write_text(json.dumps([
        {"directory": str(root / "build"), "file": str(root / path), "output": f"{path}.o",
         "command": f"ccache /usr/bin/clang++-19 -I{root}/include -I{root}/src -std=c++20 -Wshadow "
                    f"-o {path}.o -c {root / path}"}
        for path in FILES if path.endswith(".cpp")]))

    first = run_tidy(root, [path for path, _ in CASES] + ["src/core/stray.h"], "--jobs=2")
    lines = first.stdout.splitlines()
    for path, expected in CASES:
        said = [line for line in lines if line.startswith(path)]
        expect(path, len(said) == len(expected) and all(a.startswith(b) for a, b in zip(said, expected)),
               first.stdout + first.stderr)
    expect("a header that no source includes", "no target of build has them: src/core/stray.h" in lines, first.stdout)
    expect("the end", first.returncode == 1 and "7 files (0 clean as before), 6 findings" in lines[-1], first.stdout)

    locks = run_tidy(root, ["src/core/moved.cpp", "src/core/shadow.cpp"], "--locks")
    expect("clang's warnings alone", locks.returncode == 1 and "[clang-diagnostic-shadow]" in locks.stdout and
           "2 files (0 clean as before), 1 findings" in locks.stdout, locks.stdout)

    again = run_tidy(root, ["src/core/good.cpp", "src/core/good.h"])
    expect("what was clean", again.returncode == 0 and "2 files (2 clean as before), 0 findings" in again.stdout, again.stdout)
    (root / "include/sluice/base.h").write_text(FILES["include/sluice/base.h"].replace("name;", "name, other;"))
    again = run_tidy(root, ["src/core/good.cpp"])
    expect("what includes a header that changed", "1 files (0 clean as before)" in again.stdout, again.stdout)

    mended = run_tidy(root, ["src/core/unused.h", "src/core/missing.cpp"], "--fix-includes")
    expect("mended includes", "includes mended in 2 files" in mended.stdout, mended.stdout)
    again = run_tidy(root, ["src/core/unused.h", "src/core/missing.cpp"])
    expect("what was mended", again.returncode == 0, again.stdout)
print(f"{len(CASES)} cases, {failures} failures")
sys.exit(failures > 0)
