// RowTables: the learned rows of a run, a table a node type, and what checkpoints keep of them:
// generations in a folder beside the checkpoints. Rows of state (sluice/nn/state_rows.h), where the
// model has some, lie beside them in the same way.
//
// A run is measured with tables that have no folder; open() makes them those of the run. Used by
// one thread. Throws Error.
#pragma once

#include "budget/memory_plan.h"
#include "core/hash.h"
#include "storage/embedding/table_rows.h"
#include "train/initial_vectors.h"
#include "train/options.h"

#include <sluice/error.h>
#include <sluice/graph_schema.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice {

/// Of each table by its node type: a generation. None: rows as they begin.
using RowGenerations = std::map<std::string, std::uint64_t>;

/// Bytes of all learned rows with what their optimiser keeps; 0: none are learned. Throws kUsage
/// where [embedding] names node types or an optimiser that are not there.
std::uint64_t learned_bytes(const RunOptions& options, const GraphSchema& schema);

class RowTables {
 public:
  struct Table {
    std::string name;                 ///< of the node type
    std::shared_ptr<TableRows> rows;  ///< null: none are learned
  };

  /// Tables of the node types that [embedding] names. @param ledger @param threads outlive them
  /// @param vectors what rows begin as, by node type
  RowTables(const RunOptions& options,
            const GraphSchema& schema,
            Placement placement,
            RowsMode mode,
            MemoryLedger* ledger,
            ThreadArena* threads,
            const VectorsByType& vectors = {});

  /// Adds rows of state, of so many floats, to all node types: empty ones.
  void add_state(const RunOptions& options,
                 const GraphSchema& schema,
                 std::int64_t columns,
                 Placement placement,
                 MemoryLedger* ledger,
                 ThreadArena* threads);
  /// Commits give rows of state as they were committed then, whatever is written to them, until
  /// thaw_state(): a validation's changes are no checkpoint's.
  void freeze_state(const RowGenerations& at);
  void thaw_state() { frozen_ = {}; }

  /// Learned ones or state.
  bool any() const;
  bool any_learned() const;
  /// Learned ones, by node type.
  const std::vector<Table>& tables() const { return tables_; }
  /// Rows of state by node type; none where the model has none.
  const std::vector<Table>& state() const { return state_; }

  /// By the mini-batches that were tried.
  LearnedNeeds needs() const;
  /// One on disk whose rows come into a cache.
  struct Cached {
    std::size_t type;  ///< index of the node type
    const Table* table;
    bool state;
  };
  std::vector<Cached> cached() const;
  /// Splits a cache between the tables, and has the rows of so many mini-batches come together, for
  /// the next open(). @param shares by cached(): what each has beyond its least; none: by what all
  /// of its rows take
  void share_cache(std::uint64_t bytes,
                   std::uint64_t window,
                   std::span<const std::uint64_t> shares = {});

  /// Below a checkpoint's folder. @param at nothing: new rows; what is there is removed
  void open(const std::filesystem::path& folder,
            const RowGenerations& at,
            TableAccess access = TableAccess::kWrite);
  /// Takes what is on disk out of memory, to be measured or opened anew; all of it was committed.
  void close();
  /// open() of what was closed.
  void reopen(const std::filesystem::path& folder, const RowGenerations& at);
  /// Makes all rows durable as they are, but for state that is frozen.
  RowGenerations commit();
  /// Forgets all generations but these.
  void keep(std::span<const RowGenerations> kept);
  /// The learning rate of the steps from now on.
  void set_rate(double rate);
  /// As many rows as the schema now has nodes. Where that fails, tables are not all of one size:
  /// whatever changes, opens or commits rows throws the same error from then on.
  void grow(const GraphSchema& schema);

  /// What the disk has moved for them since this was asked last.
  TableRows::Moved take_moved();

  /// A table in memory whose rows are not all finite; empty: none. Those on disk are not looked
  /// through: what a mini-batch reads of them shows in its loss.
  std::string not_finite() const;
  /// Adds all learned rows, piece by piece: the same wherever they are.
  void hash(Hasher& hasher) const;

 private:
  static void open_one(const Table& table,
                       const std::filesystem::path& folder,
                       const RowGenerations& at,
                       TableAccess access);
  std::vector<const Table*> open_tables() const;

  void check_grown() const;

  std::vector<Table> tables_, state_;
  std::optional<Error> failed_;  // of grow()
  RowGenerations frozen_;        // of state; none: it is not frozen
};

}  // namespace sluice
