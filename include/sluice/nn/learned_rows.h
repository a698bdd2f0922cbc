// LearnedRows: the learned rows of a run, a table a node type, as tensors of one step.
//
// Whoever runs a model calls begin() with each mini-batch before it, and step() after its backward
// pass. In between models read rows() and, where all nodes of a type are asked about, all(). They
// are leaves: gradients end in them and go on to the tables. Where rows are on disk, expect() with
// the mini-batches that come, before the step of this one, has them read meanwhile. Rows in memory
// may be kept on a GPU between steps: whoever asks their table finds them as they are now. Used by
// one thread at a time. Throws what tables throw.
#pragma once

#include <sluice/batch.h>
#include <sluice/optimizer.h>
#include <sluice/row_table.h>

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice::nn {

class RowsOnDevice;

enum class Gradients { kNone, kWanted };

class LearnedRows {
 public:
  /// A type's table, and what checkpoints call it.
  struct Table {
    std::string name;
    std::shared_ptr<RowTable> rows;  ///< null: none are learned
  };

  /// None.
  LearnedRows() = default;
  /// @param tables by node type @param device that tensors are wanted on
  /// @param kernels of a GPU that has room for all rows in memory with what their optimiser keeps:
  /// they are copied there once, and take their steps there; null: a mini-batch's rows go there and
  /// their gradients come back
  LearnedRows(std::vector<Table> tables,
              torch::Device device,
              const kernels::KernelTable* kernels = nullptr);

  bool any() const;
  bool has(std::size_t type) const { return type < tables_.size() && tables_[type].rows; }
  /// Columns; 0 for a type without.
  std::int64_t dim(std::size_t type) const { return has(type) ? tables_[type].rows->dim() : 0; }
  /// Whether all() may be asked for.
  bool resident(std::size_t type) const;
  /// What rows that are kept on the GPU take there; 0: none are.
  std::uint64_t device_bytes() const;
  /// Whether expect() ahead of begin() helps: some rows are read as mini-batches need them.
  bool looks_ahead() const;

  /// Announces a mini-batch that is begun after those that were announced before it.
  void expect(const Batch& batch);
  /// Whether it is of use to announce another now: no table has all that it can hold on its way.
  bool wants_more() const;
  /// What was announced and not begun will not be.
  void forget();
  /// Reads the rows of the mini-batch's nodes, announced before or not.
  void begin(const Batch& batch, Gradients gradients);
  /// f32 [nodes, dim], a row of each of the mini-batch's nodes of a type that has rows.
  const torch::Tensor& rows(std::size_t type) const;
  /// f32 [count, dim]: those of all nodes. Throws kUsage where they are not in memory.
  torch::Tensor all(std::size_t type);
  /// The rows from `first` on, without gradients: to go through all of them in pieces.
  torch::Tensor tile(std::size_t type, std::int64_t first, std::int64_t count) const;
  /// Rows of some nodes, repeats allowed, without gradients.
  torch::Tensor of(std::size_t type, std::span<const std::uint64_t> nodes) const;
  std::int64_t count(std::size_t type) const {
    return static_cast<std::int64_t>(tables_.at(type).rows->rows());
  }
  /// Hands the gradients to the tables, one update a row, and drops the mini-batch.
  void step();
  /// Drops the mini-batch with its gradients.
  void end();

  /// Those in memory, by name: "rows.TYPE", where they lie. For reading.
  NamedTensors in_place() const;

 private:
  // A type's part in the step under way.
  struct Step {
    Array ids;  // u64 [nodes]: on the host, or of rows on the GPU where the mini-batch is
    bool repeated = false;  // a node may be there at several times
    torch::Tensor rows, all;
  };

  const std::shared_ptr<RowsOnDevice>& kept(std::size_t type) const { return kept_.at(type); }
  void update(std::size_t type, Step& step);
  void update_kept(RowsOnDevice& rows, const Step& step);
  torch::Tensor lying(std::size_t type, std::int64_t first, std::int64_t count) const;
  bool takes(std::size_t type, const Batch& batch) const {
    return has(type) && type < batch.nodes.size() && !batch.nodes[type].ids.empty();
  }

  std::vector<Table> tables_;
  std::vector<std::shared_ptr<RowsOnDevice>> kept_;  // by type; null: they are not on the GPU
  torch::Device device_ = torch::kCPU;
  std::vector<Step> steps_;
  std::vector<const Batch*> expected_;  // announced and not begun; not to be looked into
  Gradients gradients_ = Gradients::kNone;
};

}  // namespace sluice::nn
