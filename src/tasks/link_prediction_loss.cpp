// What link prediction minimises.
#include "tasks/link_prediction.h"

#include <sluice/nn/tensor_view.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice::tasks {
namespace {

namespace functional = torch::nn::functional;

using Looked = KnownLinks::Looked;

std::int64_t count_there(const Array& negatives) {
  return std::ranges::count_if(negatives.as<std::int64_t>(),
                               [](std::int64_t row) { return row >= 0; });
}

std::span<const std::uint64_t> ids_at(const Batch& host, std::size_t type) {
  return std::as_const(host.seeds[type]).as<std::uint64_t>();
}

// The end of a link as its queries name it.
const Array& rows_of_end(const Queries& queries, Looked looked) {
  return looked == Looked::kDestination ? queries.destinations : queries.sources;
}

// Nodes that are shared at an end, and their type.
const Array& shared_at(const Queries& queries, Looked looked) {
  return looked == Looked::kSource && !queries.shared_sources.empty() ? queries.shared_sources
                                                                      : queries.shared;
}

// How many (what is known, type) and (type, other end) have links, as RotatE's authors count.
double rarity(std::int64_t links) {
  constexpr double kFirst = 3;  // so that one link is 4
  return 1 / std::sqrt(static_cast<double>(links) + 2 * kFirst);
}

}  // namespace

torch::Tensor LinkPrediction::training_loss(Model& model, const Batch& batch, RandomKey key) {
  decoder_->set_step_key(key.with("decoder"));
  const Links links = links_of(model, batch);
  torch::Tensor loss;
  if (!batch.queries.truth.empty()) {
    const Asked asked = ask(links, Looked::kDestination);
    loss = functional::binary_cross_entropy_with_logits(
        decoder_->pairwise(asked.queries, asked.own),
        nn::as_tensor(batch.queries.truth).to(torch::kFloat32));
  } else if (options_.loss == nn::LinkLoss::kAll) {
    loss = loss_among_all(model, links, batch);
  } else {
    loss = loss_beside(links, batch);
  }
  if (options_.relation_weight > 0) loss = loss + options_.relation_weight * relation_loss(links);
  if (options_.regularizer != Regularizer::kNone)
    loss = loss + options_.regularizer_weight * size_of_rows(model, links, batch);
  return loss;
}

// Both ends at once where they are of one type: all rows are gone through once.
torch::Tensor LinkPrediction::loss_among_all(const Model& model,
                                             const Links& links,
                                             const Batch& batch) const {
  nn::LearnedRows& rows = rows_of(model, "loss");
  const auto own = [&](Looked looked) {
    const std::size_t type = looked == Looked::kDestination ? destination_type() : source_type();
    const torch::Tensor ids = nn::as_tensor(batch.seeds[type]).view(torch::kInt64);
    return ids.index_select(0, nn::as_tensor(rows_of_end(batch.queries, looked)));
  };
  const std::vector<Asked> asked = ask_ends(links);
  if (asked.size() == 1)
    return nn::all_softmax(executor_,
                           decoder_,
                           asked[0].queries,
                           rows.all(destination_type()),
                           own(Looked::kDestination))
        .mean();
  if (same_type())
    return nn::all_softmax(executor_,
                           decoder_,
                           torch::cat({asked[0].queries, asked[1].queries}),
                           rows.all(source_type()),
                           torch::cat({own(Looked::kDestination), own(Looked::kSource)}))
        .mean();
  return (nn::all_softmax(executor_,
                          decoder_,
                          asked[0].queries,
                          rows.all(destination_type()),
                          own(Looked::kDestination))
              .mean() +
          nn::all_softmax(
              executor_, decoder_, asked[1].queries, rows.all(source_type()), own(Looked::kSource))
              .mean()) /
         2;
}

