#include "models/pair_sequences.h"

#include <sluice/nn/tensor_view.h>

#include <algorithm>

namespace sluice::models {

using torch::Tensor;

Tensor sequence_numbers(const LayerEvents& in,
                        const Batch& batch,
                        std::size_t type,
                        nn::Align align,
                        std::int64_t length) {
  const Tensor own = node_numbers(batch, type).narrow(0, 0, in.events.num_targets()) + 1;
  const Tensor met = neighbour_numbers(in, batch) + 1;
  // Padding is 0 among numbers that are one more.
  return in.events.pad_with_own(met.unsqueeze(1), own.unsqueeze(1), align, length).squeeze(2) - 1;
}

Tensor co_occurrence(const Tensor& own, const Tensor& other) {
  const auto times_in = [&](const Tensor& numbers) {
    return own.unsqueeze(2).eq(numbers.unsqueeze(1)).sum(2);
  };
  return torch::stack({times_in(own), times_in(other)}, 2) * own.ge(0).unsqueeze(2);
}

CountEncoding::CountEncoding(std::int64_t width, RandomKey key) {
  wide_ = register_module(
      "wide", std::make_shared<nn::Linear>(1, width, nn::Bias::kZero, key.with("wide")));
  narrow_ = register_module(
      "narrow", std::make_shared<nn::Linear>(width, width, nn::Bias::kZero, key.with("narrow")));
}

// Counts are few: each one's row is made once.
Tensor CountEncoding::forward(const Tensor& counts) const {
  const std::int64_t most = counts.numel() == 0 ? 0 : counts.max().item<std::int64_t>();
  const Tensor numbers =
      torch::arange(most + 1, torch::TensorOptions(torch::kFloat32).device(counts.device()));
  const Tensor rows = narrow_->forward(torch::relu(wide_->forward(numbers.unsqueeze(1))));
  Tensor sum;
  for (const Tensor& each : counts.unbind(2)) {
    const Tensor own = torch::embedding(rows, each);
    sum = sum.defined() ? sum + own : own;
  }
  return sum;
}

Tensor rows_of_seeds(const Tensor& by_seed, const Tensor& seeds) {
  std::vector<std::int64_t> shape = by_seed.sizes().vec();
  shape[0] = seeds.size(0);
  return torch::embedding(by_seed.reshape({by_seed.size(0), -1}), seeds).view(shape);
}

std::vector<PairRows> in_pieces(const PairRows& pairs, std::int64_t at_once) {
  std::vector<PairRows> pieces;
  const std::int64_t count = pairs.sources.size(0);
  for (std::int64_t first = 0; first < count; first += at_once) {
    const std::int64_t size = std::min(at_once, count - first);
    pieces.push_back({pairs.source_type,
                      pairs.destination_type,
                      pairs.sources.narrow(0, first, size),
                      pairs.destinations.narrow(0, first, size)});
  }
  return pieces;
}

PairRows with_themselves(const Batch& batch, std::size_t type) {
  const auto whole =
      torch::TensorOptions(torch::kInt64).device(nn::device_of(batch.nodes.at(type).ids.space()));
  const Tensor rows = torch::arange(batch.num_seeds(type), whole);
  return {type, type, rows, rows};
}

Encoding encode_with_themselves(PairEncoder& model,
                                const Batch& batch,
                                const std::vector<std::size_t>& types) {
  Encoding encoded(batch.nodes.size());
  for (const std::size_t type : types) {
    if (batch.num_seeds(type) != 0)
      encoded[type] = model.encode_pairs(batch, with_themselves(batch, type)).sources;
  }
  return encoded;
}

PairEncoding no_rows(const PairRows& pairs, std::int64_t width) {
  const Tensor none = torch::zeros({0, width}, pairs.sources.options().dtype(torch::kFloat32));
  return {none, none};
}

PairEncoding joined(const std::vector<PairEncoding>& pieces) {
  if (pieces.size() == 1) return pieces[0];
  std::vector<Tensor> sources, destinations;
  for (const PairEncoding& piece : pieces) {
    sources.push_back(piece.sources);
    destinations.push_back(piece.destinations);
  }
  return {torch::cat(sources), torch::cat(destinations)};
}

}  // namespace sluice::models
