#!/usr/bin/env python3
"""scripts/gpu_check and scripts/gpu_pack over made-up tools and a made-up driver, where there is no GPU; run by ctest."""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
DRIVER = """
#include <string.h>
int cuInit(unsigned flags) { (void)flags; return 0; }
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuDeviceGet(int *gpu, int number) { *gpu = number; return 0; }
int cuDeviceGetName(char *name, int size, int gpu) { (void)gpu; strncpy(name, "Fake GPU", size); return 0; }
int cuDeviceTotalMem_v2(unsigned long *bytes, int gpu) { (void)gpu; *bytes = 1ul << 30; return 0; }
int cuDeviceGetAttribute(int *value, int which, int gpu) { (void)gpu; *value = which == 75 ? 9 : 0; return 0; }
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
"""
CMAKE = """#!/bin/bash
if [ "$1" = --version ]; then echo "cmake version ${FAKE_CMAKE:-3.28.3}"; exit; fi
if [ "$1" = --build ]; then
  mkdir -p "$2/tests" "$2/bench"
  cp fakes/test "$2/tests/gpu_device_test"; cp fakes/bench "$2/bench/gpu"
  cp fakes/prep "$2/sluice-prep"; cp fakes/train "$2/sluice-train"
  echo "x.cpp:1:2: warning: it dangles [-Wdangling-reference]"
  exit "${FAKE_BUILD:-0}"
fi
echo "$*" >>configured
"""
# A test program: doctest's XML, with what FAKE_TEST says: passes, fails, hangs (with a child) in its second case.
TEST = """#!/bin/bash
[ -n "$FAKE_GPU" ] || { echo "skipped: no GPU"; exit 77; }
echo "$SLUICE_REQUIRE_GPU $*" >>ran
echo '<doctest binary="x"><TestCase name="kernel &quot;parity&quot;: one"><OverallResultsAsserts successes="1" failures="0" test_case_success="true" duration="0.5"/></TestCase>'
echo '<TestCase name="two">'
if [ "$FAKE_TEST" = hangs ]; then sleep 300 & echo $! >child; wait; fi
[ "$FAKE_TEST" = fails ] && good=false || good=true
echo "<OverallResultsAsserts successes=\\"1\\" failures=\\"0\\" test_case_success=\\"$good\\"/></TestCase></doctest>"
[ $good = true ]
"""
BENCH = """#!/bin/bash
echo '{"name": "gpu/copy_pinned", "rate": 1}'
"""
# The tools: an import makes a folder; a run says what FAKE_MRR and FAKE_KEPT are, and of events FAKE_CPU_AP and FAKE_WEIGHTS,
# each run's own where that is "own".
PREP = """#!/bin/bash
echo "$*" >>imported
"""
TRAIN = """#!/bin/bash
echo "$*" >>trained
ap=0.9
[[ $* != *train.device=cpu* ]] || ap=${FAKE_CPU_AP:-0.9}
[ "$FAKE_WEIGHTS" != own ] || FAKE_WEIGHTS=$$
echo '{"epochs": 2, "seconds": {"total": 5, "epochs": [3, 1, 2]}, "metrics": {"test.mrr": '${FAKE_MRR:-0.95}', "test.ap": '$ap', "test.f1_micro": 0.8, "test.accuracy": 0.7},' \\
     '"weights_xxh3": "'$FAKE_WEIGHTS'", "device": {"kind": "cuda", "learned_rows": '${FAKE_KEPT:-4096}'}}'
"""
SANITIZER = """#!/bin/bash
echo "$*" >>sanitized
echo "========= ERROR SUMMARY: 0 errors"
"""


