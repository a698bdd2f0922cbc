// ContinualTask: a task that can tell what was appended to its dataset from what was there before,
// so that training goes on over what is new, asks some of what is old again, and measures both.
//
// What it asks about has ids that ascend as data is appended: edges of its relation, nodes of its
// type. A stage is what came between two runs. Found beside Task by its type. Used by one thread.
#pragma once

#include <sluice/graph_schema.h>
#include <sluice/loader.h>
#include <sluice/query.h>
#include <sluice/task.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace sluice {

class ReplayBuffer;
struct ReplayOptions;

/// Where stages begin.
struct DataStages {
  /// How many ids there were when each stage but the last ended, ascending: ids from the last of
  /// these on are new.
  std::vector<std::uint64_t> since;
  /// Of what no split knows, as it was appended: shares of train, valid and test, drawn by id.
  std::vector<double> shares;
};

enum class Era {
  kNew,  ///< the last stage
  kOld   ///< all before it
};

class ContinualTask {
 public:
  virtual ~ContinualTask() = default;

  /// How many ids there are.
  virtual std::uint64_t num_ids(const GraphSchema& schema) const = 0;
  /// Divides each part of its split into eras, an era's parts being those that its stages had:
  /// before Task::open(). Throws kUsage where its options name no split that more data can have.
  virtual void divide(const DataStages& stages) = 0;
  /// Whose queries, counts and labels the task gives from now on, part by part: the new ones' at
  /// first. The model and the data are the same for both.
  virtual void turn_to(Era era) = 0;

  /// Old nodes that stand for all that training has asked about, in a buffer of
  /// samplers/replay_buffer.h. Throws kResource, and what the graph fails with. @pre attach()
  virtual std::shared_ptr<const ReplayBuffer> make_buffer(const ReplayOptions& options,
                                                          const GraphData& data) const = 0;
  /// Old queries of training, drawn from the buffer, which has some: `batches` mini-batches an
  /// epoch. @param request of Part::kTrain
  virtual std::unique_ptr<QuerySource> replayed(const QueryRequest& request,
                                                const GraphData& data,
                                                std::shared_ptr<const ReplayBuffer> buffer,
                                                std::uint64_t batches) const = 0;
};

/// The old data is meant for as long as this lives, the new again after it.
class OldEra {
 public:
  explicit OldEra(ContinualTask& task) : task_(task) { task_.turn_to(Era::kOld); }
  ~OldEra() { task_.turn_to(Era::kNew); }
  OldEra(const OldEra&) = delete;
  OldEra& operator=(const OldEra&) = delete;

 private:
  ContinualTask& task_;
};

}  // namespace sluice
