// DiskProfile: how fast the disk under a folder answers, as measured: random reads by request
// size at the engine's depth, sequential reads and writes. What plans are chosen by.
//
// A value, read-only once made. Made by measure() (1 to 2 s), by find_disk_profile()
// (storage/io/disk_cache.h, which remembers), or from given figures for tests and simulation.
#pragma once

#include "storage/io/io_engine.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

namespace sluice {

/// Steady state: `depth` requests in flight (fewer where they would exceed the probe's buffer), the
/// time between two completions.
struct DiskRates {
  static constexpr std::array<std::uint32_t, 5> kRequestBytes{
      4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20};

  std::array<double, 5> read_seconds{};  ///< a random read of kRequestBytes[i], seconds
  double sequential_read = 0;            ///< bytes/s, requests of 1 MiB
  double sequential_write = 0;           ///< bytes/s, requests of 1 MiB; 0: could not be measured

  /// All figures finite and above 0 (sequential_write: not below).
  bool plausible() const;
  /// Why they look like those of a bad moment (a stall, a burst from a cache) rather than of a
  /// disk, in a few words; empty where they do not. @pre plausible()
  std::string doubt() const;
  friend bool operator==(const DiskRates&, const DiskRates&) = default;
};

/// Where a profile comes from, for the log, the report and the cache.
struct DiskOrigin {
  std::string engine;                   ///< "io_uring", "pread"; "" for given figures
  std::size_t depth = 0;                ///< requests in flight
  bool direct = false;                  ///< reads passed the page cache by
  std::chrono::sys_seconds measured{};  ///< UTC
  std::string why_no_write;             ///< set where sequential_write is 0
  std::uint64_t buffer_bytes = 0;       ///< that reads in flight lay in
  std::string doubt;                    ///< DiskRates::doubt of the figures as they were measured
  friend bool operator==(const DiskOrigin&, const DiskOrigin&) = default;
};

struct DiskProbeOptions {
  IoEngineOptions engine;                      ///< as the reads to be predicted will have it
  std::chrono::milliseconds per_point{120};    ///< of seven points
  std::uint64_t scratch_bytes = 256ull << 20;  ///< at most; whole MiB
  /// Reads in flight lie in it; whole MiB. Beyond the processor's cache, as windows are: into 16
  /// MiB reads of 1 MiB arrive a third faster than they ever will in a run.
  std::uint64_t buffer_bytes = 64ull << 20;
};

class DiskProfile {
 public:
  /// Figures of one's own. A larger request is never taken to be faster than a smaller one: where
  /// noise says so, the smaller one's time stands. Throws Error (kInternal) unless plausible().
  explicit DiskProfile(const DiskRates& rates, DiskOrigin origin = {});

  /// Measures the disk under `place`. A file of 256 MiB or more is read itself, at random places
  /// and never written; otherwise, or for a folder, a scratch file in the folder is, which has no
  /// name and is gone at any end of the process. Buffers are charged as "disk probe".
  /// kResource: no room for a scratch file to read; kIo: the disk fails or does not answer.
  static Result<DiskProfile> measure(const std::filesystem::path& place,
                                     const DiskProbeOptions& options,
                                     MemoryLedger* ledger);

  const DiskRates& rates() const noexcept { return rates_; }
  const DiskOrigin& origin() const noexcept { return origin_; }

  /// Seconds of one random read of so many bytes, in steady state. Piecewise linear between the
  /// sizes of the table; constant below the first (a smaller read is no faster), proportional above
  /// the last. Never falls.
  double seconds_for(double request_bytes) const;

  /// The fixed part of a request: t0 of the fit t = t0 + bytes / bandwidth, by least squares of the
  /// relative error over the table, never below 0. Seconds.
  double request_overhead_seconds() const noexcept { return overhead_seconds_; }
  /// The bandwidth of that fit, bytes/s.
  double fitted_bandwidth() const noexcept { return bandwidth_; }
  /// The gap, in bytes, that costs as much to read through as one more request.
  std::uint64_t request_overhead_bytes() const;

  /// One line: "4 KiB 152,000/s, ..., sequential read 2.41 GB/s, write 1.90 GB/s".
  std::string describe() const;

 private:
  void fit();

  DiskRates rates_;
  DiskOrigin origin_;
  double overhead_seconds_ = 0;
  double bandwidth_ = 0;
};

}  // namespace sluice
