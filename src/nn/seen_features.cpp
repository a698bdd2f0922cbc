#include "nn/seen_features.h"

#include <sluice/error.h>

#include <utility>

namespace sluice::nn {
namespace {

thread_local SeenFeatures* seen_here = nullptr;

}  // namespace

SeenFeatures::SeenFeatures(std::size_t type, torch::Tensor rows)
    : type_(type), rows_(std::move(rows)) {
  if (seen_here != nullptr)
    throw Error(ErrorCode::kInternal, "two sets of feature rows are to be seen at once");
  seen_here = this;
}

SeenFeatures::~SeenFeatures() {
  seen_here = nullptr;
}

const torch::Tensor* SeenFeatures::of(std::size_t type) {
  if (seen_here == nullptr || seen_here->type_ != type) return nullptr;
  seen_here->read_ = true;
  return &seen_here->rows_;
}

}  // namespace sluice::nn
