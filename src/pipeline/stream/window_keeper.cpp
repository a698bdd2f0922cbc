#include "pipeline/stream/window_keeper.h"

#include "pipeline/stream/keeping_plan.h"
#include "pipeline/trace.h"

namespace sluice {

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
