// CarrySize: how large what a layer leaves for the next one is (LayerCarry), of models that leave
// something. Asked before a pass over all layers, which keeps it on disk.
#pragma once

#include <cstdint>

namespace sluice::models {

class CarrySize {
 public:
  virtual ~CarrySize() = default;
  /// Bytes that a layer leaves of so many targets with so many in-edges in all.
  virtual std::uint64_t carried_bytes(std::int64_t layer,
                                      std::uint64_t targets,
                                      std::uint64_t edges) const = 0;
};

}  // namespace sluice::models
