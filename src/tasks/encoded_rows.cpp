#include "tasks/encoded_rows.h"

#include <sluice/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

namespace sluice::tasks {

torch::Tensor encoded_rows(const Encoding& encoded,
                           const Batch& batch,
                           std::size_t type,
                           std::int64_t width) {
  const std::int64_t seeds = batch.num_seeds(type);
  const torch::Tensor rows = type < encoded.size() ? encoded[type] : torch::Tensor();
  if (!rows.defined() && seeds == 0) return rows;
  if (rows.defined() && rows.dim() == 2 && rows.size(0) == seeds && rows.size(1) == width)
    return rows;
  const std::string given =
      rows.defined() ? fmt::format("[{}]", fmt::join(rows.sizes(), ", ")) : "nothing";
  throw Error(ErrorCode::kUsage,
              fmt::format("the model gives {} for the seeds of node type {}, not [{}, {}]",
                          given,
                          type,
                          seeds,
                          width),
              "Model::encode() gives a row a seed, of ModelContext::output_width columns");
}

}  // namespace sluice::tasks
