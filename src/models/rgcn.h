// R-GCN (Schlichtkrull et al. 2018): each layer adds up a node's own row and, by each relation, the
// mean of its sampled neighbours', each relation through a matrix of its own. Relations are those
// of the dataset, and where edges have classes their classes. Node types may be several: own rows
// go through one matrix, whatever their type.
#pragma once

#include <sluice/models/typed_stack.h>
#include <sluice/nn/rgcn_conv.h>

namespace sluice::models {

class Rgcn final : public TypedStack {
 public:
  struct Options {
    StackOptions stack;
    std::int64_t bases = 8;
    Execution execution = Execution::kAuto;
    void describe(Schema& schema);
  };
  Rgcn(const Options& options, const ModelContext& context);

  BatchNeeds needs() const override;
  /// A mean a relation, where edges have no classes that tell them apart.
  Gathering gathering(std::int64_t) const override {
    return needs().edge_labels ? Gathering::kEdges : Gathering::kMean;
  }

 private:
  // A relation of the dataset among those that the layers tell apart.
  struct Relation {
    std::int64_t first = 0;
    std::int64_t classes = 0;  // of its edges; those without have the number behind; 0: one for all
  };

  TypedRows propagate(std::int64_t layer,
                      const nn::LayerCall& call,
                      const std::vector<nn::PendingRows>& x,
                      const Batch& batch) const override;
  nn::RelationBlock with_relations(const nn::BlockRef& block) const;

  std::vector<Relation> relations_;
  std::vector<std::shared_ptr<nn::RgcnConv>> convs_;
};

}  // namespace sluice::models
