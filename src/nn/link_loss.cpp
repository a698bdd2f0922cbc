#include "nn/link_loss.h"

#include "kernels/table.h"
#include "nn/add_rows.h"
#include "nn/dense_product.h"
#include "nn/function_support.h"

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
  HeldDecoder(kernels::Executor where,
              std::shared_ptr<const Decoder> held,
              std::int64_t columns_at_once)
      : executor(where), decoder(std::move(held)), columns(columns_at_once) {}
  kernels::Executor executor;
  std::shared_ptr<const Decoder> decoder;
  std::int64_t columns;
};

kernels::Flags flags_of(const Tensor& there) {
  return {static_cast<const std::uint8_t*>(there.data_ptr()), there.size(0), there.size(1)};
}

/// Gradients of scores, as gradients of queries and of some candidates.
struct Pulled {
  Tensor queries, candidates;
};
Pulled pull_back(const Decoder& decoder,
                 const Tensor& queries,
                 const Tensor& candidates,
                 const Tensor& by) {
  if (decoder.is_product())
    return {matrix_product(by, candidates), matrix_product(by.t(), queries)};
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
    const Tensor most =
        torch::full({queries.size(0)}, -std::numeric_limits<float>::infinity(), queries.options());
    const Tensor sum = torch::zeros_like(most);
    for (std::int64_t at = 0; at < candidates.size(0); at += held->columns) {
      const Tensor scores =
          decoder.combine(queries, tile_of(candidates, at, held->columns)).contiguous();
      kernels::on(held->executor)
          .softmax_sums(
              held->executor, rows_of(scores), {}, {most.data_ptr<float>(), sum.data_ptr<float>()});
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
    const Tensor by = grads[0].contiguous(), &all = saved[3];
    Tensor of_queries = torch::zeros_like(queries);
    Tensor of_candidates = torch::empty_like(candidates);
    for (std::int64_t at = 0; at < candidates.size(0); at += held.columns) {
      const Tensor tile = tile_of(candidates, at, held.columns);
      const Tensor shares = held.decoder->combine(queries, tile).contiguous();
      kernels::on(held.executor)
          .softmax_shares(held.executor,
                          rows_of(shares),
                          {},
                          all.data_ptr<float>(),
                          by.data_ptr<float>(),
                          rows_of(shares));
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

/// Scores of links and of those of their others that count: -log of the link's share of each, [n].
struct BesideSoftmax : torch::autograd::Function<BesideSoftmax> {
  static Tensor forward(AutogradContext* context,
                        const LayerCall& call,
                        const Tensor& links,
                        const Tensor& others,
                        const Tensor& there) {
    hold(context, call);
    const Tensor most = links.clone(), sum = torch::ones_like(links);
    kernels::on(call.executor)
        .softmax_sums(call.executor,
                      rows_of(others),
                      flags_of(there),
                      {most.data_ptr<float>(), sum.data_ptr<float>()});
    const Tensor all = most + sum.log();
    context->save_for_backward({links, others, there, all});
    return all - links;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const kernels::Executor& executor = held(context).executor;
    const variable_list saved = context->get_saved_variables();
    const Tensor &links = saved[0], &others = saved[1], &there = saved[2], &all = saved[3];
    const Tensor by = grads[0].contiguous();
    const Tensor of_others = torch::empty_like(others);
    kernels::on(executor).softmax_shares(executor,
                                         rows_of(others),
                                         flags_of(there),
                                         all.data_ptr<float>(),
                                         by.data_ptr<float>(),
                                         rows_of(of_others));
    return {Tensor(), by * ((links - all).exp() - 1), of_others, Tensor()};
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

Tensor all_softmax(const kernels::Executor& executor,
                   const std::shared_ptr<const Decoder>& decoder,
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
      c10::make_intrusive<HeldDecoder>(executor, decoder, std::max<std::int64_t>(1, tile / rows));
  return AllSoftmax::apply(
      held, queries.contiguous(), candidates, own);  // whose rows may lie apart
}

bool counts_others(LinkLoss kind) {
  return kind == LinkLoss::kLogistic || kind == LinkLoss::kMargin;
}

Tensor loss_beside_others(const kernels::Executor& executor,
                          const LinkLossOptions& options,
                          const ScoredLinks& scored) {
  const Tensor& links = scored.links;
  switch (options.kind) {
    case LinkLoss::kLogistic: {
      Tensor loss = functional::softplus(-links).mean();
      if (scored.known == 0) return loss;
      const Tensor there = scored.there.to(torch::kFloat32);
      return loss + (functional::softplus(scored.others) * there).sum() / scored.known;
    }
    case LinkLoss::kSoftmax:
      return BesideSoftmax::apply(LayerCall{executor, nullptr},
                                  links.contiguous(),
                                  scored.others.contiguous(),
                                  scored.there.contiguous())
          .mean();
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
