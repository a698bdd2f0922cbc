// RowSource: the rows that propagation begins with, wherever they come from: a feature table,
// random numbers for types without one, labels.
#pragma once

#include "storage/io/aligned_buffer.h"

#include <sluice/dtype.h>
#include <sluice/feature_store.h>
#include <sluice/memory.h>
#include <sluice/random.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sluice {

class RowSource {
 public:
  virtual ~RowSource() = default;
  virtual std::uint64_t rows() const = 0;
  virtual std::uint32_t columns() const = 0;
  /// kF32, kF16 or kBF16.
  virtual DType dtype() const = 0;
  /// Bytes read from the disk for all rows, once.
  virtual std::uint64_t stored_bytes() const = 0;
  /// Rows from `first_row` on, row-major. @pre out holds whole rows
  virtual void read(std::uint64_t first_row, std::span<std::byte> out) = 0;

  std::size_t row_bytes() const { return columns() * size_of(dtype()); }
};

/// A table as it is stored; int8 and sparse rows come as dense f32.
class StoredRows final : public RowSource {
 public:
  /// @param chunk_rows at most so many are read at a time; charged as "propagated rows"
  StoredRows(std::unique_ptr<FeatureStore> store, std::uint64_t chunk_rows, MemoryLedger& ledger);

  /// The dtype of rows that come from a table.
  static DType dtype_of(const FeatureSchema& table) {
    return table.dtype == DType::kI8 || table.sparse() ? DType::kF32 : table.dtype;
  }

  std::uint64_t rows() const override { return store_->schema().rows; }
  std::uint32_t columns() const override { return store_->schema().dim; }
  DType dtype() const override { return dtype_of(store_->schema()); }
  std::uint64_t stored_bytes() const override { return rows() * store_->row_bytes(); }
  void read(std::uint64_t first_row, std::span<std::byte> out) override;

 private:
  bool widens() const { return store_->schema().dtype == DType::kI8 || store_->schema().sparse(); }
  void widen(const std::byte* row, std::byte* out);

  std::unique_ptr<FeatureStore> store_;
  AlignedBuffer wanted_;        // u64: row numbers
  AlignedBuffer stored_;        // of int8 and sparse rows
  std::vector<double> spread_;  // of one sparse row: [columns]
};

/// Rows for nodes that have none: normal with the variance 1 / columns, by (key, row, column).
class NormalRows final : public RowSource {
 public:
  NormalRows(std::uint64_t rows, std::uint32_t columns, RandomKey key)
      : rows_(rows), columns_(columns), key_(key) {}

  std::uint64_t rows() const override { return rows_; }
  std::uint32_t columns() const override { return columns_; }
  DType dtype() const override { return DType::kF32; }
  std::uint64_t stored_bytes() const override { return 0; }
  void read(std::uint64_t first_row, std::span<std::byte> out) override;

 private:
  std::uint64_t rows_;
  std::uint32_t columns_;
  RandomKey key_;
};

}  // namespace sluice
