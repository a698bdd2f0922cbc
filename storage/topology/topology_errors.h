// The errors of a relation's files whose content cannot be: the same words wherever the topology is
// kept.
#pragma once

#include <sluice/error.h>
#include <sluice/graph_schema.h>

#include <cstdint>
#include <filesystem>

namespace sluice {

/// A relation whose appended edges keep it from being read on disk.
Error appended_in_memory_only(const RelationSchema& relation, const std::filesystem::path& root);

/// Offsets that do not go up from 0 to the relation's edge count.
Error offsets_error(const std::filesystem::path& path, std::uint64_t edges);

/// @param byte where in the file the neighbour stands
Error neighbour_error(const std::filesystem::path& path,
                      std::uint64_t neighbour,
                      std::uint64_t num_sources,
                      std::uint64_t byte);

/// A file that holds fewer or more elements than the relation has.
Error size_error(const std::filesystem::path& path, std::uint64_t bytes, std::uint64_t needed);

}  // namespace sluice
