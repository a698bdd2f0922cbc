// Embedding: the seeds' learned rows as they are, no features and no graph. What a decoder makes of
// them is all there is: knowledge-graph embeddings.
#pragma once

#include <sluice/executor.h>
#include <sluice/model.h>

#include <vector>

namespace sluice::models {

class Embedding final : public Model {
 public:
  struct Options {
    double dropout = 0;
    void describe(Schema& schema);
  };
  /// Throws kUsage where rows of other columns are learned than the task reads, or none.
  Embedding(const Options& options, const ModelContext& context);

  Encoding encode(const Batch& batch) override;
  std::int64_t num_layers() const override { return 0; }
  BatchNeeds needs() const override;
  nn::LearnedRows* ranked_rows() const override { return rows_; }

 private:
  Options options_;
  std::vector<std::size_t> types_;
  kernels::Executor executor_;
  nn::LearnedRows* rows_;
};

}  // namespace sluice::models
