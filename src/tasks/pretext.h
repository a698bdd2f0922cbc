// Pretext: what an encoder is trained for without labels, and the modules that this takes behind
// the encoder. A pretext runs the encoder over views of a mini-batch and makes one loss of them.
// Its draws are functions of the step's key and of ids of nodes. Used by one thread at a time.
#pragma once

#include <sluice/batch.h>
#include <sluice/executor.h>
#include <sluice/model.h>
#include <sluice/random.h>

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::tasks {

/// A step of training.
struct PretextStep {
  Model& encoder;
  Model* target;  ///< the encoder that follows, where the pretext wants one
  const Batch& batch;
  std::size_t type;  ///< the node type of the seeds
  RandomKey key;     ///< of (seed, epoch, step)
  kernels::Executor executor = {};

  std::int64_t num_seeds() const { return batch.num_seeds(type); }
};

class Pretext : public torch::nn::Module {
 public:
  ~Pretext() override = default;

  /// Layers of blocks that it reads behind the encoder's.
  virtual std::int64_t layers_behind() const { return 0; }
  /// Scalar to minimise, the mean over the seeds or those of them that it asks about.
  virtual torch::Tensor loss(const PretextStep& step) = 0;
  /// What of the pretext's own follows something else of it, once a step's loss is made.
  virtual void follow(double /*momentum*/) {}
};

/// f32 [nodes of the type in the batch, columns]. Throws kInternal for a batch without features.
torch::Tensor features_of(const PretextStep& step);

/// A model's rows of a batch's seeds where features are as given: f32 [seeds, columns]. Draws of
/// the model go by `key`. Throws kUsage for a model that reads features in another way.
torch::Tensor encode_view(Model& model,
                          const Batch& batch,
                          std::size_t type,
                          const torch::Tensor& features,
                          RandomKey key);

/// Rows of some of the first `count` seeds, `most` at the most, drawn by their ids: i64, ascending.
torch::Tensor sampled_seeds(const PretextStep& step,
                            std::string_view what,
                            std::int64_t count,
                            std::int64_t most);

}  // namespace sluice::tasks
