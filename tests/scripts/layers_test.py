#!/usr/bin/env python3
"""scripts/layers finds each kind of breach, and names its line; run by ctest."""

import pathlib
import subprocess
import sys
import tempfile

LAYERS = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "layers"

# file, its text, and what the check says of it ("" for nothing)
CASES = [
    ("storage/io/file.cpp", '#include "storage/io/file.h"\n#include <sluice/error.h>\n#include "core/hash.h"\n', ""),
    ("src/core/hash.cpp", '\n#include "storage/io/file.h"\n', "src/core/hash.cpp:2: core may not use storage"),
    ("samplers/uniform.cpp", '#  include <prep/import.h>\n', "samplers/uniform.cpp:1: samplers may not use prep"),
    ("storage/a.cpp", '#include "../src/nn/layer.h"\n', 'storage/a.cpp:1: "../src/nn/layer.h" climbs'),
    ("storage/b.cpp", '#include "layer.h"\n', 'storage/b.cpp:1: "layer.h" is not written from a room'),
    ("include/sluice/array.h", '#include "core/hash.h"\n', "include/sluice/array.h:1: a public header"),
    ("src/models/gcn.cpp", '#include <torch/torch.h>\n#include "nn/optim/adam.h"\n', ""),
    ("src/registry/train.cpp", '#include "models/gcn.h"\n', ""),
    ("src/registry/core.cpp", '#include "models/gcn.h"\n', "src/registry/core.cpp:1: LibTorch stays in"),
    ("kernels/cpu/gather.cpp", "#include <ATen/ATen.h>\n", "kernels/cpu/gather.cpp:1: LibTorch stays in"),
    ("src/pipeline/stage.cpp", "#include <sluice/sluice.h>\n", ""),
    ("src/pipeline/stage.cpp", "#include <sluice/training.h>\n", "src/pipeline/stage.cpp:1: LibTorch stays in"),
    ("src/pipeline/stage.cpp", "#include <sluice/nn/linear.h>\n", "src/pipeline/stage.cpp:1: LibTorch stays in"),
    ("include/sluice/sluice.h", "#include <sluice/task.h>\n", "include/sluice/sluice.h:1: LibTorch stays in"),
    ("include/sluice/nn/a.h", "torch::Tensor a();\n", "include/sluice/nn/a.h:1: a public header that names torch::"),
    ("include/sluice/nn/b.h", "#include <torch/torch.h>\ntorch::Tensor b();\n", ""),
    ("src/prep/csv.cpp", "#include <arrow/api.h>\n", ""),
    ("storage/csv.cpp", "#include <arrow/api.h>\n", "storage/csv.cpp:1: Arrow stays in"),
    ("kernels/cuda/sum.cu", "#include <cuda_runtime.h>\n", ""),
    ("kernels/cpu/sum.cpp", "#include <cuda_runtime.h>\n", "kernels/cpu/sum.cpp:1: CUDA stays in"),
    ("src/train/run.cpp", '#include "device/cuda/cuda_device.h"\n', "src/train/run.cpp:1: CUDA stays in"),
    ("storage/topology/csc.cpp", '#include "storage/io/file.h"\n#include "storage/topology/csc.h"\n', ""),
    ("storage/dataset.cpp", '#include "storage/topology/csc.h"\n', ""),
    ("storage/io/a.cpp", '\n#include "storage/format/b.h"\n',
     "storage/io/a.cpp:2: storage/io may not use storage/format"),
    ("storage/feature/a.h", '#include "storage/dataset_parts.h"\n',
     "storage/feature/a.h:1: storage/feature may not use the files directly in storage"),
    ("storage/shelf/a.h", '#include "storage/io/file.h"\n',
     "storage/shelf/a.h:1: storage/shelf has no row in SUB_ROOMS"),
    ("storage/io/b.h", '#include <storage/shelf/a.h>\n', "storage/io/b.h:1: storage/shelf has no row in SUB_ROOMS"),
    ("samplers/walker.h", '#include "samplers/snapshot/hot_set.h"\n',
     "samplers/walker.h:1: the files directly in samplers may not use samplers/snapshot"),
    ("src/prep/table/csv.cpp", '#include "prep/table/text/cells.h"\n', ""),
    ("src/prep/table/npy.cpp", '#include "prep/import/graph_spec.h"\n',
     "src/prep/table/npy.cpp:1: prep/table may not use prep/import"),
    ("src/prep/convert/plan.cpp", '#include "prep/edge_stream.h"\n#include "prep/csc_builder.h"\n',
     "src/prep/convert/plan.cpp:2: prep/convert may not use prep/csc_builder"),
    ("src/prep/edge_stream.h", '#include "prep/convert/converter.h"\n',
     'src/prep/edge_stream.h:1: prep/edge_stream may not use prep/convert ("prep/convert/converter.h"); '
     "it may use nothing else"),
    ("src/prep/stray.h", '#include "prep/edge_stream.h"\n', "src/prep/stray.h:1: prep/stray has no row"),
    ("src/core/loop.cpp", "#pragma omp parallel for\n", "src/core/loop.cpp:1: OpenMP"),
    ("src/CMakeLists.txt", "# never -ffast-math\nadd_compile_options(-ffast-math)\n", "src/CMakeLists.txt:2: OpenMP"),
    ("tests/core/lost_test.cpp", "", "tests/core/lost_test.cpp:1: no CMakeLists.txt names this source"),
    ("src/core/full.cpp", "\n" * 500, ""),
    ("src/core/long.cpp", "\n" * 501, "src/core/long.cpp:501: 501 lines"),
]

failures = 0
for name, text, expected in CASES:
    with tempfile.TemporaryDirectory() as root:
        path = pathlib.Path(root, name)
        path.parent.mkdir(parents=True)
        path.write_text(text)
        run = subprocess.run([sys.executable, LAYERS, root], capture_output=True, text=True, check=False)
        if run.returncode != (1 if expected else 0) or not run.stdout.startswith(expected):
            failures += 1
            print(f"{name}: expected {expected or 'no breach'!r}, got {run.returncode}: {run.stdout}{run.stderr}")
print(f"{len(CASES)} cases, {failures} failures")
sys.exit(failures > 0)
