// StoredEncodings: a model whose rows have been made already, of all nodes: those of the seeds are
// looked up. What stands behind the encoder, a task's head and its figures, sees no difference.
#pragma once

#include "train/gathered_rows.h"
#include "train/layer_pass.h"

#include <sluice/memory.h>
#include <sluice/model.h>

#include <optional>
#include <vector>

namespace sluice {

class StoredEncodings final : public Model {
 public:
  /// @param tables by node type; null where nobody asks @param ledger outlives this
  StoredEncodings(NodeTables tables, MemoryLedger& ledger);

  Encoding encode(const Batch& batch) override;
  std::int64_t num_layers() const override { return 0; }
  BatchNeeds needs() const override;

 private:
  NodeTables tables_;
  std::vector<std::optional<GatheredRows>> rows_;  // over them
};

}  // namespace sluice
