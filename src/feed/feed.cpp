#include "feed/feed.h"

#include "budget/dataset_disk.h"
#include "budget/memory_plan.h"
#include "budget/stored_data.h"
#include "core/cgroup.h"
#include "pipeline/window_budget.h"

#include <sluice/samplers/query_share.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace sluice {

// What feeds beside one another have in common.
struct Feed::Shared {
  std::shared_ptr<MemoryLedger> ledger;
  Dataset dataset;
  FeedSubject subject;
  PlaceChoice choice;
  std::unique_ptr<GraphData> data;
  MemoryNeeds needs;  // of all feeds
  MemoryPlan plan;
  std::uint64_t splits = 0;  // of the budget so far
  std::uint64_t feeds = 0;

  void split(std::uint64_t budget) {
    plan = plan_memory(needs, budget);
    ++splits;
  }
};

namespace {

std::uint64_t budget_of(const FeedOptions& options) {
  return options.memory.bytes != 0 ? options.memory.bytes : memory_granted() / 2;
}

FeatureGroups groups_of(const FeedOptions& options) {
  return {options.feature_groups, options.edge_feature_groups};
}

GraphDataOptions data_options(const FeedOptions& options,
                              const PlaceChoice& choice,
                              const SamplerMethod& sampler,
                              const FeedSubject& subject,
                              const GraphSchema& schema,
                              std::uint64_t budget) {
  GraphDataOptions placement = stored_data_options({choice.places.features.where,
                                                    choice.places.topology.where,
                                                    choice.phases,
                                                    budget,
                                                    groups_of(options),
                                                    choice.places.relations},
                                                   schema,
                                                   options.storage,
                                                   sampler);
  placement.edge_rules = subject.edge_rules();
  placement.paged_times = subject.kind() == QueryKind::kNodes;
  return placement;
}

LoaderOptions loader_options(const FeedOptions& options,
                             std::shared_ptr<const SamplerMethod> sampler) {
  LoaderOptions loader;
  loader.seed = options.seed;
  loader.fanout = {};
  loader.sampler = std::move(sampler);
  loader.transpose = options.transpose;
  loader.degrees = options.degrees;
  loader.edge_ids = options.edge_ids;
  loader.hash = options.hash;
  loader.exact = options.exact;
  loader.normalize_rows = options.normalize_rows;
  loader.window = options.storage.window;
  loader.data_threads = options.data_threads;
  return loader;
}

// Of two loaders that go over the same data in turn.
LoaderProbe larger(const LoaderProbe& one, const LoaderProbe& other) {
  LoaderProbe both = one;
  for (std::uint64_t LoaderProbe::*figure : {&LoaderProbe::batches,
                                             &LoaderProbe::sampled_bytes,
                                             &LoaderProbe::block_bytes,
                                             &LoaderProbe::group,
                                             &LoaderProbe::feature_bytes,
                                             &LoaderProbe::transfer_bytes,
                                             &LoaderProbe::window_bytes,
                                             &LoaderProbe::sampling_bytes,
                                             &LoaderProbe::kept_bytes})
    both.*figure = std::max(one.*figure, other.*figure);
  both.smallest_bytes = std::min(one.smallest_bytes, other.smallest_bytes);
  both.workspace_bytes = one.workspace_bytes + other.workspace_bytes;  // each keeps its own
  return both;
}

constexpr const char* kSmaller = "lower batch_size or the sampler's fanout";

[[noreturn]] void throw_no_room(const MemoryPlan& plan, std::uint64_t budget) {
  throw Error(
      ErrorCode::kResource,
      fmt::format("the loader does not fit in memory = {}; it needs\n{}",
                  format_bytes(budget),
                  plan.table()),
      fmt::format(
          "set memory to at least \"{}\", or {}", format_bytes_exact(plan.least), kSmaller));
}

}  // namespace

