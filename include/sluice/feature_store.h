// FeatureStore: rows of one feature table, in memory or on disk, behind one seam; both give the
// same bytes.
//
// A store is used by one thread at a time.
#pragma once

#include <sluice/error.h>
#include <sluice/graph_schema.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sluice {

/// What reading cost so far.
struct FeatureStats {
  std::uint64_t rows = 0;          ///< rows delivered
  std::uint64_t bytes_useful = 0;  ///< bytes delivered
  std::uint64_t bytes_read = 0;    ///< bytes read from the device
  std::uint64_t requests = 0;      ///< reads issued to the device
};

class FeatureStore {
 public:
  virtual ~FeatureStore() = default;

  virtual const FeatureSchema& schema() const = 0;
  /// Bytes of one row as stored; `gather` writes rows of this size one after the other.
  virtual std::size_t row_bytes() const = 0;
  /// "memory" or "disk".
  virtual std::string_view placement() const = 0;

  /// Copies the rows into `out`, in the order asked; a row may be asked for more than once.
  /// @pre every row < schema().rows, out.size() == rows.size() * row_bytes()
  virtual Result<void> gather(std::span<const std::uint64_t> rows, std::span<std::byte> out) = 0;

  /// The bytes of a row where the whole table is in RAM, else null. Thread-safe.
  virtual const std::byte* resident_row(std::uint64_t /*row*/) const { return nullptr; }

  virtual FeatureStats stats() const = 0;
};

}  // namespace sluice
