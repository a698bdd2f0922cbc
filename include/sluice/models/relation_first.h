// RelationFirst: the first layer of a model that adds up over relations, a group of source node
// types at a time (Heta's relation-aggregation-first, on one machine).
//
// What the layer writes is a sum over relations, and over own rows: so the rows of some types can
// be gathered, projected and aggregated, and let go before those of the next are. What stays is the
// partial sum of each target. For the backward pass a group is made anew instead of kept. Equal to
// the plain order but for the order of additions: to the bit where sums are exact. A softmax over
// several relations' edges is no such sum. Used by one thread.
#pragma once

#include <sluice/batch.h>
#include <sluice/model.h>
#include <sluice/options.h>

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace sluice::models {

enum class Execution {
  kAuto,          ///< by the size of the dataset's features, whatever the budget
  kPlain,         ///< the rows of all types at once
  kRelationFirst  ///< a group of types at a time
};

/// The key `execution` of [model].
void describe_execution(Schema& schema, Execution& execution);

/// Bytes of both orders, by the shapes of the mini-batches so far.
struct ExecutionFigures {
  struct Bytes {
    /// The most of features and first inputs at once, of a mini-batch.
    std::uint64_t inputs = 0;
    std::uint64_t gathered = 0;  ///< of features, in all; again for each backward pass
  };
  std::uint64_t groups = 0;  ///< most of a mini-batch
  Bytes plain, relation_first;
};

class RelationFirst {
 public:
  /// @param read by node type: whether the layer reads it  @param width columns of its inputs
  RelationFirst(const ModelContext& context,
                const std::vector<bool>& read,
                std::int64_t width,
                Execution execution);

  /// What is taken, never kAuto. A function of options and dataset alone, so that results do not
  /// depend on budgets and devices.
  Execution execution() const { return execution_; }

  /// What some types' rows add to what the layer writes: by node type, undefined for nothing.
  using Part = std::function<std::vector<torch::Tensor>(const std::vector<std::size_t>& types)>;
  /// The sum of all parts. @param part is called again in the backward pass, and keeps what it
  /// needs for that alive  @param parameters that it may use, beside learned rows
  std::vector<torch::Tensor> sum(const Batch& batch,
                                 const std::vector<torch::Tensor>& parameters,
                                 const Part& part);

  /// Counts a mini-batch that goes through the layer.
  void note(const Batch& batch);
  const ExecutionFigures& figures() const { return figures_; }

  /// Node types in groups whose rows are together no more bytes than the largest type's.
  std::vector<std::vector<std::size_t>> groups_of(const Batch& batch) const;

 private:
  // Of a node type that is read.
  struct Type {
    std::size_t type = 0;
    std::int64_t features = 0;  // columns
    std::int64_t learned = 0;
  };

  std::uint64_t bytes_of(const Batch& batch, const Type& type) const;

  std::vector<Type> types_;  // by distance in the metatree from the types that are asked for
  std::size_t num_types_;
  std::int64_t width_;
  nn::LearnedRows* rows_;
  Execution execution_;
  ExecutionFigures figures_;
};

}  // namespace sluice::models
