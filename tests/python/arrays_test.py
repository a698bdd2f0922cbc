"""Arrays are views of the engine's memory: no copies, alive as long as anybody holds them."""

import gc
import unittest

import numpy as np

from support import Case, cora, sluice


def pointer(array):
    return array.__array_interface__["data"][0]


class Views(Case):
    def test_no_copies(self):
        batch = next(iter(sluice.Loader(cora(), fanout=[5, 5])))
        for name in ("x", "ids", "labels", "seeds"):
            array = getattr(batch, name)
            self.assertEqual(pointer(array), pointer(getattr(batch, name)), name)
            self.assertEqual(pointer(np.from_dlpack(array)), pointer(array), name)
            self.assertEqual(pointer(np.asarray(array)), pointer(array), name)
            self.assertFalse(array.flags.owndata, name)
            self.assertEqual(pointer(array) % 64, 0, name)
        block = batch.block(0)
        self.assertEqual(pointer(np.from_dlpack(block.neighbours)), pointer(block.neighbours))
        self.assertEqual((batch.x.dtype, batch.ids.dtype, block.neighbours.dtype), (np.float32, np.int64, np.int32))

    def test_pytorch_takes_them_without_copies(self):
        try:
            import torch
        except (ImportError, OSError):
            self.skipTest("PyTorch is not installed here")
        batch = next(iter(sluice.Loader(cora(), fanout=[5, 5])))
        for array in (batch.x, batch.ids, batch.labels):
            self.assertEqual(torch.from_dlpack(array).data_ptr(), pointer(array))

    def test_arrays_outlive_the_loader(self):
        loader = sluice.Loader(cora(), fanout=[5, 5], batch_size=20, features="disk", memory="64MiB")
        kept = [(batch.ids, batch.x, batch.block(0).neighbours) for batch in loader]
        copies = [[array.copy() for array in arrays] for arrays in kept]
        loader.close()
        del loader
        gc.collect()
        features = sluice.Dataset(cora()).features()
        for arrays, before in zip(kept, copies):
            for array, copy in zip(arrays, before):
                self.assertTrue(np.array_equal(array, copy))
            self.assertTrue(np.array_equal(arrays[1], features[arrays[0]]))

    def test_what_was_not_asked_for_is_none(self):
        batch = next(iter(sluice.Loader(cora(), fanout=[5], batch_size=4)))
        block = batch.block(0)
        self.assertIsNone(block.edge_ids)
        self.assertIsNone(block.transposed_offsets)
        self.assertIsNone(batch.nodes().degrees)
        self.assertIsNone(batch.queries.negatives)
        asked = next(iter(sluice.Loader(cora(), fanout=[5], batch_size=4, edge_ids=True, degrees=True, transpose=True)))
        self.assertEqual(asked.block(0).edge_ids.shape, asked.block(0).neighbours.shape)
        self.assertEqual(asked.block(0).transposed_offsets.shape, (asked.block(0).num_sources + 1,))
        self.assertEqual(asked.nodes().degrees.shape, asked.ids.shape)

    def test_memory_is_given_back(self):
        loader = sluice.Loader(cora(), fanout=[5, 5], batch_size=20, features="memory")
        batches = list(loader)
        held = loader._core.memory_used()
        del batches
        gc.collect()
        self.assertLess(loader._core.memory_used(), held)


if __name__ == "__main__":
    unittest.main()
