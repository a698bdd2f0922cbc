// RowTable: rows of numbers that are learned themselves, one a node, with what their optimiser
// keeps beside each. The seam between those who train rows and where rows are kept. Torch-free.
//
// A row's first value is a function of a seed and its number alone. Body: over an EmbeddingTable,
// in memory or on disk (storage/embedding/table_rows.h). Used by one thread at a time. Throws
// Error.
#pragma once

#include <sluice/executor.h>
#include <sluice/sparse_optimizer.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

/// All rows where they lie in memory.
struct RowsInPlace {
  float* data = nullptr;   ///< null: they are not in memory
  std::size_t stride = 0;  ///< floats from one row to the next
};

/// Who has copied all rows of a table to a device and takes their steps there. The table asks for
/// them before anybody reads or changes rows in memory, so nobody else has to know.
class RowBorrower {
 public:
  virtual ~RowBorrower() = default;
  /// Writes rows that took steps since the last time to where they were lent, values and state, and
  /// keeps its copies. @return whether any did
  virtual bool give_back() = 0;
  /// What was lent is there no more, and other rows are: copies and their steps are worth nothing.
  virtual void forget() = 0;
};

class RowTable {
 public:
  virtual ~RowTable() = default;

  virtual std::uint64_t rows() const = 0;
  virtual std::int64_t dim() const = 0;

  /// Announces the rows of a mini-batch, in any order, repeats allowed, which comes behind those
  /// announced before: the table has them on their way while earlier ones are used.
  virtual void expect(std::span<const std::uint64_t> ids) = 0;
  /// The first mini-batch of those announced begins, and the one before it is over: gather() and
  /// update() are about its rows.
  virtual void begin() {}
  /// What was announced and has not begun will not.
  virtual void forget() {}
  /// Whether it is of use to announce another mini-batch now, ahead of those that are.
  virtual bool wants_more() { return false; }

  /// Rows in the order asked, repeats allowed: f32 [ids.size(), dim()].
  virtual void gather(std::span<const std::uint64_t> ids, std::span<float> out) = 0;
  /// The same of any rows, announced or not: for evaluation.
  virtual void read(std::span<const std::uint64_t> ids, std::span<float> out) = 0;
  /// The rows from `first` on, as many as `out` holds, announced or not.
  virtual void read_range(std::uint64_t first, std::span<float> out) = 0;

  /// A step of the optimiser with these gradients, f32 [ids.size(), dim()], those of a repeated id
  /// summed in the order of `ids`; other rows stay as they are.
  virtual void update(std::span<const std::uint64_t> ids, std::span<const float> gradients) = 0;
  /// The same of the rows from `first` on, each with its own. @pre in_place()
  virtual void update_range(std::uint64_t first, std::span<const float> gradients) = 0;

  /// To be read in place. Rows that somebody writes to without update() may be lost.
  virtual RowsInPlace in_place() = 0;
  /// Whether expect() ahead of gather() helps.
  virtual bool looks_ahead() { return in_place().data == nullptr; }

  /// Lends all rows in memory, each of RowsInPlace::stride floats: its values, then its state, as
  /// step() wants them. Until take_back() the borrower is asked whenever rows are wanted here; who
  /// borrowed before gives back and forgets. @return null: these rows are not lent
  virtual RowsInPlace lend(RowBorrower& /*to*/) { return {}; }
  /// Asks for them a last time. Nothing, where others have borrowed meanwhile.
  virtual void take_back(RowBorrower& /*from*/) {}
  /// A step of rows that were lent, as update() would take it, where the executor's kernels reach
  /// them. @pre lend() gave rows
  virtual void step(const kernels::Executor& /*executor*/, const RowGradients& /*rows*/) {}
};

}  // namespace sluice
