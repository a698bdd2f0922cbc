// A relation without some of its edges: the same in memory and on disk, and as plain lists say.
#include "storage/topology/filtered_topology.h"
#include "support/sample_dataset.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>
#include <sluice/dataset.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

using Edges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // (source, edge id)

// All in-edges by target, asked for in one go.
std::vector<Edges> lists_of(Topology& topology) {
  std::vector<Edges> lists(topology.num_targets());
  for (std::uint64_t target = 0; target < lists.size(); ++target) {
    EdgeRange range;
    topology.ranges({&target, 1}, {&range, 1}).or_throw();
    std::vector<std::uint64_t> positions(range.degree()), sources(range.degree()),
        ids(range.degree());
    std::iota(positions.begin(), positions.end(), range.begin);
    topology.neighbours(positions, sources).or_throw();
    topology.edge_ids(positions, ids).or_throw();
    for (std::size_t i = 0; i < sources.size(); ++i) lists[target].push_back({sources[i], ids[i]});
  }
  return lists;
}

Array positions_of(const std::vector<std::uint64_t>& positions) {
  Array made = Array::make(DType::kU64, {static_cast<std::int64_t>(positions.size())}).or_throw();
  std::ranges::copy(positions, made.as<std::uint64_t>().begin());
  return made;
}

std::shared_ptr<Topology> open(const Dataset& dataset, Placement where) {
  return dataset.topology(dataset.schema().relations[0].key(),
                          {.placement = where, .staging_bytes = 1 << 20, .cache_bytes = 1 << 16});
}

}  // namespace

TEST_CASE(
    "edges that are taken out are gone, in memory and on disk, and the others keep their ids") {
  for (const bool edge_ids : {true, false}) {
    CAPTURE(edge_ids);
    const TempDir dir;
    SampleOptions sample;
    sample.nodes = 300;
    sample.edges = 4000;
    sample.edge_ids = edge_ids;
    write_sample(dir / "x", sample);
    const Dataset dataset = Dataset::open((dir / "x").string());
    const std::vector<Edges> all = lists_of(*open(dataset, Placement::kMemory));
    const std::vector<std::vector<std::uint64_t>> cases{
        {}, {0}, {3999}, {0, 1, 2, 3, 4, 5}, {17, 18, 2000, 3998, 3999}};
    std::vector<std::uint64_t> many;
    for (std::uint64_t p = 0; p < sample.edges; ++p)
      if (RandomKey(5).below(3, p) == 0) many.push_back(p);
    for (std::size_t i = 0; i <= cases.size(); ++i) {
      const std::vector<std::uint64_t>& removed = i < cases.size() ? cases[i] : many;
      CAPTURE(removed.size());
      std::vector<Edges> wanted(all.size());
      std::uint64_t position = 0;
      for (std::size_t target = 0; target < all.size(); ++target) {
        for (const auto& edge : all[target])
          if (!std::ranges::binary_search(removed, position++)) wanted[target].push_back(edge);
      }
      for (const Placement where : {Placement::kMemory, Placement::kDisk}) {
        const auto rest = without_edges(open(dataset, where), positions_of(removed), nullptr);
        CHECK(rest->num_edges() == sample.edges - removed.size());
        CHECK((rest->resident() != nullptr) == (where == Placement::kMemory));
        CHECK(lists_of(*rest) == wanted);
        if (const CscView* const view = rest->resident())
          CHECK(view->offsets.back() == rest->num_edges());
      }
    }
  }
}
