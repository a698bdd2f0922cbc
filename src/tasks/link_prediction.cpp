#include "tasks/link_prediction.h"

#include "tasks/link_metrics.h"

#include <sluice/nn/tensor_view.h>

#include <algorithm>

namespace sluice::tasks {
namespace {

namespace functional = torch::nn::functional;

/// Rows of a type's seeds, as queries name them. An embedding's backward adds in the order of the
/// rows, whatever the number of threads.
torch::Tensor rows_at(const torch::Tensor& encoded, const torch::Tensor& rows) {
  return torch::embedding(encoded, rows);
}

std::int64_t count_negatives(const Array& negatives) {
  return negatives.empty() ? 0
                           : std::ranges::count_if(negatives.as<std::int64_t>(),
                                                   [](std::int64_t row) { return row >= 0; });
}

}  // namespace

void LinkPrediction::Options::describe(Schema& schema) {
  links.describe(schema);
  schema.field("width", width).help("columns that the model encodes a node in").range(1, 1 << 20);
  schema
      .choice("decoder",
              decoder,
              {{"dot", nn::DecoderKind::kDot, "the dot product of both ends' rows"},
               {"mlp",
                nn::DecoderKind::kMlp,
                "a network of one hidden layer over their elementwise product"}})
      .help("what makes a score of two rows");
  schema.field("decoder_hidden", decoder_hidden)
      .help("hidden columns of decoder \"mlp\"")
      .range(1, 1 << 20);
  schema.field("negatives", negatives)
      .help("other destinations a link in training, drawn uniformly anew each epoch")
      .range(1, 1e6);
  schema.field("eval_negatives", eval_negatives)
      .help(
          "other destinations a link in evaluation, the same in every epoch; auc and ap take the "
          "first of each, mrr and hits@10 rank a link among all")
      .range(1, 1e6);
  schema.field("filtered", filtered)
      .help("never another destination that the training edges link; costs their in-degrees");
  schema.field("hide_links", hide_links)
      .help(
          "a mini-batch of training does not see the links that it asks about, nor their reverse");
}

LinkPrediction::LinkPrediction(const Options& options, const TaskContext& context)
    : LinkTask(options.links, context.schema, "link_prediction"),
      options_(options),
      decoder_(nn::make_decoder(
          options.decoder, options.width, options.decoder_hidden, context.key.with("decoder"))) {}

LinkTask::Negatives LinkPrediction::negatives(Part part) const {
  return {part == Part::kTrain ? options_.negatives : options_.eval_negatives, options_.filtered};
}

torch::Tensor LinkPrediction::outputs(Model& model, const Batch& batch) {
  const Queries& queries = batch.queries;
  const Encoding encoded = model.encode(batch);
  const torch::Tensor& ends = encoded.at(destination_type());
  const torch::Tensor sources = rows_at(encoded.at(source_type()), nn::as_tensor(queries.sources));
  const torch::Tensor scores =
      decoder_->score(sources, rows_at(ends, nn::as_tensor(queries.destinations))).unsqueeze(1);
  if (queries.negatives.empty()) return scores;
  const torch::Tensor rows = nn::as_tensor(queries.negatives);
  const std::int64_t count = rows.size(1);
  const torch::Tensor others = rows_at(ends, rows.clamp_min(0).flatten());
  const torch::Tensor repeated = sources.repeat_interleave(count, 0);
  return torch::cat({scores, decoder_->score(repeated, others).view({-1, count})}, 1);
}

torch::Tensor LinkPrediction::training_loss(Model& model, const Batch& batch, RandomKey) {
  const torch::Tensor scores = outputs(model, batch);
  const torch::Tensor links = scores.select(1, 0);
  const Queries& queries = batch.queries;
  if (!queries.truth.empty()) {
    const torch::Tensor truth = nn::as_tensor(queries.truth).to(torch::kFloat32);
    return functional::binary_cross_entropy_with_logits(links, truth);
  }
  const torch::Tensor loss = functional::softplus(-links).mean();
  // Counted on the host: a GPU would have to be waited for.
  const std::int64_t known = count_negatives(batch.on_host().queries.negatives);
  if (known == 0) return loss;
  const torch::Tensor there = nn::as_tensor(queries.negatives).ge(0).to(torch::kFloat32);
  const torch::Tensor others = functional::softplus(scores.narrow(1, 1, scores.size(1) - 1));
  return loss + (others * there).sum() / known;
}

std::unique_ptr<MetricAccumulator> LinkPrediction::make_metrics() const {
  return make_link_metrics();
}

torch::Tensor LinkPrediction::predict(const torch::Tensor& outputs) const {
  return torch::sigmoid(outputs.narrow(1, 0, 1)).to(torch::kFloat32);
}

}  // namespace sluice::tasks
