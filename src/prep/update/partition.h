// partition: adds node ranges and P x P edge buckets to a dataset, as a new generation.
#pragma once

#include "prep/prep_context.h"
#include "prep/update/append.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace sluice {

struct PartitionOptions {
  std::string node_type = {};  ///< empty: the only one
  std::uint64_t parts = 16;
  int level = 3;  ///< of zstd
};

/// Edges of all relations from the type to itself, streamed once; memory for one frame a part.
/// Partitions that were there are replaced. Throws Error.
UpdateReport partition_dataset(const std::filesystem::path& dataset,
                               const PartitionOptions& options,
                               const std::string& created_by,
                               PrepContext& context);

}  // namespace sluice
