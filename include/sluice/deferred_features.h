// DeferredFeatures: rows of a mini-batch's node features that are gathered when somebody asks,
// again each time, so that who needs them type by type never holds those of all types.
//
// Made by a Loader (LoaderOptions::deferred_features), read by models. What it gives is what
// BatchNodes::features would hold, bit for bit. Thread-safe; must not outlive its GraphData.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

class DeferredFeatures {
 public:
  DeferredFeatures() = default;
  DeferredFeatures(const DeferredFeatures&) = delete;
  DeferredFeatures& operator=(const DeferredFeatures&) = delete;
  virtual ~DeferredFeatures() = default;

  /// Columns of a node type's group (GraphDataOptions::feature_groups); 0: it has none.
  virtual std::int64_t columns(std::size_t type, std::size_t group) const = 0;
  /// Writes a group's rows of nodes of the type in the mini-batch, in their order.
  /// @param first the local row to begin with
  /// @param out f32 [rows, columns()], on the host: as many rows as it has room for
  /// Throws kUsage beyond the type's nodes. @pre the type has the group
  virtual void gather(std::size_t type,
                      std::size_t group,
                      std::int64_t first,
                      std::span<float> out) const = 0;
};

}  // namespace sluice
