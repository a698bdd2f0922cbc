// Scaled dot-product attention by heads over padded sequences, and what is built of it: attention
// of a row over its events, and a transformer's layer.
//
// Both go through at::scaled_dot_product_attention, which has ways that never hold a [length,
// length] matrix. It is called without dropout, whose draws would be of a generator with a state;
// nn::dropout is applied to what comes out. Used by one thread at a time.
#pragma once

#include <sluice/executor.h>
#include <sluice/nn/event_sequences.h>
#include <sluice/nn/linear.h>

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <string_view>

namespace sluice::nn {

/// By heads, columns of each side by side: softmax(q k^T / sqrt(width / heads)) v.
/// @param queries [n, queries, width] @param keys, values [n, length, width]
/// @param mask bool [n, length]: keys that may be looked at, at least one of each sequence;
/// undefined: the mask is causal, and there are as many queries as keys
/// @return [n, queries, width]
torch::Tensor attend(std::int64_t heads,
                     const torch::Tensor& queries,
                     const torch::Tensor& keys,
                     const torch::Tensor& values,
                     const torch::Tensor& mask);

struct EventAttentionOptions {
  std::int64_t own_in = 0;    ///< columns of the targets' rows
  std::int64_t event_in = 0;  ///< columns of the events' rows
  std::int64_t width = 0;     ///< of the result; a multiple of `heads`
  std::int64_t heads = 2;
};

/// Each target over its events (Xu et al., ICLR 2020): queries from the targets' rows, keys and
/// values from the events', and a product over what heads found. Without events it is 0 before that
/// product's bias.
class EventAttention : public torch::nn::Module {
 public:
  EventAttention(const EventAttentionOptions& options, RandomKey key);

  /// @param own [targets, own_in] @param rows [events, event_in], in the sequences' order
  /// @return [targets, width]
  torch::Tensor forward(const EventSequences& events,
                        const torch::Tensor& own,
                        const torch::Tensor& rows) const;

 private:
  EventAttentionOptions options_;
  std::shared_ptr<Linear> query_, key_, value_, out_;
};

struct TransformerLayerOptions {
  std::int64_t width = 64;  ///< a multiple of `heads`
  std::int64_t heads = 2;
  std::int64_t feed_forward = 256;
  double dropout = 0.1;  ///< share of elements that each of both halves' results lack in training
};

/// What a call of a layer draws by, and where it runs.
struct LayerDraws {
  kernels::Executor executor;
  RandomKey key{0};  ///< of (seed, epoch, step, layer)
};

/// A layer that normalises first: x + attention(norm(x)), then x + feed_forward(norm(x)), with one
/// hidden layer of GELU.
class TransformerLayer : public torch::nn::Module {
 public:
  TransformerLayer(const TransformerLayerOptions& options, RandomKey key);

  /// All rows, each over all that the mask has. @param x [n, length, width]; the result likewise
  /// @param mask as attend() has it
  torch::Tensor forward(const LayerDraws& draws,
                        const torch::Tensor& x,
                        const torch::Tensor& mask) const;
  /// A single row of each sequence: that of the causal forward() at its place.
  /// @param at i64 [n]: places, below length @return [n, width]
  torch::Tensor forward_at(const LayerDraws& draws,
                           const torch::Tensor& x,
                           const torch::Tensor& at) const;

 private:
  torch::Tensor finish(const LayerDraws& draws,
                       const torch::Tensor& x,
                       const torch::Tensor& attended) const;
  torch::Tensor dropped(const LayerDraws& draws,
                        std::string_view half,
                        const torch::Tensor& x) const;

  TransformerLayerOptions options_;
  mutable torch::nn::LayerNorm first_norm_{nullptr}, second_norm_{nullptr};
  std::shared_ptr<Linear> query_, keys_, values_, joined_, wide_, narrow_;
};

}  // namespace sluice::nn
