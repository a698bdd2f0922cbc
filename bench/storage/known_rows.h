// An epoch of row ids known ahead, and readers that deliver each mini-batch's rows: ours, and two
// as peers do it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace sluice {
class TraceWriter;
}

namespace sluice::bench {

struct KnownRows {
  std::uint64_t rows = 0;  ///< of the table
  double zipf = 0;         ///< exponent; 0: uniform
  std::uint64_t batches = 40;
  std::uint64_t batch_rows = 100'000;
  std::vector<std::uint32_t> all;  ///< ids, mini-batch after mini-batch

  /// Draws the ids. @pre rows < 2^32
  void draw();
  /// The ids of one mini-batch, in the order asked; repeated ones stay.
  std::span<const std::uint32_t> ids(std::uint64_t batch) const {
    return std::span(all).subspan(batch * batch_rows, batch_rows);
  }
};

struct Delivery {
  double seconds = 0;
  double plan_seconds = 0;    ///< of these, planning and packing
  double moving_seconds = 0;  ///< of these, packing and bringing windows' rows into the cache
  std::uint64_t useful = 0;   ///< bytes delivered
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  std::uint64_t requests = 0;  ///< that read
  std::uint64_t writes = 0;    ///< requests that wrote
  std::uint64_t check = 0;     ///< sum over the first word of every row delivered: equal for all
  std::string how;
};

/// RowFetcher over a PlannedEpoch, as the loader drives them, within `budget` bytes. @param dataset
/// with one node type, whose feature table it is. @param trace may be null
Delivery deliver_sluice(const std::filesystem::path& dataset,
                        const KnownRows& known,
                        std::uint64_t budget,
                        const std::filesystem::path& scratch,
                        TraceWriter* trace);

/// The file mapped, read-ahead off, each row copied by one of two threads.
Delivery deliver_mmap(const std::filesystem::path& table,
                      std::uint32_t row_bytes,
                      const KnownRows& known);

/// io_uring at depth 128, a page a row, a batch's pages in order and each once: what GraphBolt's
/// reader does, and a little better.
Delivery deliver_page_a_row(const std::filesystem::path& table,
                            std::uint32_t row_bytes,
                            const KnownRows& known);

}  // namespace sluice::bench
