// A small graph of several types, its propagation, and the same by dense matrices in f64.
#pragma once

#include "prep/propagate/propagate.h"
#include "silent_session.h"
#include "support/sample_dataset.h"
#include "support/stored_rows.h"
#include "support/temp_dir.h"  // IWYU pragma: export

#include <sluice/dataset.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

struct PropagationSession : SilentSession {
  using SilentSession::SilentSession;

  PropagationReport run(const std::filesystem::path& dataset, const PropagationOptions& options) {
    return propagate_dataset(dataset, options, "test", context);
  }
};

using EndPairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

/// A dense matrix, row by row.
struct Dense {
  std::size_t rows = 0, columns = 0;
  std::vector<double> values;

  Dense() = default;
  Dense(std::size_t r, std::size_t c) : rows(r), columns(c), values(r * c) {}
  double& at(std::size_t r, std::size_t c) { return values[r * columns + c]; }
  double at(std::size_t r, std::size_t c) const { return values[r * columns + c]; }
};

inline Dense operator*(const Dense& a, const Dense& b) {
  Dense product(a.rows, b.columns);
  for (std::size_t r = 0; r < a.rows; ++r)
    for (std::size_t k = 0; k < a.columns; ++k)
      for (std::size_t c = 0; c < b.columns; ++c) product.at(r, c) += a.at(r, k) * b.at(k, c);
  return product;
}

inline Dense absolute(Dense a) {
  for (double& value : a.values) value = std::abs(value);
  return a;
}

/// How many edges go from each source to each target: [targets, sources].
inline Dense counts_of(const EndPairs& edges, std::size_t targets, std::size_t sources) {
  Dense counts(targets, sources);
  for (const auto& [source, target] : edges) counts.at(target, source) += 1;
  return counts;
}

/// Rows that sum to 1, or to 0.
inline Dense mean_matrix(Dense counts) {
  for (std::size_t r = 0; r < counts.rows; ++r) {
    double sum = 0;
    for (std::size_t c = 0; c < counts.columns; ++c) sum += counts.at(r, c);
    for (std::size_t c = 0; c < counts.columns; ++c) counts.at(r, c) /= std::max(1.0, sum);
  }
  return counts;
}

/// D^-1/2 A D^-1/2 by in-degrees, of A + `loops` I.
inline Dense symmetric_matrix(Dense counts, double loops) {
  std::vector<double> roots(counts.rows);
  for (std::size_t r = 0; r < counts.rows; ++r) {
    counts.at(r, r) += loops;
    double sum = 0;
    for (std::size_t c = 0; c < counts.columns; ++c) sum += counts.at(r, c);
    roots[r] = sum == 0 ? 0 : 1 / std::sqrt(sum);
  }
  for (std::size_t r = 0; r < counts.rows; ++r)
    for (std::size_t c = 0; c < counts.columns; ++c) counts.at(r, c) *= roots[r] * roots[c];
  return counts;
}

/// Types a, b (with features) and c (without); relations r within a, w from b to a and wr back, s
/// from c to a and sr back. Nodes of a have a class, some none, and a split.
struct TypedGraph {
  static constexpr std::size_t kA = 60, kB = 41, kC = 9;
  static constexpr std::uint32_t kDimA = 7, kDimB = 5, kClasses = 4;

  std::map<std::string, EndPairs> edges;
  std::vector<std::int32_t> labels;
  std::vector<std::uint64_t> train, valid, rest;
  std::uint64_t split_bound = kA;  ///< what ids of the split are below

  explicit TypedGraph(std::uint64_t seed) {
    const RandomKey key = RandomKey(seed).with("typed graph");
    // The last node of a has no edges; r has loops and edges that come twice.
    edges["a__r__a"] = drawn(key.with("r"), 240, kA - 1, kA - 1);
    edges["a__r__a"].emplace_back(3, 3);
    edges["a__r__a"].emplace_back(4, 5);
    edges["a__r__a"].emplace_back(4, 5);
    edges["b__w__a"] = drawn(key.with("w"), 130, kB, kA - 1);
    edges["c__s__a"] = drawn(key.with("s"), 70, kC, kA - 1);
    edges["a__wr__b"] = turned(edges["b__w__a"]);
    edges["a__sr__c"] = turned(edges["c__s__a"]);
    for (std::uint64_t n = 0; n < kA; ++n) {
      labels.push_back(static_cast<std::int32_t>(key.with("y").below(kClasses + 1, n)) - 1);
      const std::uint64_t part = key.with("split").below(4, n);
      (part < 2 ? train : part == 2 ? valid : rest).push_back(n);
    }
  }

