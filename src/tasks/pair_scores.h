// What scores of pairs share: options, and a score of f64 for each candidate.
#pragma once

#include "samplers/pair_history.h"

#include <sluice/no_node.h>
#include <sluice/options.h>
#include <sluice/tasks/pair_model.h>

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace sluice::tasks {

/// The key "direction".
void describe_direction(Schema& schema, PairDirection& direction);

/// t - before, as far as it fits: 2^63 - 1 where it is more. @pre before <= t
std::int64_t ticks_between(std::int64_t before, std::int64_t time);

/// A score by when something was last, exact in f64 up to 2^49 ticks and in steps of 2^14 ticks
/// beyond: in (-kRecencySpan, 0] for what was, the later the higher; -kRecencySpan for what never
/// was. With `level` times kRecencySpan added it is of a level, of which the higher goes before.
inline constexpr double kRecencySpan = 0x1p51;
double recency_score(std::int64_t time, std::optional<std::int64_t> last);

/// f64 [q, c]: score(i, source, destination) of each candidate that is there, 0 of others.
template <class Score>
torch::Tensor score_candidates(const PairRequest& request, const Score& score) {
  const std::size_t width = request.candidates();
  torch::Tensor scores = torch::zeros(
      {static_cast<std::int64_t>(request.sources.size()), static_cast<std::int64_t>(width)},
      torch::kFloat64);
  double* const out = scores.data_ptr<double>();
  for (std::size_t i = 0; i < request.sources.size(); ++i) {
    for (std::size_t n = 0; n < width; ++n) {
      const std::uint64_t destination = request.destinations[i * width + n];
      if (destination != kNoNode) out[i * width + n] = score(i, request.sources[i], destination);
    }
  }
  return scores;
}

}  // namespace sluice::tasks
