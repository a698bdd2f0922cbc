#include <sluice/nn/union_block.h>

#include <sluice/error.h>
#include <sluice/nn/tensor_view.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>

namespace sluice::nn {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Over the memory of a tensor of its own, where it lies.
Array array_over(const Tensor& whole) {
  return Array::adopt(
      dtype_of_tensor(whole),
      whole.sizes().vec(),
      whole.data_ptr(),
      [whole](void*) {},
      whole.is_cpu() ? MemorySpace::kHost : MemorySpace::kCuda);
}

// i64 [items]: the list that each item is of.
Tensor list_of_items(const Tensor& offsets, std::int64_t items) {
  return torch::repeat_interleave(
      torch::arange(offsets.size(0) - 1, offsets.options()), offsets.diff(), std::nullopt, items);
}

// i64 [lists + 1].
Tensor offsets_over(const Tensor& counts) {
  return torch::cat({torch::zeros({1}, counts.options()), counts.cumsum(0)});
}

// Where the items of a block's lists go among merged ones: @param next i64 [lists]: where each
// list's next item goes; moves on. @param rows i64 [lists]: which merged list each is
Tensor take_places(const Tensor& offsets, const Tensor& rows, std::int64_t items, Tensor& next) {
  const Tensor list = list_of_items(offsets, items);
  const Tensor first = next.index_select(0, rows);
  const Tensor begin = first - offsets.narrow(0, 0, rows.size(0));
  const Tensor places = begin.index_select(0, list) + torch::arange(items, offsets.options());
  next.index_copy_(0, rows, first + offsets.diff());
  return places;
}

// Rows in another order, each once: the gradient goes back by the inverse, and nothing is added.
struct Reorder : torch::autograd::Function<Reorder> {
  static Tensor forward(AutogradContext* context,
                        const Tensor& rows,
                        const Tensor& order,
                        const Tensor& inverse) {
    context->save_for_backward({inverse});
    return rows.index_select(0, order);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    return {grads[0].index_select(0, context->get_saved_variables()[0]), Tensor(), Tensor()};
  }
};

}  // namespace

UnionBlock::UnionBlock(const Batch& batch, std::size_t layer, const LayerTypes& types) {
  if (layer >= batch.layers.size())
    throw Error(
        ErrorCode::kInternal,
        fmt::format(
            "a batch of {} layers for a model of more than {}", batch.layers.size(), layer));
  for (const Block& block : batch.layers[layer])
    if (types.written.at(block.target_type))
      blocks_.push_back(std::make_shared<const Block>(block));
  count_rows(batch, layer, types);
  if (blocks_.size() == 1 && batch.nodes.size() == 1) {
    block_ = blocks_.front();
  } else {
    merge();
  }
}

void UnionBlock::count_rows(const Batch& batch, std::size_t layer, const LayerTypes& types) {
  for (std::size_t type = 0; type < batch.nodes.size(); ++type) {
    const BatchNodes& nodes = batch.nodes[type];
    sources_.push_back(types.read.at(type) ? nodes.size_at.at(layer) : 0);
    targets_.push_back(types.written.at(type) ? nodes.size_at.at(layer + 1) : 0);
    most_rows_ = std::max(most_rows_, nodes.ids.numel());
  }
  num_sources_ = std::accumulate(sources_.begin(), sources_.end(), std::int64_t{0});
  num_targets_ = std::accumulate(targets_.begin(), targets_.end(), std::int64_t{0});
  std::int64_t target = 0, rest = num_targets_;
  for (std::size_t type = 0; type < sources_.size(); ++type) {
    target_begins_.push_back(target);
    rest_begins_.push_back(rest);
    target += targets_[type];
    rest += sources_[type] - targets_[type];
  }
}

// i64: the rows of a type's sources among all.
Tensor UnionBlock::source_rows(const Tensor& local, std::size_t type) const {
  return torch::where(local < targets_[type],
                      local + target_begins_[type],
                      local + (rest_begins_[type] - targets_[type]));
}

