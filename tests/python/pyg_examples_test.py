"""The examples of sluice.pyg are as accurate as plain PyG over the whole graph (pyg_twins.py), over seeds; skipped, with a line,
where PyTorch or PyG is not installed.

The deviations are between means of two seeds. One seed differs from the next by up to 0.02.
"""

import os
import sys
import unittest

from support import DATA, SOURCE, Case, cora, cora_files, sluice

sys.path[:0] = [os.path.join(SOURCE, "examples", "python"), os.path.dirname(os.path.abspath(__file__))]
try:
    import pyg_twins
except (ImportError, OSError) as problem:
    MISSING = str(problem)
else:
    MISSING = ""

SEEDS = (0, 1)


@unittest.skipIf(MISSING, f"PyTorch or PyG is not installed here: {MISSING}")
class Examples(Case):
    def compare(self, example, twin, data, files, *, steps, least, deviation):
        ours = [example.train(data, seed=seed) for seed in SEEDS]
        theirs = [twin(files, seed, steps) for seed in SEEDS]
        print(f"{example.__name__}: {ours} from disk, {theirs} by PyG in memory")
        self.assertGreater(min(ours), least)
        self.assertLess(abs(sum(ours) - sum(theirs)) / len(SEEDS), deviation)

    def test_sage_on_cora(self):
        self.compare(pyg_twins.pyg_sage_cora, pyg_twins.sage_cora, cora(), cora_files(), steps=80, least=0.78, deviation=0.03)

    def test_links_on_cora(self):
        self.compare(pyg_twins.pyg_links_cora, pyg_twins.links_cora, cora(), cora_files(), steps=54, least=0.85, deviation=0.04)

    def test_hetero_on_acm(self):
        files = os.path.join(DATA, "acm")
        if not os.path.isdir(files):
            self.skipTest(f"no ACM in {files}")
        data = self.path("acm")
        sluice.prep.import_(config=os.path.join(SOURCE, "configs", "acm-graph.toml"), root=files, out=data, progress=False)
        self.compare(pyg_twins.pyg_hetero_acm, pyg_twins.hetero_acm, data, files, steps=40, least=0.84, deviation=0.03)


if __name__ == "__main__":
    unittest.main()
