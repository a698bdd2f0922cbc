// A file of rows of all nodes of a type under the user's own ids: .csv, .npy (predictions.h) or
// .safetensors, whole or not at all.
#pragma once

#include "train/parts.h"

#include <sluice/dataset.h>

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>

namespace sluice {

/// Rows that are asked for in pieces, in order.
struct NodeRowSource {
  std::size_t type = 0;      ///< node type
  std::int64_t columns = 0;  ///< of each of its nodes
  /// f32 [count, columns], of the nodes from `first` on.
  std::function<torch::Tensor(std::int64_t first, std::int64_t count)> read;
};

/// Throws kUsage for a name that ends in none of the three.
void check_row_file_name(const std::filesystem::path& out);

/// Bytes that such a file takes at the least. @param columns of a row
std::uint64_t least_row_file_bytes(const NodeTypeSchema& type,
                                   std::int64_t columns,
                                   const std::filesystem::path& out);

/// Replaces `out`. Throws Error: kInterrupted, kResource where disk or budget are full, kIo.
/// @return rows written
std::uint64_t write_node_rows(const Parts& parts,
                              const NodeRowSource& rows,
                              const std::filesystem::path& out);

/// The longest id of so many nodes as text; 0 where ids are numbers.
std::uint64_t longest_id(const ExternalIds& ids, std::uint64_t count);

}  // namespace sluice
