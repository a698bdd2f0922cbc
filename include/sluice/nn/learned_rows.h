// LearnedRows: the learned rows of a run, a table a node type, as tensors of one step.
//
// Whoever runs a model calls begin() with each mini-batch before it, and step() after its backward
// pass. In between models read rows() and, where all nodes of a type are asked about, all(). They
// are leaves: gradients end in them and go on to the tables. Where rows are on disk, expect() with
// the next mini-batch before the step of this one has them read meanwhile. Used by one thread at a
// time. Throws what tables throw.
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
  LearnedRows(std::vector<Table> tables, torch::Device device)
      : tables_(std::move(tables)), device_(device), steps_(tables_.size()) {}

  bool any() const;
  bool has(std::size_t type) const { return type < tables_.size() && tables_[type].rows; }
  /// Columns; 0 for a type without.
  std::int64_t dim(std::size_t type) const { return has(type) ? tables_[type].rows->dim() : 0; }
  /// Whether all() may be asked for.
  bool resident(std::size_t type) const {
    return has(type) && tables_[type].rows->in_place().data != nullptr;
  }
  /// Whether expect() ahead of begin() helps: some rows are read as mini-batches need them.
  bool looks_ahead() const;

  /// Announces a mini-batch that is begun after the one that was announced before it.
  void expect(const Batch& batch);
  /// What was announced and not begun will not be.
  void forget() { expected_.clear(); }
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
    Array ids;  // u64 [nodes], on the host
    torch::Tensor rows, all;
  };

  void update(std::size_t type, Step& step);
  torch::Tensor lying(std::size_t type, std::int64_t first, std::int64_t count) const;
  bool takes(std::size_t type, const Batch& batch) const {
    return has(type) && type < batch.nodes.size() && !batch.nodes[type].ids.empty();
  }

  std::vector<Table> tables_;
  torch::Device device_ = torch::kCPU;
  std::vector<Step> steps_;
  std::vector<const Batch*> expected_;  // announced and not begun; not to be looked into
  Gradients gradients_ = Gradients::kNone;
};

}  // namespace sluice::nn
