#include "every_other_sampler.h"

#include <sluice/samplers/transpose_block.h>

#include <algorithm>
#include <utility>

namespace extend {

using sluice::Array;
using sluice::Batch;
using sluice::Block;
using sluice::DType;
using sluice::Result;

void EveryOtherOptions::describe(sluice::Schema& schema) {
  schema.field("layers", layers).help("hops, and layers of the network").range(1, 100);
}

EveryOtherSampler::EveryOtherSampler(sluice::SamplerGraph graph,
                                     Options options,
                                     sluice::BlockParts parts,
                                     sluice::RandomKey /*key*/)
    : options_(options), builder_(std::move(graph), parts) {}

Result<Batch> EveryOtherSampler::sample(const sluice::SampleRequest& request,
                                        sluice::MemoryLedger* ledger) {
  if (auto begun = builder_.begin(request, num_layers(), ledger); !begun)
    return std::move(begun).error();
  for (std::size_t layer = num_layers(); layer-- > 0;) {
    std::vector<Block> blocks;
    for (const auto& relation : builder_.relations()) {
      auto block =
          sample_block(relation, builder_.size_at(relation.target_type, layer + 1), ledger);
      if (!block) return std::move(block).error();
      blocks.push_back(std::move(block).value());
    }
    for (Block& block : blocks) {
      block.num_sources = static_cast<std::int64_t>(builder_.tables()[block.source_type].size());
      if (!builder_.parts().transpose) continue;
      if (auto made = sluice::transpose_block(block, ledger); !made) return std::move(made).error();
    }
    builder_.set_layer(layer, std::move(blocks));
    builder_.note_sizes(layer);
  }
  return builder_.finish();
}

Result<Block> EveryOtherSampler::sample_block(const sluice::SampledRelation& relation,
                                              std::size_t num_targets,
                                              sluice::MemoryLedger* ledger) {
  // A copy: the list may move when it grows.
  const auto listed = builder_.tables()[relation.target_type].ids().first(num_targets);
  targets_.assign(listed.begin(), listed.end());
  if (auto begun = scan_.begin({.topology = relation.topology, .targets = targets_}, ledger);
      !begun)
    return std::move(begun).error();
  std::vector<std::int64_t> offsets(num_targets + 1);
  std::vector<std::int32_t> sources;
  auto& table = builder_.tables()[relation.source_type];
  while (true) {
    auto piece = scan_.next();
    if (!piece) return std::move(piece).error();
    if (piece.value().empty()) break;
    if (auto room = table.reserve(piece.value().sources.size(), ledger); !room)
      return std::move(room).error();
    for (std::size_t i = 0; i < piece.value().sources.size(); ++i) {
      const std::size_t target = piece.value().targets[i];
      if ((piece.value().positions[i] - scan_.range(target).begin) % 2 != 0) continue;
      ++offsets[target + 1];
      sources.push_back(table.insert(piece.value().sources[i]));
    }
  }
  for (std::size_t i = 0; i < num_targets; ++i) offsets[i + 1] += offsets[i];
  Block block;
  block.relation = relation.index;
  block.source_type = relation.source_type;
  block.target_type = relation.target_type;
  block.num_targets = static_cast<std::int64_t>(num_targets);
  auto starts = Array::make(DType::kI64, {block.num_targets + 1}, ledger, "batches");
  if (!starts) return std::move(starts).error();
  auto rows =
      Array::make(DType::kI32, {static_cast<std::int64_t>(sources.size())}, ledger, "batches");
  if (!rows) return std::move(rows).error();
  std::ranges::copy(offsets, starts.value().as<std::int64_t>().begin());
  std::ranges::copy(sources, rows.value().as<std::int32_t>().begin());
  block.offsets = std::move(starts).value();
  block.neighbours = std::move(rows).value();
  return block;
}

}  // namespace extend
