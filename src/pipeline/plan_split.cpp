#include "pipeline/plan_split.h"

#include "pipeline/plan_part.h"
#include "storage/feature/disk_store.h"

#include <algorithm>

namespace sluice {
namespace {

// Of an epoch, the part that is planned first: training must take as long with it as the others
// take to be planned beside it, and a larger one comes later.
constexpr std::uint64_t kFirstShare = 4;

const FeatureLayout& layout_of(const GraphData::State& data, std::size_t type) {
  return dynamic_cast<const DiskFeatureStore&>(*data.features[type]).layout();
}

// Of passing over all tables.
double pass_seconds(const GraphData::State& data) {
  const PlanChoice plan = data.options.plan;
  if (plan == PlanChoice::kDirect || plan == PlanChoice::kSweep) return 0;
  std::uint64_t bytes = 0;
  for (std::size_t type = 0; type < data.features.size(); ++type) {
    if (data.on_disk(type)) bytes += layout_of(data, type).file_bytes();
  }
  return static_cast<double>(bytes) / data.disk->rates().sequential_read;
}

// Of sampling what the first part leaves.
double sampling_seconds(const PlanSplitSetup& setup) {
  const std::uint64_t rest = setup.batches - setup.batches / kFirstShare;
  return static_cast<double>(rest * setup.batch_bytes) / kSampledBytesASecond;
}

}  // namespace

PlanSplit split_plan(const GraphData::State& data,
                     const WindowSampler& sampler,
                     const PlanSplitSetup& setup) {
  // Edges on disk leave sampling no memory to spare.
  if (sampler.paged() || !sampler.worth_keeping()) return {};
  if (setup.batches < kFirstShare * kFirstWindow) return {};
  if (pass_seconds(data) > sampling_seconds(setup)) return {};
  PlanSplit split{setup.batches / kFirstShare, 0};
  std::uint64_t rows = 0;
  for (std::size_t type = 0; type < data.features.size(); ++type) {
    if (!data.on_disk(type)) continue;
    const FeatureLayout& layout = layout_of(data, type);
    rows += setup.slots[type] * layout.row_bytes;
    split.beside_sampling +=
        PlanPart::good_bytes(layout, split.first_part, setup.limits.rows[type], setup.slots[type]);
  }
  split.beside_sampling += rows - std::min(rows, setup.held);
  return split.beside_sampling <= setup.room / 2 ? split : PlanSplit{};
}

}  // namespace sluice
