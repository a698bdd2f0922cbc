// Window: mini-batches sampled ahead together with the feature rows they need.
#pragma once

#include "pipeline/row_window.h"

#include <sluice/batch.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace sluice {

struct Window {
  std::vector<Batch> batches;  ///< sampled; features and labels not yet filled in
  std::vector<std::unique_ptr<RowWindow>>
      rows;  ///< by node type; null where rows come straight from a memory store
};

/// Bytes of a sampled batch's arrays.
std::uint64_t block_bytes(const Batch& batch);

}  // namespace sluice
