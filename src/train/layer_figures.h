// What a pass over a layer moved. A value.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

/// Layer 0 are the inputs.
struct LayerFigures {
  std::int64_t layer = 0;
  std::string_view way;         ///< "rows", "lists" or "edges"
  std::uint64_t rows = 0;       ///< that are read, of all node types
  std::uint64_t rows_read = 0;  ///< each as often as it was brought for neighbours
  std::uint32_t panels = 1;     ///< that columns are read in, the most of a type
  std::uint64_t bytes_read = 0, bytes_written = 0;
  double seconds = 0;

  /// How often a row was read, on average.
  double times() const {
    return rows == 0 ? 0 : static_cast<double>(rows_read) / static_cast<double>(rows);
  }
};

}  // namespace sluice
