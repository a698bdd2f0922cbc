"""What a GPU machine has: its GPU, as the driver says, and the tools to build with, wherever they are."""

import glob
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
OLDEST_CMAKE = (3, 28)  # Ubuntu 24.04's; 3.25 does not know C++20 for nvcc. The presets, which ask for more, are not used
WHEELS = ".deps/venv/lib/python3*/site-packages"


def said_by(*command, limit=60):
    """What a command prints on stdout; nothing where it is not there, fails to answer or hangs."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def find_gpu():
    """scripts/gpu/driver.py's object. The driver says whether there is a GPU, not nvidia-smi, which may be missing."""
    said = said_by(sys.executable, os.path.join(HERE, "driver.py"))
    try:
        return json.loads(said)
    except ValueError:
        return {"why": "the driver hangs or crashes"}


def jobs():
    """Compilers at once: as scripts/build counts them, by what this process may use of cores and memory."""
    return int(said_by("bash", "-c", ". scripts/common.sh && num_jobs").strip() or 1)


def describe():
    asked = "name,driver_version,memory.total,memory.free,clocks.max.sm"
    smi = said_by("nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader")
    return {"kernel": platform.release(), "cores": os.cpu_count(), "jobs": jobs(), "python": platform.python_version(),
            "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
            "pinned_limit": said_by("bash", "-c", "ulimit -l").strip(), "nvidia_smi": smi.strip() or None}


def sites():
    return [place for place in sys.path if place] + glob.glob(WHEELS)


def executable(*places):
    return next((place for place in places if place and os.access(place, os.X_OK) and os.path.isfile(place)), None)


def beside_python(name):
    return os.path.join(os.path.dirname(sys.executable), name)


def find_cmake():
    for path in [*(f"{site}/cmake/data/bin/cmake" for site in sites()), beside_python("cmake"), shutil.which("cmake")]:
        version = re.search(r"version (\d+)\.(\d+)", said_by(path, "--version")) if executable(path) else None
        if version and (int(version[1]), int(version[2])) >= OLDEST_CMAKE:
            return os.path.abspath(path)
    return None


def find_ninja():
    found = executable(shutil.which("ninja"), beside_python("ninja"), *(f"{site}/ninja/data/bin/ninja" for site in sites()))
    return os.path.abspath(found) if found else None


def cuda_tool(name):
    """One of the CUDA Toolkit's programs."""
    home = os.environ.get("CUDA_HOME")
    named = os.environ.get("CUDACXX") if name == "nvcc" else None
    found = executable(named, f"{home}/bin/{name}" if home else None, f"/usr/local/cuda/bin/{name}", shutil.which(name),
                       *glob.glob(f"{WHEELS}/nvidia/cu13/bin/{name}"))
    return os.path.abspath(found) if found else None


def find_torch(named):
    """LibTorch with its CUDA half: the folder named, else python3's torch, else that of .deps."""
    found = importlib.util.find_spec("torch")
    places = [named] if named else list(found.submodule_search_locations or []) if found else []
    if not named:
        places += glob.glob(f"{WHEELS}/torch")
    return next((os.path.abspath(place) for place in places if os.path.exists(f"{place}/lib/libtorch_cuda.so")), None)


def torch_version(torch):
    try:
        with open(f"{torch}/version.py", encoding="utf-8") as file:
            found = re.search(r"__version__ = '([^']+)'", file.read())
    except OSError:
        return None
    return found[1] if found else None


def first_line(text, pattern):
    return next((line.strip() for line in text.splitlines() if re.search(pattern, line)), None)


class Tools:
    """All that a build needs; None for what was not found."""

    def __init__(self, torch):
        self.cmake, self.ninja, self.nvcc, self.torch = find_cmake(), find_ninja(), cuda_tool("nvcc"), find_torch(torch)
        self.compiler = executable(shutil.which(os.environ.get("CXX", "")), shutil.which("g++"), shutil.which("c++"))

    def missing(self):
        return [name for name, found in (
            (f"CMake of {OLDEST_CMAKE[0]}.{OLDEST_CMAKE[1]} or newer", self.cmake),
            ("ninja or make", self.ninja or shutil.which("make")),
            ("a C++ compiler (CXX, g++)", self.compiler),
            ("nvcc (CUDACXX, CUDA_HOME, /usr/local/cuda)", self.nvcc),
            ("torch with its CUDA half (--torch)", self.torch)) if found is None]

    def describe(self):
        said = {"cmake": self.cmake and first_line(said_by(self.cmake, "--version"), "version"),
                "compiler": self.compiler and first_line(said_by(self.compiler, "--version"), "."),
                "nvcc": self.nvcc and first_line(said_by(self.nvcc, "--version"), "release"),
                "torch": self.torch and torch_version(self.torch)}
        return {name: {"path": getattr(self, name), "version": version} for name, version in said.items()} | {
            "ninja": {"path": self.ninja}}
