#include "tasks/label_head.h"

namespace sluice::tasks {

LabelHead::LabelHead(const LabelHeadOptions& options, RandomKey key)
    : first_(register_module(
          "first",
          std::make_shared<nn::Linear>(
              options.width + options.past, options.hidden, nn::Bias::kZero, key.with("first")))),
      second_(register_module(
          "second",
          std::make_shared<nn::Linear>(
              options.hidden, options.classes, nn::Bias::kZero, key.with("second")))) {}

torch::Tensor LabelHead::forward(const torch::Tensor& rows, const torch::Tensor& past) const {
  const torch::Tensor seen = past.defined() ? torch::cat({rows, past}, 1) : rows;
  return second_->forward(torch::relu(first_->forward(seen)));
}

}  // namespace sluice::tasks
