// Temporal link prediction: scores of events and of their other destinations, the loss over them,
// and the destinations that score best.
#include "tasks/temporal_link_prediction.h"

#include "tasks/encoded_rows.h"

#include <sluice/nn/tensor_view.h>
#include <sluice/no_node.h>

#include <fmt/format.h>

#include <limits>
#include <numeric>
#include <utility>

namespace sluice::tasks {
namespace {

// Rows of seeds, as queries name them; those that are not there stand for any.
torch::Tensor rows_of_pairs(const torch::Tensor& encoded, const torch::Tensor& rows) {
  return torch::embedding(encoded, rows.clamp_min(0).flatten());
}

// u8 [q, k] on the scores' device: the other destinations that are there.
torch::Tensor others_there(const Batch& batch) {
  return nn::as_tensor(batch.queries.negatives).ge(0);
}

std::vector<std::uint64_t> sources_of(const Batch& host) {
  const auto ids = host.seeds.at(host.queries.type).as<std::uint64_t>();
  std::vector<std::uint64_t> sources;
  for (const std::int64_t row : host.queries.sources.as<std::int64_t>())
    sources.push_back(ids[static_cast<std::size_t>(row)]);
  return sources;
}

// [q, 1 + k]: each event's own destination, then the others.
std::vector<std::uint64_t> candidates_of(const Batch& host) {
  const Queries& queries = host.queries;
  const auto ids = host.seeds.at(queries.destination_type).as<std::uint64_t>();
  const auto own = queries.destinations.as<std::int64_t>();
  const std::span<const std::int64_t> others = queries.negatives.empty()
                                                   ? std::span<const std::int64_t>()
                                                   : queries.negatives.as<std::int64_t>();
  const std::size_t beside = own.empty() ? 0 : others.size() / own.size();
  std::vector<std::uint64_t> made;
  made.reserve(own.size() + others.size());
  for (std::size_t i = 0; i < own.size(); ++i) {
    made.push_back(ids[static_cast<std::size_t>(own[i])]);
    for (const std::int64_t row : others.subspan(i * beside, beside))
      made.push_back(row < 0 ? kNoNode : ids[static_cast<std::size_t>(row)]);
  }
  return made;
}

}  // namespace

// @param destinations [of.count, c]
torch::Tensor TemporalLinkPrediction::pair_scores(
    PairModel& model,
    const Batch& host,
    Stretch of,
    std::span<const std::uint64_t> destinations) const {
  if (!history_)
    throw Error(ErrorCode::kInternal, "a model of pairs is asked before serve() made its history");
  const Queries& queries = host.queries;
  const auto times = queries.times.as<std::int64_t>();
  const auto events = queries.ids.as<std::uint64_t>();
  const std::vector<std::uint64_t> sources = sources_of(host);
  const TemporalCut cut = times.empty() ? TemporalCut{} : TemporalCut{times[0], events[0]};
  std::vector<TemporalCut> bounds;
  std::vector<std::int64_t> latest;
  for (std::size_t i = of.first; i < of.first + of.count; ++i) {
    bounds.push_back(visible_bound(visibility_, times[i], events[i], cut));
    const std::uint64_t before = all_->before(bounds.back().time, bounds.back().event);
    latest.push_back(before == 0 ? std::numeric_limits<std::int64_t>::min()
                                 : all_->time(before - 1));
  }
  return model.score({*history_,
                      asked().parts.training_first(),
                      asked().parts.training_last(),
                      std::span(sources).subspan(of.first, of.count),
                      times.subspan(of.first, of.count),
                      bounds,
                      latest,
                      destinations});
}

torch::Tensor TemporalLinkPrediction::outputs(Model& model, const Batch& batch) {
  if (auto* const pairs = dynamic_cast<PairModel*>(&model)) {
    const Batch& host = batch.on_host();
    return pair_scores(
        *pairs, host, {0, static_cast<std::size_t>(host.num_queries())}, candidates_of(host));
  }
  if (PairEncoder* const pairs = pair_encoder(model)) return encoded_pair_scores(*pairs, batch);
  return encoded_scores(model, batch);
}

torch::Tensor TemporalLinkPrediction::encoded_scores(Model& model, const Batch& batch) const {
  const Encoding encoded = model.encode(batch);
  const Queries& queries = batch.queries;
  const torch::Tensor beside = encoded_rows(encoded, batch, destination_type_, options_.width);
  const torch::Tensor sources = rows_of_pairs(
      encoded_rows(encoded, batch, source_type_, options_.width), nn::as_tensor(queries.sources));
  const torch::Tensor own = rows_of_pairs(beside, nn::as_tensor(queries.destinations));
  torch::Tensor scores = decoder_->score(sources, own).unsqueeze(1);
  if (queries.negatives.empty()) return scores;
  const torch::Tensor others = rows_of_pairs(beside, nn::as_tensor(queries.negatives));
  return torch::cat({scores, decoder_->score_beside(sources, others)}, 1);
}

// All pairs at once: each event's, then those of its source with each other destination. Those that
// are not there cost nothing.
torch::Tensor TemporalLinkPrediction::encoded_pair_scores(PairEncoder& model,
                                                          const Batch& batch) const {
  const Queries& queries = batch.queries;
  torch::Tensor destinations = nn::as_tensor(queries.destinations).unsqueeze(1);
  if (!queries.negatives.empty())
    destinations = torch::cat({destinations, nn::as_tensor(queries.negatives)}, 1);
  const std::int64_t width = destinations.size(1);
  const torch::Tensor sources =
      nn::as_tensor(queries.sources).unsqueeze(1).expand({-1, width}).flatten();
  destinations = destinations.flatten();
  const torch::Tensor places = destinations.ge(0).nonzero().squeeze(1);
  const PairEncoding rows = model.encode_pairs(batch,
                                               {source_type_,
                                                destination_type_,
                                                sources.index_select(0, places),
                                                destinations.index_select(0, places)});
  const torch::Tensor there = decoder_->score(rows.sources, rows.destinations);
  return torch::zeros({destinations.size(0)}, there.options())
      .index_copy(0, places, there)
      .view({-1, width});
}

torch::Tensor TemporalLinkPrediction::training_loss(Model& model,
                                                    const Batch& batch,
                                                    RandomKey /*key*/) {
  const bool learns = dynamic_cast<PairModel*>(&model) == nullptr || !model.parameters().empty();
  // Nothing to learn: a loss without parts, so that a step may be tried all the same.
  if (!learns) return torch::zeros({}, torch::TensorOptions().requires_grad(true));
  const torch::Tensor scores = outputs(model, batch);
  const torch::Tensor there = others_there(batch).to(scores.device());
  const torch::Tensor own = scores.narrow(1, 0, 1);
  const torch::Tensor others = scores.narrow(1, 1, scores.size(1) - 1);
  if (options_.loss == EventLoss::kSoftmax) {
    const torch::Tensor among = others.masked_fill(~there, -std::numeric_limits<float>::infinity());
    return (torch::cat({own, among}, 1).logsumexp(1) - own.squeeze(1)).mean();
  }
  // -log sigmoid of events, -log (1 - sigmoid) of others.
  const torch::Tensor weights = there.to(scores.scalar_type());
  const torch::Tensor of_others =
      (torch::softplus(others) * weights).sum() / weights.sum().clamp_min(1);
  return (torch::softplus(-own).mean() + of_others) / 2;
}

// Scores of all destinations for each query: [q, destinations].
torch::Tensor TemporalLinkPrediction::scores_of_all(Model& model, const Batch& batch) {
  auto* const pairs = dynamic_cast<PairModel*>(&model);
  if (pairs == nullptr) {
    const torch::Tensor scores = outputs(model, batch);
    return scores.narrow(1, 1, scores.size(1) - 1).cpu();
  }
  const Batch& host = batch.on_host();
  std::vector<std::uint64_t> destinations(num_destinations_);
  std::iota(destinations.begin(), destinations.end(), std::uint64_t{0});
  std::vector<torch::Tensor> scores;
  scores.reserve(static_cast<std::size_t>(host.queries.size()));
  for (std::size_t i = 0; i < static_cast<std::size_t>(host.queries.size()); ++i)
    scores.push_back(pair_scores(*pairs, host, {i, 1}, destinations).cpu());
  return torch::cat(scores);
}

BestEnds TemporalLinkPrediction::best_ends(Model& model,
                                           const Batch& batch,
                                           LinkEnd end,
                                           std::int64_t count) {
  if (end == LinkEnd::kSource)
    throw Error(ErrorCode::kUsage,
                "events are scored by their destinations: best sources are not looked for",
                "leave --end out");
  const torch::NoGradGuard no_grad;
  torch::Tensor scores = scores_of_all(model, batch);
  if (scores.size(1) != static_cast<std::int64_t>(num_destinations_))
    throw Error(ErrorCode::kInternal, "best ends of a task that was not told to expect them");
  // What is no number would be sorted before all others. Of equal scores the node of the lower
  // number.
  scores = scores.masked_fill(~scores.isfinite(), -std::numeric_limits<double>::infinity());
  const auto [sorted, places] = scores.sort(/*stable=*/true, /*dim=*/1, /*descending=*/true);
  const torch::Tensor nodes = places.narrow(1, 0, count).contiguous();
  return {nn::as_array(nodes.view(torch::kUInt64)),
          sorted.narrow(1, 0, count).to(torch::kFloat32).contiguous()};
}

}  // namespace sluice::tasks
