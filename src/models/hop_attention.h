// HopAttention: rows of nodes at a time by attention over their events of before, hop by hop. Each
// layer joins what it found with the node's own row; a neighbour's row is that of the time of the
// event it was met by. TGAT (Xu et al., ICLR 2020) is this over features, TGN (Rossi et al. 2020)
// over memories. Used by one thread at a time.
#pragma once

#include "models/temporal_inputs.h"

#include <sluice/nn/attention.h>
#include <sluice/nn/time_encoding.h>

namespace sluice::models {

struct HopAttentionOptions {
  std::int64_t layers = 2;
  std::int64_t hidden = 100;
  std::int64_t heads = 2;
  double dropout = 0.1;
  nn::TimeEncodingOptions time;
  void describe(Schema& schema);
};

/// What the first layer knows of nodes.
enum class FirstRows {
  kGiven,  ///< rows
  kNone    ///< nothing: it has no columns for them
};

class HopAttention : public torch::nn::Module {
 public:
  /// @param context gives the targets' types, the width of their rows and the key
  /// @param inputs of the same model, which registers them; rows of edges are read by them
  HopAttention(const HopAttentionOptions& options,
               const ModelContext& context,
               std::shared_ptr<const TemporalInputs> inputs,
               FirstRows first);

  /// Rows of the seeds of the types that the model is asked for: f32 [seeds, output width].
  /// @param rows by node type, f32 [nodes, hidden]; undefined: zeros
  Encoding forward(const nn::LayerDraws& draws,
                   const Batch& batch,
                   std::vector<torch::Tensor> rows) const;

 private:
  struct Layer {
    std::shared_ptr<nn::EventAttention> attention;
    std::shared_ptr<nn::Linear> hidden, out;
  };

  void add_layer(std::int64_t at, std::int64_t out, RandomKey key);
  bool reads_nodes(std::size_t at) const { return at != 0 || first_ == FirstRows::kGiven; }
  torch::Tensor layer_rows(const nn::LayerDraws& draws,
                           std::size_t at,
                           const Batch& batch,
                           std::size_t type,
                           const std::vector<torch::Tensor>& rows) const;

  HopAttentionOptions options_;
  std::vector<std::size_t> target_types_;
  std::shared_ptr<const TemporalInputs> inputs_;
  FirstRows first_;
  std::shared_ptr<nn::TimeEncoding> time_;
  std::vector<Layer> layers_;
};

}  // namespace sluice::models