  static float value(const std::string& type, std::uint64_t row, std::uint32_t column) {
    return static_cast<float>(RandomKey(9).with(type).with(row).uniform(column) * 4 - 2);
  }
  static Dense features(const std::string& type, std::size_t rows, std::uint32_t columns) {
    Dense all(rows, columns);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::uint32_t c = 0; c < columns; ++c)
        all.at(r, c) = static_cast<double>(value(type, r, c));
    return all;
  }
  static Dense features_a() { return features("a", kA, kDimA); }
  static Dense features_b() { return features("b", kB, kDimB); }
  static std::size_t size_of_type(char type) { return type == 'a' ? kA : type == 'b' ? kB : kC; }

  /// [targets, sources] of a relation's key.
  Dense counts(const std::string& key) const {
    return counts_of(edges.at(key), size_of_type(key.back()), size_of_type(key.front()));
  }
  Dense mean(const std::string& key) const { return mean_matrix(counts(key)); }

  void write(const std::filesystem::path& target, DType dtype = DType::kF32) const {
    DatasetWriter writer(target, Overwrite::kReplace, nullptr);
    ThreadArena arena(2);
    add_type(writer, "a", kA, kDimA, dtype, arena);
    writer.schema().nodes[0].labels = LabelSchema{LabelKind::kClass, kClasses};
    writer.write(node_path("a", "labels.bin"), std::span<const std::int32_t>(labels));
    add_type(writer, "b", kB, kDimB, dtype, arena);
    add_type(writer, "c", kC, 0, dtype, arena);
    for (const auto& [key, pairs] : edges) {
      const std::string source(1, key.front()), to(1, key.back());
      RelationSchema relation{
          .source = source, .name = key.substr(3, key.size() - 6), .target = to};
      VectorEdges stream(pairs);
      build_csc(writer,
                relation,
                size_of_type(key.front()),
                size_of_type(key.back()),
                stream,
                CscOptions{},
                arena);
      writer.schema().relations.push_back(relation);
    }
    SplitSchema split = write_split(writer, "default", "node", split_bound, {train, valid, rest});
    split.node_type = "a";
    writer.schema().splits.push_back(split);
    writer.commit("test");
  }

 private:
  static EndPairs drawn(RandomKey key,
                        std::size_t count,
                        std::size_t sources,
                        std::size_t targets) {
    EndPairs pairs;
    for (std::uint64_t i = 0; i < count; ++i)
      pairs.emplace_back(key.below(sources, 2 * i), key.below(targets, 2 * i + 1));
    return pairs;
  }
  static EndPairs turned(const EndPairs& pairs) {
    EndPairs back;
    for (const auto& [source, target] : pairs) back.emplace_back(target, source);
    return back;
  }
  static void add_type(DatasetWriter& writer,
                       const std::string& name,
                       std::size_t count,
                       std::uint32_t dim,
                       DType dtype,
                       ThreadArena& arena) {
    NodeTypeSchema node;
    node.name = name;
    node.count = count;
    if (dim != 0) {
      FeatureSchema table;
      table.dtype = dtype;
      table.rows = count;
      table.dim = dim;
      node.features.push_back(write_table(
          writer,
          node_path(name, "features.bin"),
          table,
          1,
          arena,
          [&](std::uint64_t row, std::uint32_t column) { return value(name, row, column); }));
    }
    writer.schema().nodes.push_back(node);
  }
};

/// A table of a dataset as numbers.
inline Dense read_table(const std::filesystem::path& dataset,
                        const std::string& type,
                        const std::string& name) {
  const Dataset opened = Dataset::open(dataset.string());
  const auto store = opened.features(type, {.placement = Placement::kMemory}, name);
  const FeatureSchema& table = store->schema();
  std::vector<std::uint64_t> rows(table.rows);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i;
  std::vector<std::byte> bytes(rows.size() * store->row_bytes());
  store->gather(rows, bytes).or_throw();
  Dense out(rows.size(), table.dim);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::vector<double> values =
        stored_values(table.dtype, bytes.data() + r * store->row_bytes(), table.dim);
    for (std::size_t c = 0; c < values.size(); ++c) out.at(r, c) = values[c];
  }
  return out;
}

/// The largest |found - expected| / (bound * size + tiny), where `size` is the product of absolute
/// values: what roundings are relative to. At most 1 where the two agree.
inline double worst(const Dense& found, const Dense& expected, const Dense& size, double bound) {
  if (found.rows != expected.rows || found.columns != expected.columns) return 1e30;
  double most = 0;
  for (std::size_t i = 0; i < found.values.size(); ++i)
    most = std::max(
        most, std::abs(found.values[i] - expected.values[i]) / (bound * size.values[i] + 1e-7));
  return most;
}

}  // namespace sluice::test