torch::Tensor LinkPrediction::loss_beside(const Links& links, const Batch& batch) const {
  const nn::LinkLossOptions options{options_.loss, options_.margin, options_.temperature};
  const Queries& host = batch.on_host().queries;
  torch::Tensor sum;
  const std::vector<Asked> ends = ask_ends(links);
  for (const Asked& asked : ends) {
    nn::ScoredLinks scored;
    if (weighs_links()) scored.weights = weights_of(batch);
    if (options_.share) {
      scored.links = decoder_->pairwise(asked.queries, asked.own);
      scored.others = others_of(asked, links, batch);
      const torch::Tensor there = rows_that_count(asked, batch);
      if (nn::counts_others(options_.loss)) scored.known = there.sum().item<std::int64_t>();
      scored.there = there.to(scored.links.device());
    } else {
      const torch::Tensor scores = sampled_scores(links, batch);
      scored.links = scores.select(1, 0);
      scored.others = scores.narrow(1, 1, scores.size(1) - 1);
      // Counted on the host: a GPU would have to be waited for.
      scored.known = host.negatives.empty() ? 0 : count_there(host.negatives);
      scored.there = host.negatives.empty() ? torch::zeros_like(scored.others).to(torch::kBool)
                                            : nn::as_tensor(batch.queries.negatives).ge(0);
    }
    const torch::Tensor loss = nn::loss_beside_others(executor_, options, scored);
    sum = sum.defined() ? sum + loss : loss;
  }
  return ends.size() == 1 ? sum : sum / static_cast<double>(ends.size());
}

// Scores beside the nodes that each chunk shares: [q, k].
torch::Tensor LinkPrediction::others_of(const Asked& asked,
                                        const Links& links,
                                        const Batch& batch) const {
  const Array& shared = shared_at(batch.queries, asked.looked);
  const std::size_t type = &shared == &batch.queries.shared ? destination_type() : source_type();
  const torch::Tensor rows = nn::as_tensor(shared);
  std::vector<torch::Tensor> scores;
  for (std::int64_t chunk = 0; chunk < rows.size(0); ++chunk) {
    const std::int64_t first = chunk * batch.queries.chunk;
    const std::int64_t count = std::min(batch.queries.chunk, asked.queries.size(0) - first);
    const torch::Tensor candidates = torch::embedding(links.encoded.at(type), rows[chunk]);
    scores.push_back(decoder_->combine(asked.queries.narrow(0, first, count), candidates));
  }
  return scores.size() == 1 ? scores.front() : torch::cat(scores);
}

// Whether the nodes that links share are others to each: not its own end, nor, where that is
// wanted, one that makes a training link. On the host.
torch::Tensor LinkPrediction::rows_that_count(const Asked& asked, const Batch& batch) const {
  const Batch& host = batch.on_host();
  const Queries& queries = host.queries;
  const Array& shared = shared_at(queries, asked.looked);
  const bool destination = asked.looked == Looked::kDestination;
  const auto ids = ids_at(host, destination ? queries.destination_type : queries.type);
  const auto told_ids = ids_at(host, destination ? queries.type : queries.destination_type);
  const auto own = rows_of_end(queries, asked.looked).as<std::int64_t>();
  const auto told = rows_of_end(queries, opposite(asked.looked)).as<std::int64_t>();
  const std::vector<std::uint32_t> types = types_of(typed_ ? host.labels : Array(), own.size());
  const auto columns = static_cast<std::size_t>(shared.size(1));
  torch::Tensor there = torch::ones({queries.size(), shared.size(1)}, torch::kBool);
  bool* const flags = there.data_ptr<bool>();
  std::vector<std::pair<std::uint64_t, std::size_t>> places;  // of a chunk's nodes
  for (std::size_t i = 0; i < own.size(); ++i) {
    const auto chunk = static_cast<std::size_t>(queries.chunk);
    if (i % chunk == 0) {
      const auto rows = shared.as<std::int64_t>().subspan(i / chunk * columns, columns);
      places.clear();
      for (std::size_t k = 0; k < columns; ++k)
        places.emplace_back(ids[static_cast<std::size_t>(rows[k])], k);
      std::ranges::sort(places);
    }
    const auto leave_out = [&](std::uint64_t node) {
      auto at = std::ranges::lower_bound(places, std::pair(node, std::size_t{0}));
      for (; at != places.end() && at->first == node; ++at) flags[i * columns + at->second] = false;
    };
    leave_out(ids[static_cast<std::size_t>(own[i])]);
    if (!options_.filtered) continue;
    const auto known =
        known_->answers(asked.looked, told_ids[static_cast<std::size_t>(told[i])], types[i]);
    if (known.training.size() <= places.size()) {
      for (const KnownLinks::Entry& entry : known.training) leave_out(entry.answer);
      continue;
    }
    // A hub has more links than there are nodes here: these are looked for among those.
    for (const auto& [node, column] : places)
      if (std::ranges::binary_search(known.training, node, {}, &KnownLinks::Entry::answer))
        flags[i * columns + column] = false;
  }
  return there;
}

