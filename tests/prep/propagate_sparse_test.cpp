// sluice-prep propagate over a table whose rows are stored sparse: the same bytes as over the same
// table stored dense, in one panel and in several.
#include "prep/propagate/propagate.h"
#include "propagate_support.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

using namespace sluice;
using namespace sluice::test;

namespace {

SampleOptions dense_sample() {
  SampleOptions sample;
  sample.nodes = 300;
  sample.edges = 1800;
  sample.dim = 310;
  sample.sparse_step = 19;
  return sample;
}

}  // namespace

TEST_CASE("propagation over sparse rows has the bytes of that over dense ones") {
  const TempDir dir;
  SampleOptions sample = dense_sample();
  write_sample(dir / "dense", sample);
  sample.sparse_rows = true;
  write_sample(dir / "sparse", sample);
  const auto size_of_features = [&](const char* dataset) {
    return std::filesystem::file_size(dir / dataset / "nodes/node/features.bin");
  };
  REQUIRE(size_of_features("sparse") < size_of_features("dense"));
  PropagationOptions options;
  options.method = PropagationMethod::kSign;
  options.hops = 2;
  options.name = "p";
  options.node_type = "node";
  options.dtype = DType::kF32;
  for (const char* const dataset : {"dense", "sparse"}) {
    PropagationSession session;
    options.panel = dataset == std::string("sparse") ? 100 : 0;
    CHECK(session.run(dir / dataset, options).tables.size() == 2);
    CHECK(session.ledger.used() == 0);
  }
  for (const char* const table : {"p-1.bin", "p-2.bin"}) {
    const std::string expected = read_all(dir / "dense/nodes/node" / table);
    CHECK(expected.find_first_not_of('\0') != std::string::npos);
    CHECK(read_all(dir / "sparse/nodes/node" / table) == expected);
  }
}
