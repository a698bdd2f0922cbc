"""The licences of what a wheel holds, for scripts/wheel: ours, and those of each library that is packed or compiled in.

A library of a wheel of .deps brings its own texts; one of Debian's has /usr/share/doc/PACKAGE/copyright, with the texts of
common-licenses that it names. A library whose licence is not found is an error: it would be passed on without.
"""

import glob
import os
import re
import shutil
import subprocess

COMMON = re.compile(r"/usr/share/common-licenses/([A-Za-z0-9.+-]*[A-Za-z0-9])")
# Headers that the engine and sluice-prep are compiled with.
HEADERS = ("/usr/include/toml++/toml.h", "/usr/include/CLI/CLI.hpp", "/usr/include/nlohmann/json.hpp")


class Missing(Exception):
    """A licence that is not there."""


def package_of(path):
    """The Debian package of a file, which dpkg may know by either of two paths."""
    real = os.path.realpath(path)
    for name in (real, real.removeprefix("/usr"), path):
        done = subprocess.run(["dpkg", "-S", name], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.split(":")[0]
    raise Missing(f"{path} is of no Debian package and of no wheel in .deps")


def copy(texts, folder):
    os.makedirs(folder, exist_ok=True)
    for text in texts:
        shutil.copyfile(text, os.path.join(folder, os.path.basename(text)))


def of_wheel(path):
    """Name and texts of the wheel of .deps that a file is of; None where it is of none."""
    inside = re.search(r"^(.*/\.deps/venv/lib/python[\d.]+/site-packages)/(\w+)", os.path.abspath(path))
    if not inside:
        return None
    texts = glob.glob(f"{inside[1]}/{inside[2]}-*.dist-info/licenses/*")
    if not texts:
        raise Missing(f"the wheel of {path} has no licenses/")
    return inside[2], texts


def of_debian(path, folder):
    name = package_of(path)
    text = f"/usr/share/doc/{name}/copyright"
    if not os.path.isfile(text):
        raise Missing(f"{name} has no {text}")
    copy([text], f"{folder}/{name}")
    with open(text, encoding="utf-8", errors="replace") as file:
        named = set(COMMON.findall(file.read()))
    copy([f"/usr/share/common-licenses/{each}" for each in named], f"{folder}/common-licenses")
    return name


def of_nanobind(folder):
    """It is compiled in, with a hash map whose headers begin with their licence."""
    (package,) = glob.glob(".deps/venv/lib/python*/site-packages/nanobind")
    copy(of_wheel(f"{package}/__init__.py")[1], f"{folder}/nanobind")
    headers = glob.glob(f"{package}/**/robin_map.h", recursive=True)
    with open(headers[0], encoding="utf-8") as file:
        text = file.read()
    os.makedirs(f"{folder}/robin-map", exist_ok=True)
    with open(f"{folder}/robin-map/LICENSE", "w", encoding="utf-8") as file:
        file.write(text[: text.index("*/") + 2] + "\n")


def gather(folder, libraries):
    """Fills the folder: LICENSE, a folder for each package, and BUNDLED, a line each library with its package.

    libraries: by their names in the wheel, where they were copied from.
    """
    copy(["LICENSE"], folder)
    lines = []
    for name, path in sorted(libraries.items()):
        found = of_wheel(path)
        if found:
            copy(found[1], f"{folder}/{found[0]}")
        lines.append(f"{name}: {found[0] if found else of_debian(path, folder)}")
    for header in HEADERS:
        lines.append(f"{os.path.relpath(header, '/usr/include')} (compiled in): {of_debian(header, folder)}")
    of_nanobind(folder)
    lines += ["nanobind (compiled in): nanobind", "tsl/robin_map.h (compiled in): robin-map"]
    with open(f"{folder}/BUNDLED", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
