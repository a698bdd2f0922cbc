// FeatureEncoder: rows of numbers as a feature table stores them: converted or quantised, and
// checked, on all threads. Importing and generating share it. Not thread-safe itself.
#pragma once

#include "prep/prep_context.h"
#include "storage/io/aligned_buffer.h"

#include <sluice/dtype.h>
#include <sluice/random.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace sluice {

enum class NotFiniteValues { kRefuse, kKeep };

struct FeatureEncoding {
  DType dtype = DType::kF32;  ///< f32, f16, bf16, or kI8 for int8 with a scale a row
  std::uint32_t dim = 0;
  /// What NaN and infinity in the input are; int8 refuses them always, as it has no place for them.
  NotFiniteValues not_finite = NotFiniteValues::kRefuse;
  /// int8: rounds at random by this key, the row and the column; nothing: to nearest.
  std::optional<RandomKey> draws{};
  /// Sparse rows, with room for so many entries that are not 0; 0: dense ones. Not of int8.
  std::uint32_t entries = 0;
};

class FeatureEncoder {
 public:
  struct Rows {
    std::span<const std::byte> bytes;  ///< whole rows without gaps; valid until the next call
    /// Index of the first input element that may not be stored (not finite and refused, or finite
    /// and beyond the dtype's range), else their number.
    std::size_t refused = 0;
  };

  /// Buffers are charged as "feature rows".
  FeatureEncoder(const FeatureEncoding& encoding, PrepContext& context)
      : encoding_(encoding), arena_(context.arena), ledger_(context.ledger) {}

  /// The bytes depend on the values and their rows alone, not on how a table is cut into calls.
  /// @param first_row of the table: the row that `values` begins with
  /// @param values row-major elements of dtype `from`; whole rows
  /// Throws Error(kData) where a row has more entries than sparse rows have room for.
  Rows encode(std::uint64_t first_row, DType from, std::span<const std::byte> values);

  /// f64 room for `count` elements, for rows that are put together from columns.
  std::span<double> scratch(std::size_t count);

 private:
  std::byte* room_for(AlignedBuffer& buffer, std::size_t bytes);
  Rows encode_floats(DType from, std::span<const std::byte> values);
  std::span<const std::byte> encode_sparse(std::uint64_t first_row,
                                           std::span<const std::byte> dense);
  Rows encode_int8(std::uint64_t first_row, DType from, std::span<const std::byte> values);
  std::size_t first_refused(DType from,
                            std::span<const std::byte> values,
                            std::span<const std::byte> stored) const;

  FeatureEncoding encoding_;
  ThreadArena& arena_;
  MemoryLedger& ledger_;
  AlignedBuffer encoded_;
  AlignedBuffer sparse_;
  AlignedBuffer scratch_;
};

}  // namespace sluice
