// Temporal link prediction: whether a source meets a destination at a time, from what came before.
//
// Events are asked about in the order of time, in training too, in mini-batches of one part each;
// what a query sees is the sampler's business (its visibility). A model encodes nodes at times,
// beside which a network stands that scores pairs of rows (MergeDecoder); or rows of pairs
// (PairEncoder); or it scores pairs itself (PairModel).
#pragma once

#include "samplers/event_links.h"
#include "samplers/event_negatives.h"
#include "samplers/event_queries.h"
#include "samplers/pair_history.h"
#include "tasks/event_parts.h"
#include "tasks/merge_decoder.h"
#include "tasks/temporal_link_metrics.h"
#include "tasks/temporal_link_options.h"

#include <sluice/models/pair_encoder.h>
#include <sluice/task.h>
#include <sluice/tasks/continual_task.h>
#include <sluice/tasks/pair_model.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::tasks {

class TemporalLinkPrediction final : public Task, public PairTask, public ContinualTask {
 public:
  using Options = TemporalLinkOptions;
  TemporalLinkPrediction(const Options& options, const TaskContext& context);

  std::vector<std::size_t> target_types() const override;
  std::int64_t output_width() const override { return options_.width; }
  std::uint64_t expected(Part part,
                         const GraphSchema& schema,
                         const std::string& split) const override;
  void open(const TaskData& data) override;
  void expect_best_ends() override { asks_ = Asks::kBestEnds; }
  void attach(const GraphData& data) override;
  bool reads_events() const override { return false; }  // it loads what it reads
  void serve(PairModel& model, std::string_view visibility) override;
  std::uint64_t count(Part part, const GraphData& data) const override;
  std::unique_ptr<QuerySource> queries(const QueryRequest& request,
                                       const GraphData& data) const override;

  /// What write_lists() has written.
  struct Lists {
    std::uint64_t valid = 0, test = 0;  ///< rows, an event each
    std::uint64_t columns = 0;
    std::uint64_t bytes = 0;
  };
  /// Writes the destinations that events of the validation and of the test part are ranked among
  /// into a folder, as `stored_negatives` reads them: those that a run with `ranked` draws, with
  /// what they are of beside (samplers/listed_negatives.h). The relation's events are in memory
  /// meanwhile. The same bytes with any threads. Needs open() alone, and is not to be attached
  /// afterwards. Throws Error: kUsage where the options rank among none, or among lists; kResource,
  /// kIo.
  Lists write_lists(const std::filesystem::path& folder,
                    const std::string& created_by,
                    ThreadArena& arena,
                    MemoryLedger* ledger);

  // As a ContinualTask: what is appended are events, by their edge ids. Each stage is divided by
  // the task's own shares.

  std::uint64_t num_ids(const GraphSchema& schema) const override;
  void divide(const DataStages& stages) override;
  void turn_to(Era era) override { era_ = era; }
  std::shared_ptr<const ReplayBuffer> make_buffer(const ReplayOptions& options,
                                                  const GraphData& data) const override;
  std::unique_ptr<QuerySource> replayed(const QueryRequest& request,
                                        const GraphData& data,
                                        std::shared_ptr<const ReplayBuffer> buffer,
                                        std::uint64_t batches) const override;

  std::shared_ptr<torch::nn::Module> head() const override { return decoder_; }
  /// The event's score, then those of its other destinations, kind by kind: [q, 1 + k].
  torch::Tensor outputs(Model& model, const Batch& batch) override;
  torch::Tensor training_loss(Model& model, const Batch& batch, RandomKey key) override;
  /// "ap", "auc", "ap.historical", "mrr", "ap.new_nodes", "loss", ...: temporal_link_metrics.h.
  std::unique_ptr<MetricAccumulator> make_metrics() const override;
  std::string main_metric() const override;
  Better direction(const std::string& metric) const override {
    return metric == "loss" ? Better::kLower : Better::kHigher;
  }

  std::vector<IdColumn> prediction_ids() const override {
    return {{"source", source_type_}, {"target", destination_type_}};
  }
  std::vector<Array> predicted_nodes(const Batch& batch) const override;
  /// f32 [q, 1]: the probability of an event; of a PairModel its score, f64.
  torch::Tensor predict(const torch::Tensor& outputs) const override;
  std::vector<std::string> prediction_columns() const override;
  /// The destinations that score best at each event's time, those met before among them. An encoder
  /// encodes all of them at the time of each event.
  BestEnds best_ends(Model& model, const Batch& batch, LinkEnd end, std::int64_t count) override;

 private:
  // What evaluation asks for.
  enum class Asks { kParts, kBestEnds };

  // What is asked about in an era. New events are seen with the nodes of old training too.
  struct Asked {
    EventParts parts;
    std::shared_ptr<const SeenNodes> seen = nullptr;
    std::shared_ptr<const EventNegatives> training = nullptr, validation = nullptr,
                                          testing = nullptr;
    std::shared_ptr<const EventNegatives> everybody = nullptr;  // where best ends are asked for
  };

  const Asked& asked() const { return asked_of(era_); }
  const Asked& asked_of(Era era) const { return *asked_.at(static_cast<std::size_t>(era)); }
  std::shared_ptr<const TemporalGraph> events_of(const GraphData& data) const;
  void attach_stages();
  void ask(Era era, EventParts parts);
  EventQueryOptions query_options(const QueryRequest& request) const;
  std::shared_ptr<const EventNegatives> negatives_for(const QueryRequest& request) const;
  std::shared_ptr<const EventNegatives> make_negatives(const EventParts& parts,
                                                       std::vector<EventColumns> columns,
                                                       RandomKey key,
                                                       Array stored) const;
  void read_stored_negatives(Asked& of) const;
  // A file that was written: the hash of its rows, and its bytes.
  struct WrittenList {
    std::uint64_t hash = 0, bytes = 0;
  };
  WrittenList write_list(const std::filesystem::path& path,
                         const Links& events,
                         const EventNegatives& negatives,
                         ThreadArena& arena) const;
  std::shared_ptr<const SeenNodes> nodes_seen() const;
  // Some of a mini-batch's queries.
  struct Stretch {
    std::size_t first = 0, count = 0;
  };
  torch::Tensor pair_scores(PairModel& model,
                            const Batch& host,
                            Stretch of,
                            std::span<const std::uint64_t> destinations) const;
  torch::Tensor scores_of_all(Model& model, const Batch& batch);
  torch::Tensor encoded_scores(Model& model, const Batch& batch) const;
  torch::Tensor encoded_pair_scores(PairEncoder& model, const Batch& batch) const;

  Options options_;
  std::size_t relation_ = 0, source_type_ = 0, destination_type_ = 0;
  std::shared_ptr<MergeDecoder> decoder_;
  Asks asks_ = Asks::kParts;

  // Of divide().
  std::vector<std::uint64_t> since_;
  Era era_ = Era::kNew;

  // Of open().
  const Dataset* dataset_ = nullptr;
  RandomKey key_{0};
  std::optional<EdgeSplit> stored_split_;

  // Of attach().
  MemoryLedger* ledger_ = nullptr;
  std::uint64_t num_sources_ = 0, num_destinations_ = 0;
  std::shared_ptr<const TemporalGraph> graph_;
  std::optional<EventLinks> all_;
  std::array<std::optional<Asked>, 2> asked_;  // by Era; old ones where stages are divided

  // Of serve().
  std::shared_ptr<const PairHistory> history_;
  TemporalVisibility visibility_ = TemporalVisibility::kStrict;
};

}  // namespace sluice::tasks