void UnionBlock::merge() {
  const auto whole = blocks_.empty() ? torch::TensorOptions(torch::kInt64)
                                     : as_tensor(blocks_.front()->offsets).options();
  Tensor counts = torch::zeros({num_targets_}, whole);
  for (const BlockRef& each : blocks_)
    counts.narrow(0, target_begins_[each->target_type], each->num_targets)
        .add_(as_tensor(each->offsets).diff());
  const Tensor offsets = offsets_over(counts);
  Tensor next = offsets.narrow(0, 0, num_targets_).clone();
  std::vector<Tensor> places{torch::empty({0}, whole)}, sources{torch::empty({0}, whole)};
  for (const BlockRef& each : blocks_) {
    const Tensor rows = torch::arange(each->num_targets, whole) + target_begins_[each->target_type];
    places.push_back(take_places(as_tensor(each->offsets), rows, each->num_edges(), next));
    sources.push_back(
        source_rows(as_tensor(each->neighbours).to(torch::kInt64), each->source_type));
  }
  places_ = torch::cat(places);
  order_ =
      torch::empty_like(places_).index_copy_(0, places_, torch::arange(places_.size(0), whole));
  Block merged;
  merged.num_sources = num_sources_;
  merged.num_targets = num_targets_;
  merged.offsets = array_over(offsets);
  merged.neighbours = array_over(torch::cat(sources).index_select(0, order_).to(torch::kInt32));
  const bool transposed = std::ranges::all_of(blocks_, [](const BlockRef& each) {
    return each->transposed_offsets.numel() == each->num_sources + 1;
  });
  if (transposed) merge_transposes(merged);
  block_ = std::make_shared<const Block>(std::move(merged));
}

void UnionBlock::merge_transposes(Block& merged) const {
  const auto whole = places_.options();
  std::vector<Tensor> rows_of;
  Tensor counts = torch::zeros({num_sources_}, whole);
  for (const BlockRef& each : blocks_) {
    rows_of.push_back(source_rows(torch::arange(each->num_sources, whole), each->source_type));
    const Tensor& rows = rows_of.back();
    counts.index_copy_(
        0, rows, counts.index_select(0, rows) + as_tensor(each->transposed_offsets).diff());
  }
  const Tensor offsets = offsets_over(counts);
  Tensor next = offsets.narrow(0, 0, num_sources_).clone();
  Tensor targets = torch::empty_like(places_), edges = torch::empty_like(places_);
  std::int64_t begin = 0;  // of the block's edges among all, block after block
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const Block& each = *blocks_[b];
    const std::int64_t count = each.num_edges();
    const Tensor at = take_places(as_tensor(each.transposed_offsets), rows_of[b], count, next);
    const auto local = [](const Array& items) { return as_tensor(items).to(torch::kInt64); };
    targets.index_copy_(0, at, local(each.transposed_targets) + target_begins_[each.target_type]);
    edges.index_copy_(
        0, at, places_.narrow(0, begin, count).index_select(0, local(each.transposed_edges)));
    begin += count;
  }
  merged.transposed_offsets = array_over(offsets);
  merged.transposed_targets = array_over(targets.to(torch::kInt32));
  merged.transposed_edges = array_over(edges.to(torch::kInt32));
}

Tensor UnionBlock::join(const std::vector<Tensor>& rows) const {
  if (!places_.defined()) return rows.at(0);
  std::vector<Tensor> parts;
  for (std::size_t type = 0; type < targets_.size(); ++type)
    if (targets_[type] != 0) parts.push_back(rows.at(type).narrow(0, 0, targets_[type]));
  for (std::size_t type = 0; type < targets_.size(); ++type) {
    const std::int64_t rest = sources_[type] - targets_[type];
    if (rest != 0) parts.push_back(rows.at(type).narrow(0, targets_[type], rest));
  }
  return torch::cat(parts);
}

std::vector<Tensor> UnionBlock::split(const Tensor& targets) const {
  if (!places_.defined()) return {targets};
  std::vector<Tensor> rows(targets_.size());
  for (std::size_t type = 0; type < rows.size(); ++type)
    if (targets_[type] != 0) rows[type] = targets.narrow(0, target_begins_[type], targets_[type]);
  return rows;
}

Tensor UnionBlock::by_target(const Tensor& by_block) const {
  return places_.defined() ? Reorder::apply(by_block, order_, places_) : by_block;
}

Tensor UnionBlock::by_block(const Tensor& by_target) const {
  return places_.defined() ? Reorder::apply(by_target, places_, order_) : by_target;
}

Tensor UnionBlock::relations() const {
  const auto whole = as_tensor(block_->offsets).options();
  std::vector<Tensor> all{torch::empty({0}, whole)};
  for (const BlockRef& each : blocks_)
    all.push_back(
        torch::full({each->num_edges()}, static_cast<std::int64_t>(each->relation), whole));
  return by_target(torch::cat(all));
}

Tensor UnionBlock::edge_keys() const {
  const auto whole = as_tensor(block_->offsets).options();
  std::vector<Tensor> all{torch::empty({0}, whole)};
  for (const BlockRef& each : blocks_) {
    const Tensor targets = list_of_items(as_tensor(each->offsets), each->num_edges());
    const auto relation = static_cast<std::int64_t>(each->relation);
    all.push_back((targets + relation * most_rows_) * most_rows_ +
                  as_tensor(each->neighbours).to(torch::kInt64));
  }
  return by_target(torch::cat(all));
}

}  // namespace sluice::nn
