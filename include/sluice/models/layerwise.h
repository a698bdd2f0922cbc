// Layerwise: a model one layer at a time, over all nodes, as `sluice-train embed` runs it: what a
// layer writes of every node is there before the next layer begins, so nothing is computed twice.
// Model::layerwise() gives it, of models that ask for neither times nor negatives.
//
// A call is about some targets: nodes of one type that follow each other. Its batch has blocks in
// the layer that is asked for alone, its targets are the first rows of their type, and rows of
// other types are sources only. The model is in evaluation mode. Used by one thread at a time.
#pragma once

#include <sluice/batch.h>
#include <sluice/nn/union_block.h>

#include <torch/torch.h>

#include <cstdint>
#include <vector>

namespace sluice {

/// What a layer wants of a target's neighbours. All but kEdges are made relation by relation and
/// column by column, so that rows may be read a few columns at a time; the batch of layer_rows()
/// then has one neighbour a target and relation, the row that was made, and none where a target
/// has no in-edges of the relation.
enum class Gathering {
  kEdges,      ///< each of them: blocks are whole neighbourhoods
  kMean,       ///< the mean of their rows
  kMax,        ///< the largest of each column
  kScaledMean  ///< the mean of their rows, each times 1 / sqrt(its in-degree + 1)
};

/// What a layer leaves for the same targets' next layer, beside their rows; the model's own.
using LayerCarry = std::vector<torch::Tensor>;

class Layerwise {
 public:
  virtual ~Layerwise() = default;

  /// Layers; at least 1.
  virtual std::int64_t depth() const = 0;
  /// Node types that a layer reads and writes. What a layer reads, the one before has written.
  virtual const nn::LayerTypes& layer_types(std::int64_t layer) const = 0;
  /// Columns of the rows that a layer reads; of `depth()`, of those that the last one writes.
  virtual std::int64_t columns(std::int64_t layer) const = 0;

  /// By node type: the rows that the first layer reads, f32 [nodes, columns(0)], of a batch without
  /// layers; undefined for types that are not read.
  virtual std::vector<torch::Tensor> input_rows(const Batch& batch) const = 0;

  /// What the layer wants. With all but kEdges BatchNodes::degrees are there, as in the graph, of
  /// targets, and 0 of rows that were made; with kEdges what Model::needs() says.
  virtual Gathering gathering(std::int64_t /*layer*/) const { return Gathering::kEdges; }
  /// Whether the layer leaves something for the next. @pre gathering() is kEdges for both
  virtual bool carries(std::int64_t /*layer*/) const { return false; }

  /// By node type: what the layer writes of the batch's targets, f32 [targets, columns(layer + 1)].
  /// @param x by node type: rows of the batch's nodes, undefined without
  /// @param carry what the layer before left of these targets becomes what this one leaves
  virtual std::vector<torch::Tensor> layer_rows(std::int64_t layer,
                                                const std::vector<torch::Tensor>& x,
                                                const Batch& batch,
                                                LayerCarry& carry) const = 0;
};

}  // namespace sluice
