#include "pipeline/plan/type_plan.h"

#include "core/radix_sort.h"
#include "core/side_thread.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice {
namespace {

// A window while the directory goes through it, and while it is read from the lists and added to
// them.
struct Passing {
  std::vector<std::uint64_t> ids;
  std::vector<std::uint32_t> next, places, missing;
};

// A row's part of two windows, one of which is read or listed: as above, and where it is missing
// itself, and what goes to the files.
constexpr std::uint64_t kAdmitBytes = std::uint64_t{2} * (8 + 4 + 4 + 4) + sizeof(WantedRow) + 12;

bool may_pack(const PlanSetting& setting) {
  const PlanChoice plan = setting.data.options.plan;
  return plan != PlanChoice::kDirect && plan != PlanChoice::kSweep;
}

class TypePlanner {
 public:
  TypePlanner(const PlanSetting& setting, const TypeRequest& request, RowDirectory& directory)
      : setting_(setting),
        request_(request),
        lists_(*request.lists),
        directory_(directory),
        table_(setting.data.caches[request.type]->table),
        store_(disk_store(setting.data, request.type)) {}

  void find_next_uses();
  /// Lets the directory go through the windows, and prices each.
  void admit();
  /// Chooses, and packs if that is the choice.
  void bring(TypePlan& plan, Busy& busy);

 private:
  void list_prefill(std::uint64_t slots);
  void take_free_slots();
  void take_slots_left();
  void make_buffers();
  void go_through_windows();
  void note_window(const Passing& window, EpochLists::Step& step);
  bool pack(TypePlan& plan, std::uint64_t bytes);
  std::uint64_t bytes_without(std::uint64_t others) const {
    return request_.bytes - std::min(request_.bytes, others);
  }

  const PlanSetting& setting_;
  const TypeRequest& request_;
  EpochLists& lists_;
  RowDirectory& directory_;
  SlotTable& table_;
  DiskFeatureStore& store_;
  EpochCost cost_{
      store_.layout(), *setting_.data.disk, setting_.data.options.plan, &setting_.ledger};
  const std::uint64_t kept_ = table_.held_bytes();
  // The slots before this one that no row had yet: rows go there without a run.
  std::uint32_t prefilled_slots_ = 0;
  std::vector<WantedRow> prefill_;  // those rows; ascending while they are packed
  Charge prefill_charge_;
  std::shared_ptr<PackingBuffers> buffers_;  // for packing that may be decided on
  std::uint64_t table_bytes_ = 0;            // that the table took for them
  std::vector<WantedRow> missed_;            // of a window
};

// The rows that the epoch before leaves are asked for by this one, or not at all.
void TypePlanner::find_next_uses() {
  const TraceSpan span(setting_.trace(), "find next uses");
  EpochLists::TellUses tell;
  if (request_.slots == PlanSlots::kGoingOn) {
    tell = [this](std::uint64_t first, std::span<const std::uint32_t> uses) {
      directory_.tell_next_uses(first, uses);
    };
  }
  lists_.windows_before = directory_.next_window() - 1;
  lists_.find_next_uses(
      request_.bytes, setting_.ledger, [this] { setting_.check_stopped(); }, tell);
}

// Room to list the rows that go to so many slots.
void TypePlanner::list_prefill(std::uint64_t slots) {
  prefill_charge_ = setting_.ledger.charge("epoch plan", slots * 2 * sizeof(WantedRow)).or_throw();
  prefill_.reserve(slots);
}

// Takes the slots that packing brings rows into.
void TypePlanner::take_free_slots() {
  const FeatureLayout& layout = store_.layout();
  prefilled_slots_ = slots_to_prefill(setting_.data.options.plan,
                                      lists_.steps.size(),
                                      layout,
                                      request_.bytes + kept_,
                                      table_.slots());
  list_prefill(prefilled_slots_);
  const std::uint64_t bytes = std::uint64_t{prefilled_slots_} * layout.row_bytes;
  table_bytes_ = bytes - std::min(bytes, kept_);
  // A device's table is there all at once, or not at all: it waits until it is wanted.
  if (!setting_.data.options.compute) (void)table_.first(prefilled_slots_);
}

// Slots that no row of the epoch before had: nobody reads there meanwhile.
void TypePlanner::take_slots_left() {
  const std::uint32_t left = table_.slots() - directory_.resident();
  if (!may_pack(setting_) || left == 0) return;
  const std::uint64_t least = bytes_beside_training(setting_, request_.type, lists_);
  const std::uint64_t room = bytes_without(least) / (2 * sizeof(WantedRow));
  const std::uint64_t fresh = std::min<std::uint64_t>(room, left);
  prefilled_slots_ = directory_.resident() + static_cast<std::uint32_t>(fresh);
  list_prefill(fresh);
}

// None where there is no room, which packing says itself.
void TypePlanner::make_buffers() {
  if (!may_pack(setting_)) return;
  try {
    buffers_ = std::make_shared<PackingBuffers>(
        lists_.steps.size(), store_.layout(), bytes_without(table_bytes_), &setting_.ledger);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResource) throw;
  }
}

