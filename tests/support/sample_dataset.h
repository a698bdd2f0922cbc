// A small dataset written through the real writer, for tests of everything that reads one.
#pragma once

#include "core/threads.h"
#include "prep/csc_builder.h"
#include "prep/features/feature_encoder.h"
#include "prep/splits.h"
#include "storage/format/dataset_writer.h"

#include <sluice/random.h>

#include <filesystem>
#include <utility>
#include <vector>

namespace sluice::test {

/// Edges from memory.
class VectorEdges final : public EdgeStream {
 public:
  explicit VectorEdges(std::vector<std::pair<std::uint64_t, std::uint64_t>> edges,
                       std::size_t chunk = 1000)
      : edges_(std::move(edges)), chunk_(chunk) {}
  std::optional<EdgeView> next() override {
    held_.resize(0);
    for (; at_ < edges_.size() && held_.size() < chunk_; ++at_) {
      held_.source.push_back(edges_[at_].first);
      held_.target.push_back(edges_[at_].second);
    }
    if (held_.size() == 0) return std::nullopt;
    return held_.view();
  }

 private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> edges_;
  std::size_t chunk_;
  std::size_t at_ = 0;
  EdgeChunk<std::uint64_t> held_;
};

struct SampleOptions {
  std::uint64_t nodes = 1000;
  std::uint64_t edges = 5000;
  std::uint32_t dim = 32;
  std::uint64_t seed = 1;
  bool edge_ids = true;
  DType dtype = DType::kF32;       ///< of the features
  bool times = false;              ///< of nodes, sample_node_time(), and edges
  std::uint32_t text_dim = 0;      ///< of another group of node features, "text"; 0: there is none
  std::uint32_t edge_dim = 0;      ///< of the edges' features; 0: they have none
  std::uint32_t edge_classes = 0;  ///< sample_edge_class(); 0: edges have no labels
  std::uint32_t sparse_step = 0;   ///< of the features, sample_sparse(); 0: sample_feature()
  bool sparse_rows = false;        ///< whether these are stored sparse
};

inline std::int64_t sample_node_time(std::uint64_t node) {
  return static_cast<std::int64_t>(node * 7 % 31);
}

/// The value of a feature: what a reader must give back, as far as the dtype can.
inline float sample_feature(std::uint64_t node, std::uint32_t column) {
  return static_cast<float>(node) + static_cast<float>(column) / 1024.0f;
}

/// One in `step` columns is not 0.
inline float sample_sparse(std::uint64_t node, std::uint32_t column, std::uint32_t step) {
  return (node + column) % step == 0 ? sample_feature(node, column) + 1 : 0.0f;
}

/// Of the group "text", and of the edge with that id.
inline float sample_text(std::uint64_t node, std::uint32_t column) {
  return -sample_feature(node, column);
}
inline float sample_edge_feature(std::uint64_t edge, std::uint32_t column) {
  return sample_feature(edge, column) + 0.5f;
}

/// -1 for an edge without a class.
inline std::int32_t sample_edge_class(std::uint64_t edge, std::uint32_t classes) {
  return static_cast<std::int32_t>(edge * 7 % (classes + 1)) - 1;
}

inline std::vector<std::pair<std::uint64_t, std::uint64_t>> sample_edges(
    const SampleOptions& options) {
  const RandomKey key = RandomKey(options.seed).with("edges");
  std::vector<std::pair<std::uint64_t, std::uint64_t>> edges;
  for (std::uint64_t i = 0; i < options.edges; ++i) {
    edges.emplace_back(key.below(options.nodes, 2 * i), key.below(options.nodes, 2 * i + 1));
  }
  return edges;
}

/// Times of edges beside a CSC of these: they ascend in each node's list.
inline std::vector<std::int64_t> sample_times(
    std::uint64_t nodes, const std::vector<std::pair<std::uint64_t, std::uint64_t>>& edges) {
  std::vector<std::uint64_t> degrees(nodes);
  for (const auto& edge : edges) ++degrees[edge.second];
  std::vector<std::int64_t> times;
  for (std::uint64_t n = 0; n < nodes; ++n) {
    for (std::uint64_t i = 0; i < degrees[n]; ++i)
      times.push_back(static_cast<std::int64_t>(n % 5 + 3 * i));
  }
  return times;
}

/// A feature table of a sample, of values by row and column.
template <class ValueOf>
FeatureSchema write_table(DatasetWriter& writer,
                          const std::filesystem::path& path,
                          FeatureSchema features,
                          std::uint64_t seed,
                          ThreadArena& arena,
                          const ValueOf& value_of) {
  auto file = writer.create(path.string());
  FeatureWriter rows(*file, Manifest::layout_of(features));
  MemoryLedger ledger;
  const auto log = make_silent_logger();
  PrepContext context{ledger, arena, *log};
  FeatureEncoding encoding{features.dtype, features.dim, NotFiniteValues::kRefuse, RandomKey(seed)};
  encoding.entries = features.entries;
  FeatureEncoder encoder(encoding, context);
  std::vector<float> row(features.dim);
  for (std::uint64_t n = 0; n < features.rows; ++n) {
    for (std::uint32_t c = 0; c < features.dim; ++c) row[c] = value_of(n, c);
    rows.append_rows(encoder.encode(n, DType::kF32, std::as_bytes(std::span(row))).bytes);
  }
  writer.add(std::move(file));
  return features;
}

inline void write_sample(const std::filesystem::path& target, const SampleOptions& options = {}) {
  DatasetWriter writer(target, Overwrite::kRefuse, nullptr);
  ThreadArena arena(2);
  NodeTypeSchema node;
  node.name = "node";
  node.count = options.nodes;
  FeatureSchema features;
  features.dtype = options.dtype;
  features.rows = options.nodes;
  features.dim = options.dim;
  if (options.sparse_rows)
    features.entries = (options.dim + options.sparse_step - 1) / options.sparse_step;
  const auto value_of = [&](std::uint64_t row, std::uint32_t column) {
    return options.sparse_step == 0 ? sample_feature(row, column)
                                    : sample_sparse(row, column, options.sparse_step);
  };
  node.features.push_back(write_table(
      writer, node_path("node", "features.bin"), features, options.seed, arena, value_of));
  features.entries = 0;
  if (options.text_dim != 0) {
    features.name = "text";
    features.dim = options.text_dim;
    node.features.push_back(write_table(
        writer, node_path("node", "text.bin"), features, options.seed, arena, sample_text));
  }
  node.labels = LabelSchema{LabelKind::kClass, 5};
  std::vector<std::int32_t> labels(options.nodes);
  for (std::uint64_t n = 0; n < options.nodes; ++n)
    labels[n] = static_cast<std::int32_t>(n % 6) - 1;
  writer.write(node_path("node", "labels.bin"), std::span<const std::int32_t>(labels));
  if (options.times) {
    node.has_times = true;
    std::vector<std::int64_t> times(options.nodes);
    for (std::uint64_t n = 0; n < options.nodes; ++n) times[n] = sample_node_time(n);
    writer.write(node_path("node", "times.bin"), std::span<const std::int64_t>(times));
  }
  writer.schema().nodes.push_back(node);

  RelationSchema relation{.source = "node", .name = "edge", .target = "node"};
  CscOptions csc;
  csc.edge_ids = options.edge_ids;
  VectorEdges edges(sample_edges(options));
  build_csc(writer, relation, options.nodes, options.nodes, edges, csc, arena);
  if (options.edge_dim != 0) {
    FeatureSchema of_edges;
    of_edges.rows = relation.edge_id_bound;
    of_edges.dim = options.edge_dim;
    relation.features.push_back(write_table(writer,
                                            relation_path(relation, "features.bin"),
                                            of_edges,
                                            options.seed,
                                            arena,
                                            sample_edge_feature));
  }
  if (options.edge_classes != 0) {
    relation.labels = LabelSchema{LabelKind::kClass, options.edge_classes};
    std::vector<std::int32_t> classes(relation.edge_id_bound);
    for (std::uint64_t e = 0; e < classes.size(); ++e)
      classes[e] = sample_edge_class(e, options.edge_classes);
    writer.write(relation_path(relation, "labels.bin"), std::span<const std::int32_t>(classes));
  }
  if (options.times) {
    relation.has_times = true;
    const std::vector<std::int64_t> times = sample_times(options.nodes, sample_edges(options));
    writer.write(relation_path(relation, "times.bin"), std::span<const std::int64_t>(times));
  }
  writer.schema().relations.push_back(relation);
  std::vector<std::uint64_t> all(options.nodes);
  for (std::uint64_t n = 0; n < options.nodes; ++n) all[n] = n;
  SplitSchema split = write_split(writer,
                                  "default",
                                  "node",
                                  options.nodes,
                                  draw_split(all, {0.5, 0.2, 0.3}, RandomKey(options.seed)));
  split.node_type = "node";
  writer.schema().splits.push_back(std::move(split));
  writer.commit("test");
}

}  // namespace sluice::test
