#include "nn/memory_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sluice::nn {
namespace {

constexpr float kAdagradEpsilon = 1e-10f;
constexpr float kAdamEpsilon = 1e-8f;
constexpr double kBeta1 = 0.9, kBeta2 = 0.999;

std::int64_t state_columns(RowOptimizer optimizer, std::int64_t dim) {
  switch (optimizer) {
    case RowOptimizer::kAdagrad:
      return dim;
    case RowOptimizer::kAdagradRow:
      return 1;
    case RowOptimizer::kAdam:
      return 2 * dim;
    case RowOptimizer::kSgd:
      return 0;
  }
  return 0;
}

void adagrad(std::size_t dim,
             float rate,
             const float* __restrict gradient,
             float* __restrict value,
             float* __restrict sum) {
  for (std::size_t i = 0; i < dim; ++i) {
    sum[i] += gradient[i] * gradient[i];
    value[i] -= rate * gradient[i] / (std::sqrt(sum[i]) + kAdagradEpsilon);
  }
}

void adagrad_row(std::size_t dim, float rate, const float* gradient, float* value, float& sum) {
  double squares = 0;
  for (std::size_t i = 0; i < dim; ++i)
    squares += static_cast<double>(gradient[i]) * static_cast<double>(gradient[i]);
  sum += static_cast<float>(squares / static_cast<double>(dim));
  const float by = rate / (std::sqrt(sum) + kAdagradEpsilon);
  for (std::size_t i = 0; i < dim; ++i) value[i] -= by * gradient[i];
}

// @param mean beside it, `dim` further on, the mean of squares
void adam(std::size_t dim,
          double rate,
          std::int64_t steps,
          const float* __restrict gradient,
          float* __restrict value,
          float* __restrict mean) {
  const auto unbias_mean = 1 - std::pow(kBeta1, static_cast<double>(steps));
  const auto unbias_square = 1 - std::pow(kBeta2, static_cast<double>(steps));
  const auto by = static_cast<float>(rate / unbias_mean);
  const auto root = static_cast<float>(1 / std::sqrt(unbias_square));
  constexpr auto kOld1 = static_cast<float>(kBeta1), kOld2 = static_cast<float>(kBeta2);
  constexpr auto kNew1 = static_cast<float>(1 - kBeta1), kNew2 = static_cast<float>(1 - kBeta2);
  float* const square = mean + dim;
  for (std::size_t i = 0; i < dim; ++i) {
    mean[i] = kOld1 * mean[i] + kNew1 * gradient[i];
    square[i] = kOld2 * square[i] + kNew2 * gradient[i] * gradient[i];
    value[i] -= by * mean[i] / (std::sqrt(square[i]) * root + kAdamEpsilon);
  }
}

}  // namespace

MemoryRows::MemoryRows(const RowTableOptions& options, MemoryLedger* ledger, ThreadArena* threads)
    : options_(options), threads_(threads) {
  const auto rows = static_cast<std::int64_t>(options.rows);
  values_ = Array::make(DType::kF32, {rows, options.dim}, ledger, "learned rows").or_throw();
  state_ = Array::make(DType::kF32,
                       {rows, state_columns(options.optimizer, options.dim)},
                       ledger,
                       "row optimizer")
               .or_throw();
  steps_ = Array::make(DType::kI64, {1}).or_throw();
  steps_.as<std::int64_t>()[0] = 0;
  std::ranges::fill(state_.as<float>(), 0.0f);
  const auto values = values_.as<float>();
  const auto dim = static_cast<std::size_t>(options.dim);
  for_rows(options.rows, [&](std::size_t row) {
    const RandomKey key = options_.key.with(row);
    for (std::size_t i = 0; i < dim; ++i)
      values[row * dim + i] = static_cast<float>((2 * key.uniform(i) - 1) * options_.init);
  });
}

template <class Work>
void MemoryRows::for_rows(std::size_t count, const Work& work) const {
  constexpr std::size_t kGrain = 512;
  const auto some = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) work(i);
  };
  if (threads_ == nullptr || count <= kGrain) return some(0, count);
  threads_->for_ranges(count, kGrain, some);
}

Result<void> MemoryRows::gather(std::span<const std::uint64_t> ids, std::span<float> out) {
  const auto dim = static_cast<std::size_t>(options_.dim);
  const float* const values = values_.as<float>().data();
  for_rows(ids.size(), [&](std::size_t i) {
    std::memcpy(out.data() + i * dim, values + ids[i] * dim, dim * sizeof(float));
  });
  return {};
}

Result<void> MemoryRows::gather_range(std::uint64_t first, std::span<float> out) {
  const auto from = values_.as<float>().subspan(first * static_cast<std::size_t>(options_.dim));
  std::ranges::copy(from.first(out.size()), out.begin());
  return {};
}

void MemoryRows::step(std::uint64_t row, const float* gradient) {
  const auto dim = static_cast<std::size_t>(options_.dim);
  const auto kept = static_cast<std::size_t>(state_.size(1));
  float* const value = values_.as<float>().data() + row * dim;
  float* const state = state_.as<float>().data() + row * kept;
  const auto rate = static_cast<float>(options_.lr);
  switch (options_.optimizer) {
    case RowOptimizer::kAdagrad:
      return adagrad(dim, rate, gradient, value, state);
    case RowOptimizer::kAdagradRow:
      return adagrad_row(dim, rate, gradient, value, *state);
    case RowOptimizer::kAdam:
      return adam(dim, options_.lr, steps_.as<std::int64_t>()[0], gradient, value, state);
    case RowOptimizer::kSgd:
      for (std::size_t i = 0; i < dim; ++i) value[i] -= rate * gradient[i];
  }
}

template <class RowAt>
void MemoryRows::update_rows(std::size_t count,
                             std::span<const float> gradients,
                             const RowAt& row_at) {
  ++steps_.as<std::int64_t>()[0];
  const auto dim = static_cast<std::size_t>(options_.dim);
  for_rows(count, [&](std::size_t i) { step(row_at(i), gradients.data() + i * dim); });
}

Result<void> MemoryRows::update(std::span<const std::uint64_t> ids,
                                std::span<const float> gradients) {
  update_rows(ids.size(), gradients, [&](std::size_t i) { return ids[i]; });
  return {};
}

Result<void> MemoryRows::update_range(std::uint64_t first, std::span<const float> gradients) {
  const std::size_t count = gradients.size() / static_cast<std::size_t>(options_.dim);
  update_rows(count, gradients, [&](std::size_t i) { return first + i; });
  return {};
}

std::vector<std::pair<std::string, Array>> MemoryRows::kept() {
  return {{"rows", values_}, {"state", state_}, {"steps", steps_}};
}

}  // namespace sluice::nn
