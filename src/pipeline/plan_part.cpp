#include "pipeline/plan_part.h"

#include "core/radix_sort.h"
#include "core/side_thread.h"
#include "storage/feature/disk_store.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice {
namespace {

// A window while the cache goes through it, and while it is read from the lists and added to them.
struct Passing {
  std::vector<std::uint64_t> ids;
  std::vector<std::uint32_t> next, places, missing;
};

// A row's part of two windows, one of which is read or listed: as above, and where it is missing
// itself, and what goes to the files.
constexpr std::uint64_t kAdmitBytes = 2 * (8 + 4 + 4 + 4) + sizeof(WantedRow) + 12;

// The rows with those numbers, and where they belong.
void list_rows(std::span<const std::uint32_t> numbers,
               std::span<const std::uint64_t> ids,
               std::span<const std::uint32_t> places,
               std::vector<WantedRow>& out) {
  out.clear();
  for (const std::uint32_t i : numbers) out.push_back({ids[i], places[i]});
}

// Lists what a window misses, and chooses how it would best be read without repacking.
void note_missed(EpochLists& lists,
                 EpochLists::Step& step,
                 std::span<const WantedRow> missed,
                 EpochCost& cost) {
  step.first_missing = lists.missing_rows();
  lists.append_missing(missed);
  const EpochCost::Choice choice = cost.add(missed, step.missing);
  step.plan = choice.plan;
  step.gap_bytes = choice.gap_bytes;
}

}  // namespace

void PlanSetting::check_stopped() const {
  if (stopped()) throw Error(ErrorCode::kInterrupted, "interrupted while an epoch was planned");
}

PlanPart::PlanPart(PlanSetting& setting, std::size_t type, std::uint32_t windows_before)
    : lists(setting.options.folder, setting.data.graph.schema->nodes[type].count, windows_before),
      setting_(setting),
      type_(type) {}

DiskFeatureStore& PlanPart::store() const {
  return dynamic_cast<DiskFeatureStore&>(*setting_.data.features[type_]);
}

std::uint64_t PlanPart::good_bytes(const FeatureLayout& layout,
                                   std::uint64_t windows,
                                   std::uint64_t rows,
                                   std::uint64_t slots) {
  // Next uses are noted in half of what there is, by four bytes each at most.
  return 2 * layout.rows * sizeof(std::uint32_t) + rows * kAdmitBytes + NeededParts::bytes(layout) +
         slots * 2 * sizeof(WantedRow) + PackingBuffers::good_bytes(windows, layout);
}

std::uint64_t PlanPart::sum_bytes() const {
  std::uint64_t rows = 0;
  for (const EpochLists::Step& step : lists.steps) rows += step.rows;
  return (rows * store().row_bytes() / kPageBytes + lists.steps.size()) * sizeof(std::uint32_t);
}

std::uint64_t PlanPart::bytes_beside_training() const {
  const FeatureLayout& layout = store().layout();
  const std::uint64_t admitting = lists.most_rows() * kAdmitBytes;
  const PlanChoice plan = setting_.options.plan;
  if (plan == PlanChoice::kDirect || plan == PlanChoice::kSweep)
    return NeededParts::bytes(layout) + admitting;
  // Half as good as it gets, or less for a small table.
  const std::size_t runs = lists.steps.size();
  const std::uint64_t packing =
      std::min(PackingBuffers::good_bytes(runs, layout) / 2,
               PackingBuffers::least_bytes(runs, layout) + layout.file_bytes() / 32);
  return NeededParts::bytes(layout) + std::max(admitting, packing);
}