void TypePlanner::admit() {
  const Charge charge =
      setting_.ledger.charge("epoch plan", lists_.most_rows() * kAdmitBytes).or_throw();
  const TraceSpan span(setting_.trace(), "admit");
  if (request_.slots == PlanSlots::kGoingOn) {
    take_slots_left();
  } else if (request_.slots == PlanSlots::kFree) {
    take_free_slots();
    make_buffers();
  }
  go_through_windows();
}

// On another thread the window before is listed and priced meanwhile, and the one after read.
void TypePlanner::go_through_windows() {
  std::array<Passing, 2> passing;
  const std::size_t windows = lists_.steps.size();
  const auto read = [&](std::size_t w) {
    Passing& window = passing[w % 2];
    lists_.read_ids(lists_.steps[w], window.ids);
    lists_.read_next_uses(lists_.steps[w], window.next);
    window.places.resize(lists_.steps[w].rows);
  };
  SideThread beside;
  beside.begin([&] { read(0); });  // there is always one
  for (std::size_t w = 0; w < windows; ++w) {
    setting_.check_stopped();
    beside.begin([&, w] {
      if (w > 0) note_window(passing[(w - 1) % 2], lists_.steps[w - 1]);
      if (w + 1 < windows) read(w + 1);
    });
    Passing& now = passing[w % 2];
    lists_.steps[w].admission =
        directory_.admit(now.ids, now.next, nullptr, now.places, now.missing);
  }
  beside.wait();
  note_window(passing[(windows - 1) % 2], lists_.steps.back());
  lists_.give_back_room();
}

// Lists where rows go and what is missing, and chooses how that is best read without repacking.
void TypePlanner::note_window(const Passing& window, EpochLists::Step& step) {
  lists_.append_places(window.places);
  step.prefilled = count_prefilled(step.admission, window.missing, window.places, prefilled_slots_);
  step.missing = window.missing.size() - step.prefilled;
  missed_.clear();
  for (const std::uint32_t i : window.missing) missed_.push_back({window.ids[i], window.places[i]});
  prefill_.insert(prefill_.end(),
                  missed_.begin(),
                  missed_.begin() + static_cast<std::ptrdiff_t>(step.prefilled));
  step.first_missing = lists_.missing_rows();
  lists_.append_missing(missed_);
  const EpochCost::Choice choice = cost_.add(missed_, step.missing);
  step.plan = choice.plan;
  step.gap_bytes = choice.gap_bytes;
}

void TypePlanner::bring(TypePlan& plan, Busy& busy) {
  missed_ = {};
  const EpochCost::Decision decision = cost_.decide(request_.bytes);
  plan.reason = decision.why;
  if (decision.pack) {
    const Busy::Pause pause(busy);
    const bool free = request_.slots == PlanSlots::kFree;
    const std::uint64_t others =
        free ? table_bytes_ : NeededParts::bytes(store_.layout()) + prefill_charge_.bytes();
    if (pack(plan, bytes_without(others))) {
      plan.taken_bytes = table_bytes_ + plan.packed->read_buffer_bytes();
      return;
    }
  }
  if (request_.slots != PlanSlots::kFree || request_.followed) {
    // What is planned after goes on with this cache, whose memory training wants anyway.
    plan.taken_bytes = table_bytes_;
    return;
  }
  table_.keep_first(
      static_cast<std::uint32_t>(kept_ / std::max<std::uint64_t>(store_.row_bytes(), 1)));
}

