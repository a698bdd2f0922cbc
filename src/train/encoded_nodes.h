// EncodedNodes: a run's model gives way to the rows of all nodes, made layer by layer by their full
// neighbourhoods, so that all of them can be asked about.
#pragma once

#include "core/log.h"
#include "core/progress.h"
#include "train/layer_figures.h"
#include "train/parts.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// Whether the run's task wants ranks among all nodes, and its model does not give their rows as
/// they are: then they are made layer by layer.
bool ranks_encoded(const Parts& parts);

/// The same of a run of which nothing is made yet, nor needs to fit; of best ends, whether they
/// want such rows, whatever the task ranks by. Throws what the task and tables of rows throw.
bool ranks_encoded(const RunOptions& options, AskedFor asked);

/// Throws kUsage where ranks_encoded() and such rows cannot be made of this run's model.
void check_ranks_encoded(const Parts& parts);

/// Throws kResource where the disk of the run's directory, which need not be there yet, has no room
/// for the rows that the test is going to be ranked by.
void check_space_to_rank(Parts& parts);

/// What ranks were among, for reports: "all" or "drawn" nodes where the task wants all; else empty.
/// @param by_layer whether EncodedNodes lived meanwhile
std::string ranked_among(const Parts& parts, bool by_layer);

/// RanksAllNodes::expect_training_links(), of tasks that are such.
void rank_training_links(const Parts& parts);

/// Has the task go by drawn nodes where ranks_encoded(): of parts that were just made.
void rank_among_drawn(const Parts& parts);

/// Gives learned rows on disk a cache for mini-batches of nodes that follow each other, for the
/// next time that they are opened. @pre they are not open
void size_learned_caches(Parts& parts);

/// While this lives the run has another model, which looks rows up and needs no learned ones, and a
/// task that may rank among all nodes does. No loader may be alive as it is made. Scratch is in the
/// run's directory. Used by one thread.
class EncodedNodes {
 public:
  /// Makes the rows of the types that the task asks for. Throws Error, as pass_layers().
  EncodedNodes(Parts& parts, ProgressStyle progress, Logger& log);
  EncodedNodes(const EncodedNodes&) = delete;
  EncodedNodes& operator=(const EncodedNodes&) = delete;
  ~EncodedNodes();

  /// That making them took.
  double seconds() const;
  std::uint64_t bytes_read() const;
  std::uint64_t bytes_written() const;

 private:
  Parts& parts_;
  std::vector<LayerFigures> figures_;
  std::shared_ptr<Model> own_;
  std::unique_ptr<nn::LearnedRows> rows_;
};

/// What a loader over a part takes of what the ledger has left.
LoaderMemory memory_over(Parts& parts, Part part);

}  // namespace sluice
