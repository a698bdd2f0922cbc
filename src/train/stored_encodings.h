// StoredEncodings: a model whose rows have been made already, of all nodes: those of the seeds are
// looked up, and all of them can be asked about. What stands behind the encoder, a task's head and
// its figures, sees no difference.
#pragma once

#include "train/layer_pass.h"

#include <sluice/memory.h>
#include <sluice/model.h>
#include <sluice/nn/learned_rows.h>

namespace sluice {

class StoredEncodings final : public Model {
 public:
  /// @param tables by node type; null where nobody asks @param ledger outlives this
  StoredEncodings(NodeTables tables, MemoryLedger& ledger);

  Encoding encode(const Batch& batch) override;
  std::int64_t num_layers() const override { return 0; }
  BatchNeeds needs() const override;
  /// Made rows in the place of learned ones: read alone, in memory or from their files in pieces.
  nn::LearnedRows* ranked_rows() const override { return &rows_; }

 private:
  NodeTables tables_;
  mutable nn::LearnedRows rows_;  // over them
};

}  // namespace sluice