// The rarer what both ends ask, the more a link weighs.
torch::Tensor LinkPrediction::weights_of(const Batch& batch) const {
  const Batch& host = batch.on_host();
  const Queries& queries = host.queries;
  const auto sources = ids_at(host, queries.type);
  const auto destinations = ids_at(host, queries.destination_type);
  const auto count = static_cast<std::size_t>(queries.size());
  const std::vector<std::uint32_t> types = types_of(typed_ ? host.labels : Array(), count);
  torch::Tensor weights = torch::empty({queries.size()});
  for (std::size_t i = 0; i < count; ++i) {
    const auto source = static_cast<std::size_t>(queries.sources.as<std::int64_t>()[i]);
    const auto destination = static_cast<std::size_t>(queries.destinations.as<std::int64_t>()[i]);
    const std::int64_t links =
        known_->count_training(Looked::kDestination, sources[source], types[i]) +
        known_->count_training(Looked::kSource, destinations[destination], types[i]);
    weights.data_ptr<float>()[i] = static_cast<float>(rarity(links));
  }
  return weights.to(nn::as_tensor(batch.queries.sources).device());
}

// Which relation is between the ends, and between them turned round.
torch::Tensor LinkPrediction::relation_loss(const Links& links) const {
  const auto loss = [&](const torch::Tensor& from, const torch::Tensor& to, std::int64_t more) {
    return functional::cross_entropy(decoder_->score_relations(from, to), links.relations + more);
  };
  torch::Tensor own = loss(links.sources, links.destinations, 0);
  if (!options_.reciprocal) return own;
  return (own + loss(links.destinations, links.sources, num_types_)) / 2;
}

// A mean over links: of both ends and of the relation, or of the mean of it and its reciprocal.
// Learned rows count as they are, whatever dropout left of them.
torch::Tensor LinkPrediction::size_of_rows(const Model& model,
                                           const Links& links,
                                           const Batch& batch) const {
  const double power = options_.regularizer_power;
  const auto size = [&](const torch::Tensor& rows) {
    if (options_.regularizer == Regularizer::kLp) return rows.abs().pow(power).sum() / power;
    return decoder_->squares(rows).pow(1.5).sum();
  };
  const nn::LearnedRows* const learned = model.ranked_rows();
  const auto size_at = [&](std::size_t type, const Array& rows, const torch::Tensor& encoded) {
    if (learned == nullptr) return size(encoded);
    return size(torch::embedding(learned->rows(type), nn::as_tensor(rows)));
  };
  torch::Tensor sum = size_at(source_type(), batch.queries.sources, links.sources) +
                      size_at(destination_type(), batch.queries.destinations, links.destinations);
  // Angles are no numbers to be kept small.
  if (nn::reads_relations(options_.decoder) && options_.decoder != nn::DecoderKind::kRotatE) {
    torch::Tensor of_relations = size(decoder_->relation_rows(links.relations));
    if (options_.reciprocal)
      of_relations =
          (of_relations + size(decoder_->relation_rows(links.relations + num_types_))) / 2;
    sum = sum + of_relations;
  }
  return sum / static_cast<double>(links.sources.size(0));
}

}  // namespace sluice::tasks
