#include "nn/link_loss.h"

#include "nn/add_rows.h"

#include <sluice/error.h>

#include <algorithm>
#include <limits>

namespace sluice::nn {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace functional = torch::nn::functional;

// Scores at once: on a CPU what stays in its caches, on a GPU what keeps all of it busy, where a
// score takes no more than itself.
constexpr std::int64_t kSmallTile = std::int64_t{1} << 19;
constexpr std::int64_t kLargeTile = std::int64_t{1} << 24;

struct HeldDecoder final : torch::CustomClassHolder {
  HeldDecoder(std::shared_ptr<const Decoder> held, std::int64_t columns_at_once)
      : decoder(std::move(held)), columns(columns_at_once) {}
  std::shared_ptr<const Decoder> decoder;
  std::int64_t columns;
};

/// Gradients of scores, as gradients of queries and of some candidates.
struct Pulled {
  Tensor queries, candidates;
};
Pulled pull_back(const Decoder& decoder,
                 const Tensor& queries,
                 const Tensor& candidates,
                 const Tensor& by) {
  if (decoder.is_product()) return {by.mm(candidates), by.t().mm(queries)};
  const torch::AutoGradMode with_gradients(true);
  const Tensor q = queries.detach().requires_grad_(), c = candidates.detach().requires_grad_();
  const variable_list pulled = torch::autograd::grad({decoder.combine(q, c)}, {q, c}, {by});
  return {pulled[0], pulled[1]};
}

// The same of one score a query.
Pulled pull_back_pairs(const Decoder& decoder,
                       const Tensor& queries,
                       const Tensor& candidates,
                       const Tensor& by) {
  const torch::AutoGradMode with_gradients(true);
  const Tensor q = queries.detach().requires_grad_(), c = candidates.detach().requires_grad_();
  const variable_list pulled = torch::autograd::grad({decoder.pairwise(q, c)}, {q, c}, {by});
  return {pulled[0], pulled[1]};
}

struct AllSoftmax : torch::autograd::Function<AllSoftmax> {
  static Tensor forward(AutogradContext* context,
                        const c10::intrusive_ptr<HeldDecoder>& held,
                        const Tensor& queries,
                        const Tensor& candidates,
                        const Tensor& own) {
    const Decoder& decoder = *held->decoder;
    Tensor most =
        torch::full({queries.size(0)}, -std::numeric_limits<float>::infinity(), queries.options());
    Tensor sum = torch::zeros_like(most);
    for (std::int64_t at = 0; at < candidates.size(0); at += held->columns) {
      const Tensor scores = decoder.combine(queries, tile_of(candidates, at, held->columns));
      const Tensor now = torch::maximum(most, scores.amax(1));
      sum.mul_((most - now).exp_()).add_((scores - now.unsqueeze(1)).exp_().sum(1));
      most = now;
    }
    const Tensor all = most + sum.log();
    context->saved_data["decoder"] = c10::IValue::make_capsule(held);
    context->save_for_backward({queries, candidates, own, all});
    return all - decoder.pairwise(queries, candidates.index_select(0, own));
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const auto capsule = context->saved_data.at("decoder").toCapsule();
    const auto& held = static_cast<const HeldDecoder&>(*capsule);
    const variable_list saved = context->get_saved_variables();
    const Tensor &queries = saved[0], &candidates = saved[1], &own = saved[2];
    const Tensor by = grads[0].unsqueeze(1), all = saved[3].unsqueeze(1);
    Tensor of_queries = torch::zeros_like(queries);
    Tensor of_candidates = torch::empty_like(candidates);
    for (std::int64_t at = 0; at < candidates.size(0); at += held.columns) {
      const Tensor tile = tile_of(candidates, at, held.columns);
      Tensor shares = held.decoder->combine(queries, tile).sub_(all).exp_().mul_(by);
      const Pulled pulled = pull_back(*held.decoder, queries, tile, shares);
      of_queries.add_(pulled.queries);
      of_candidates.narrow(0, at, tile.size(0)).copy_(pulled.candidates);
    }
    const Pulled pairs =
        pull_back_pairs(*held.decoder, queries, candidates.index_select(0, own), grads[0].neg());
    of_queries.add_(pairs.queries);
    add_rows(of_candidates, own, pairs.candidates);
    return {Tensor(), of_queries, of_candidates, Tensor()};
  }

  static Tensor tile_of(const Tensor& candidates, std::int64_t at, std::int64_t columns) {
    return candidates.narrow(0, at, std::min(columns, candidates.size(0) - at));
  }
};

Tensor weighed(const Tensor& values, const Tensor& weights) {
  return weights.defined() ? (values * weights).sum() / weights.sum() : values.mean();
}

Tensor self_adversarial(double temperature, const ScoredLinks& scored) {
  const Tensor hard = (scored.others.detach() * temperature)
                          .masked_fill(~scored.there, -std::numeric_limits<float>::infinity());
  // A link without others has no weights: its row of NaN counts nothing.
  const Tensor share = torch::softmax(hard, 1).nan_to_num(0);
  const Tensor others = (share * functional::softplus(scored.others)).sum(1);
  return (weighed(functional::softplus(-scored.links), scored.weights) +
          weighed(others, scored.weights)) /
         2;
}

}  // namespace

Tensor all_softmax(const std::shared_ptr<const Decoder>& decoder,
                   const Tensor& queries,
                   const Tensor& candidates,
                   const Tensor& own,
                   std::int64_t tile) {
  if (tile == 0) tile = queries.is_cpu() || !decoder->is_product() ? kSmallTile : kLargeTile;
  if (decoder->learns_to_combine())
    throw Error(ErrorCode::kInternal,
                "a softmax over all candidates by a decoder that learns them");
  const std::int64_t rows = std::max<std::int64_t>(1, queries.size(0));
  const auto held =
      c10::make_intrusive<HeldDecoder>(decoder, std::max<std::int64_t>(1, tile / rows));
  return AllSoftmax::apply(
      held, queries.contiguous(), candidates, own);  // whose rows may lie apart
}

Tensor loss_beside_others(const LinkLossOptions& options, const ScoredLinks& scored) {
  const Tensor& links = scored.links;
  switch (options.kind) {
    case LinkLoss::kLogistic: {
      Tensor loss = functional::softplus(-links).mean();
      if (scored.known == 0) return loss;
      const Tensor there = scored.there.to(torch::kFloat32);
      return loss + (functional::softplus(scored.others) * there).sum() / scored.known;
    }
    case LinkLoss::kSoftmax: {
      const Tensor others =
          scored.others.masked_fill(~scored.there, -std::numeric_limits<float>::infinity());
      const Tensor all = torch::cat({links.unsqueeze(1), others}, 1);
      return (torch::logsumexp(all, 1) - links).mean();
    }
    case LinkLoss::kMargin: {
      const Tensor short_of = torch::relu(scored.others - links.unsqueeze(1) + options.margin);
      const auto known = std::max<std::int64_t>(1, scored.known);
      return (short_of * scored.there.to(torch::kFloat32)).sum() / known;
    }
    case LinkLoss::kSelfAdversarial:
      return self_adversarial(options.temperature, scored);
    case LinkLoss::kAll:
      break;
  }
  throw Error(ErrorCode::kInternal, "a loss over all candidates, asked of some");
}

}  // namespace sluice::nn
