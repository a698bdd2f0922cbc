// StateRows: what a model remembers of each node between mini-batches: floats and times, which no
// gradient moves. A row is read for all nodes of a mini-batch and written when that is committed.
//
// Rows lie in a RowTable a node type, in memory or on disk, with the same bits. A row carries the
// number of the epoch that wrote it: in any other epoch it counts as empty, so that to begin an
// epoch touches no row. A mini-batch may be announced before the one before it is written: what is
// read ahead is read again from what was written. For evaluation beside somebody who writes,
// changes can be kept in memory alone. Used by one thread. Throws Error.
#pragma once

#include <sluice/batch.h>
#include <sluice/memory.h>
#include <sluice/row_table.h>

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::nn {

/// What a row holds.
struct StateShape {
  std::int64_t values = 0;  ///< f32
  std::int64_t times = 0;   ///< i64

  /// Floats of a table's row: the epoch, the values, and each time in three pieces, as a float
  /// holds 24 bits of a whole number.
  std::int64_t columns() const { return 1 + values + 3 * times; }
};

/// Rows of n nodes. Those that are empty have zeros.
struct NodeStates {
  torch::Tensor known;   ///< bool [n]: whether it was written in this epoch
  torch::Tensor values;  ///< f32 [n, values]
  torch::Tensor times;   ///< i64 [n, times]
};

class StateRows {
 public:
  struct Table {
    std::string name;                ///< of the node type
    std::shared_ptr<RowTable> rows;  ///< of StateShape::columns() floats, whose update() writes
                                     ///< what it is given; null: nothing is kept
  };

  /// @param tables by node type
  StateRows(std::vector<Table> tables, StateShape shape, torch::Device device);
  StateRows(const StateRows&) = delete;
  StateRows& operator=(const StateRows&) = delete;
  ~StateRows();

  const StateShape& shape() const { return shape_; }
  bool has(std::size_t type) const { return type < tables_.size() && tables_[type].rows; }
  /// Whether expect() ahead of begin() helps.
  bool looks_ahead() const;

  /// Rows of this epoch count from now on, others are empty. Changes that were kept in memory alone
  /// are gone. @param epoch below 2^24
  void go_to(std::uint64_t epoch);
  std::uint64_t epoch() const { return epoch_; }
  /// Keeps what is written from now on in memory, charged to `ledger`: tables are read alone.
  void keep_apart(MemoryLedger* ledger);
  /// What so many nodes of a type take then.
  std::uint64_t apart_bytes(std::uint64_t nodes) const;

  /// Announces a mini-batch that is begun after those that were announced before it.
  void expect(const Batch& batch);
  /// Whether it is of use to announce another now: no table has all that it can hold on its way.
  bool wants_more() const;
  /// What was announced and not begun will not be.
  void forget();
  /// The mini-batch's nodes may be read from now on, and written.
  void begin(const Batch& batch);
  /// Of each of the mini-batch's nodes of a type, as BatchNodes has them; on the device. What was
  /// written since begin() does not show.
  const NodeStates& of(std::size_t type) const;
  /// Rows of nodes of the mini-batch that was begun. @param nodes i64 [n] on the host, distinct;
  /// NodeStates::known is not looked at
  void write(std::size_t type, const torch::Tensor& nodes, const NodeStates& states);
  /// Drops the mini-batch.
  void end();

 private:
  class Apart;

  // What a row of this epoch carries; 0 is what rows begin with.
  float mark() const { return static_cast<float>(epoch_ + 1); }
  torch::Tensor packed(const NodeStates& states) const;
  NodeStates unpacked(const torch::Tensor& rows) const;

  std::vector<Table> tables_;
  StateShape shape_;
  torch::Device device_;
  std::uint64_t epoch_ = 0;
  std::vector<NodeStates> states_;             // by type, of the mini-batch that was begun
  std::vector<std::unique_ptr<Apart>> apart_;  // by type; none where tables are written
  std::vector<const Batch*> expected_;         // announced and not begun; not to be looked into
};

}  // namespace sluice::nn
