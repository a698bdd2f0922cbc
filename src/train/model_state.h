// ModelState: the rows of state of a run's model (sluice/models/state_model.h), for those who go
// through mini-batches: nothing where the model remembers nothing. Used by one thread. Throws
// Error.
//
// In an epoch of training rows begin empty. A validation goes on from the epoch's end and a test
// from the end of a validation: whoever evaluates says where rows stand. What an evaluation of a
// stored run changes is kept in memory alone.
#pragma once

#include "train/event_features.h"
#include "train/row_tables.h"

#include <sluice/batch.h>
#include <sluice/dataset.h>
#include <sluice/models/state_model.h>

#include <cstdint>
#include <memory>
#include <optional>

namespace sluice {

/// Bytes of all rows of state, of so many floats each (ModelWants::state_columns).
std::uint64_t state_bytes(const GraphSchema& schema, std::int64_t columns);

/// What rows of state have seen of their epoch.
enum class StateStands {
  kTraining,  ///< training, or a part of it
  kValidated  ///< all of it and a validation
};

struct StateContext {
  const RunOptions& options;
  const Dataset& dataset;
  Placement placement;
  torch::Device device;
  MemoryLedger* ledger;  ///< outlives the state
  ThreadArena* threads;  ///< outlives the state
};

class ModelState {
 public:
  /// Adds the model's rows to `tables`, and hands them to it. @param model @param tables outlive
  /// this
  ModelState(Model& model, RowTables& tables, const StateContext& context);

  bool any() const { return model_ != nullptr; }
  bool looks_ahead() const { return any() && rows_->looks_ahead(); }
  StateStands stands() const { return stands_; }
  void set_stands(StateStands stands) { stands_ = stands; }

  /// Rows of this epoch count, those of others are empty; what was kept apart is gone.
  /// @param epoch 1 is the first
  void go_to(std::uint64_t epoch);
  /// Tables are read alone from now on.
  void keep_apart();
  /// All rows are empty.
  void go_to_none();

  // A mini-batch: announced or not, begun, and then committed or dropped.

  void expect(const Batch& batch);
  bool wants_more() const { return !any() || rows_->wants_more(); }
  void forget();
  /// Throws kUsage for a mini-batch that asks about no events, or about earlier ones than the one
  /// committed last.
  void begin(const Batch& batch);
  void commit(const Batch& batch);
  void end();

  /// Bytes that so many events may take while changes are kept apart.
  std::uint64_t apart_bytes(const GraphSchema& schema, std::uint64_t events) const;
  /// Goes on with a later generation of the dataset.
  void reopen(const Dataset& dataset);

 private:
  void check_events(const Batch& host);

  StatefulModel* model_ = nullptr;
  std::unique_ptr<nn::StateRows> rows_;
  std::optional<EventFeatures> features_;
  IoChoice io_ = IoChoice::kAuto;
  torch::Device device_ = torch::kCPU;
  MemoryLedger* ledger_ = nullptr;
  ThreadArena* threads_ = nullptr;
  std::optional<std::int64_t> last_time_;  // of what was committed since go_to()
  StateStands stands_ = StateStands::kTraining;
};

}  // namespace sluice