// False where there is no room, as on the disk: what was only the cheapest plan may be left.
bool TypePlanner::pack(TypePlan& plan, std::uint64_t bytes) {
  const GraphDataOptions& options = setting_.data.options;
  const std::unique_ptr<RunIds> runs = lists_.runs();
  PackedRowsOptions packed;
  packed.folder = options.scratch;
  packed.engine = store_.engine_options();
  packed.read_bytes = options.staging_bytes;
  packed.read_at_once = request_.slots == PlanSlots::kFree;
  packed.buffer_bytes = bytes;
  packed.buffers = std::move(buffers_);
  packed.scratch = setting_.data.scratch_files;
  Busy repacking(setting_.clocks.packing);
  repacking.note("windows", static_cast<double>(lists_.steps.size()));
  repacking.note("rows", static_cast<double>(lists_.missing_rows()));
  std::vector<WantedRow> sorting;
  radix_sort(prefill_, sorting, [](const WantedRow& row) { return row.row; });
  sorting = {};
  try {
    // Not while windows were gone through: that keeps the processors busy, this does not.
    table_.expect_rows(prefilled_slots_);
    const Prefill prefill{
        prefill_, prefill_.empty() ? std::span<std::byte>() : table_.first(prefilled_slots_)};
    plan.packed = std::make_unique<PackedRows>(store_,
                                               *runs,
                                               cost_.needed(),
                                               std::move(packed),
                                               &setting_.ledger,
                                               setting_.stopped,
                                               prefill);
  } catch (const Error& error) {
    if (options.plan == PlanChoice::kRepack || error.code() != ErrorCode::kResource) throw;
    plan.reason += "; not repacked after all: " + error.message();
    return false;
  }
  for (EpochLists::Step& step : lists_.steps) step.plan = WindowPlan::kPacked;
  return true;
}

}  // namespace

TypePlan plan_type(const PlanSetting& setting,
                   TypeRequest request,
                   RowDirectory& directory,
                   Busy& busy) {
  TypePlan plan;
  {
    TypePlanner planner(setting, request, directory);
    planner.find_next_uses();
    planner.admit();
    planner.bring(plan, busy);
  }
  plan.lists = std::move(request.lists);
  return plan;
}

std::uint64_t bytes_beside_training(const PlanSetting& setting,
                                    std::size_t type,
                                    const EpochLists& lists) {
  const FeatureLayout& layout = disk_store(setting.data, type).layout();
  const std::uint64_t admitting = lists.most_rows() * kAdmitBytes;
  if (!may_pack(setting)) return NeededParts::bytes(layout) + admitting;
  // Half as good as it gets, or less for a small table.
  const std::size_t runs = lists.steps.size();
  const std::uint64_t packing =
      std::min(PackingBuffers::good_bytes(runs, layout) / 2,
               PackingBuffers::least_bytes(runs, layout) + layout.file_bytes() / 32);
  return NeededParts::bytes(layout) + std::max(admitting, packing);
}

std::uint64_t bytes_of_sums(const PlanSetting& setting, std::size_t type, const EpochLists& lists) {
  std::uint64_t rows = 0;
  for (const EpochLists::Step& step : lists.steps) rows += step.rows;
  const std::uint64_t pages = rows * disk_store(setting.data, type).row_bytes() / kPageBytes;
  return (pages + lists.steps.size()) * sizeof(std::uint32_t);
}

PlanTraffic TypePlan::of_packed() const {
  if (!packed) return dropped_;
  return {packed->bytes_read(),
          packed->bytes_written(),
          packed->requests(),
          packed->writes(),
          packed->io_stats().latency};
}

void TypePlan::drop_packed() {
  dropped_ = of_packed();
  packed.reset();
}

PlanTraffic TypePlan::traffic() const {
  PlanTraffic all = of_packed();
  all.bytes_read += lists->bytes_read();
  all.bytes_written += lists->bytes_written();
  return all;
}

}  // namespace sluice
