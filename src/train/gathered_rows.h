// GatheredRows: rows of a table on disk, to be looked up by their numbers: all of them where they
// fit in memory, else those that are asked for next, each of which is then read once, in order.
//
// One thread at a time. Throws Error: kResource, kIo.
#pragma once

#include "storage/feature/panel_table.h"
#include "storage/io/aligned_buffer.h"

#include <sluice/memory.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

enum class KeptRows { kAll, kWanted };

class GatheredRows {
 public:
  /// @param table of f32 in one panel; outlives this @param ledger charged as "gathered rows"
  GatheredRows(const PanelTable& table, KeptRows keep, MemoryLedger& ledger);

  /// Asks for rows, repeats allowed, beside those that were asked for since clear().
  void want(std::span<const std::uint64_t> rows);
  /// Bytes that fetch() will take.
  std::uint64_t wanted_bytes() const { return wanted_ * row_bytes(); }
  /// Reads what was asked for; of all rows, the first time alone.
  void fetch();
  /// Copies rows in the order asked: f32 [rows.size(), columns]. @pre fetch() brought them
  void copy(std::span<const std::uint64_t> rows, std::span<float> out) const;
  /// Forgets what was asked for.
  void clear();
  /// All rows in order, where all are kept; else empty. @pre fetch() brought them
  std::span<float> all();

  std::uint64_t row_bytes() const { return table_.shape().columns * sizeof(float); }
  /// Since it was made: rows that were brought, and bytes that were read for them.
  std::uint64_t rows_read() const { return rows_read_; }
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  void read(std::uint64_t first, std::uint64_t count, std::span<std::byte> out);
  void fetch_all();
  void fetch_wanted();
  std::uint64_t place_of(std::uint64_t row) const;

  const PanelTable& table_;
  KeptRows keep_;
  MemoryLedger& ledger_;
  AlignedBuffer bits_;    // u64: a bit a row
  AlignedBuffer before_;  // u64, by word of bits: rows asked for before it
  AlignedBuffer rows_, room_;
  bool fetched_ = false;
  std::uint64_t wanted_ = 0, rows_read_ = 0, bytes_read_ = 0;
};

}  // namespace sluice
