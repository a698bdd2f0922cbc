// ModelSize: what the model of a run takes, counted by the shapes of its weights before any of it
// is made; and the same run with a smaller model, to measure the rest by where the whole is too
// large to be tried.
#pragma once

#include "train/measured_needs.h"
#include "train/options.h"

#include <sluice/graph_schema.h>

#include <cstdint>
#include <optional>
#include <string>

namespace sluice {

struct ModelSize {
  std::int64_t outputs = 0;       ///< columns
  std::int64_t hidden = 0;        ///< the model's key of that name; 0: it has none
  std::uint64_t weights = 0;      ///< bytes, buffers among them
  std::uint64_t largest = 0;      ///< of these tensors
  std::uint64_t optimizer = 0;    ///< bytes of its state
  std::uint64_t gradients = 0;    ///< bytes; 0 where nothing is trained
  std::uint64_t output_rows = 0;  ///< at once, gradients among them

  std::uint64_t resident() const { return weights + optimizer; }
  /// What a run holds at once beside its mini-batches, at the least.
  std::uint64_t least() const {
    return resident() + weights + gradients +
           output_rows * static_cast<std::uint64_t>(outputs) * sizeof(float);
  }
};

/// Nothing where that cannot be told: a model that does not make its weights by nn/init.h, options
/// and dataset that do not fit together. Makes nothing large.
/// @param outputs of the model at the most; 0: as many as the task wants
std::optional<ModelSize> size_of_model(const RunOptions& options,
                                       const GraphSchema& schema,
                                       const Work& work,
                                       std::int64_t outputs = 0);

/// A run like another with a smaller model.
struct SmallerRun {
  RunOptions options;
  std::int64_t outputs = 0;  ///< PartsPlacement::outputs
  ModelSize size;
};

/// Fewer outputs and hidden columns until ModelSize::least() is at most `bytes`, or there are few.
std::optional<SmallerRun> smaller_run(const RunOptions& options,
                                      const GraphSchema& schema,
                                      const Work& work,
                                      const ModelSize& size,
                                      std::uint64_t bytes);

/// The plan of the whole run by that of the smaller one: weights and optimiser as counted, a step's
/// tensors at most as much larger as outputs and hidden columns are more, windows as they were.
/// @param plan of `needs`, which fits
MemoryPlan scaled_up(MemoryNeeds needs,
                     const MemoryPlan& plan,
                     const ModelSize& smaller,
                     const ModelSize& whole);

/// What makes a run large, and what to do about that: for the refusal's message and hint.
struct LargePart {
  std::string what;
  std::string remedy;
};
LargePart large_part(const RunOptions& options,
                     const GraphSchema& schema,
                     const Work& work,
                     const MemoryPlan& plan,
                     const std::optional<ModelSize>& size);

}  // namespace sluice
