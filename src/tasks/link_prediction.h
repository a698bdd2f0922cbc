// Link prediction: whether there is a link between two nodes, from what a model encodes of each and
// a decoder between them. Of a relation whose edges have types, a link is (source, type,
// destination): a knowledge graph.
#pragma once

#include "tasks/known_links.h"
#include "tasks/link_prediction_options.h"
#include "tasks/ranked_nodes.h"

#include <sluice/nn/decoder.h>
#include <sluice/nn/learned_rows.h>
#include <sluice/tasks/link_task.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::tasks {

class LinkPrediction final : public LinkTask, public RanksAllNodes {
 public:
  using Options = LinkPredictionOptions;
  LinkPrediction(const Options& options, const TaskContext& context);

  std::int64_t output_width() const override { return options_.width; }
  LabelsOf labels_of() const override;
  void expect_best_ends() override { gather_ = GatherKnown::kAlways; }
  void attach(const GraphData& data) override;
  void run_on(const kernels::Executor& executor) override { executor_ = executor; }
  PartitionedLinks partitioned_links(const GraphData& data) const override;
  std::vector<std::string> warnings(const GraphData& data) const override;
  std::shared_ptr<torch::nn::Module> head() const override { return decoder_; }

  bool wants_all_nodes() const override { return options_.ranking == Ranking::kAll; }
  void rank_among(RankedAmong among) override { among_ = among; }
  void expect_training_links() override { gather_ = GatherKnown::kOfTrainingToo; }

  /// The link's score, then those of its other destinations, [q, 1 + negatives]; where there are
  /// other sources, behind these its score by the source, and theirs; or its ranks among all
  /// nodes, of the destination and of the source, [q, 3].
  torch::Tensor outputs(Model& model, const Batch& batch) override;
  torch::Tensor training_loss(Model& model, const Batch& batch, RandomKey key) override;
  /// "auc", "ap", "mrr", "hits@10", "loss", ...: tasks/link_metrics.h.
  std::unique_ptr<MetricAccumulator> make_metrics() const override;
  std::string main_metric() const override;
  Better direction(const std::string& metric) const override {
    return metric == "loss" || metric == "mean_rank" ? Better::kLower : Better::kHigher;
  }

  /// f32 [q, 1]: the probability of a link.
  torch::Tensor predict(const torch::Tensor& outputs) const override;
  std::vector<std::string> prediction_columns() const override { return {"probability"}; }
  BestEnds best_ends(Model& model, const Batch& batch, LinkEnd end, std::int64_t count) override;

 private:
  // When links that are known are gathered: where the options want them, those that answer training
  // links among them or not, or whatever they want, as best ends leave training links out.
  enum class GatherKnown { kAsWanted, kOfTrainingToo, kAlways };
  // A mini-batch as the decoder reads it.
  struct Links {
    torch::Tensor sources, destinations;  // f32 [q, width]
    torch::Tensor relations;              // i64 [q]; undefined where none are read
    Encoding encoded;
  };
  // One end of its links, as it is looked for.
  struct Asked {
    KnownLinks::Looked looked;
    torch::Tensor queries;  // f32 [q, width]
    torch::Tensor own;      // f32 [q, width]: the end
  };

  Negatives negatives(const QueryRequest& request, const GraphData& data) const override;
  bool hides_links() const override { return options_.hide_links; }
  bool asks_whether() const override { return true; }
  LinkParts::RowTypes row_types() const override;
  bool ranks_all() const { return wants_all_nodes() && among_ == RankedAmong::kAll; }
  // Whether no link is ranked beside what is known to be one.
  bool ranks_filtered() const {
    return wants_all_nodes() || (options_.filtered && options_.stored_negatives.empty());
  }
  bool weighs_links() const { return options_.loss == nn::LinkLoss::kSelfAdversarial; }

  // Other ends of a part's links, in files.
  struct Stored {
    std::shared_ptr<const ListedEnds> destinations, sources;
  };
  void open_stored(const GraphData& data);
  Stored open_stored(Part part, const GraphData& data) const;
  Negatives drawn_for_ranks(const QueryRequest& request, const GraphData& data) const;

  Links links_of(Model& model, const Batch& batch) const;
  Asked ask(const Links& links, KnownLinks::Looked looked) const;
  std::vector<Asked> ask_ends(const Links& links) const;
  nn::LearnedRows& rows_of(const Model& model, const char* key) const;
  torch::Tensor sampled_scores(const Links& links, const Batch& batch) const;
  torch::Tensor scores_beside(const Asked& asked,
                              const torch::Tensor& encoded,
                              const Array& others) const;
  torch::Tensor ranks(const Model& model,
                      const Links& links,
                      const Batch& batch,
                      KnownLinks::Looked looked) const;
  std::vector<KnownLinks::Answers> known_of(const Batch& host, KnownLinks::Looked looked) const;
  torch::Tensor loss_among_all(const Model& model, const Links& links, const Batch& batch) const;
  torch::Tensor loss_beside(const Links& links, const Batch& batch) const;
  torch::Tensor others_of(const Asked& asked, const Links& links, const Batch& batch) const;
  torch::Tensor rows_that_count(const Asked& asked, const Batch& batch) const;
  torch::Tensor weights_of(const Batch& batch) const;
  torch::Tensor relation_loss(const Links& links) const;
  torch::Tensor size_of_rows(const Model& model, const Links& links, const Batch& batch) const;

  Options options_;
  bool typed_ = false;
  std::int64_t num_types_ = 1;
  std::vector<std::string> type_names_;
  std::shared_ptr<nn::Decoder> decoder_;
  kernels::Executor executor_;
  Stored valid_, test_;
  GatherKnown gather_ = GatherKnown::kAsWanted;
  RankedAmong among_ = RankedAmong::kAll;
  std::shared_ptr<const KnownLinks> known_;  // where rankings, negatives or best ends go by it
};

}  // namespace sluice::tasks
