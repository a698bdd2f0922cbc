// Model: what maps a batch to a row of numbers a seed. Derive, add to the registry, and `[model]
// type = "..."` works.
//
//   struct MyModel : sluice::Model {
//     struct Options {
//       std::int64_t hidden = 64;
//       void describe(sluice::Schema& schema) { schema.field("hidden", hidden); }
//     };
//     MyModel(const Options& options, const sluice::ModelContext& context);
//     sluice::Encoding encode(const sluice::Batch& batch) override;
//     std::int64_t num_layers() const override;
//   };
//
// Parameters must be initialised from `context.key` alone and dropout drawn from `step_key()`, so
// that a run is a pure function of its seed. Used by one thread at a time.
#pragma once

#include <sluice/batch.h>
#include <sluice/graph_schema.h>
#include <sluice/options.h>  // IWYU pragma: export
#include <sluice/random.h>

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

class Layerwise;
class ThreadArena;
namespace kernels {
struct KernelTable;
}
namespace nn {
class LearnedRows;
}

/// What a model is built for.
struct ModelContext {
  const GraphSchema& schema;
  std::vector<std::size_t> target_types;  ///< node types whose rows are asked for, ascending
  std::int64_t output_width;              ///< columns of those rows
  RandomKey key;                          ///< for initial parameters
  ThreadArena* threads =
      nullptr;  ///< runs the kernels, must outlive the model; null: the calling thread
  /// The kernels of the device that batches are delivered on; null: the CPU's.
  const kernels::KernelTable* kernels = nullptr;
  /// Rows that are learned beside the model's weights, [embedding]; must outlive it; null: none.
  nn::LearnedRows* rows = nullptr;
};

/// What a batch must hold beyond blocks.
struct BatchNeeds {
  bool degrees = false;           ///< BatchNodes::degrees of every node in the batch
  bool relation_degrees = false;  ///< BatchNodes::relation_degrees of every node in the batch
  bool edge_ids = false;          ///< Block::edge_ids
  bool edge_labels = false;       ///< Block::labels of every relation whose edges have classes
  /// On the CPU features of nodes may come when NodeRows or the model asks: Batch::deferred.
  bool deferred_features = false;
  /// Of GraphDataOptions: a type's first group of features, and none of edges, unless it asks.
  std::vector<std::string> feature_groups{""};
  std::vector<std::string> edge_feature_groups{};
};

/// A row a seed, by node type: f32 [batch.num_seeds(type), context.output_width]; undefined for a
/// type that was not asked for.
using Encoding = std::vector<torch::Tensor>;

class Model : public torch::nn::Module {
 public:
  ~Model() override = default;

  /// Rows of the seeds: raw numbers, without softmax. What becomes of them is the task's business.
  virtual Encoding encode(const Batch& batch) = 0;

  /// Layers of blocks a batch must have; 0: the model looks at the seeds' own features only.
  virtual std::int64_t num_layers() const = 0;

  virtual BatchNeeds needs() const { return {}; }

  /// The learned rows that encode() gives as they are: all nodes of a type can be asked about then.
  /// Null where a node's row depends on more.
  virtual nn::LearnedRows* ranked_rows() const { return nullptr; }

  /// The model one layer at a time over all nodes (sluice/models/layerwise.h); null where it cannot
  /// be taken so, or has no layers.
  virtual const Layerwise* layerwise() const { return nullptr; }

  /// Set by the trainer before each forward: the key of (seed, epoch, step), for dropout and other
  /// draws.
  void set_step_key(RandomKey key) { step_key_ = key; }
  RandomKey step_key() const { return step_key_; }

 private:
  RandomKey step_key_{0};
};

}  // namespace sluice
