// Files as `sluice-train embed` writes them, for a type of TypedGraph, and their attachment.
#pragma once

#include "prep/update/attach.h"
#include "propagate_support.h"  // IWYU pragma: export
#include "storage/checkpoint/safetensors.h"
#include "support/blocks.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice::test {

/// f32 [rows, columns], row by row, with ids where there are some, and whose rows they are where
/// that is said.
inline void write_embedded(const std::filesystem::path& path,
                           const std::vector<float>& values,
                           std::int64_t columns,
                           const std::vector<std::int64_t>& ids = {},
                           const std::string& node_type = "") {
  SafetensorsContent content;
  if (!node_type.empty()) content.metadata["node_type"] = node_type;
  content.tensors.push_back(
      {"rows", testing::array_of(values, {std::ssize(values) / columns, columns})});
  if (!ids.empty()) content.tensors.push_back({"ids", testing::array_of(ids)});
  (void)write_safetensors(path, content);
}

inline AttachOptions attach_options(const std::filesystem::path& dataset,
                                    const std::filesystem::path& file) {
  AttachOptions options;
  options.dataset = dataset;
  options.file = file;
  options.node_type = "a";
  options.name = "scores";
  options.created_by = "test";
  return options;
}

}  // namespace sluice::test
