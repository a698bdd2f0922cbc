// FeatureStore: rows of one feature table, in memory or on disk, behind one seam; both give the
// same bytes.
//
// A store is used by one thread at a time.
#pragma once

#include <sluice/error.h>
#include <sluice/graph_schema.h>
#include <sluice/request_latency.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sluice {

/// What reading cost so far.
struct FeatureStats {
  std::uint64_t rows = 0;          ///< rows delivered
  std::uint64_t bytes_useful = 0;  ///< bytes delivered
  std::uint64_t bytes_read = 0;    ///< bytes read from the disk
  std::uint64_t requests = 0;      ///< reads issued to the disk
  RequestLatency latency;          ///< of each of them

  FeatureStats& operator+=(const FeatureStats& more);
  FeatureStats operator-(const FeatureStats& before) const;
};

/// How rows are read from a disk: what is a request. The same rows arrive whatever the shape.
struct RequestShape {
  std::uint32_t max_request = 64 * 1024;  ///< bytes; neighbouring pages merge up to here
  std::uint32_t max_gap = 0;  ///< bytes that nobody asked for and are read through between two rows
                              ///< rather than cutting the request there
};

/// Rows to be copied out of a table.
struct GatherRequest {
  std::span<const std::uint64_t> rows;
  /// Where each goes, in rows of `out`; empty: one after the other.
  std::span<const std::uint32_t> places;
  std::span<std::byte> out;
  RequestShape shape = {};
};

class FeatureStore {
 public:
  virtual ~FeatureStore() = default;

  virtual const FeatureSchema& schema() const = 0;
  /// Bytes of one row as stored; `gather` writes rows of this size one after the other.
  virtual std::size_t row_bytes() const = 0;
  /// "memory" or "disk".
  virtual std::string_view placement() const = 0;

  /// Copies the rows into their places; a row may be asked for more than once. Errors: kUsage for a
  /// row that the table lacks and for too small an `out`, kIo and kData. @pre places are distinct
  virtual Result<void> gather(const GatherRequest& request) = 0;

  /// Copies the rows one after the other: rows.size() * row_bytes().
  Result<void> gather(std::span<const std::uint64_t> rows, std::span<std::byte> out) {
    return gather(GatherRequest{rows, {}, out});
  }

  /// The bytes of a row where the whole table is in RAM, else null. Thread-safe. @pre row <
  /// schema().rows
  virtual const std::byte* resident_row(std::uint64_t /*row*/) const { return nullptr; }

  /// Whether the device that the store was opened for may read resident rows where they are.
  virtual bool pinned() const { return false; }

  virtual FeatureStats stats() const = 0;
};

}  // namespace sluice
