#include "pipeline/plan/epoch_cost.h"

#include <fmt/format.h>
#include <sluice/units.h>

#include <algorithm>

namespace sluice {
namespace {

std::string figures(const PlanEstimate& estimate) {
  return fmt::format("{:.1f} s for {} in {} requests",
                     estimate.seconds,
                     format_bytes(estimate.bytes_read + estimate.bytes_written),
                     format_count(estimate.requests));
}

std::uint64_t scaled_by(double factor, std::uint64_t count) {
  return static_cast<std::uint64_t>(factor * static_cast<double>(count));
}

}  // namespace

EpochCost::EpochCost(const FeatureLayout& layout,
                     const DiskProfile& disk,
                     PlanChoice plan,
                     MemoryLedger* ledger,
                     double scale)
    : layout_(layout), disk_(disk), plan_(plan), scale_(scale), needed_(layout, ledger) {}

EpochCost::Choice EpochCost::add(const WantedRows& missed, std::uint64_t packed) {
  ++num_windows_;
  missed_rows_ += missed.size();
  packed_rows_ += packed;
  for (std::size_t i = 0; i < missed.size(); ++i) needed_.add(missed.row(i));
  const ReadShape shape = read_shape_of_many(missed, layout_);
  const PlanEstimate direct = estimate_direct(disk_, shape);
  const PlanEstimate sweep = estimate_sweep(disk_, shape);
  const bool swept = plan_ == PlanChoice::kSweep ||
                     (plan_ != PlanChoice::kDirect && sweep.seconds < direct.seconds);
  const PlanEstimate& chosen = swept ? sweep : direct;
  const double looked_at = static_cast<double>(std::max<std::uint64_t>(shape.rows, 1));
  const double rows_each = std::max(static_cast<double>(missed.size()) / looked_at, 1.0);
  windows_.seconds += rows_each * chosen.seconds;
  windows_.bytes_read += scaled_by(rows_each, chosen.bytes_read);
  windows_.requests += scaled_by(rows_each, chosen.requests);
  if (!swept) return {};
  return {WindowPlan::kSweep, sweep.gap_pages * static_cast<std::uint32_t>(kPageBytes)};
}

std::uint64_t EpochCost::scaled(std::uint64_t count) const {
  return scaled_by(scale_, count);
}

std::uint64_t EpochCost::missed_rows() const {
  return scaled(missed_rows_);
}

PlanEstimate EpochCost::windows() const {
  PlanEstimate all = windows_;
  all.seconds *= scale_;
  all.bytes_read = scaled(all.bytes_read);
  all.requests = scaled(all.requests);
  return all;
}

EpochCost::Decision EpochCost::decide(std::uint64_t buffer_bytes) const {
  RepackWork work;
  work.missed_rows = scaled(packed_rows_);
  work.prefilled_rows = missed_rows() - std::min(missed_rows(), work.missed_rows);
  work.runs = num_windows_;
  work.row_bytes = layout_.row_bytes;
  work.table_bytes = std::min(scaled(needed_.needed() * needed_.rows_a_part() * layout_.row_bytes),
                              layout_.file_bytes());
  Decision decision;
  decision.packing = estimate_repack(disk_, work);
  const PlanEstimate windows = this->windows();
  const bool room = PackingBuffers::least_bytes(num_windows_, layout_) <= buffer_bytes;
  decision.pack = plan_ == PlanChoice::kRepack || (plan_ == PlanChoice::kAuto && room &&
                                                   decision.packing.seconds < windows.seconds);
  decision.why = fmt::format("{}: {} rows missed in {} windows; window by window {}; repacked {}{}",
                             decision.pack           ? "repack"
                             : windows.requests == 0 ? "nothing to read"
                                                     : "window by window",
                             format_count(missed_rows()),
                             format_count(num_windows_),
                             figures(windows),
                             figures(decision.packing),
                             room ? "" : ", but the buffers have no room for so many runs");
  return decision;
}

EpochCost::Decision EpochCost::decide_by_window() const {
  Decision decision;
  decision.why = fmt::format("window by window: {} rows missed in {} windows; {}",
                             format_count(missed_rows()),
                             format_count(num_windows_),
                             figures(windows()));
  return decision;
}

std::uint32_t slots_to_prefill(PlanChoice plan,
                               std::size_t windows,
                               const FeatureLayout& layout,
                               std::uint64_t bytes,
                               std::uint32_t cache_slots) {
  if (plan == PlanChoice::kDirect || plan == PlanChoice::kSweep) return 0;
  const std::uint64_t packing = PackingBuffers::share_of(bytes, windows, layout);
  const std::uint64_t room = bytes - std::min(bytes, packing);
  const std::uint64_t slots = room / (layout.row_bytes + 2 * sizeof(WantedRow));
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(slots, cache_slots));
}

std::uint64_t count_prefilled(const RowDirectory::Admission& admission,
                              std::span<const std::uint32_t> missing,
                              std::span<const std::uint32_t> places,
                              std::uint32_t slots) {
  const auto fresh = missing.first(admission.fresh);
  const auto end =
      std::ranges::find_if_not(fresh, [&](std::uint32_t i) { return places[i] < slots; });
  return static_cast<std::uint64_t>(end - fresh.begin());
}

}  // namespace sluice
