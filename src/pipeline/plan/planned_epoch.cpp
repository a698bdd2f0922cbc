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

// Whether there is memory to plan beside training. Types are planned one after the other; the
// checksums of all stay.
void check_room_beside(const PlanSetting& setting, const PlanRequest& request, std::uint64_t kept) {
  std::uint64_t most = 0;
  for (std::size_t type = 0; type < request.sampled.size(); ++type) {
    if (request.sampled[type])
      most = std::max(most, bytes_beside_training(setting, type, *request.sampled[type]));
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
  SampledEpoch sampled(data.features.size());
  for (std::size_t type = 0; type < sampled.size(); ++type) {
    if (data.on_disk(type))
      sampled[type] =
          std::make_unique<EpochLists>(data.options.scratch, data.graph.schema->nodes[type].count);
  }
  while (const auto window = windows.next()) {
    setting.check_stopped();
    for (std::size_t type = 0; type < sampled.size(); ++type) {
      if (sampled[type]) add_window(*sampled[type], window->rows[type]->ids(), windows);
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
  epoch.types_.resize(request.sampled.size());
  for (std::size_t type = 0; type < request.sampled.size(); ++type) {
    if (request.sampled[type])
      epoch.kept_bytes_ += bytes_of_sums(setting, type, *request.sampled[type]);
  }
  const bool beside = request.slots != PlanSlots::kFree;
  std::uint64_t taken = 0;
  if (beside) {
    check_room_beside(setting, request, epoch.kept_bytes_);
    taken = request.kept_before + epoch.kept_bytes_;
  }
  for (std::size_t type = 0; type < request.sampled.size(); ++type) {
    if (!request.sampled[type]) continue;
    const std::uint64_t left = request.bytes - std::min(request.bytes, taken);
    epoch.types_[type] = std::make_unique<TypePlan>(
        plan_type(setting,
                  {type, std::move(request.sampled[type]), request.slots, left, request.followed},
                  directories.of(type),
                  busy));
    taken += epoch.types_[type]->taken_bytes;
    epoch.reasons_.push_back((beside ? "beside the epoch before: " : "") +
                             epoch.types_[type]->reason);
  }
  if (request.followed) epoch.directories_ = std::move(directories);
  return epoch;
}

void PlannedEpoch::begin(GraphData::State& data) {
  for (std::size_t type = 0; type < types_.size(); ++type) {
    if (types_[type] && types_[type]->packed)
      disk_store(data, type).count_extra(types_[type]->packed->scan_stats());
  }
}

const EpochLists::Step& PlannedEpoch::step(std::size_t window, std::size_t type) const {
  const std::vector<EpochLists::Step>& steps = types_[type]->lists->steps;
  if (window >= steps.size())
    throw Error(ErrorCode::kInternal, "a window is asked for that was not planned");
  return steps[window];
}

WindowPlan PlannedEpoch::plan(std::size_t window, std::size_t type) const {
  return step(window, type).plan;
}

std::uint32_t PlannedEpoch::gap(std::size_t window, std::size_t type) const {
  return step(window, type).gap_bytes;
}

RowDirectory::Admission PlannedEpoch::rows(std::size_t window,
                                           std::size_t type,
                                           std::span<std::uint32_t> places,
                                           std::vector<WantedRow>& wanted) {
  EpochLists& lists = *types_[type]->lists;
  const EpochLists::Step& of_window = step(window, type);
  if (of_window.rows != places.size())
    throw Error(ErrorCode::kInternal, "a window differs from the one that was planned");
  lists.places.read(of_window.first_id, places);
  lists.read_missing(of_window, wanted);
  return of_window.admission;
}

Result<void> PlannedEpoch::read_packed(std::size_t window,
                                       std::size_t type,
                                       std::span<const WantedRow> wanted,
                                       std::span<std::byte> table) {
  return types_[type]->packed->read(window, wanted, table);
}

PlanTraffic PlannedEpoch::traffic() const {
  PlanTraffic all;
  for (const auto& of_type : types_) {
    if (of_type) all += of_type->traffic();
  }
  return all;
}

void PlannedEpoch::drop_packed() {
  for (const auto& of_type : types_) {
    if (of_type) of_type->drop_packed();
  }
}

}  // namespace sluice
