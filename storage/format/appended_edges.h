// The log of edges that were appended to a relation: `appended.bin`, three u64 an edge (source,
// target, edge id), in the order in which they came; of a relation with times `appended_times.bin`
// beside it, an i64 an edge.
#pragma once

#include "storage/format/manifest.h"

#include <sluice/array.h>
#include <sluice/dataset.h>
#include <sluice/graph_schema.h>

#include <cstdint>
#include <filesystem>
#include <span>

namespace sluice {

inline constexpr const char* kAppendedName = "appended.bin";
inline constexpr const char* kAppendedTimesName = "appended_times.bin";

struct AppendedEdge {
  std::uint64_t source = 0;
  std::uint64_t target = 0;
  std::uint64_t id = 0;
};
static_assert(sizeof(AppendedEdge) == 24);

/// The whole log, u64 [appended, 3], charged as "topology". kData where an id is not below its
/// count.
Result<Array> load_appended(const std::filesystem::path& root,
                            const Manifest& manifest,
                            const RelationSchema& relation,
                            const DatasetOptions& options);

/// The times of its rows, i64 [appended], charged as "times". @pre the relation has times
Result<Array> load_appended_times(const std::filesystem::path& root,
                                  const Manifest& manifest,
                                  const RelationSchema& relation,
                                  const DatasetOptions& options);

inline AppendedEdge appended_edge(std::span<const std::uint64_t> log, std::uint64_t index) {
  return {log[3 * index], log[3 * index + 1], log[3 * index + 2]};
}

}  // namespace sluice
