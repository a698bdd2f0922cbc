#!/usr/bin/env python3
"""Installs the build, moves it, and builds and runs the project in this folder against it, with find_package alone; run by ctest.

SLUICE_BIN is the build folder, SLUICE_CMAKE the cmake to use.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ["SLUICE_BIN"]).resolve()
CMAKE = os.environ["SLUICE_CMAKE"]
DATA = ["--nodes", "2000", "--edges", "10000", "--features", "20", "--classes", "4", "--signal", "2", "--train", "0.2",
        "--valid", "0.1", "--test", "0.1"]


def run(*command, code=0):
    command = [str(part) for part in command]
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if ended.returncode != code:
        sys.exit(f"{' '.join(command)}\nended with {ended.returncode}, not {code}:\n{ended.stdout}")
    return ended.stdout


def expect(truth, what):
    if not truth:
        sys.exit(f"failed: {what}")


def check_paths(prefix):
    """What find_package reads knows neither the build nor where it was installed first."""
    files = list((prefix / "lib/cmake/Sluice").iterdir())
    expect(len(files) >= 5, f"CMake files in {prefix}")
    for file in files:
        text = file.read_text()
        for folder in (BUILD, SOURCE.parents[1], prefix.parent):
            expect(str(folder) not in text, f"{file.name} is free of {folder}")


def configure(prefix, build, *options, code=0):
    launcher = shutil.which("ccache")
    return run(CMAKE, "-G", "Ninja", "-S", SOURCE, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=None",
               "-DCMAKE_CXX_FLAGS=-O1 -Wall -Wextra -Werror", *([f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"] if launcher else []),
               *options, code=code)


def main(folder):
    installed, prefix, data = folder / "installed", folder / "moved", folder / "data"
    run(CMAKE, "--install", BUILD, "--prefix", installed)
    installed.rename(prefix)
    check_paths(prefix)
    expect("sluice-prep" in run(prefix / "bin/sluice-prep", "--version"), "the installed sluice-prep starts")
    expect("sluice-train" in run(prefix / "bin/sluice-train", "--version"), "the installed sluice-train starts")
    run(prefix / "bin/sluice-prep", "generate", "sbm", "--out", data, *DATA)

    print(configure(prefix, folder / "build"))
    print(run(CMAKE, "--build", folder / "build"))
    print(run(folder / "build/drive", data), end="")
    print(run(folder / "build/my-train", "loop", data), end="")
    keys = run(folder / "build/my-train", "config", "keys")
    expect("two_means" in keys and "strided" in keys, "the tool knows the model and the sampler")

    # Without LibTorch: the rest works, and what needs it says so once.
    (prefix / "lib/sluice/torch").unlink()
    nowhere = f"-DSLUICE_TORCH_DIR={folder / 'nowhere'}"
    configure(prefix, folder / "build-core", nowhere, "-DWITH_TRAINING=OFF")
    said = " ".join(configure(prefix, folder / "build-core", nowhere, "-DWITH_TRAINING=ON", code=1).split())
    expect("Sluice::sluice needs LibTorch" in said and "-DSLUICE_TORCH_DIR=DIR" in said, f"what to do is said: {said}")
    os.environ["SLUICE_TORCH_DIR"] = str(folder / "nowhere")
    expect("there is no LibTorch in" in run(prefix / "bin/sluice-train", "--version", code=4), "the tool says so too")


with tempfile.TemporaryDirectory() as temporary:
    os.environ.pop("SLUICE_TORCH_DIR", None)
    main(pathlib.Path(temporary).resolve())
