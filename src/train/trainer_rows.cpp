// A run's rows on disk, as Trainer keeps them: which generations stay, what was moved, and how a
// test over all nodes reads them.
#include "train/encoded_nodes.h"
#include "train/layer_run.h"
#include "train/trainer.h"

#include <optional>
#include <vector>

namespace sluice {

// Rows as they are now, durable. What no checkpoint names is forgotten, but for the best so far.
RowGenerations Trainer::commit_rows() {
  RowGenerations made = parts_.tables.commit();
  keep_rows(made);
  note_moved();
  return made;
}

// What is read counts at the epoch's end: until then the loader's figures stand for it.
void Trainer::note_moved() {
  const TableRows::Moved moved = parts_.tables.take_moved();
  state_.bytes_written += moved.written;
  moved_.read += moved.read;
  moved_.written += moved.written;
  moved_.waited_ns += moved.waited_ns;
}

// What rows took from the epoch's begin here, before it is validated, which reads rows too.
void Trainer::note_rows(EpochFigures& figures) {
  note_moved();
  figures.rows = {moved_.read, moved_.written, static_cast<double>(moved_.waited_ns) * 1e-9};
  if (!parts_.partitions) return;
  figures.partitions = PartitionFigures{parts_.partitions->take_swaps(),
                                        figures.rows.bytes_read,
                                        figures.rows.bytes_written,
                                        figures.rows.waited};
  state_.partitions += *figures.partitions;
}

// Whether the test ranks among all nodes, by rows that are made for it.
bool Trainer::tests_by_layer() {
  if (!ranks_encoded(parts_) || parts_.count(Part::kTest) == 0) return false;
  if (!parts_.device.device) return true;
  log_.warn(
      "the test ranks among drawn nodes, as validations do: rows of all nodes are made on the CPU; "
      "ranks among all: sluice-train evaluate {}",
      directory_.path().string());
  return false;
}

// Training is over: what it took is for passes over all nodes. Whatever is not in memory of
// partitions is read around them.
void Trainer::make_ready_for_layers(const RowGenerations& rows) {
  loader_.reset();
  if (rows.empty() || parts_.placement.rows != RowsMode::kExact) return;
  parts_.tables.close();
  size_learned_caches(parts_);
  parts_.tables.reopen(rows_path(), rows);
}

// As the run was planned.
void Trainer::go_back_to_batches(const RowGenerations& rows) {
  if (rows.empty() || parts_.placement.rows != RowsMode::kExact) return;
  parts_.tables.close();
  parts_.tables.share_cache(plan_.learned_cache, plan_.learned_window, plan_.learned_shares);
  parts_.tables.reopen(rows_path(), rows);
}

void Trainer::begin_test(const RowGenerations& rows) {
  if (!rows.empty() && (state_.best || parts_.state.any())) parts_.tables.open(rows_path(), rows);
  parts_.state.go_to(state_.best ? state_.best->epoch : state_.epoch);
}

// Nothing where rows of all nodes do not fit in memory or on the disk: what was trained is not lost
// for that.
std::optional<Metrics> Trainer::test_by_layer(const RowGenerations& rows) {
  try {
    make_ready_for_layers(rows);
    begin_test(rows);
    Metrics metrics = note_evaluation(
        Part::kTest, evaluate_by_layer(parts_, Part::kTest, state_.batches_xxh3, progress_, log_));
    tested_by_layer_ = true;
    return metrics;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResource) throw;
    log_.warn(
        "the test ranks among drawn nodes, as validations do: there is no room for rows of all "
        "nodes ({}); ranks among all, with more memory or disk: sluice-train evaluate {} --set "
        "memory.host=SIZE",
        error.message(),
        directory_.path().string());
    return std::nullopt;
  }
}

void Trainer::keep_rows(const RowGenerations& made) {
  if (!parts_.tables.any()) return;
  std::vector<RowGenerations> kept = named_;
  kept.push_back(made);
  if (state_.best) kept.push_back(state_.best->rows);
  parts_.tables.keep(kept);
}

}  // namespace sluice
