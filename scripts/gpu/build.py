"""Unpacks what scripts/gpu_pack packed, configures and builds, in a folder that is kept from call to call."""

import glob
import hashlib
import json
import os
import re
import shutil
import tarfile

PACK = ".gpu/prefix.tar.xz"
SOURCES = (".c", ".cc", ".cpp", ".cu", ".h", ".hpp", ".cmake", ".txt", ".in")


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:16]


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def write_json(path, value):
    with open(f"{path}.part", "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
    os.replace(f"{path}.part", path)


class Build:
    def __init__(self, folder, tools, architecture, runner):
        self.folder, self.tools, self.architecture, self.runner = os.path.abspath(folder), tools, architecture, runner
        self.report = runner.report
        self.prefix = None

    def unpack(self):
        """The carried headers and libraries into `prefix`; None where there is no pack: then Debian's are installed."""
        if not os.path.exists(PACK):
            return
        self.prefix = f"{self.folder}/prefix"
        stamp = {"bytes": os.path.getsize(PACK), "sha256": digest(PACK)}  # no time: it may be carried anew at each call
        if read_json(f"{self.prefix}/unpacked.json") != stamp:
            shutil.rmtree(self.prefix, ignore_errors=True)
            os.makedirs(self.folder, exist_ok=True)
            with tarfile.open(PACK) as tar:
                tar.extractall(self.folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
            write_json(f"{self.prefix}/unpacked.json", stamp)
        self.report.fields["pack"] = stamp | (read_json(f"{self.prefix}/pack.json") or {})

    def settle_times(self):
        """A source that is what it was at the last build has the time it had then, also where the tree was copied anew: else
        all would be built again. A hash over the tree goes into the report."""
        record, before = f"{self.folder}/sources.json", read_json(f"{self.folder}/sources.json") or {}
        now = {}
        for at, folders, names in os.walk("."):
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in ("build", "shared"))
            for path in (os.path.join(at, name) for name in sorted(names) if name.endswith(SOURCES)):
                content, time = digest(path), os.stat(path).st_mtime_ns
                if path in before and before[path][0] == content and before[path][1] != time:
                    time = before[path][1]
                    os.utime(path, ns=(time, time))
                now[path] = [content, time]
        write_json(record, now)
        tree = json.dumps([[path, content] for path, (content, _) in now.items()])
        self.report.fields["tree"] = hashlib.sha256(tree.encode()).hexdigest()[:16]

    def arguments(self):
        tools = self.tools
        flags = {"CMAKE_BUILD_TYPE": "Release", "SLUICE_CUDA": "ON", "SLUICE_WERROR": "OFF", "SLUICE_NVCC": tools.nvcc,
                 "CMAKE_CXX_COMPILER": tools.compiler, "CMAKE_CUDA_COMPILER": tools.nvcc,
                 "CMAKE_CUDA_HOST_COMPILER": tools.compiler, "CMAKE_CUDA_ARCHITECTURES": self.architecture,
                 "SLUICE_TORCH_DIR": tools.torch}
        if tools.ninja:
            flags["CMAKE_MAKE_PROGRAM"] = tools.ninja
        return ["-G", "Ninja" if tools.ninja else "Unix Makefiles",
                *(f"-D{name}={value}" for name, value in (flags | self.packed()).items())]

    def packed(self):
        """Where CMake finds what was carried. Nothing of it is in LD_LIBRARY_PATH, where the machine's own tools would load
        it: our programs name the folder themselves, in an RPATH that counts for the libraries of libraries, too."""
        if not self.prefix:
            return {}
        usr = f"{self.prefix}/usr"
        libraries = next(iter(glob.glob(f"{usr}/lib/*-linux-gnu")), f"{usr}/lib")
        includes = [f"{usr}/include", f"{usr}/include/{os.path.basename(libraries)}"]
        flags = {"SLUICE_ARROW_DIR": f"{self.prefix}/arrow", "CMAKE_PREFIX_PATH": usr, "CMAKE_LIBRARY_PATH": libraries,
                 "CMAKE_INCLUDE_PATH": includes[0],
                 "CMAKE_CXX_FLAGS": " ".join(f"-isystem {folder}" for folder in includes if os.path.isdir(folder)),
                 "CMAKE_EXE_LINKER_FLAGS": f"-Wl,-rpath,{libraries} -Wl,--disable-new-dtags",
                 "CMAKE_SHARED_LINKER_FLAGS": f"-Wl,-rpath-link,{libraries}"}
        for path in glob.glob(f"{usr}/**/cmake/*/*onfig.cmake", recursive=True):
            name = re.fullmatch(r"(\w+)(-config|Config)\.cmake", os.path.basename(path))
            if name:
                flags[f"{name[1]}_DIR"] = os.path.dirname(path)
        return flags

    def configure(self):
        """Once, and anew when what it is told changes. Whether there is a build to go on with."""
        missing = self.tools.missing()
        for what in missing:
            self.report.fail(f"not found: {what}")
        if missing:
            return False
        self.unpack()
        self.settle_times()
        arguments, record = self.arguments(), f"{self.folder}/configured.json"
        if read_json(record) == [arguments, self.report.fields.get("pack")]:
            return True
        if os.path.exists(record):
            os.remove(record)
        for cached in ("CMakeCache.txt", "CMakeFiles"):  # what was found for other arguments
            path = f"{self.folder}/{cached}"
            shutil.rmtree(path, ignore_errors=True) if os.path.isdir(path) else os.path.exists(path) and os.remove(path)
        outcome = self.runner.run("configure", [self.tools.cmake, "-S", ".", "-B", self.folder, *arguments], 240)
        if outcome.code != 0:
            (self.report.unfinished if outcome.late else self.report.fail)("configure")
            return False
        write_json(record, [arguments, self.report.fields.get("pack")])
        return True

    def make(self, targets):
        """Whether all of them are built. Out of time, what was compiled is kept: the same call goes on there."""
        command = [self.tools.cmake, "--build", self.folder, "--parallel", str(self.report.fields["machine"]["jobs"]),
                   "--target", *targets]
        outcome = self.runner.run("build", command, self.runner.left())
        warnings = re.findall(r"(?:warning: .*\[(-W[^\]=]+)|warning (#\d+-D):)", outcome.output)
        counted = {}
        for name in (plain or of_nvcc for plain, of_nvcc in warnings):
            counted[name] = counted.get(name, 0) + 1
        self.report.fields["build"] = {"targets": targets, "ok": outcome.code == 0, "warnings": counted}
        if outcome.late:
            self.report.unfinished("build: the same command goes on where this one stopped")
        elif outcome.code != 0:
            self.report.fail("build")
        return outcome.code == 0

    def program(self, name):
        return f"{self.folder}/{name}"

    def environment(self):
        """What CTest sets for the tests, and where data is."""
        named = {"SLUICE_BIN": self.folder, "SLUICE_SOURCE": os.getcwd(), "GOMP_SPINCOUNT": "0"}
        if self.data():
            named["SLUICE_DATA"] = self.data()
        return named

    def data(self):
        """The folder of what was packed to be trained on; None: there is none."""
        folder = f"{self.prefix}/data"
        return folder if self.prefix is not None and os.path.isdir(folder) else None

    def has_data(self, name):
        return self.data() is not None and os.path.isdir(f"{self.data()}/{name}")
