#include "pipeline/plan/planned_epoch.h"

#include <fmt/format.h>
#include <sluice/units.h>

#include <algorithm>
#include <utility>

#include <malloc.h>

namespace sluice {
namespace {

// Mini-batches that are kept on the disk may have left no room there.
void add_window(EpochLists& lists, std::span<const std::uint64_t> ids, WindowSource& source) {
  try {
    lists.add_window(ids);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResource || !source.free_disk()) throw;
    lists.add_window(ids);
  }
}

// Whether there is memory to plan beside training. Tables are planned one after the other; the
// checksums of all stay.
void check_room_beside(const PlanSetting& setting, const PlanRequest& request, std::uint64_t kept) {
  std::uint64_t most = 0;
  for (std::size_t table = 0; table < request.sampled.size(); ++table) {
    if (request.sampled[table])
      most = std::max(most, bytes_beside_training(setting, table, *request.sampled[table]));
  }
  most += request.kept_before + kept;
  if (most > request.bytes) {
    throw Error(ErrorCode::kResource,
                fmt::format("planning it takes {} beside training, there are {}",
                            format_bytes(most),
                            format_bytes(request.bytes)));
  }
  if (kept > request.kept_bytes) {
    throw Error(ErrorCode::kResource,
                fmt::format("its checksums take {}, there are {} for them meanwhile",
                            format_bytes(kept),
                            format_bytes(request.kept_bytes)));
  }
}

}  // namespace

SampledEpoch sample_epoch(const PlanSetting& setting, WindowSource& windows) {
  const GraphData::State& data = setting.data;
  const Busy busy(setting.clocks.planning);
  const TraceSpan span(setting.trace(), "sample ahead");
  SampledEpoch sampled(data.tables.size());
  for (std::size_t table = 0; table < sampled.size(); ++table) {
    if (data.on_disk(table))
      sampled[table] =
          std::make_unique<EpochLists>(data.options.scratch, data.tables[table].rows());
  }
  while (const auto window = windows.next()) {
    setting.check_stopped();
    for (std::size_t table = 0; table < sampled.size(); ++table) {
      if (sampled[table]) add_window(*sampled[table], window->rows[table]->ids(), windows);
    }
  }
  // Mini-batches that were freed stay with malloc otherwise, beside the cache's rows, which take
  // their room in the budget from here on: up to 180 MiB were, of a budget of 1.2 GiB.
  (void)::malloc_trim(0);
  return sampled;
}

PlannedEpoch plan_epoch(const PlanSetting& setting, PlanRequest request, Directories directories) {
  Busy busy(setting.clocks.planning);
  PlannedEpoch epoch;
  epoch.tables_.resize(request.sampled.size());
  for (std::size_t table = 0; table < request.sampled.size(); ++table) {
    if (request.sampled[table])
      epoch.kept_bytes_ += bytes_of_sums(setting, table, *request.sampled[table]);
  }
  const bool beside = request.slots != PlanSlots::kFree;
  std::uint64_t taken = 0;
  if (beside) {
    check_room_beside(setting, request, epoch.kept_bytes_);
    taken = request.kept_before + epoch.kept_bytes_;
  }
  for (std::size_t table = 0; table < request.sampled.size(); ++table) {
    if (!request.sampled[table]) continue;
    const std::uint64_t left = request.bytes - std::min(request.bytes, taken);
    epoch.tables_[table] = std::make_unique<TablePlan>(plan_table(
        setting,
        {table, std::move(request.sampled[table]), request.slots, left, request.followed},
        directories.of(table),
        busy));
    taken += epoch.tables_[table]->taken_bytes;
    epoch.reasons_.push_back((beside ? "beside the epoch before: " : "") +
                             epoch.tables_[table]->reason);
  }
  if (request.followed) epoch.directories_ = std::move(directories);
  return epoch;
}

void PlannedEpoch::begin(GraphData::State& data) {
  for (std::size_t table = 0; table < tables_.size(); ++table) {
    if (tables_[table] && tables_[table]->packed)
      disk_store(data, table).count_extra(tables_[table]->packed->scan_stats());
  }
}

const EpochLists::Step& PlannedEpoch::step(std::size_t window, std::size_t table) const {
  const std::vector<EpochLists::Step>& steps = tables_[table]->lists->steps;
  if (window >= steps.size())
    throw Error(ErrorCode::kInternal, "a window is asked for that was not planned");
  return steps[window];
}

WindowPlan PlannedEpoch::plan(std::size_t window, std::size_t table) const {
  return step(window, table).plan;
}

std::uint32_t PlannedEpoch::gap(std::size_t window, std::size_t table) const {
  return step(window, table).gap_bytes;
}

RowDirectory::Admission PlannedEpoch::rows(std::size_t window,
                                           std::size_t table,
                                           std::span<std::uint32_t> places,
                                           std::vector<WantedRow>& wanted) {
  EpochLists& lists = *tables_[table]->lists;
  const EpochLists::Step& of_window = step(window, table);
  if (of_window.rows != places.size())
    throw Error(ErrorCode::kInternal, "a window differs from the one that was planned");
  lists.places.read(of_window.first_id, places);
  lists.read_missing(of_window, wanted);
  return of_window.admission;
}

Result<void> PlannedEpoch::read_packed(std::size_t window,
                                       std::size_t table,
                                       std::span<const WantedRow> wanted,
                                       std::span<std::byte> slots) {
  return tables_[table]->packed->read(window, wanted, slots);
}

PlanTraffic PlannedEpoch::traffic() const {
  PlanTraffic all;
  for (const auto& of_table : tables_) {
    if (of_table) all += of_table->traffic();
  }
  return all;
}

void PlannedEpoch::drop_packed() {
  for (const auto& of_table : tables_) {
    if (of_table) of_table->drop_packed();
  }
}

}  // namespace sluice
