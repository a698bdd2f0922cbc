#!/usr/bin/env python3
"""The CUDA kernels, and the host's code around them, compile without a warning wherever there is an nvcc, GPU or not; skipped
(77) elsewhere. Run by ctest."""

import concurrent.futures
import glob
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLAGS = ["-std=c++20", "-arch=sm_90", "-c", "--fmad=false", "--expt-relaxed-constexpr", "-Werror=all-warnings",
         "-Xcompiler=-Wall,-Wextra,-Wshadow"]

nvcc = shutil.which(os.environ.get("CUDACXX", "nvcc")) or shutil.which("/usr/local/cuda/bin/nvcc")
if nvcc is None:
    print("skipped: no nvcc")
    sys.exit(77)
kernels = sorted(glob.glob(f"{ROOT}/kernels/cuda/*.cu"))
with tempfile.TemporaryDirectory() as out:

    def compiled(kernel):
        command = [nvcc, *FLAGS, f"-I{ROOT}", f"-I{ROOT}/src", f"-I{ROOT}/include", kernel, "-o",
                   f"{out}/{os.path.basename(kernel)}.o"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = list(zip(kernels, pool.map(compiled, kernels)))
failed = [(kernel, run) for kernel, run in runs if run.returncode != 0 or "warning" in run.stderr]
for kernel, run in failed:
    print(f"{kernel}:\n{run.stdout}{run.stderr}")
print(f"{len(kernels)} files, {len(failed)} with errors or warnings")
sys.exit(1 if failed or not kernels else 0)
