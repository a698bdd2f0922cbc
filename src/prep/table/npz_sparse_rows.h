// SparseRows: a sparse matrix by its rows, zeros and all, in memory that is bounded whatever its
// size. What comes row by row (csr) is streamed; of csc and coo a window of rows is filled in one
// pass over all entries, as many rows as memory allows. Entries of one place are added up, as SciPy
// does.
#pragma once

#include "prep/table/npz_sparse.h"
#include "storage/io/aligned_buffer.h"

#include <sluice/memory.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sluice {

class SparseRows final : public NpzColumn {
 public:
  /// All outlive this. @param table errors name an entry of it
  SparseRows(const NpzSparse& matrix, const TableReader& table, MemoryLedger* ledger);

  void read(std::span<std::byte> out) override;

 private:
  static constexpr std::size_t kBlock = 16384;  // entries read at a time

  void rewind();
  bool next_block();
  void fill_window();
  void add_entries(std::uint64_t end);

  const NpzSparse& matrix_;
  const TableReader& table_;
  DType dtype_;
  bool truth_;
  std::uint64_t row_bytes_;
  std::uint64_t window_rows_;
  AlignedBuffer window_;
  std::uint64_t window_begin_ = 0, window_end_ = 0;  // rows that are in the window
  std::uint64_t next_row_ = 0;                       // to be given
  std::unique_ptr<NpzColumn> sources_[3];            // rows, columns, data
  std::vector<std::byte> stored_;
  std::vector<std::int64_t> rows_, columns_;
  std::vector<std::byte> data_;
  std::size_t at_ = 0;              // in the block
  std::uint64_t entries_left_ = 0;  // behind the block
};

}  // namespace sluice