Feed::Feed(std::shared_ptr<Shared> shared, const FeedOptions& options, const FeedLists& lists)
    : shared_(std::move(shared)),
      options_(options),
      sampler_(options.registry->samplers.create(options.sampler)) {
  Shared& common = *shared_;
  if (!common.data) {
    common.data = std::make_unique<GraphData>(common.dataset,
                                              data_options(options,
                                                           common.choice,
                                                           *sampler_,
                                                           common.subject,
                                                           common.dataset.schema(),
                                                           common.plan.budget),
                                              common.subject.labels_of());
  }
  if (sampler_->needs_times() && options.queries == QueryKind::kGraphs)
    throw Error(ErrorCode::kUsage,
                fmt::format("graphs have no times, which sampler '{}' needs", options.sampler.type),
                "choose another sampler, neighbor for one");
  queries_ = common.subject.queries(
      common.dataset, *common.data, options_, lists, sampler_, *common.ledger);
  const auto ranks = static_cast<std::uint64_t>(options.world_size);
  if (ranks > 1 || options.rank != 0) {
    queries_ = std::make_shared<QueryShare>(queries_,
                                            static_cast<std::uint64_t>(options.rank),
                                            ranks,
                                            options.even ? Remainder::kDropped : Remainder::kKept);
  }
  warnings_ = common.subject.warnings(*common.data);
  make_loader(common.choice.phases.loader());
  measure();
}

Feed::~Feed() {
  loader_.reset();
  if (shared_) --shared_->feeds;
}

void Feed::make_loader(const LoaderMemory& memory) {
  loader_.reset();
  loader_ = std::make_unique<Loader>(
      *shared_->data, loader_options(options_, sampler_), queries_, memory, *shared_->ledger);
  split_ = shared_->splits;
}

// Samples a few mini-batches and splits the budget by what they take.
void Feed::measure() {
  Shared& common = *shared_;
  MemoryNeeds& needs = common.needs;
  needs.phases = common.choice.phases;
  needs.step_line = "mini-batches held";
  needs.step_from = "by the consumer, while the next one comes";
  const LoaderProbe probe = loader_->probe(needs.phases.probed());
  if (common.feeds++ == 0) {
    const std::string relations =
        relations_text(common.dataset.schema(), common.choice.places.relations);
    for (const MemoryLedger::Entry& entry : common.ledger->entries()) {
      if (entry.bytes != 0 && entry.name != "sampler workspace")
        needs.loaded.push_back({entry.name, entry.bytes, loaded_note(entry.name, relations)});
    }
    needs.training = probe;
    if (!options_.scratch.empty()) needs.reading_back = reading_back_bytes(common.data->state());
  } else {
    needs.evaluation = common.feeds == 2 ? probe : larger(needs.evaluation, probe);
  }
  needs.step = std::max(
      needs.step,
      static_cast<std::uint64_t>(options_.held) * (probe.block_bytes + probe.feature_bytes));
  common.split(common.plan.budget);
  if (!common.plan.fits()) return;
  loader_->set_memory(common.plan.loader);
  split_ = common.splits;
}

std::unique_ptr<Feed> Feed::attempt(const std::string& path,
                                    const FeedOptions& options,
                                    const FeedLists& lists,
                                    const PlaceChoice& choice,
                                    std::uint64_t budget,
                                    std::uint64_t limit) {
  auto ledger = std::make_shared<MemoryLedger>(limit, "memory");
  Dataset dataset = Dataset::open(path, {ledger.get(), options.storage.verify});
  FeedSubject subject(dataset, options, lists);
  auto shared = std::make_shared<Shared>(
      Shared{std::move(ledger), std::move(dataset), std::move(subject), choice, {}, {}, {}});
  shared->plan.budget = budget;
  return std::unique_ptr<Feed>(new Feed(std::move(shared), options, lists));
}

void Feed::refuse(const std::string& path,
                  const FeedOptions& options,
                  const FeedLists& lists,
                  const std::vector<PlaceChoice>& choices,
                  std::uint64_t budget) {
  std::optional<MemoryPlan> least;
  std::optional<Error> beyond;
  for (const PlaceChoice& choice : choices) {
    try {
      // Read buffers grow with the budget a little, so that the first guess may be short.
      for (std::uint64_t roomy = budget;;) {
        const auto feed = attempt(path, options, lists, choice, roomy, memory_granted());
        const MemoryPlan& plan = feed->shared_->plan;
        if (plan.fits()) {
          if (!least || plan.budget < least->budget) least = plan;
          break;
        }
        roomy = plan.least;
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kResource) throw;
      beyond = error;
    }
  }
  if (!least && beyond) throw *std::move(beyond);
  least->least = least->budget;
  throw_no_room(*least, budget);
}

