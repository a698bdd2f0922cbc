#include "nn/recompute.h"

#include <cstddef>
#include <utility>

namespace sluice::nn {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Remade final : torch::CustomClassHolder {
  explicit Remade(Recomputable how) : make(std::move(how)) {}

  // Those that are defined; notes which these are.
  variable_list defined_ones() {
    variable_list all = make(), found;
    defined.clear();
    for (Tensor& each : all) {
      defined.push_back(each.defined());
      if (each.defined()) found.push_back(std::move(each));
    }
    return found;
  }

  Recomputable make;
  std::vector<bool> defined;
};

struct Recompute : torch::autograd::Function<Recompute> {
  static variable_list forward(AutogradContext* context,
                               const c10::intrusive_ptr<Remade>& remade,
                               const at::TensorList& leaves) {
    context->saved_data["remade"] = c10::IValue::make_capsule(remade);
    context->save_for_backward(leaves.vec());
    context->set_materialize_grads(false);
    return remade->defined_ones();
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const auto capsule = context->saved_data.at("remade").toCapsule();
    auto& remade = static_cast<Remade&>(*capsule);
    const variable_list leaves = context->get_saved_variables();
    variable_list outputs, wanted;
    {
      const at::AutoGradMode with_gradients(true);
      const variable_list all = remade.defined_ones();
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (!grads[i].defined() || !all[i].requires_grad()) continue;
        outputs.push_back(all[i]);
        wanted.push_back(grads[i]);
      }
    }
    variable_list found{Tensor()};  // of `remade`
    if (outputs.empty()) {
      found.resize(leaves.size() + 1);
      return found;
    }
    const variable_list of_leaves = torch::autograd::grad(outputs,
                                                          leaves,
                                                          wanted,
                                                          /*retain_graph=*/false,
                                                          /*create_graph=*/false,
                                                          /*allow_unused=*/true);
    found.insert(found.end(), of_leaves.begin(), of_leaves.end());
    return found;
  }
};

}  // namespace

std::vector<Tensor> recompute(const Recomputable& make, const std::vector<Tensor>& leaves) {
  if (!at::GradMode::is_enabled()) return make();
  variable_list wanting;
  for (const Tensor& leaf : leaves)
    if (leaf.requires_grad()) wanting.push_back(leaf);
  const auto remade = c10::make_intrusive<Remade>(make);
  variable_list found = Recompute::apply(remade, at::TensorList(wanting));
  std::vector<Tensor> all(remade->defined.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (remade->defined[i]) all[i] = std::move(found[next++]);
  return all;
}

}  // namespace sluice::nn
