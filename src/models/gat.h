// GAT (Velickovic et al. 2018): each layer weighs a node's neighbours by attention, by heads. Over
// several node types and relations it is the plain rival of models that tell them apart: one graph
// of all nodes, whose relations are ignored.
#pragma once

#include <sluice/models/typed_stack.h>
#include <sluice/nn/gat_conv.h>

#include <string_view>

namespace sluice::models {

class Gat : public TypedStack {
 public:
  struct Options {
    StackOptions stack;
    std::int64_t heads = 4;
    std::int64_t output_heads = 1;
    double attention_dropout = 0;
    double negative_slope = 0.2;
    Options() { stack.activation = Activation::kElu; }
    void describe(Schema& schema);
  };
  /// Throws kUsage unless `hidden` is a multiple of `heads`.
  Gat(const Options& options, const ModelContext& context);

 protected:
  /// The same over other inputs. @param name the model's, for messages
  Gat(const Options& options,
      const ModelContext& context,
      std::string_view name,
      std::shared_ptr<InputRows> inputs);

 private:
  TypedRows propagate(std::int64_t layer,
                      const nn::LayerCall& call,
                      const std::vector<nn::PendingRows>& x,
                      const Batch& batch) const final;

  std::vector<std::shared_ptr<nn::GatConv>> convs_;
};

}  // namespace sluice::models
