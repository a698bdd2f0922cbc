// Ranks of links among all nodes: each query beside every row of a type, tile by tile.
#pragma once

#include "tasks/known_links.h"

#include <sluice/nn/decoder.h>
#include <sluice/nn/learned_rows.h>

#include <torch/torch.h>

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::tasks {

/// Which nodes are looked for, a query each.
struct RankQueries {
  torch::Tensor queries;               ///< f32 [n, width], of nn::Decoder::query()
  std::span<const std::uint64_t> own;  ///< [n]: the node whose rank is asked for; none of best ones
  std::vector<KnownLinks::Answers> known;  ///< [n]: left out; the own one may be among them
};

/// f32 [n]: 1 for the best. Of nodes that score the same, within rounding, the mean; NaN where a
/// score is not finite. Two scores are the same within the largest of 1e-5 of the link's own, 1e-6
/// of nn::Decoder::magnitude(), for scores that are near 0 because large terms cancel out, and
/// 1e-10. No gradients. Holds `tile` scores at once, and of rows no more numbers, at the least a
/// column of them; 0: as many as suit the processor.
torch::Tensor ranks_among_all(const nn::Decoder& decoder,
                              const nn::LearnedRows& rows,
                              std::size_t type,
                              const RankQueries& asked,
                              std::int64_t tile = 0);

struct BestRows {
  torch::Tensor nodes;   ///< i64 [n, k], the best first
  torch::Tensor scores;  ///< f32 [n, k]
};

/// The nodes that score best. Those that make a known training link and those whose score is not
/// finite come last, with the score -inf: they are none. On the host. @param count at most as many
/// as there are nodes
BestRows best_among_all(const nn::Decoder& decoder,
                        const nn::LearnedRows& rows,
                        std::size_t type,
                        const RankQueries& asked,
                        std::int64_t count,
                        std::int64_t tile = 0);

}  // namespace sluice::tasks
