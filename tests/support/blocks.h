// Blocks for tests: from lists of neighbours, and random ones.
#pragma once

#include <sluice/batch.h>
#include <sluice/random.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sluice::testing {

template <class T>
Array array_of(const std::vector<T>& values, Array::Shape shape = {}) {
  if (shape.empty()) shape = {static_cast<std::int64_t>(values.size())};
  Array array = Array::make(dtype_of<T>, shape).or_throw();
  std::copy(values.begin(), values.end(), array.as<T>().begin());
  return array;
}

/// sources_of[t] are the source rows of target t, in edge order.
inline Block make_block(std::int64_t num_sources,
                        const std::vector<std::vector<std::int32_t>>& sources_of) {
  Block block;
  block.num_sources = num_sources;
  block.num_targets = static_cast<std::int64_t>(sources_of.size());
  std::vector<std::int64_t> offsets{0}, transposed_offsets{0};
  std::vector<std::int32_t> neighbours, transposed_targets, transposed_edges;
  for (const auto& sources : sources_of) {
    neighbours.insert(neighbours.end(), sources.begin(), sources.end());
    offsets.push_back(static_cast<std::int64_t>(neighbours.size()));
  }
  std::vector<std::vector<std::pair<std::int32_t, std::int32_t>>> by_source(
      static_cast<std::size_t>(num_sources));
  for (std::size_t t = 0; t < sources_of.size(); ++t) {
    for (std::int64_t e = offsets[t]; e < offsets[t + 1]; ++e) {
      const auto source = static_cast<std::size_t>(neighbours[static_cast<std::size_t>(e)]);
      by_source[source].push_back({static_cast<std::int32_t>(t), static_cast<std::int32_t>(e)});
    }
  }
  for (const auto& edges : by_source) {
    for (const auto& [target, edge] : edges) {
      transposed_targets.push_back(target);
      transposed_edges.push_back(edge);
    }
    transposed_offsets.push_back(static_cast<std::int64_t>(transposed_targets.size()));
  }
  block.offsets = array_of(offsets);
  block.neighbours = array_of(neighbours);
  block.transposed_offsets = array_of(transposed_offsets);
  block.transposed_targets = array_of(transposed_targets);
  block.transposed_edges = array_of(transposed_edges);
  return block;
}

/// Degrees from 0 (target 0, when it has a mate) to `max_degree`, repeated sources included.
inline Block random_block(std::int64_t num_sources,
                          std::int64_t num_targets,
                          std::int64_t max_degree,
                          std::uint64_t seed) {
  const RandomKey key(seed);
  std::vector<std::vector<std::int32_t>> sources_of(static_cast<std::size_t>(num_targets));
  for (std::size_t t = 1; t < sources_of.size(); ++t) {
    const RandomKey own = key.with(t);
    const auto degree = own.below(static_cast<std::uint64_t>(max_degree) + 1, 0);
    for (std::uint64_t e = 0; e < degree; ++e) {
      sources_of[t].push_back(
          static_cast<std::int32_t>(own.below(static_cast<std::uint64_t>(num_sources), e + 1)));
    }
  }
  return make_block(num_sources, sources_of);
}

/// `count` values in (-1, 1).
inline std::vector<float> random_floats(std::int64_t count, std::uint64_t seed) {
  const RandomKey key(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(2 * key.uniform(i) - 1);
  }
  return values;
}

}  // namespace sluice::testing
