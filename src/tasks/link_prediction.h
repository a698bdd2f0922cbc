// Link prediction: whether there is a link between two nodes, from what a model encodes of each and
// a decoder between them; trained on links against random other destinations (logistic loss).
#pragma once

#include <sluice/nn/decoder.h>
#include <sluice/tasks/link_task.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::tasks {

class LinkPrediction final : public LinkTask {
 public:
  struct Options {
    LinkPartsOptions links;
    std::int64_t width = 64;
    nn::DecoderKind decoder = nn::DecoderKind::kDot;
    std::int64_t decoder_hidden = 64;
    std::int64_t negatives = 1;
    std::int64_t eval_negatives = 1;
    bool filtered = false;
    bool hide_links = true;
    void describe(Schema& schema);
  };
  LinkPrediction(const Options& options, const TaskContext& context);

  std::int64_t output_width() const override { return options_.width; }
  std::shared_ptr<torch::nn::Module> head() const override { return decoder_; }

  /// The link's score, then those of its other destinations: [q, 1 + negatives].
  torch::Tensor outputs(Model& model, const Batch& batch) override;
  /// The mean over links and the mean over what is none, together.
  torch::Tensor training_loss(Model& model, const Batch& batch, RandomKey key) override;
  /// "auc", "ap", "mrr", "hits@10", "loss": tasks/link_metrics.h.
  std::unique_ptr<MetricAccumulator> make_metrics() const override;
  std::string main_metric() const override { return options_.eval_negatives > 1 ? "mrr" : "auc"; }
  Better direction(const std::string& metric) const override {
    return metric == "loss" ? Better::kLower : Better::kHigher;
  }

  /// f32 [q, 1]: the probability of a link.
  torch::Tensor predict(const torch::Tensor& outputs) const override;
  std::vector<std::string> prediction_columns() const override { return {"probability"}; }

 private:
  Negatives negatives(Part part) const override;
  bool hides_links() const override { return options_.hide_links; }
  bool asks_whether() const override { return true; }

  Options options_;
  std::shared_ptr<nn::Decoder> decoder_;
};

}  // namespace sluice::tasks