class Tree:
    """A checkout with the scripts alone, and a machine's tools beside it."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.put("scripts/packages.txt", "link nothing-dev\n")
        for name in ("gpu_check", "common.sh"):
            shutil.copy(SCRIPTS / name, self.root / "scripts" / name)
        shutil.copytree(SCRIPTS / "gpu", self.root / "scripts/gpu", ignore=shutil.ignore_patterns("__pycache__"))
        self.put("fakes/test", TEST), self.put("fakes/bench", BENCH), self.put("bin/cmake", CMAKE)
        self.put("fakes/prep", PREP), self.put("fakes/train", TRAIN)
        self.put("cuda/bin/nvcc", "#!/bin/sh\necho release 13.0\n"), self.put("cuda/bin/compute-sanitizer", SANITIZER)
        self.put("torch/version.py", "__version__ = '2.11.0'\n"), self.put("torch/lib/libtorch_cuda.so", "")
        self.put("src/a.cpp", "int a;\n")
        self.pack("one")

    def put(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def pack(self, content):
        with tempfile.TemporaryDirectory() as work:
            config = pathlib.Path(work, "usr/lib/x86_64-linux-gnu/cmake/fmt/fmt-config.cmake")
            config.parent.mkdir(parents=True)
            config.write_text(content)
            for name in ("acm", "uci", "umls"):
                pathlib.Path(work, "data", name).mkdir(parents=True)
            (self.root / ".gpu").mkdir(exist_ok=True)
            with tarfile.open(self.root / ".gpu/prefix.tar.xz", "w:xz") as tar:
                tar.add(work, arcname="prefix")

    def driver(self):
        self.put("driver/cuda.c", DRIVER)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", "driver/libcuda.so.1", "driver/cuda.c"], cwd=self.root, check=True)

    def check(self, *arguments, **environment):
        """(exit code, the report)"""
        gpu = (self.root / "driver/libcuda.so.1").exists()
        environment = {**os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}", "CUDA_HOME": f"{self.root}/cuda",
                       "LD_LIBRARY_PATH": f"{self.root}/driver", "FAKE_GPU": "1" if gpu else "", **environment}
        for name in ("CUDACXX", "OUT", "SLUICE_REQUIRE_GPU"):
            environment.pop(name, None)
        run = subprocess.run([sys.executable, "scripts/gpu_check", *arguments, "--torch", "torch"], cwd=self.root,
                             env=environment, capture_output=True, text=True, check=False)
        try:
            return run.returncode, json.loads(run.stdout.splitlines()[-1])
        except (ValueError, IndexError):
            return run.returncode, {"said": run.stdout + run.stderr}

    def lines(self, name):
        path = self.root / name
        return path.read_text().splitlines() if path.exists() else []


failures = []


def expect(what, holds, seen):
    if not holds:
        failures.append(f"{what}: {seen}")


def without_a_gpu(tree):
    seen = tree.check("kernels")
    code, report = seen
    expect("no GPU: built, the rest skipped and said to be", code == 0 and report["ok"] and len(report["skipped"]) == 2 and
           report["build"]["warnings"] == {"-Wdangling-reference": 1}, seen)
    configured = " ".join(tree.lines("configured"))
    expect("what was carried is named to CMake", f"-Dfmt_DIR={tree.root}/build/gpu/prefix/usr/lib/x86_64-linux-gnu/cmake/fmt"
           in configured and "-DSLUICE_WERROR=OFF" in configured and "-DCMAKE_CUDA_ARCHITECTURES=90" in configured, configured)
    shutil.rmtree(tree.root / "build")
    seen = tree.check("kernels", "--require-gpu")
    expect("no GPU, one required", seen[0] == 1 and not seen[1]["commands"] and "no driver" in seen[1]["failures"][0], seen)
    seen = tree.check("kernels", FAKE_CMAKE="3.25.1")
    expect("an old CMake", seen[0] == 1 and any("CMake of 3.28" in text for text in seen[1]["failures"]), seen)
    expect("no step", tree.check()[0] == 2, "")


def configured_once(tree):
    tree.check("kernels")
    before = len(tree.lines("configured"))
    old = os.stat(tree.root / "src/a.cpp").st_mtime_ns
    os.utime(tree.root / ".gpu/prefix.tar.xz")  # carried anew
    tree.put("src/a.cpp", "int a;\n")
    os.utime(tree.root / "src/a.cpp")
    unpacked = os.stat(tree.root / "build/gpu/prefix/unpacked.json").st_mtime_ns
    tree.check("kernels")
    expect("the same again: nothing is unpacked or configured", len(tree.lines("configured")) == before and
           os.stat(tree.root / "build/gpu/prefix/unpacked.json").st_mtime_ns == unpacked, tree.lines("configured"))
    expect("a source copied anew keeps its time", os.stat(tree.root / "src/a.cpp").st_mtime_ns == old, "")
    tree.put("src/a.cpp", "int b;\n")
    tree.pack("two")
    tree.check("kernels")
    expect("a source that changed has its own", os.stat(tree.root / "src/a.cpp").st_mtime_ns != old, "")
    expect("another pack: unpacked and configured", len(tree.lines("configured")) == before + 1, tree.lines("configured"))


def with_a_gpu(tree):
    tree.driver()
    seen = tree.check("kernels", "--require-gpu", "--cases", "kernel*")
    code, report = seen
    cases = report.get("tests", {}).get("gpu_device_test", {})
    expect("a GPU", code == 0 and report["gpu"]["name"] == "Fake GPU" and report["gpu"]["compute"] == "90", seen)
    expect("its cases", cases.get('kernel "parity": one') == {"result": "passed", "seconds": 0.5} and
           cases["two"]["result"] == "passed" and report["bench"]["128"][0]["rate"] == 1, seen)
    expect("they may not skip themselves", tree.lines("ran") == ["1 --reporters=xml --duration=true -tc=kernel*"], tree.lines("ran"))
    seen = tree.check("kernels", FAKE_TEST="fails")
    expect("a case that fails", seen[0] == 1 and "device test: two" in seen[1]["failures"] and seen[1]["bench"], seen)
    seen = tree.check("kernels", FAKE_BUILD="1")
    expect("a build that fails", seen[0] == 1 and seen[1]["failures"] == ["build"] and "tests" not in seen[1], seen)
    seen = tree.check("sanitize")
    expect("what a test asks for on purpose is no error", seen[0] == 0 and len(tree.lines("sanitized")) == 4 and
           "--report-api-errors no" in tree.lines("sanitized")[0] and "-tce=more memory*" in tree.lines("sanitized")[0], seen)


def learned_rows(tree):
    tree.driver()
    seen = tree.check("embeddings", "--epochs", "3")
    code, report = seen
    umls = report.get("embeddings", {}).get("umls", {})
    expect("learned rows", code == 0 and umls["test.mrr"] == 0.95 and umls["seconds_an_epoch"] == 2, seen)
    expect("what was not packed is said", any("no data/wn18rr" in text for text in report["skipped"]), seen)
    expect("imported from the pack", "prefix/data/umls" in tree.lines("imported")[0] and
           "train.device=cuda" in tree.lines("trained")[0], tree.lines("imported") + tree.lines("trained"))
    seen = tree.check("embeddings", FAKE_MRR="0.5", FAKE_KEPT="0")
    expect("a bar that is missed, rows that were not kept", seen[0] == 1 and len(seen[1]["failures"]) == 2, seen)


def models_of_events(tree):
    seen = tree.check("temporal")
    expect("models of events without a GPU", seen[0] == 0 and seen[1]["skipped"] == ["uci: no GPU"], seen)
    tree.driver()
    seen = tree.check("temporal")
    code, report = seen
    expect("models of events", code == 0 and list(report["temporal"]) == ["tftgn", "tgn", "tpnet"] and
           report["temporal"]["tgn"]["test.ap"] == 0.9, seen)
    runs = tree.lines("trained")
    expect("each twice on the GPU and once on the CPU", len(runs) == 9 and "configs/uci-tpnet.toml" in runs[-1] and
           [("train.device=cpu" in run) for run in runs] == 3 * [False, False, True], runs)
    seen = tree.check("temporal", FAKE_CPU_AP="0.8", FAKE_WEIGHTS="own")
    expect("an AP that is not the CPU's, bits that differ", seen[0] == 1 and len(seen[1]["failures"]) == 6, seen)
    seen = tree.check("types")
    expect("models of several types", seen[0] == 0 and list(seen[1]["types"]) == ["rgcn", "hgt", "bghgnn"] and
           seen[1]["types"]["hgt"]["test.f1_micro"] == 0.8, seen)
    seen = tree.check("labelless")
    expect("what was not packed is said", seen[0] == 0 and any("no data/cora" in text for text in seen[1]["skipped"]), seen)


def ended(pid):
    """Whether a process that was killed is gone: a busy machine may take a while to come to it."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            if pathlib.Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


