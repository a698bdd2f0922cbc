#include "nn/batch_views.h"

#include "nn/keyed_draws.h"

#include <sluice/nn/tensor_view.h>

#include <functional>
#include <optional>

namespace sluice::nn {
namespace {

using torch::Tensor;

// Over the memory of a tensor of its own, where it lies.
Array array_of_view(const Tensor& tensor) {
  const Tensor whole = tensor.contiguous();
  return Array::adopt(
      dtype_of_tensor(whole),
      whole.sizes().vec(),
      whole.data_ptr(),
      [whole](void*) {},
      whole.is_cpu() ? MemorySpace::kHost : MemorySpace::kCuda);
}

// i64 [items + 1]: how many are kept before each.
Tensor kept_before(const Tensor& keep) {
  return torch::cat({torch::zeros({1}, keep.options().dtype(torch::kInt64)), keep.cumsum(0)});
}

// As i64 where they are u64, of which LibTorch selects nothing.
Array rows_kept(const Array& rows, const Tensor& kept) {
  if (rows.empty()) return rows;
  const Tensor all = as_tensor(rows);
  if (rows.dtype() != DType::kU64) return array_of_view(all.index_select(0, kept));
  return array_of_view(all.view(torch::kInt64).index_select(0, kept).view(torch::kUInt64));
}

// i64 [edges]: the row of each edge's target.
Tensor target_rows(const Block& block) {
  const Tensor offsets = as_tensor(block.offsets);
  return torch::repeat_interleave(torch::arange(block.num_targets, offsets.options()),
                                  offsets.diff(),
                                  std::nullopt,
                                  block.num_edges());
}

/// @param keep of a block's edges, by the ids of their sources and targets
Batch with_edges(const Batch& batch,
                 const std::function<Tensor(const Tensor& sources, const Tensor& targets)>& keep) {
  Batch view = batch;
  for (std::vector<Block>& layer : view.layers) {
    for (Block& block : layer) {
      if (block.num_edges() == 0) continue;
      const Tensor sources = as_tensor(block.neighbours).to(torch::kInt64);
      block =
          kept_edges(block,
                     keep(node_ids(batch, block.source_type).index_select(0, sources),
                          node_ids(batch, block.target_type).index_select(0, target_rows(block))));
    }
  }
  return view;
}

}  // namespace

Block kept_edges(const Block& block, const Tensor& keep) {
  Block out = block;
  const Tensor kept = keep.nonzero().flatten(), before = kept_before(keep);
  out.offsets = array_of_view(before.index_select(0, as_tensor(block.offsets)));
  out.neighbours = array_of_view(as_tensor(block.neighbours).index_select(0, kept));
  out.edge_ids = rows_kept(block.edge_ids, kept);
  for (Array& group : out.features) group = rows_kept(group, kept);
  out.deltas = rows_kept(block.deltas, kept);
  out.labels = rows_kept(block.labels, kept);
  if (block.transposed_offsets.empty()) return out;
  const Tensor edges = as_tensor(block.transposed_edges).to(torch::kInt64);
  const Tensor keep_there = keep.index_select(0, edges);
  const Tensor kept_there = keep_there.nonzero().flatten();
  out.transposed_offsets =
      array_of_view(kept_before(keep_there).index_select(0, as_tensor(block.transposed_offsets)));
  out.transposed_targets =
      array_of_view(as_tensor(block.transposed_targets).index_select(0, kept_there));
  out.transposed_edges =
      array_of_view(before.index_select(0, edges.index_select(0, kept_there)).to(torch::kInt32));
  return out;
}

Batch with_dropped_edges(const Batch& batch, RandomKey key, double rate) {
  if (rate <= 0) return batch;
  return with_edges(batch, [&](const Tensor& sources, const Tensor& targets) {
    return below_rate(pair_draws(key, sources, targets), rate).logical_not();
  });
}

Batch with_dropped_nodes(const Batch& batch, RandomKey key, double rate) {
  if (rate <= 0) return batch;
  return with_edges(batch, [&](const Tensor& sources, const Tensor& targets) {
    return chosen(key, sources, rate).logical_or(chosen(key, targets, rate)).logical_not();
  });
}

Batch first_layers(const Batch& batch, std::int64_t layers) {
  const auto count = static_cast<std::size_t>(layers);
  if (count == batch.layers.size()) return batch;
  Batch view = batch;
  view.layers.resize(count);
  for (std::size_t type = 0; type < view.nodes.size(); ++type) {
    BatchNodes& nodes = view.nodes[type];
    nodes.size_at.resize(count + 1);
    if (type < view.seeds.size() && !nodes.ids.empty())
      view.seeds[type] = array_of_view(as_tensor(nodes.ids).narrow(0, 0, nodes.size_at.back()));
  }
  return view;
}

Tensor node_ids(const Batch& batch, std::size_t type) {
  return as_tensor(batch.nodes.at(type).ids).view(torch::kInt64);
}

Tensor linked_pairs(const Batch& batch, std::size_t type, const Tensor& rows) {
  const std::int64_t count = rows.size(0);
  // Where each row of the batch is among those asked about; -1: nowhere.
  Tensor places = torch::full({batch.nodes.at(type).ids.numel()}, -1, rows.options());
  places.index_copy_(0, rows, torch::arange(count, rows.options()));
  Tensor linked = torch::zeros({count * count}, rows.options().dtype(torch::kBool));
  for (const std::vector<Block>& layer : batch.layers) {
    for (const Block& block : layer) {
      if (block.source_type != type || block.target_type != type || block.num_edges() == 0)
        continue;
      const Tensor sources = places.index_select(0, as_tensor(block.neighbours).to(torch::kInt64));
      const Tensor targets = places.index_select(0, target_rows(block));
      const Tensor both = sources.ge(0).logical_and(targets.ge(0)).nonzero().flatten();
      linked.index_fill_(
          0, sources.index_select(0, both) * count + targets.index_select(0, both), true);
    }
  }
  linked = linked.view({count, count});
  return linked.logical_or(linked.t());
}

}  // namespace sluice::nn
