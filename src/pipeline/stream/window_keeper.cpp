#include "pipeline/stream/window_keeper.h"

#include "pipeline/trace.h"
#include "storage/format/relation_lists.h"

#include <algorithm>
#include <limits>

namespace sluice {
namespace {

constexpr std::uint64_t kSpareWindowBytes = 16 << 20;
constexpr std::uint64_t kMostGroup = 32;  // batches that share reads, while an epoch is planned

// Of the room for that, what reads in flight get, up to where more bring nothing.
constexpr std::uint64_t kStagingShare = 24;
constexpr std::uint64_t kMostStaging = 16 << 20;

// What a relation's edges and offsets take in RAM.
std::uint64_t resident_bytes(const GraphSchema& schema, const RelationSchema& relation) {
  const std::uint64_t sources = schema.node_type(relation.source)->count;
  const std::uint64_t an_edge = size_of(node_id_dtype(sources)) +
                                (relation.has_edge_ids ? size_of(relation.edge_id_dtype()) : 0);
  return relation.edges * an_edge +
         RelationLists::of(schema, relation, ListsOf::kTargets).resident_bytes();
}

// Of all relations on disk.
std::uint64_t resident_bytes(const SamplerGraph& graph) {
  std::uint64_t bytes = 0;
  for (std::size_t r = 0; r < graph.relations.size(); ++r) {
    if (graph.relations[r]->resident() == nullptr)
      bytes += resident_bytes(*graph.schema, graph.schema->relations[r]);
  }
  return bytes;
}

// Of a window that is being made while its mini-batches are kept.
std::uint64_t window_bytes(const WindowLimits& limits) {
  return kSpareWindowBytes + numbering_bytes(limits);
}

}  // namespace

KeepingPlan plan_keeping(const BatchSampler& sampler,
                         std::uint64_t bytes,
                         std::uint64_t block_bytes,
                         const WindowLimits& limits) {
  const BatchSetting& setting = sampler.setting();
  const SamplerGraph& graph = setting.data.graph;
  const std::uint64_t workspace = sampler.bytes_a_workspace();
  // A window is being made meanwhile.
  const std::uint64_t room = bytes - std::min(bytes, window_bytes(limits));
  KeepingPlan plan;
  plan.staging =
      LentStaging::bytes_each(graph.relations, std::min(room / kStagingShare, kMostStaging));
  const std::uint64_t shared = room - LentStaging::bytes_of(graph.relations, plan.staging);
  // Beside its workspace, positions and answers among it, a batch takes itself; later ones may be
  // larger.
  const std::uint64_t each = std::max<std::uint64_t>((workspace + block_bytes) / 8 * 9, 1);
  plan.group = static_cast<std::size_t>(
      std::clamp<std::uint64_t>(shared / each, GroupSampler::kGroup, kMostGroup));
  // Two groups live at once: one is sampled while the other's rows are numbered.
  const auto threads = static_cast<std::uint64_t>(sampler.threads());
  const auto batches_in = [&](std::uint64_t bytes_left) {
    const std::uint64_t batches = bytes_left / std::max<std::uint64_t>(2 * block_bytes, 1);
    return static_cast<std::size_t>(std::clamp(batches, threads, std::max(threads, kMostGroup)));
  };
  plan.ahead = batches_in(room / 2);
  // Approximate snapshots stay between, whatever the budget: their batches are other ones.
  const std::uint64_t edges = resident_bytes(graph);
  // In memory they are sampled through lookup tables, which the measured workspace had not.
  const std::uint64_t tables = GroupSampler::most_table_bytes(&setting.ledger, sampler.threads());
  const std::uint64_t held = edges + tables + threads * (workspace + 4 * block_bytes);
  if (edges == 0 || setting.data.approximates(setting.options) || held > room) return plan;
  plan.edge_bytes = edges;
  plan.ahead = batches_in((room - held) / 2);
  return plan;
}

std::uint64_t wish_for_keeping(const BatchSampler& sampler,
                               std::uint64_t block_bytes,
                               const WindowLimits& limits) {
  if (sampler.paged()) return std::numeric_limits<std::uint64_t>::max();
  return window_bytes(limits) + 4 * kMostGroup * block_bytes;
}

// While windows are kept nothing else goes on: the next group is sampled while this one's rows are
// numbered. Not where edges are on disk: their reads stay with one thread.
WindowKeeper::WindowKeeper(BatchSampler& sampler,
                           const LoaderStart& where,
                           const WindowLimits& limits,
                           std::uint64_t bytes,
                           std::uint64_t batch_bytes)
    : sampler_(sampler), kept_(std::make_unique<KeptWindows>(sampler, where, batch_bytes)) {
  const KeepingPlan plan = plan_keeping(sampler, bytes, batch_bytes, limits);
  if (plan.edge_bytes != 0) load_edges(plan.edge_bytes);
  if (!resident_) {
    sampler.set_group(plan.group);
    lend_staging(plan.staging);
  }
  BatchSampler& from = resident_ ? *resident_ : sampler;
  windows_.emplace(from, where, limits, from.paged() ? 0 : plan.ahead, [this](Window& window) {
    kept_->add_last_batch(window);
  });
}

// Edges that do not fit beside training may fit while an epoch is planned: then they are read once,
// in sequence.
void WindowKeeper::load_edges(std::uint64_t bytes) {
  const BatchSetting& setting = sampler_.setting();
  const TraceSpan span(setting.options.trace, "load edges");
  SamplerGraph graph = setting.data.graph;
  try {
    for (std::size_t r = 0; r < graph.relations.size(); ++r) {
      if (graph.relations[r]->resident() == nullptr)
        graph.relations[r] = setting.data.load_relation(r);
    }
  } catch (const Error& error) {
    // Files that were open before the dataset was replaced serve on.
    if (error.code() != ErrorCode::kResource && !setting.data.dataset->replaced()) throw;
    return;
  }
  resident_.emplace(setting, std::move(graph));
  kept_->count_read(bytes);
}

// Reads of edges that are one after the other leave the disk waiting.
void WindowKeeper::lend_staging(std::uint64_t each) {
  if (each == 0) return;
  try {
    lent_ = std::make_unique<LentStaging>(sampler_.setting().data.graph.relations, each);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResource) throw;
  }
}

std::shared_ptr<Window> WindowKeeper::next() {
  std::shared_ptr<Window> window = windows_->next();
  if (window) {
    kept_->add(*window);
    return window;
  }
  kept_->finish();
  give_back();
  return nullptr;
}

// What was held to keep batches is wanted for other things now.
void WindowKeeper::give_back() {
  windows_.reset();
  lent_.reset();
  resident_.reset();
  sampler_.set_group(GroupSampler::kGroup);
}

}  // namespace sluice
