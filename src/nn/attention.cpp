#include <sluice/nn/attention.h>

#include <sluice/nn/block_ops.h>

#include <optional>

namespace sluice::nn {
namespace {

using torch::Tensor;

// [n, length, width] as [n, heads, length, width / heads], without a copy.
Tensor split_heads(const Tensor& x, std::int64_t heads) {
  return x.view({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}

std::shared_ptr<Linear> linear_of(std::int64_t in,
                                  std::int64_t out,
                                  RandomKey key,
                                  std::string_view name) {
  return std::make_shared<Linear>(in, out, Bias::kZero, key.with(name));
}

}  // namespace

Tensor attend(std::int64_t heads,
              const Tensor& queries,
              const Tensor& keys,
              const Tensor& values,
              const Tensor& mask) {
  std::optional<Tensor> allowed;
  if (mask.defined()) allowed = mask.unsqueeze(1).unsqueeze(1);
  const Tensor out = at::scaled_dot_product_attention(split_heads(queries, heads),
                                                      split_heads(keys, heads),
                                                      split_heads(values, heads),
                                                      allowed,
                                                      /*dropout_p=*/0.0,
                                                      /*is_causal=*/!mask.defined());
  return out.transpose(1, 2).reshape(queries.sizes());
}

EventAttention::EventAttention(const EventAttentionOptions& options, RandomKey key)
    : options_(options) {
  const std::int64_t width = options.width;
  query_ = register_module("query", linear_of(options.own_in, width, key, "query"));
  key_ = register_module("key", linear_of(options.event_in, width, key, "key"));
  value_ = register_module("value", linear_of(options.event_in, width, key, "value"));
  out_ = register_module("out", linear_of(width, width, key, "out"));
}

Tensor EventAttention::forward(const EventSequences& events,
                               const Tensor& own,
                               const Tensor& rows) const {
  if (events.num_events() == 0) return out_->forward(own.new_zeros({own.size(0), options_.width}));
  const std::int64_t length = events.longest();
  // A target without events looks at its first place, where keys and values are 0.
  const Tensor mask = events.mask(Align::kFirst, length)
                          .logical_or(torch::arange(length, events.counts().options()).eq(0) &
                                      events.counts().eq(0).unsqueeze(1));
  const Tensor found = attend(options_.heads,
                              query_->forward(own).unsqueeze(1),
                              events.pad(key_->forward(rows), Align::kFirst, length),
                              events.pad(value_->forward(rows), Align::kFirst, length),
                              mask);
  return out_->forward(found.squeeze(1));
}

TransformerLayer::TransformerLayer(const TransformerLayerOptions& options, RandomKey key)
    : options_(options) {
  const std::int64_t width = options.width;
  const auto norm = torch::nn::LayerNormOptions({width});
  first_norm_ = register_module("first_norm", torch::nn::LayerNorm(norm));
  second_norm_ = register_module("second_norm", torch::nn::LayerNorm(norm));
  query_ = register_module("query", linear_of(width, width, key, "query"));
  keys_ = register_module("keys", linear_of(width, width, key, "keys"));
  values_ = register_module("values", linear_of(width, width, key, "values"));
  joined_ = register_module("joined", linear_of(width, width, key, "joined"));
  wide_ = register_module("wide", linear_of(width, options.feed_forward, key, "wide"));
  narrow_ = register_module("narrow", linear_of(options.feed_forward, width, key, "narrow"));
}

Tensor TransformerLayer::dropped(const LayerDraws& draws,
                                 std::string_view half,
                                 const Tensor& x) const {
  if (!is_training()) return x;
  return dropout(draws.executor, draws.key.with(half), options_.dropout, x);
}

// Rows, [n, width] both.
Tensor TransformerLayer::finish(const LayerDraws& draws,
                                const Tensor& x,
                                const Tensor& attended) const {
  const Tensor half = x + dropped(draws, "attention", joined_->forward(attended));
  const Tensor hidden = torch::gelu(wide_->forward(second_norm_->forward(half)));
  return half + dropped(draws, "feed_forward", narrow_->forward(hidden));
}

Tensor TransformerLayer::forward(const LayerDraws& draws,
                                 const Tensor& x,
                                 const Tensor& mask) const {
  const std::int64_t width = options_.width;
  const Tensor rows = x.reshape({-1, width});
  const Tensor normed = first_norm_->forward(rows);
  const Tensor attended = attend(options_.heads,
                                 query_->forward(normed).view(x.sizes()),
                                 keys_->forward(normed).view(x.sizes()),
                                 values_->forward(normed).view(x.sizes()),
                                 mask);
  return finish(draws, rows, attended.view({-1, width})).view(x.sizes());
}

Tensor TransformerLayer::forward_at(const LayerDraws& draws,
                                    const Tensor& x,
                                    const Tensor& at) const {
  const std::int64_t count = x.size(0), length = x.size(1), width = options_.width;
  const Tensor rows = x.reshape({-1, width});
  const Tensor normed = first_norm_->forward(rows);
  const Tensor own = torch::arange(count, at.options()) * length + at;
  const Tensor seen =
      torch::arange(length, at.options()).unsqueeze(0) <= at.unsqueeze(1);  // causal
  const Tensor attended = attend(options_.heads,
                                 query_->forward(normed.index_select(0, own)).unsqueeze(1),
                                 keys_->forward(normed).view(x.sizes()),
                                 values_->forward(normed).view(x.sizes()),
                                 seen);
  return finish(draws, rows.index_select(0, own), attended.squeeze(1));
}

}  // namespace sluice::nn
