// BatchSampler: the mini-batches of an epoch by their numbers, several at once. A mini-batch is a
// pure function of (seed, epoch, number); of windows nothing is known here. Used by one thread at a
// time.
#pragma once

#include "core/threads.h"
#include "pipeline/data/graph_data_state.h"
#include "samplers/group_sampler.h"

#include <sluice/loader.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice {

/// What mini-batches are made of, and how. All but the options is borrowed.
struct BatchSetting {
  GraphData::State& data;
  LoaderOptions options;
  const QuerySource& queries;
  MemoryLedger& ledger;
};

class BatchSampler {
 public:
  explicit BatchSampler(const BatchSetting& setting);
  /// @param graph the data's, with its edges elsewhere
  BatchSampler(const BatchSetting& setting, SamplerGraph graph);
  BatchSampler(const BatchSampler&) = delete;
  BatchSampler& operator=(const BatchSampler&) = delete;

  /// Batches that follow each other, together: fewer than asked for where there is no room for as
  /// many. Throws Error.
  std::vector<Batch> sample(std::uint64_t epoch, std::uint64_t first, std::size_t count);
  /// One of epoch 0, for measuring.
  Batch sample_one(std::uint64_t index);

  const BatchSetting& setting() const { return setting_; }
  int threads() const { return arena_.threads(); }
  /// Whether some of the edges are on disk.
  bool paged() const { return !sampler_.resident(); }
  /// Whether to keep batches on disk pays: edges are there, or a batch comes back sooner than it is
  /// sampled.
  bool worth_keeping() const;

  /// Batches sampled at once, each in a workspace of its own.
  std::size_t group_size() const { return sampler_.group_size(); }
  void set_group(std::size_t batches) { sampler_.set_group(batches); }
  void share_tables(int threads) { sampler_.share_tables(threads); }
  /// Of threads, that sampling made so far.
  std::size_t workspaces() const { return sampler_.workspaces(); }
  /// As those that exist take on average, or as one was measured: those of another sampler of the
  /// same batches may stand for it.
  std::uint64_t bytes_a_workspace() const;
  void expect_workspace(std::uint64_t bytes) { measured_workspace_ = bytes; }
  /// Gives back what sampling takes until it is wanted again. Returns the bytes.
  std::uint64_t release_workspaces();

 private:
  std::vector<Batch> sample_together(std::uint64_t epoch, std::uint64_t first, std::size_t count);

  BatchSetting setting_;
  ThreadArena arena_;
  GroupSampler sampler_;
  std::uint64_t measured_workspace_ = 0;  // bytes that sample_one() took
};

}  // namespace sluice
