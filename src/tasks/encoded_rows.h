// That a model gives what tasks go by: a row a seed, of the columns that it was asked for.
#pragma once

#include <sluice/model.h>

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>

namespace sluice::tasks {

/// The rows of the seeds of a type. Throws kUsage where they are not [seeds, width]; undefined for
/// a type without seeds of which the model gives none.
torch::Tensor encoded_rows(const Encoding& encoded,
                           const Batch& batch,
                           std::size_t type,
                           std::int64_t width);

}  // namespace sluice::tasks
