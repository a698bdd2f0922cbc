#!/usr/bin/env python3
"""Configuring refuses a source below cuda/ in a target that is not the device library. Run by ctest.

A copy of the tree gets the fault that once broke every machine without a CUDA toolkit: kernels/CMakeLists.txt took all
sources below kernels/, those in kernels/cuda/ too. Where the compiler finds CUDA's headers by itself, only this tells.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CMAKE = os.environ.get("SLUICE_CMAKE", "cmake")


def configure(tree, out, *options):
    command = [CMAKE, "-S", tree, "-B", out, "-G", "Ninja", "-DSLUICE_TORCH=OFF", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        tree = pathlib.Path(scratch) / "tree"
        tree.mkdir()
        for entry in ["CMakeLists.txt", "LICENSE", "bench", "examples", "include", "kernels", "python", "samplers", "scripts", "src",
                      "storage", "tests"]:
            source = ROOT / entry
            shutil.copytree(source, tree / entry) if source.is_dir() else shutil.copy(source, tree / entry)
        if (ROOT / ".deps").exists():
            (tree / ".deps").symlink_to((ROOT / ".deps").resolve())
        rooms = tree / "kernels" / "CMakeLists.txt"
        text = rooms.read_text()
        broken = text.replace(' EXCLUDE "/cuda/"', "")
        failures = []
        if broken == text:
            failures.append("kernels/CMakeLists.txt excludes nothing: this test no longer knows the fault")
        for unity in ["ON", "OFF"]:
            rooms.write_text(text)
            sound = configure(tree, f"{scratch}/sound{unity}", f"-DSLUICE_UNITY={unity}")
            if sound.returncode != 0:
                failures.append(f"unity {unity}: the tree as it is was refused:\n{sound.stderr}")
            rooms.write_text(broken)
            refused = configure(tree, f"{scratch}/broken{unity}", f"-DSLUICE_UNITY={unity}")
            if refused.returncode == 0 or "kernels/cuda/table.cpp" not in refused.stderr:
                failures.append(f"unity {unity}: the fault was not refused (exit {refused.returncode}):\n{refused.stderr}")
        for failure in failures:
            print(failure)
        print(f"{len(failures)} failures")
        return 1 if failures else 0


sys.exit(main())
