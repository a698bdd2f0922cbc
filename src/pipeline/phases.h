// Phases: what follows from how sampling and the consumer share memory: side by side, or in turns
// (LoaderMemory::in_turns): then an epoch is sampled, planned and kept on disk before its first
// mini-batch, and what sampling took is the consumer's. The one place that knows. A value.
#pragma once

#include <sluice/loader.h>

#include <cstdint>

namespace sluice {

class Phases {
 public:
  explicit Phases(const LoaderMemory& memory) : in_turns_(memory.in_turns) {}

  /// Windows that live at once: being sampled, sampled, read in, and assembled; or, of windows that
  /// were kept, read back and read in.
  std::uint64_t live_windows() const { return in_turns_ ? 2 : 4; }
  /// Whether windows come with their rows numbered.
  bool rows_are_numbered() const { return in_turns_; }
  /// Whether a window is sampled while the one before is fetched, which sees from it what is worth
  /// keeping.
  bool looks_ahead() const { return !in_turns_; }
  /// Whether a mini-batch is assembled when it is asked for, and the one before was let go of.
  bool waits_for_consumer() const { return in_turns_; }
  /// Whether epochs have to be planned, and all of their mini-batches kept.
  bool all_kept() const { return in_turns_; }
  /// Of an epoch that is planned: one that is the last mini-batch has no next uses.
  std::uint64_t least_planned() const { return in_turns_ ? 1 : 2; }
  /// Whether the epoch after may be prepared beside this one.
  bool prepares_next() const { return !in_turns_; }

 private:
  bool in_turns_;
};

}  // namespace sluice
