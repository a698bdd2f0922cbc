// Rows, labels and graphs for tests of probes, drawn by keys; small datasets with ids of texts.
#pragma once

#include "probe/plain_graph.h"
#include "probe/probe.h"  // IWYU pragma: export
#include "storage/format/dataset_writer.h"
#include "support/graph_dataset.h"

#include <torch/torch.h>

#include <cmath>
#include <numbers>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

using Pairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

/// f32 [n, d], normal (Box and Muller 1958).
inline torch::Tensor normal_rows(std::int64_t n, std::int64_t d, RandomKey key) {
  torch::Tensor rows = torch::empty({n, d}, torch::kFloat32);
  float* const out = rows.data_ptr<float>();
  for (std::int64_t i = 0; i < n * d; ++i) {
    const auto draw = static_cast<std::uint64_t>(2 * i);
    const double radius = std::sqrt(-2 * std::log(1 - key.uniform(draw)));
    out[i] = static_cast<float>(radius * std::cos(2 * std::numbers::pi * key.uniform(draw + 1)));
  }
  return rows;
}

/// i64 [n], below `classes`.
inline torch::Tensor drawn_labels(std::int64_t n, std::uint64_t classes, RandomKey key) {
  torch::Tensor labels = torch::empty({n}, torch::kInt64);
  for (std::int64_t i = 0; i < n; ++i)
    labels.data_ptr<std::int64_t>()[i] =
        static_cast<std::int64_t>(key.below(classes, static_cast<std::uint64_t>(i)));
  return labels;
}

inline probe::PlainGraph graph_of(std::uint64_t nodes,
                                  const Pairs& edges,
                                  MemoryLedger* ledger = nullptr) {
  return {nodes,
          [&edges](const probe::PlainGraph::Visitor& visit) {
            for (const auto& [a, b] : edges) visit(a, b);
          },
          ledger};
}

inline Pairs drawn_pairs(std::uint64_t nodes, std::uint64_t count, RandomKey key) {
  Pairs pairs;
  for (std::uint64_t i = 0; i < count; ++i)
    pairs.emplace_back(key.below(nodes, 2 * i), key.below(nodes, 2 * i + 1));
  return pairs;
}

inline torch::Tensor tensor_of_pairs(const Pairs& pairs) {
  torch::Tensor made = torch::empty({std::ssize(pairs), 2}, torch::kInt64);
  for (std::int64_t i = 0; i < std::ssize(pairs); ++i) {
    made.data_ptr<std::int64_t>()[2 * i] =
        static_cast<std::int64_t>(pairs[static_cast<std::size_t>(i)].first);
    made.data_ptr<std::int64_t>()[2 * i + 1] =
        static_cast<std::int64_t>(pairs[static_cast<std::size_t>(i)].second);
  }
  return made;
}

/// Nodes "n" under ids of texts, with edges "n__r__n" and a split "links" of rows.
struct NamedGraph {
  std::vector<std::string> names;
  Pairs edges;
  std::vector<EdgeSplit::Row> valid, test;  // no split where both are empty

  void write(const std::filesystem::path& target) const {
    DatasetWriter writer(target, Overwrite::kReplace, nullptr);
    writer.schema().nodes.push_back({.name = "n", .count = names.size(), .ids = IdKind::kString});
    std::string bytes;
    std::vector<std::uint64_t> ends{0};
    for (const std::string& name : names) {
      bytes += name;
      ends.push_back(bytes.size());
    }
    writer.write(node_path("n", "ids.bin"), std::span<const char>(bytes));
    writer.write(node_path("n", "ids.offsets.bin"), std::span<const std::uint64_t>(ends));
    CscArrays csc;
    csc.offsets.push_back(0);
    for (std::uint64_t target_node = 0; target_node < names.size(); ++target_node) {
      for (const auto& [a, b] : edges)
        if (b == target_node) csc.neighbours.push_back(a);
      csc.offsets.push_back(csc.neighbours.size());
    }
    add_csc(writer, {.source = "n", .name = "r", .target = "n"}, csc);
    if (!valid.empty() || !test.empty()) {
      writer.write(split_path("links", "train"), std::span<const EdgeSplit::Row>());
      writer.write(split_path("links", "valid"), std::span<const EdgeSplit::Row>(valid));
      writer.write(split_path("links", "test"), std::span<const EdgeSplit::Row>(test));
      writer.schema().edge_splits.push_back({"links", {}, 0, valid.size(), test.size()});
    }
    writer.commit("test");
  }
};

}  // namespace sluice::test
