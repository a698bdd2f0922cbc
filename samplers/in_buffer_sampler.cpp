#include "samplers/in_buffer_sampler.h"

#include "samplers/in_buffer_topology.h"

#include <sluice/error.h>

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

// The node type of a relation's sources.
std::size_t source_type_of(const GraphSchema& schema, const RelationSchema& relation) {
  const auto found = std::ranges::find(schema.nodes, relation.source, &NodeTypeSchema::name);
  return static_cast<std::size_t>(found - schema.nodes.begin());
}

class InBufferSampler final : public Sampler {
 public:
  InBufferSampler(const SamplerGraph& graph,
                  const SamplerMethod& method,
                  std::shared_ptr<const InBufferNodes> nodes,
                  const BlockParts& parts,
                  RandomKey key)
      : nodes_(std::move(nodes)), graph_(graph) {
    for (std::size_t r = 0; r < graph_.relations.size(); ++r) {
      const std::size_t type = source_type_of(*graph.schema, graph.schema->relations[r]);
      if (type >= nodes_->types.size() || nodes_->types[type].nodes == 0) continue;
      views_.push_back(
          std::make_shared<InBufferTopology>(graph_.relations[r], nodes_->types[type].each));
      graph_.relations[r] = views_.back();
    }
    sampler_ = method.make(graph_, parts, key);
  }

  std::size_t num_layers() const override { return sampler_->num_layers(); }

  Result<Batch> sample(const SampleRequest& request, MemoryLedger* ledger) override {
    if (auto found = find_resident(request); !found) return std::move(found).error();
    for (const auto& view : views_) view->begin(here_, ledger);
    return sampler_->sample(request, ledger);
  }

  std::uint64_t workspace_bytes() const override {
    std::uint64_t bytes = sampler_->workspace_bytes();
    for (const auto& view : views_) bytes += view->workspace_bytes();
    return bytes;
  }

 private:
  // An epoch's order is made when it is first asked for, and charged.
  Result<void> find_resident(const SampleRequest& request) {
    if (!nodes_->tour) return {};
    try {
      here_.assign(nodes_->tour->partitions(), 0);
      for (const std::uint32_t partition : nodes_->tour->at(request.epoch, request.index).resident)
        here_[partition] = 1;
      return {};
    } catch (const Error& error) {
      return error;
    }
  }

  std::shared_ptr<const InBufferNodes> nodes_;
  SamplerGraph graph_;
  std::vector<std::shared_ptr<InBufferTopology>> views_;
  std::vector<std::uint8_t> here_;  // by partition; none: all are
  std::unique_ptr<Sampler> sampler_;
};

}  // namespace

bool InBufferMethod::serves(const SamplerMethod& method) {
  return method.most_edges() != 0 && !method.needs_times() && !method.needs_weights() &&
         method.snapshot().mode == SnapshotMode::kOff;
}

InBufferMethod::InBufferMethod(std::shared_ptr<const SamplerMethod> method, InBufferNodes nodes)
    : method_(std::move(method)), nodes_(std::make_shared<const InBufferNodes>(std::move(nodes))) {
  if (!serves(*method_))
    throw Error(ErrorCode::kInternal, "a sampler that cannot draw in the buffer is to draw there");
}

std::unique_ptr<Sampler> InBufferMethod::make(const SamplerGraph& graph,
                                              const BlockParts& parts,
                                              RandomKey key) const {
  return std::make_unique<InBufferSampler>(graph, *method_, nodes_, parts, key);
}

}  // namespace sluice