void PlanPart::plan(std::uint64_t bytes, Place place, Busy& busy) {
  const std::uint64_t kept = cache().held_bytes();
  const std::unique_ptr<EpochCost> cost = admit(bytes, place);
  const EpochCost::Decision decision = cost->decide(bytes);
  const bool beside = place == Place::kLast || place == Place::kAhead;
  reason_ = decision.why;
  if (decision.pack) {
    const Busy::Pause pause(busy);
    const std::uint64_t others =
        beside ? NeededParts::bytes(store().layout()) + prefill_charge_.bytes() : cache_bytes_;
    if (pack(cost->needed(), bytes - std::min(bytes, others), place == Place::kOnly)) return;
  }
  buffers_.reset();
  prefill_ = {};
  prefill_charge_.release();
  // What is planned after goes on with this cache, whose memory training wants anyway.
  if (place != Place::kOnly || setting_.options.followed) return;
  cache().forget_rows(static_cast<std::uint32_t>(kept / std::max(store().row_bytes(), 1ul)));
  cache_bytes_ = 0;
}

// Room to list the rows that go to so many slots.
void PlanPart::list_prefill(std::uint64_t slots) {
  prefill_charge_ = setting_.ledger.charge("epoch plan", slots * 2 * sizeof(WantedRow)).or_throw();
  prefill_.reserve(slots);
}

// Takes the slots that packing brings rows into.
void PlanPart::take_cache(std::uint64_t bytes) {
  const FeatureLayout& layout = store().layout();
  const std::uint64_t kept = cache().held_bytes();
  prefilled_slots_ = slots_to_prefill(
      setting_.options.plan, lists.steps.size(), layout, bytes + kept, cache().slots());
  list_prefill(prefilled_slots_);
  const std::uint64_t table_bytes = std::uint64_t{prefilled_slots_} * layout.row_bytes;
  cache_bytes_ = table_bytes - std::min(table_bytes, kept);
  // A device's table is there all at once, or not at all: it waits until it is wanted.
  if (!setting_.data.options.compute) (void)cache().table(prefilled_slots_);
}

// What rows are listed in that packing brings into slots which the parts before left.
std::uint64_t PlanPart::bytes_to_list_rest_of_cache() const {
  const PlanChoice plan = setting_.options.plan;
  if (plan == PlanChoice::kDirect || plan == PlanChoice::kSweep) return 0;
  return std::uint64_t{cache().slots() - cache().resident()} * 2 * sizeof(WantedRow);
}

// Slots that no row of the part before had: nobody reads there meanwhile.
void PlanPart::take_rest_of_cache(std::uint64_t bytes) {
  if (bytes_to_list_rest_of_cache() == 0) return;
  const std::uint64_t least = bytes_beside_training();
  const std::uint64_t room = (bytes - std::min(bytes, least)) / (2 * sizeof(WantedRow));
  const std::uint64_t fresh = std::min<std::uint64_t>(room, cache().slots() - cache().resident());
  prefilled_slots_ = cache().resident() + static_cast<std::uint32_t>(fresh);
  list_prefill(fresh);
}

// For packing that may be decided on: null where there is no room, which packing says itself.
std::shared_ptr<PackingBuffers> PlanPart::packing_buffers(std::uint64_t bytes) const {
  const PlanChoice plan = setting_.options.plan;
  if (plan == PlanChoice::kDirect || plan == PlanChoice::kSweep) return nullptr;
  try {
    return std::make_shared<PackingBuffers>(
        lists.steps.size(), store().layout(), bytes, &setting_.ledger);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResource) throw;
    return nullptr;
  }
}

// Lets the cache go through the windows without rows, and prices each.
std::unique_ptr<EpochCost> PlanPart::admit(std::uint64_t bytes, Place place) {
  const Charge charge =
      setting_.ledger.charge("epoch plan", lists.most_rows() * kAdmitBytes).or_throw();
  const TraceSpan span(setting_.options.trace, "admit");
  auto cost = std::make_unique<EpochCost>(
      store().layout(), setting_.disk, setting_.options.plan, &setting_.ledger);
  if (place == Place::kLast) {
    take_rest_of_cache(bytes);
  } else if (place != Place::kAhead) {
    cache().clear();
    take_cache(bytes);
    buffers_ = packing_buffers(bytes - std::min(bytes, cache_bytes_));
  }
  go_through_windows(*cost);
  return cost;
}

