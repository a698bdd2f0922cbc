#include <sluice/nn/pending_rows.h>

#include <utility>

namespace sluice::nn {

PendingRows::PendingRows(torch::Tensor rows, const Linear* map)
    : rows_(std::move(rows)), map_(rows_.defined() ? map : nullptr) {}

torch::Tensor PendingRows::first(std::int64_t count) const {
  if (!defined()) return {};
  const torch::Tensor rows = count == rows_.size(0) ? rows_ : rows_.narrow(0, 0, count);
  return pending() ? map_->forward(rows) : rows;
}

// Two maps one after the other are one matrix, which is small beside the rows.
torch::Tensor PendingRows::first_through(const Linear& next, std::int64_t count) const {
  const torch::Tensor rows = rows_.narrow(0, 0, count);
  if (!pending()) return next.forward(rows);
  torch::Tensor bias = next.bias();
  if (map_->bias().defined()) {
    const torch::Tensor mapped = next.weight().mv(map_->bias());
    bias = bias.defined() ? bias + mapped : mapped;
  }
  return linear(next.precision(), rows, next.weight().mm(map_->weight()), bias);
}

torch::Tensor PendingRows::through(Precision precision,
                                   const torch::Tensor& weight,
                                   const torch::Tensor& sums,
                                   const torch::Tensor& shares) const {
  if (!pending()) return linear(precision, sums, weight, {});
  const std::int64_t out = weight.size(0);
  const torch::Tensor by_sums = weight.reshape({-1, columns()});
  torch::Tensor made = linear(precision, sums, by_sums.mm(map_->weight()).view({out, -1}), {});
  if (!map_->bias().defined()) return made;
  return made.addmm_(shares, by_sums.mv(map_->bias()).view({out, -1}).t());
}

void PendingRows::finish() {
  *this = PendingRows(whole());
}

std::vector<torch::Tensor> whole(const std::vector<PendingRows>& rows) {
  std::vector<torch::Tensor> made;
  made.reserve(rows.size());
  for (const PendingRows& each : rows) made.push_back(each.whole());
  return made;
}

std::vector<PendingRows> as_they_are(const std::vector<torch::Tensor>& rows) {
  return {rows.begin(), rows.end()};
}

}  // namespace sluice::nn
