#include "storage/feature/read_plan_cost.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace sluice {
namespace {

std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds)) return "unknown time";
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string share_text(std::uint64_t useful, std::uint64_t read) {
  if (read == 0) return "nothing to read";
  return fmt::format("{:.0f} % useful",
                     100 * static_cast<double>(useful) / static_cast<double>(read));
}

PlanEstimate read_estimate(std::string plan,
                           const DiskProfile& disk,
                           const ReadShape& window,
                           const RequestMix& mix,
                           std::uint32_t gap_pages) {
  PlanEstimate estimate;
  estimate.plan = std::move(plan);
  estimate.seconds = mix.seconds(disk);
  estimate.bytes_read = mix.bytes();
  estimate.requests = mix.requests();
  estimate.gap_pages = gap_pages;
  const std::string gaps =
      gap_pages == 0 ? "" : fmt::format(", gaps up to {} pages read through", gap_pages);
  estimate.why = fmt::format("{}: {} rows in {} requests of {} in all ({}{}) take {}",
                             estimate.plan,
                             format_count(window.rows),
                             format_count(estimate.requests),
                             format_bytes(estimate.bytes_read),
                             share_text(window.useful_bytes(), estimate.bytes_read),
                             gaps,
                             seconds_text(estimate.seconds));
  return estimate;
}

std::uint64_t mebi_requests(std::uint64_t bytes) {
  return (bytes + kMiB - 1) / kMiB;
}

/// Reading that brings the needed rows once: of the whole table, or of a sweep.
struct Scan {
  std::uint64_t bytes = 0;
  std::uint64_t requests = 0;
  double seconds = 0;
};

Scan whole_table(const DiskProfile& disk, std::uint64_t table_bytes) {
  return {table_bytes,
          mebi_requests(table_bytes),
          static_cast<double>(table_bytes) / disk.rates().sequential_read};
}

PlanEstimate repack_after(const DiskProfile& disk, const RepackWork& work, const Scan& scan) {
  PlanEstimate estimate;
  estimate.plan = "repack";
  estimate.requests = scan.requests;
  estimate.bytes_read = scan.bytes;
  estimate.seconds = scan.seconds;
  // Each run ends in a page that is half full on average.
  const std::uint64_t run_bytes =
      round_up_to_page(work.missed_rows * work.row_bytes + work.runs * kPageBytes / 2);
  const std::uint64_t id_bytes = round_up_to_page(work.missed_rows * kRepackIdBytes);
  const std::uint64_t moved = run_bytes + id_bytes;
  if (work.missed_rows > 0) {
    estimate.bytes_read += moved;
    estimate.bytes_written = moved;
    estimate.requests +=
        2 * (std::max(mebi_requests(run_bytes), work.runs) + mebi_requests(id_bytes));
    const DiskRates& rates = disk.rates();
    estimate.seconds += static_cast<double>(moved) / rates.sequential_read;
    estimate.seconds += rates.sequential_write > 0
                            ? static_cast<double>(moved) / rates.sequential_write
                            : std::numeric_limits<double>::infinity();
  }
  estimate.why = fmt::format(
      "repack: {} of the table read once, {} missed rows written and read back as {} take {}",
      format_bytes(scan.bytes),
      format_count(work.missed_rows),
      format_bytes(moved),
      seconds_text(estimate.seconds));
  if (!std::isfinite(estimate.seconds))
    estimate.why += " (the disk's speed of writing could not be measured)";
  return estimate;
}

}  // namespace

PlanEstimate estimate_direct(const DiskProfile& disk, const ReadShape& window) {
  return read_estimate("direct", disk, window, window.direct, 0);
}

PlanEstimate estimate_sweep(const DiskProfile& disk, const ReadShape& window) {
  std::size_t best = 0;
  double best_seconds = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < window.sweeps.size(); ++i) {
    const double seconds = window.sweeps[i].seconds(disk);
    if (seconds >= best_seconds) continue;
    best_seconds = seconds;
    best = i;
  }
  return read_estimate(
      "sweep", disk, window, window.sweeps[best], ReadShape::kSweeps[best].gap_pages);
}

PlanEstimate estimate_repack(const DiskProfile& disk, const RepackWork& work) {
  const std::uint64_t scanned = work.missed_rows + work.prefilled_rows == 0 ? 0 : work.table_bytes;
  return repack_after(disk, work, whole_table(disk, scanned));
}

PlanEstimate estimate_repack(const DiskProfile& disk,
                             const RepackWork& work,
                             const ReadShape& needed) {
  const PlanEstimate sweep = estimate_sweep(disk, needed);
  const Scan whole = whole_table(disk, work.table_bytes);
  if (sweep.seconds >= whole.seconds) return repack_after(disk, work, whole);
  return repack_after(disk, work, {sweep.bytes_read, sweep.requests, sweep.seconds});
}

PlanEstimate quickest(std::span<const PlanEstimate> estimates) {
  const auto best = std::ranges::min_element(estimates, {}, &PlanEstimate::seconds);
  PlanEstimate chosen = *best;
  for (const PlanEstimate& other : estimates) {
    if (&other == &*best) continue;
    chosen.why += fmt::format("; {} would take {} for {} requests and {}",
                              other.plan,
                              seconds_text(other.seconds),
                              format_count(other.requests),
                              format_bytes(other.bytes_read + other.bytes_written));
  }
  return chosen;
}

PlanEstimate choose_window_plan(const DiskProfile& disk, const ReadShape& window) {
  const std::array<PlanEstimate, 2> plans{estimate_direct(disk, window),
                                          estimate_sweep(disk, window)};
  return quickest(plans);
}

}  // namespace sluice