// On another thread the window before is listed and priced meanwhile, and the one after read.
void PlanPart::go_through_windows(EpochCost& cost) {
  std::array<Passing, 2> passing;
  const std::size_t windows = lists.steps.size();
  const auto read = [&](std::size_t w) {
    Passing& window = passing[w % 2];
    lists.read_ids(lists.steps[w], window.ids);
    lists.read_next_uses(lists.steps[w], window.next);
    window.places.resize(lists.steps[w].rows);
  };
  std::vector<WantedRow> missed;
  const auto list = [&](std::size_t w) {
    const Passing& window = passing[w % 2];
    EpochLists::Step& step = lists.steps[w];
    lists.append_places(window.places);
    step.prefilled =
        count_prefilled(step.admission, window.missing, window.places, prefilled_slots_);
    step.missing = window.missing.size() - step.prefilled;
    list_rows(window.missing, window.ids, window.places, missed);
    prefill_.insert(prefill_.end(),
                    missed.begin(),
                    missed.begin() + static_cast<std::ptrdiff_t>(step.prefilled));
    note_missed(lists, step, missed, cost);
  };
  SideThread beside;
  beside.begin([&] { read(0); });  // there is always one
  for (std::size_t w = 0; w < windows; ++w) {
    setting_.check_stopped();
    beside.begin([&, w] {
      if (w > 0) list(w - 1);
      if (w + 1 < windows) read(w + 1);
    });
    Passing& now = passing[w % 2];
    lists.steps[w].admission = cache().admit(now.ids, now.next, nullptr, now.places, now.missing);
  }
  beside.wait();
  list(windows - 1);
  lists.give_back_room();
}

// False where there is no room, as on the disk: what was only the cheapest plan may be left.
bool PlanPart::pack(const NeededParts& needed, std::uint64_t bytes, bool read_at_once) {
  const EpochPlanOptions& options = setting_.options;
  const std::unique_ptr<RunIds> runs = lists.runs();
  PackedRowsOptions packed;
  packed.folder = options.folder;
  packed.engine = store().engine_options();
  packed.read_bytes = setting_.data.options.staging_bytes;
  packed.read_at_once = read_at_once;
  packed.buffer_bytes = bytes;
  packed.buffers = std::move(buffers_);
  packed.scratch = setting_.data.scratch_files;
  Busy repacking(setting_.packing);
  repacking.note("windows", static_cast<double>(lists.steps.size()));
  repacking.note("rows", static_cast<double>(lists.missing_rows()));
  std::vector<WantedRow> sorting;
  radix_sort(prefill_, sorting, [](const WantedRow& row) { return row.row; });
  sorting = {};
  try {
    // Not while the cache went through the windows: that keeps the processors busy, this does not.
    cache().expect_rows(prefilled_slots_);
    const Prefill prefill{
        prefill_, prefill_.empty() ? std::span<std::byte>() : cache().table(prefilled_slots_)};
    packed_ = std::make_unique<PackedRows>(
        store(), *runs, needed, std::move(packed), &setting_.ledger, setting_.stopped, prefill);
  } catch (const Error& error) {
    if (options.plan == PlanChoice::kRepack || error.code() != ErrorCode::kResource) throw;
    reason_ += "; not repacked after all: " + error.message();
    return false;
  }
  prefill_ = {};
  prefill_charge_.release();
  for (EpochLists::Step& step : lists.steps) step.plan = WindowPlan::kPacked;
  return true;
}

void PlanPart::drop_packed() {
  dropped_ = traffic();
  dropped_.bytes_read -= lists.bytes_read();
  dropped_.bytes_written -= lists.bytes_written();
  packed_.reset();
}

EpochPlan::Traffic PlanPart::traffic() const {
  EpochPlan::Traffic all = dropped_;
  all.bytes_read += lists.bytes_read();
  all.bytes_written += lists.bytes_written();
  if (!packed_) return all;
  all.bytes_read += packed_->bytes_read();
  all.bytes_written += packed_->bytes_written();
  all.requests += packed_->requests();
  all.writes += packed_->writes();
  all.latency += packed_->io_stats().latency;
  return all;
}

}  // namespace sluice