def out_of_time(tree):
    tree.driver()
    tree.put("build/gpu/results/kernels/device-test.log", '<TestCase name="old"><OverallResultsAsserts test_case_success="true"/>')
    for minutes in (0.1, 0.6, 3):  # a busy machine may not come to the test in six seconds
        begin = time.monotonic()
        seen = tree.check("kernels", "--minutes", str(minutes), FAKE_TEST="hangs")
        if tree.lines("child"):
            break
    code, report = seen
    cases = report.get("tests", {}).get("gpu_device_test", {})
    expect("out of time", code == 3 and not report["ok"] and report["unfinished"] and time.monotonic() - begin < 250, seen)
    expect("what passed, what did not end, and nothing old",
           [row["result"] for row in cases.values()] == ["passed", "unfinished"] and "old" not in cases, seen)
    child = (tree.lines("child") or ["never began"])[0]
    expect("nothing goes on", ended(child), child)


def told_to_end(tree):
    tree.driver()
    environment = {**os.environ, "PATH": f"{tree.root}/bin:{os.environ['PATH']}", "CUDA_HOME": f"{tree.root}/cuda",
                   "LD_LIBRARY_PATH": f"{tree.root}/driver", "FAKE_GPU": "1", "FAKE_TEST": "hangs"}
    environment.pop("CUDACXX", None)
    check = subprocess.Popen([sys.executable, "scripts/gpu_check", "kernels", "--torch", "torch"], cwd=tree.root, env=environment,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    until = time.monotonic() + 240
    while not tree.lines("child") and time.monotonic() < until:
        time.sleep(0.05)
    check.terminate()
    said = check.communicate()[0].splitlines()
    expect("told to end: says so", check.returncode == 1 and "KeyboardInterrupt" in json.loads(said[-1])["failures"][0], said)
    child = (tree.lines("child") or ["never began"])[0]
    expect("and leaves nothing behind", ended(child), child)


def links_in_the_pack(root):
    loader = importlib.machinery.SourceFileLoader("gpu_pack", str(SCRIPTS / "gpu_pack"))
    gpu_pack = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_pack", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(gpu_pack)
    here = pathlib.Path(root, "here")
    (here / "lib").mkdir(parents=True)
    (here / "usr/lib").mkdir(parents=True)
    (here / "lib/libz.so.1.2").write_text("z")
    (here / "lib/libz.so.1").symlink_to("libz.so.1.2")
    (here / "usr/lib/libz.so").symlink_to(here / "lib/libz.so.1")  # as Debian's, to a folder that the pack has not
    prefix = gpu_pack.Prefix(f"{root}/prefix")
    place_of = prefix.place_of
    prefix.place_of = lambda path: place_of(path.removeprefix(str(here)))
    prefix.put(str(here / "usr/lib/libz.so"))
    packed = pathlib.Path(root, "prefix/usr/lib/libz.so")
    expect("a link to /lib is one within /usr/lib", os.readlink(packed) == "libz.so.1" and packed.read_text() == "z" and
           not prefix.dangling(), list(pathlib.Path(root, "prefix").rglob("*")))
    (packed.parent / "libz.so.1.2").unlink()
    expect("one that leads nowhere is found", len(prefix.dangling()) == 2, prefix.dangling())
    (packed.parent / "libz.so.1.2").symlink_to("/etc/passwd")
    expect("and one that leads out of the pack", len(prefix.dangling()) == 3, prefix.dangling())
    listed = gpu_pack.packages
    os.chdir(SCRIPTS.parent)
    expect("setup and gpu_pack read one list", {"zlib1g-dev", "libzip-dev", "libyaml-cpp-dev"} <= set(listed("link")) and
           "libzip-dev" not in (SCRIPTS / "setup").read_text(), listed("link"))


for part in (without_a_gpu, configured_once, with_a_gpu, learned_rows, models_of_events, out_of_time, told_to_end):
    with tempfile.TemporaryDirectory() as folder:
        part(Tree(folder))
with tempfile.TemporaryDirectory() as folder:
    links_in_the_pack(folder)
print("\n".join(failures) or "gpu scripts: sound")
sys.exit(1 if failures else 0)
