"""The wheel as a new user has it: in a fresh environment with NumPy alone, without a network, away from the checkout."""

import glob
import os
import re
import shutil
import subprocess
import sys
import unittest
import zipfile

from support import SOURCE, Case, cora, sluice

CODE = """
import json, os, sys
import sluice
assert "torch" not in sys.modules
assert sluice.__file__.startswith(sys.prefix), sluice.__file__
assert sluice.prep.tool().startswith(sys.prefix), sluice.prep.tool()
loader = sluice.Loader(sys.argv[1], fanout=[5, 3], batch_size=64, hash=True, data_threads=int(sys.argv[2]))
for epoch in range(2):
    for batch in loader.epoch(epoch):
        assert batch.x.shape == (len(batch.ids), 1433)
print(loader.batches_xxh3)
said = sluice.prep.generate("sbm", nodes=100, edges=500, features=4, out=sys.argv[3], progress=False)
assert said["nodes"] == 100
"""


class Wheel(Case):
    def test_a_fresh_environment(self):
        data = cora()
        wheels = glob.glob(os.path.join(SOURCE, "dist", "sluice-*.whl"))
        if not wheels:
            self.skipTest("no wheel in dist/: scripts/wheel writes it")
        numpy = [path for path in map(lambda p: os.path.join(p, "numpy"), sys.path) if os.path.isdir(path)]
        home = self.path("venv")
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        python = os.path.join(home, "bin", "python")
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]
        subprocess.run([*pip, wheels[0]], check=True)
        (packages,) = glob.glob(os.path.join(home, "lib", "python3.*", "site-packages"))
        for name in ("numpy", "numpy.libs"):
            source = os.path.join(os.path.dirname(numpy[0]), name)
            if os.path.isdir(source):
                shutil.copytree(source, os.path.join(packages, name), symlinks=True)
        environment = {"PATH": "/usr/bin:/bin", "HOME": self.folder}  # nothing of this machine's set-up
        loader = sluice.Loader(data, fanout=[5, 3], batch_size=64, hash=True)
        for _ in loader.epoch(1):
            pass
        for threads in ("1", "2", "4"):
            command = [python, "-c", CODE, data, threads, self.path(f"made{threads}")]
            done = subprocess.run(command, env=environment, cwd=self.folder, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.strip(), loader.batches_xxh3)
        prep = os.path.join(home, "bin", "sluice-prep")  # as the pages call it
        done = subprocess.run([prep, "inspect", self.path("made1")], env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("100 nodes", done.stdout)
        self.assertEqual(subprocess.run([prep, "nonsense"], env=environment, capture_output=True, check=False).returncode, 2)

    def test_what_is_inside(self):
        wheels = glob.glob(os.path.join(SOURCE, "dist", "sluice-*.whl"))
        if not wheels:
            self.skipTest("no wheel in dist/: scripts/wheel writes it")
        self.assertEqual(len(wheels), 1)
        self.assertRegex(wheels[0], r"-manylinux_2_\d+_\w+\.whl$")
        with zipfile.ZipFile(wheels[0]) as archive:
            names = archive.namelist()
            self.assertFalse([name for name in names if "torch" in name])
            self.assertIn("sluice/bin/sluice-prep", names)
            self.assertTrue([name for name in names if name.startswith("sluice/lib/libarrow.so")])
            metadata = next(name for name in names if name.endswith("/METADATA"))
            text = archive.read(metadata).decode()
            needed = [line for line in text.splitlines() if line.startswith("Requires-Dist") and "extra" not in line]
            self.assertEqual(needed, ["Requires-Dist: numpy>=1.22"])

    def test_the_licences_of_all_that_is_inside(self):
        wheels = glob.glob(os.path.join(SOURCE, "dist", "sluice-*.whl"))
        if not wheels:
            self.skipTest("no wheel in dist/: scripts/wheel writes it")
        with zipfile.ZipFile(wheels[0]) as archive:
            names = archive.namelist()
            (listed,) = [name for name in names if name.endswith(".dist-info/licenses/BUNDLED")]
            folder = listed[: -len("BUNDLED")]
            of = dict(line.split(": ") for line in archive.read(listed).decode().splitlines())
            libraries = [os.path.basename(name) for name in names if name.startswith("sluice/lib/")]
            self.assertTrue(libraries)
            for library in [*libraries, "nanobind (compiled in)", "toml++/toml.h (compiled in)"]:
                texts = [name for name in names if name.startswith(f"{folder}{of[library]}/")]
                self.assertTrue(texts, library)
                self.assertTrue(all(len(archive.read(name)) > 200 for name in texts), library)
            self.assertIn("Apache License", archive.read(f"{folder}LICENSE").decode())
            self.assertIn("Apache License", archive.read(f"{folder}pyarrow/LICENSE.txt").decode())
            # Each text that a package's refers to is there too.
            for name in names:
                if name.startswith(folder) and name.endswith("/copyright"):
                    for common in re.findall(r"common-licenses/([A-Za-z0-9.+-]*[A-Za-z0-9])", archive.read(name).decode("utf-8", "replace")):
                        self.assertIn(f"{folder}common-licenses/{common}", names)
            metadata = archive.read(f"{folder[:-len('licenses/')]}METADATA").decode()
            said = re.findall(r"^License-File: (.*)$", metadata, re.MULTILINE)
            self.assertEqual(sorted(folder + name for name in said), sorted(name for name in names if name.startswith(folder)))


if __name__ == "__main__":
    unittest.main()
