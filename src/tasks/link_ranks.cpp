#include "tasks/link_ranks.h"

#include <algorithm>
#include <limits>

namespace sluice::tasks {
namespace {

using Entry = KnownLinks::Entry;

// Scores within this share of a link's own are equal to it: sums in another order differ by as
// much.
constexpr double kEqual = 1e-5;
// Near 0 a share of the score is nothing, and rounding is one of the terms that cancelled out.
constexpr double kEqualOfTerms = 1e-6;
// Beneath all of it: what decoders make of a distance of 0 is not 0 in each of their ways.
constexpr double kEqualAtLeast = 1e-10;

// Scores at once; more on a GPU, which would wait for its next tile, where a score takes no more
// than itself.
constexpr std::int64_t kSmallTile = std::int64_t{1} << 20;
constexpr std::int64_t kLargeTile = std::int64_t{1} << 24;

// Columns of a tile beside all queries: neither the scores nor the rows are more numbers than it.
std::int64_t columns_of(const torch::Tensor& queries, std::int64_t tile) {
  return std::max<std::int64_t>(
      1, tile / std::max<std::int64_t>({1, queries.size(0), queries.size(1)}));
}

enum class LeftOut { kKnown, kTrained };

// The places in a tile's scores, row by row, that count for nothing: what is known, and the own.
std::vector<std::int64_t> places_left_out(const RankQueries& asked,
                                          std::uint64_t first,
                                          std::uint64_t count,
                                          LeftOut left_out) {
  std::vector<std::int64_t> places;
  const auto add = [&](std::size_t row, std::uint64_t node) {
    places.push_back(static_cast<std::int64_t>(row * count + (node - first)));
  };
  const auto add_all = [&](std::size_t row, std::span<const Entry> known) {
    auto at = std::ranges::lower_bound(known, first, {}, &Entry::answer);
    for (; at != known.end() && at->answer - first < count; ++at) add(row, at->answer);
  };
  for (std::size_t row = 0; row < asked.known.size(); ++row) {
    if (row < asked.own.size() && asked.own[row] - first < count) add(row, asked.own[row]);
    add_all(row, asked.known[row].training);
    if (left_out == LeftOut::kKnown) add_all(row, asked.known[row].others);
  }
  return places;
}

// How far from a link's score another may be and be equal to it: f32 [n].
torch::Tensor room_around(const torch::Tensor& own, const torch::Tensor& terms) {
  return torch::maximum(own.abs() * kEqual, terms * kEqualOfTerms).clamp_min(kEqualAtLeast);
}

void leave_out(torch::Tensor& scores, const std::vector<std::int64_t>& places) {
  if (places.empty()) return;
  scores.view(-1).index_fill_(0,
                              torch::tensor(places, torch::kInt64).to(scores.device()),
                              -std::numeric_limits<float>::infinity());
}

}  // namespace

torch::Tensor ranks_among_all(const nn::Decoder& decoder,
                              const nn::LearnedRows& rows,
                              std::size_t type,
                              const RankQueries& asked,
                              std::int64_t tile) {
  const torch::NoGradGuard no_grad;
  const auto count = static_cast<std::int64_t>(asked.own.size());
  const torch::Tensor own_rows = rows.of(type, asked.own);
  const torch::Tensor scored = decoder.pairwise(asked.queries, own_rows);
  const torch::Tensor own = scored.unsqueeze(1);
  const torch::Tensor room =
      room_around(scored, decoder.magnitude(asked.queries, own_rows, scored)).unsqueeze(1);
  const torch::Tensor above = own + room, below = own - room;
  torch::Tensor higher = torch::zeros({count}, own.options().dtype(torch::kInt64));
  torch::Tensor equal = torch::zeros_like(higher);
  torch::Tensor finite = own.squeeze(1).isfinite();
  if (tile == 0) tile = own.is_cpu() || !decoder.is_product() ? kSmallTile : kLargeTile;
  const std::int64_t columns = columns_of(asked.queries, tile);
  for (std::int64_t at = 0; at < rows.count(type); at += columns) {
    const std::int64_t here = std::min(columns, rows.count(type) - at);
    torch::Tensor scores = decoder.combine(asked.queries, rows.tile(type, at, here));
    finite.logical_and_(scores.sum(1).isfinite());
    leave_out(scores,
              places_left_out(asked,
                              static_cast<std::uint64_t>(at),
                              static_cast<std::uint64_t>(here),
                              LeftOut::kKnown));
    const torch::Tensor over = scores.gt(above);
    higher.add_(over.sum(1));
    equal.add_(scores.ge(below).sum(1).sub_(over.sum(1)));
  }
  const torch::Tensor ranks = 1 + higher.to(torch::kFloat32) + equal.to(torch::kFloat32) / 2;
  return ranks.masked_fill(~finite, std::numeric_limits<float>::quiet_NaN());
}

BestRows best_among_all(const nn::Decoder& decoder,
                        const nn::LearnedRows& rows,
                        std::size_t type,
                        const RankQueries& asked,
                        std::int64_t count,
                        std::int64_t tile) {
  const torch::NoGradGuard no_grad;
  const std::int64_t queries = asked.queries.size(0);
  const std::int64_t columns =
      std::max(count, columns_of(asked.queries, tile == 0 ? kSmallTile : tile));
  const torch::TensorOptions floats = asked.queries.options();
  BestRows best{torch::empty({queries, 0}, floats.dtype(torch::kInt64)),
                torch::empty({queries, 0}, floats)};
  for (std::int64_t at = 0; at < rows.count(type); at += columns) {
    const std::int64_t here = std::min(columns, rows.count(type) - at);
    torch::Tensor scores = decoder.combine(asked.queries, rows.tile(type, at, here));
    leave_out(scores,
              places_left_out(asked,
                              static_cast<std::uint64_t>(at),
                              static_cast<std::uint64_t>(here),
                              LeftOut::kTrained));
    // What is no number would be sorted before all others.
    scores.masked_fill_(~scores.isfinite(), -std::numeric_limits<float>::infinity());
    // Of the best so far and here; of equal scores the node of the lower number.
    const torch::Tensor all = torch::cat({best.scores, scores}, 1);
    const torch::Tensor here_nodes = torch::arange(at, at + here, best.nodes.options());
    const torch::Tensor nodes =
        torch::cat({best.nodes, here_nodes.unsqueeze(0).expand({queries, here})}, 1);
    const auto [sorted, places] = all.sort(/*stable=*/true, /*dim=*/1, /*descending=*/true);
    const std::int64_t kept = std::min(count, all.size(1));
    best.scores = sorted.narrow(1, 0, kept).contiguous();
    best.nodes = nodes.gather(1, places.narrow(1, 0, kept)).contiguous();
  }
  return {best.nodes.cpu(), best.scores.cpu()};
}

}  // namespace sluice::tasks
