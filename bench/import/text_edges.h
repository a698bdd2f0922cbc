// Edges as text: the input of the import cases.
#pragma once

#include <cstdint>
#include <filesystem>

namespace sluice::bench {

enum class IdText {
  kDense,  ///< 0 to 2^scale - 1
  kString  ///< the same nodes under names of eleven characters
};

/// Writes a power-law graph of 2^scale nodes as CSV of two columns, src and dst; returns the bytes.
std::uint64_t write_text_edges(const std::filesystem::path& path,
                               std::uint64_t scale,
                               std::uint64_t edges,
                               IdText ids,
                               std::uint64_t threads);

}  // namespace sluice::bench
