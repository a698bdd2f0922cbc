// What read_shape_of_many() approximates: the shape of all rows, each looked at.
#pragma once

#include "storage/feature/read_shape.h"

#include <cstdint>
#include <span>

namespace sluice::test {

/// @param rows in ascending order
inline ReadShape shape_of_all(std::span<const std::uint64_t> rows, const FeatureLayout& layout) {
  ReadShapeBuilder builder(layout);
  for (const std::uint64_t row : rows) builder.add(row);
  return builder.finish();
}

}  // namespace sluice::test
