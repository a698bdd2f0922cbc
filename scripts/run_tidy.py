"""Runs clang-tidy over files side by side, remembers which were clean, and prints what was found. scripts/check's own.

usage: run_tidy.py [--locks] [--seconds N] [--jobs N] [--fix-includes] BUILD < FILES

BUILD holds compile_commands.json. FILES are paths from the repository's root, one a line; a header is looked at by
itself, compiled as a source that includes it is. Ends with 1 where something was found.
"""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time

TIDY, CLANG = "clang-tidy-19", "clang++-19"
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"][^>"]+[>"])', re.MULTILINE)
# Only sources see what a header's check would take as long for; what is left is about the header's own text.
HEADER_CHECKS = "-*,clang-diagnostic-*,misc-include-cleaner,misc-definitions-in-headers,misc-header-include-cycle"
# What a lighter header than the suggested one is sure to have: the standard's own synopsis of it names that.
COMES_WITH = {"std::less": {"<map>", "<set>"}}
# clang-tidy wants at least one check that is its own.
LOCK_CHECKS = "-*,clang-diagnostic-*,misc-definitions-in-headers"
TORCH = "<torch/torch.h>"


class Tree:
    """The repository's files: their texts, what they include of each other, and how sources are compiled."""

    def __init__(self, build):
        self.build = build
        self.texts = {}
        self.commands = {}
        self.precompiling, self.precompiled = threading.Lock(), {}  # flags of clang-tidy by those of the compiler
        self.folder = tempfile.TemporaryDirectory()  # of what is precompiled: 130 MB each
        for entry in json.loads(pathlib.Path(build, "compile_commands.json").read_text(encoding="utf-8")):
            path = os.path.relpath(os.path.join(entry["directory"], entry["file"]))
            if not path.startswith(("..", "build/")):
                self.commands.setdefault(path, entry)
        self.includers = {}
        for source in sorted(self.commands):
            for header in self.closure(source):
                self.includers.setdefault(header, source)

    def text(self, path):
        if path not in self.texts:
            self.texts[path] = pathlib.Path(path).read_text(encoding="utf-8") if os.path.isfile(path) else ""
        return self.texts[path]

    @functools.cache
    def includes(self, path):
        return INCLUDE.findall(self.text(path))

    def found(self, include, path):
        """The file of the repository that an include as it is written in `path` names, or None."""
        return self.found_from(include[1:-1], os.path.dirname(path) if include[0] == '"' else "")

    @functools.cache
    def found_from(self, name, folder):
        paths = (os.path.join(place, name) for place in (folder, "", "src", "tests", "include"))
        return next((path for path in paths if os.path.isfile(path)), None)

    def closure(self, path, without=()):
        """The repository's files that `path` includes, but for some includes of its own, and those include."""
        seen, waiting = set(), [path]
        while waiting:
            file = waiting.pop()
            for include in self.includes(file):
                found = None if file == path and include in without else self.found(include, file)
                if found and found not in seen:
                    seen.add(found)
                    waiting.append(found)
        return seen

    def source_for(self, path):
        """The source whose flags `path` is compiled with; None where no target has it, nor what includes it."""
        if path in self.commands:
            return path
        own = os.path.splitext(path)[0] + ".cpp"
        return own if own in self.commands else self.includers.get(path)

    def flags(self, path):
        """What stands behind clang-tidy's `--` for it."""
        entry = self.commands[self.source_for(path)]
        words = shlex.split(entry["command"])
        words = words[next(i for i, word in enumerate(words) if "clang++" in os.path.basename(word)) + 1:]
        flags, skip = [], False
        for word in words:
            if skip or word in ("-o", "-c"):
                skip = word == "-o"
            elif not word.endswith(".cpp"):
                flags.append(word)
        return ["-x", "c++-header" if path.endswith(".h") else "c++", *flags]

    @functools.cache
    def uses_torch(self, path):
        return any(TORCH in self.includes(file) for file in (path, *self.closure(path)))

    def precompiled_torch(self, path):
        """More flags for it: LibTorch's headers, read once for all that are compiled alike, which saves a third."""
        if not self.uses_torch(path):
            return []
        flags = self.flags(path)[2:]
        with self.precompiling:
            key = " ".join(flags)
            if key not in self.precompiled:
                name = os.path.join(self.folder.name, str(len(self.precompiled)))
                pathlib.Path(f"{name}.h").write_text(f"#include {TORCH}\n", encoding="utf-8")
                made = subprocess.run([CLANG, "-x", "c++-header", *flags, f"{name}.h", "-o", f"{name}.pch"],
                                      capture_output=True, check=False)  # what it says, clang-tidy says of the file
                self.precompiled[key] = ["-include-pch", f"{name}.pch"] if made.returncode == 0 else []
            return self.precompiled[key]


class Finding:
    def __init__(self, path, offset, message, check, edits):
        self.path, self.offset, self.message, self.check, self.edits = path, offset, message, check, edits

    def line(self):
        data = pathlib.Path(self.path).read_bytes() if os.path.isfile(self.path) else b""
        return f"{self.path}:{data[:self.offset].count(10) + 1}: {self.message} [{self.check}]"


def scalar(text):
    """A string as LLVM writes it in YAML."""
    text = text.strip()
    if text.startswith('"'):
        return json.loads(text)
    return text[1:-1].replace("''", "'") if text.startswith("'") else text


def parse_fixes(text):
    """The findings in what clang-tidy's --export-fixes wrote."""
    findings = []
    for part in re.split(r"^  - DiagnosticName: ", text, flags=re.MULTILINE)[1:]:
        check = scalar(part.split("\n", 1)[0])
        body = part.split("\n    Notes:", 1)[0]
        message = scalar(re.search(r"^      Message: (.*)$", body, re.MULTILINE).group(1))
        path = scalar(re.search(r"^      FilePath: (.*)$", body, re.MULTILINE).group(1))
        offset = int(re.search(r"^      FileOffset: *(\d+)$", body, re.MULTILINE).group(1))
        edits = [(scalar(file), int(at), int(length), scalar(new)) for file, at, length, new in re.findall(
            r"- FilePath: (.*)\n +Offset: *(\d+)\n +Length: *(\d+)\n +ReplacementText: (.*)", body)]
        findings.append(Finding(os.path.relpath(path) if path else "", offset, message, check, edits))
    return findings


def wanted_includes(tree, path, findings):
    """All findings but includes that need not be: what comes with a header of ours that stays may do so. What is missing
    then comes by chance, through a library's own headers, or with an include that is found unused."""
    data = pathlib.Path(path).read_bytes() if os.path.isfile(path) else b""
    unused = {include for finding in findings if finding.message.endswith(" is not used directly")
              for include in INCLUDE.findall(data[finding.offset:].decode().split("\n")[0])}
    headers = tree.closure(path, unused)
    come = {include for header in headers for include in tree.includes(header)}
    kept = []
    for finding in findings:
        if finding.check == "misc-include-cleaner" and finding.message.startswith("no header providing"):
            # As we write it: clang-tidy does not know that the public headers come in <>.
            finding.edits = [(*where, re.sub('"(sluice/.*)"', r"<\1>", new)) for *where, new in finding.edits]
            header = finding.edits[0][3].removeprefix("#include ").strip() if finding.edits else None
            name = finding.message.removeprefix("no header providing ").removesuffix(" is directly included")
            if header is None or header in come or tree.found(header, path) in headers:
                continue  # of an earlier finding's header, or it comes
            if COMES_WITH.get(name.strip('"'), set()) & {*come, *tree.includes(path)}:
                continue
            finding.message = f"{header} is not included, which has {name}"
        kept.append(finding)
    return kept


def key_of(tree, path, arguments):
    """Changes with whatever a finding could come from."""
    sums = hashlib.sha256(json.dumps([arguments, path, sys.version_info[:2]]).encode())
    lists = [file for file in (".clang-tidy", "tests/.clang-tidy", "examples/.clang-tidy") if os.path.exists(file)]
    for file in [__file__, *lists, path, *sorted(tree.closure(path))]:
        sums.update(pathlib.Path(file).read_bytes())
    return sums.hexdigest()


def check_file(tree, path, locks, clean_folder, version):
    """Its findings, and whether that is remembered from before."""
    checks = LOCK_CHECKS if locks else HEADER_CHECKS if path.endswith(".h") else None  # None: .clang-tidy's
    arguments = [f"--checks={checks}"] if checks else []
    flags = tree.flags(path)
    mark = os.path.join(clean_folder, key_of(tree, path, [version, arguments, flags]))
    if os.path.exists(mark):
        return [], True
    with tempfile.NamedTemporaryFile(suffix=".yaml") as fixes:
        run = subprocess.run([TIDY, "--quiet", *arguments, f"--export-fixes={fixes.name}", path, "--", *flags,
                              *tree.precompiled_torch(path)], capture_output=True, text=True, check=False)
        findings = parse_fixes(pathlib.Path(fixes.name).read_text(encoding="utf-8"))
    if not findings and run.returncode != 0:
        findings = [Finding(path, 0, f"clang-tidy failed: {run.stderr.strip()[-2000:]}", "clang-tidy", [])]
    findings = wanted_includes(tree, path, findings)
    if not findings:
        pathlib.Path(mark).touch()
    return findings, False


def fix_includes(findings):
    """Adds and removes the includes that were found missing or unused. Returns how many files that changed."""
    edits = {}
    for finding in findings:
        if finding.check == "misc-include-cleaner":
            for file, at, length, new in finding.edits:
                edits.setdefault(os.path.relpath(file), set()).add((at, length, new))
    for path, changes in edits.items():
        data = pathlib.Path(path).read_bytes()
        for at, length, new in sorted(changes, reverse=True):
            data = data[:at] + new.encode() + data[at + length:]
        pathlib.Path(path).write_bytes(data)
    return len(edits)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--locks", action="store_true")
    parser.add_argument("--seconds", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--fix-includes", action="store_true")
    options = parser.parse_args()

    tree = Tree(options.build)
    wanted = sys.stdin.read().split("\n")[:-1]
    unknown = [path for path in wanted if tree.source_for(path) is None]
    # Those without LibTorch first, which takes longer.
    paths = sorted((path for path in wanted if path not in unknown), key=lambda path: (tree.uses_torch(path), wanted.index(path)))
    clean_folder = os.path.join(options.build, "clean")
    os.makedirs(clean_folder, exist_ok=True)
    version = subprocess.run([TIDY, "--version"], capture_output=True, text=True, check=True).stdout
    begin = time.monotonic()

    def work(path):
        if options.seconds and time.monotonic() - begin > options.seconds:
            return None
        return check_file(tree, path, options.locks, clean_folder, version)

    shown, found, left_out, known = set(), [], [], 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for path, result in zip(paths, pool.map(work, paths)):
            if result is None:
                left_out.append(path)
                continue
            known += result[1]
            for finding in result[0]:
                line = finding.line()
                if line not in shown:
                    shown.add(line)
                    found.append(finding)
                    print(line, flush=True)
    if unknown:
        print(f"no target of {options.build} has them: {' '.join(unknown)}")
    if left_out:
        print(f"left out after {options.seconds} s: {' '.join(left_out)}")
    print(f"{len(paths) - len(left_out)} files ({known} clean as before), {len(found)} findings, "
          f"{time.monotonic() - begin:.0f} s")
    if options.fix_includes:
        print(f"includes mended in {fix_includes(found)} files")
    return 1 if found else 0


sys.exit(main())
