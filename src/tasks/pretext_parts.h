// Small modules that pretexts have behind an encoder: projections, decoders, a bilinear score.
#pragma once

#include <sluice/nn/gat_conv.h>
#include <sluice/nn/gcn_conv.h>
#include <sluice/nn/linear.h>
#include <sluice/random.h>

#include <torch/torch.h>

#include <cstdint>
#include <memory>

namespace sluice::tasks {

/// Columns of a Projection.
struct ProjectionWidths {
  std::int64_t in, hidden, out;
};

/// A matrix, PReLU, a matrix.
class Projection : public torch::nn::Module {
 public:
  Projection(const ProjectionWidths& widths, RandomKey key);
  /// @param x [n, in]; the result is [n, out]
  torch::Tensor forward(const torch::Tensor& x) const;

 private:
  std::shared_ptr<nn::Linear> first_, second_;
  torch::Tensor slope_;
};

/// What makes features of embeddings.
enum class DecoderLayer {
  kGat,  ///< one layer of attention, one head
  kGcn,  ///< one layer of means over a node and its neighbours
  kMlp   ///< a Projection of each node's own row: it reads no block
};

class FeatureDecoder : public torch::nn::Module {
 public:
  /// @param widths `hidden` is an MLP's alone
  FeatureDecoder(DecoderLayer layer, const ProjectionWidths& widths, RandomKey key);

  std::int64_t num_layers() const { return mlp_ ? 0 : 1; }
  /// f32 [targets, out]; of an MLP [n, out]. @param x f32 [sources, in] @param call its block is
  /// null for an MLP
  torch::Tensor forward(const nn::LayerCall& call, const torch::Tensor& x) const;

 private:
  std::shared_ptr<nn::GatConv> gat_;
  std::shared_ptr<nn::GcnConv> gcn_;
  std::shared_ptr<Projection> mlp_;
};

/// row . W summary.
class BilinearScore : public torch::nn::Module {
 public:
  BilinearScore(std::int64_t width, RandomKey key);
  /// f32 [n]. @param rows f32 [n, width] @param summary f32 [width]
  torch::Tensor forward(const torch::Tensor& rows, const torch::Tensor& summary) const;

 private:
  torch::Tensor weight_;
};

}  // namespace sluice::tasks
