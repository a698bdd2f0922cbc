// Sums of rows by index that are the same bits each time, on a GPU too. Internal to src/nn.
#pragma once

#include <torch/torch.h>

namespace sluice::nn {

/// into[index[i]] += rows[i], in the order of i. A GPU's index_add_ would take the order it comes
/// to: there rows of an index are sorted by it first.
inline void add_rows(torch::Tensor into, const torch::Tensor& index, const torch::Tensor& rows) {
  if (into.is_cpu()) {
    into.index_add_(0, index, rows);
  } else {
    into.index_put_({index}, rows, /*accumulate=*/true);
  }
}

}  // namespace sluice::nn