std::unique_ptr<Feed> Feed::open(const std::string& path,
                                 const FeedOptions& options,
                                 const FeedLists& lists) {
  const std::uint64_t budget = budget_of(options);
  const GraphSchema schema = Dataset::open(path).schema();
  const bool planned = !options.scratch.empty() && epochs_may_be_planned(options.storage);
  const auto choices = place_choices(
      options.storage, schema, groups_of(options), budget, planned ? Turns::kMay : Turns::kNever);
  for (const PlaceChoice& choice : choices) {
    try {
      auto feed = attempt(path, options, lists, choice, budget, budget);
      Shared& common = *feed->shared_;
      if (!common.plan.fits()) continue;
      if (options.scratch.empty() || choice.places.features.where == Placement::kMemory)
        return feed;
      DatasetDisk disk = measure_dataset_disk(path, common.ledger.get());
      feed->warnings_.insert(feed->warnings_.end(), disk.warnings.begin(), disk.warnings.end());
      common.data->plan_epochs(options.scratch, std::move(disk.profile));
      return feed;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kResource) throw;
    }
  }
  refuse(path, options, lists, choices, budget);
}

std::unique_ptr<Feed> Feed::beside(const FeedOptions& options, const FeedLists& lists) {
  const auto other = [](const char* what) {
    return Error(ErrorCode::kUsage,
                 fmt::format("a loader beside another one goes over the same data, and {} is not "
                             "the same",
                             what),
                 "open a loader of its own for it");
  };
  const FeedSubject asked(shared_->dataset, options, lists);
  if (!asked.same_data(shared_->subject)) throw other("what it asks about");
  if (options.feature_groups != options_.feature_groups ||
      options.edge_feature_groups != options_.edge_feature_groups)
    throw other("the features");
  const auto method = options.registry->samplers.create(options.sampler);
  if (method->needs_times() != sampler_->needs_times() ||
      (method->needs_weights() && !sampler_->needs_weights()))
    throw other("what the sampler needs of edges");
  const MemoryNeeds before = shared_->needs;
  std::unique_ptr<Feed> feed(new Feed(shared_, options, lists));
  if (shared_->plan.fits()) return feed;
  const MemoryPlan refused = shared_->plan;
  feed.reset();
  shared_->needs = before;
  shared_->split(refused.budget);
  throw_no_room(refused, refused.budget);
}

std::uint64_t Feed::num_batches() const {
  return queries_->num_batches();
}

void Feed::start(const LoaderStart& where) {
  if (split_ != shared_->splits) make_loader(shared_->plan.loader);
  LoaderStart told = where;
  told.others_between = shared_->feeds > 1;
  loader_->start(told);
}

const Dataset& Feed::dataset() const {
  return shared_->dataset;
}

std::shared_ptr<MemoryLedger> Feed::ledger() const {
  return shared_->ledger;
}

Places Feed::places() const {
  return shared_->choice.places;
}

std::string Feed::engine() const {
  return shared_->data->engine();
}

std::string Feed::describe() const {
  const auto name = [](Placement where) {
    return where == Placement::kMemory ? "in memory" : "on disk";
  };
  const Kept& features = shared_->choice.places.features;
  const Kept& topology = shared_->choice.places.topology;
  const bool by_relation = !shared_->choice.places.relations.empty();
  std::string text = fmt::format("features {}: {}\ntopology {}: {}\n",
                                 name(features.where),
                                 features.why,
                                 by_relation ? "in part on disk" : name(topology.where),
                                 topology.why);
  const std::string_view told = shared_->choice.phases.told();
  if (!told.empty()) text += fmt::format("memory: {}\n", told);
  return text + shared_->plan.table();
}

}  // namespace sluice
