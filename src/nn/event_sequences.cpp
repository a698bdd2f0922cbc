#include <sluice/nn/event_sequences.h>

#include <sluice/error.h>
#include <sluice/nn/tensor_view.h>

#include <fmt/format.h>

namespace sluice::nn {
namespace {

using torch::Tensor;

void check_events(const Block& block, std::int64_t targets) {
  if (block.num_targets != targets)
    throw Error(ErrorCode::kInternal,
                fmt::format("a block of {} targets where {} are read", block.num_targets, targets));
  if (block.deltas.numel() == block.num_edges()) return;
  throw Error(ErrorCode::kUsage,
              "the model reads events by age, and its mini-batches have no times",
              "choose [sampler] type = \"temporal\"");
}

// i64 [edges]: each edge's target.
Tensor edge_targets(const Block& block) {
  const Tensor offsets = as_tensor(block.offsets);
  return torch::repeat_interleave(torch::arange(block.num_targets, offsets.options()),
                                  offsets.diff(),
                                  std::nullopt,
                                  block.num_edges());
}

Tensor stable_order(const Tensor& values, bool descending) {
  return std::get<1>(torch::sort(values, /*stable=*/true, /*dim=*/0, descending));
}

// Where events of several blocks, end to end, go: by target, then the oldest first.
Tensor merged_order(const Tensor& targets, const Tensor& deltas) {
  const Tensor by_age = stable_order(deltas, /*descending=*/true);
  const Tensor by_target = stable_order(targets.index_select(0, by_age), /*descending=*/false);
  return by_age.index_select(0, by_target);
}

// bool [counts, length]: the first or the last so many of each row.
Tensor first_or_last(const Tensor& counts, Align align, std::int64_t length) {
  const Tensor at = torch::arange(length, counts.options()).unsqueeze(0);
  const Tensor columns = counts.unsqueeze(1);
  return align == Align::kFirst ? at < columns : at >= length - columns;
}

}  // namespace

EventSequences::EventSequences(const std::vector<const Block*>& blocks,
                               std::int64_t targets,
                               torch::Device device) {
  const auto whole = torch::TensorOptions(torch::kInt64).device(device);
  std::vector<Tensor> ends, ages;
  counts_ = torch::zeros({targets}, whole);
  for (const Block* block : blocks) {
    check_events(*block, targets);
    if (block->num_edges() == 0) continue;
    ends.push_back(edge_targets(*block));
    ages.push_back(as_tensor(block->deltas));
    counts_ = counts_ + as_tensor(block->offsets).diff();
  }
  targets_ = ends.empty() ? torch::empty({0}, whole) : torch::cat(ends);
  deltas_ = ages.empty() ? torch::empty({0}, whole) : torch::cat(ages);
  if (ends.size() > 1) {
    order_ = merged_order(targets_, deltas_);
    targets_ = targets_.index_select(0, order_);
    deltas_ = deltas_.index_select(0, order_);
  }
  count_positions();
}

void EventSequences::count_positions() {
  const Tensor begins = counts_.cumsum(0) - counts_;
  positions_ = torch::arange(num_events(), counts_.options()) - begins.index_select(0, targets_);
  longest_ = num_events() == 0 ? 0 : counts_.max().item<std::int64_t>();
}

Tensor EventSequences::in_order(const std::vector<Tensor>& by_block) const {
  const Tensor rows = by_block.size() == 1 ? by_block[0] : torch::cat(by_block);
  return order_.defined() ? rows.index_select(0, order_) : rows;
}

EventSequences EventSequences::keep(const Tensor& kept) const {
  const Tensor at = kept.nonzero().squeeze(1);
  EventSequences fewer;
  fewer.targets_ = targets_.index_select(0, at);
  fewer.deltas_ = deltas_.index_select(0, at);
  fewer.order_ = order_.defined() ? order_.index_select(0, at) : at;
  // Of integers: their sum knows no order.
  fewer.counts_ = torch::zeros_like(counts_).index_add(0, fewer.targets_, torch::ones_like(at));
  fewer.count_positions();
  return fewer;
}

EventSequences EventSequences::latest(std::int64_t count) const {
  if (longest_ <= count) return *this;
  return keep(positions_ >= counts_.index_select(0, targets_) - count);
}

EventSequences EventSequences::within(std::int64_t window) const {
  return keep(deltas_ <= window);
}

Tensor EventSequences::places(Align align, std::int64_t length) const {
  Tensor first = targets_ * length + positions_;
  if (align == Align::kFirst) return first;
  return first + (length - counts_.index_select(0, targets_));
}

Tensor EventSequences::pad(const Tensor& rows, Align align, std::int64_t length) const {
  return place_rows(rows, places(align, length), num_targets() * length)
      .view({num_targets(), length, rows.size(1)});
}

Tensor EventSequences::mask(Align align, std::int64_t length) const {
  return first_or_last(counts_, align, length);
}

Tensor EventSequences::pad_with_own(const Tensor& rows,
                                    const Tensor& own,
                                    Align align,
                                    std::int64_t length) const {
  const bool first = align == Align::kFirst;
  const Tensor begins = torch::arange(num_targets(), counts_.options()) * length;
  const Tensor last = first ? begins + counts_ : begins + (length - 1);
  const Tensor before = places(align, length) - (first ? 0 : 1);
  return place_rows(torch::cat({rows, own}), torch::cat({before, last}), num_targets() * length)
      .view({num_targets(), length, own.size(1)});
}

Tensor EventSequences::mask_with_own(Align align, std::int64_t length) const {
  return first_or_last(counts_ + 1, align, length);
}

Tensor place_rows(const Tensor& rows, const Tensor& places, std::int64_t count) {
  return rows.new_zeros({count, rows.size(1)}).index_copy(0, places, rows);
}

}  // namespace sluice::nn
