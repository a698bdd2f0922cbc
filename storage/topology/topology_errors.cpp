#include "storage/topology/topology_errors.h"

#include <fmt/format.h>

namespace sluice {

Error appended_in_memory_only(const RelationSchema& relation, const std::filesystem::path& root) {
  return Error(ErrorCode::kUsage,
               fmt::format("relation '{}' has appended edges, which are read in memory only",
                           relation.key()),
               "run sluice-prep compact, name it in storage.topology_in_memory, or set "
               "storage.topology = \"memory\"",
               Place{root.string(), -1, -1, -1});
}

Error offsets_error(const std::filesystem::path& path, std::uint64_t edges) {
  return Error(ErrorCode::kData,
               fmt::format("the offsets do not ascend from 0 to the edge count, {}", edges),
               "prepare the dataset again",
               Place{path.string(), -1, -1, -1});
}

Error neighbour_error(const std::filesystem::path& path,
                      std::uint64_t neighbour,
                      std::uint64_t num_sources,
                      std::uint64_t byte) {
  return Error(ErrorCode::kData,
               fmt::format("neighbour {} is not below the node count, {}", neighbour, num_sources),
               "prepare the dataset again",
               Place{path.string(), -1, -1, static_cast<std::int64_t>(byte)});
}

Error size_error(const std::filesystem::path& path, std::uint64_t bytes, std::uint64_t needed) {
  return Error(ErrorCode::kData,
               fmt::format("the file has {} bytes where {} are needed", bytes, needed),
               "the dataset is damaged: restore it from a copy or prepare it again",
               Place{path.string(), -1, -1, -1});
}

}  // namespace sluice
