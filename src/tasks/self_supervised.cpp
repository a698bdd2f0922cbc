#include "tasks/self_supervised.h"

#include "nn/moving_average.h"
#include "tasks/embedding_metrics.h"
#include "tasks/encoded_rows.h"
#include "tasks/view_pretexts.h"

#include <sluice/nn/tensor_view.h>
#include <sluice/samplers/node_queries.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>

namespace sluice::tasks {
namespace {

// The only node type, which the encoder is for.
std::size_t checked_type(const GraphSchema& schema, const std::string& node_type) {
  if (schema.nodes.size() != 1 || schema.relations.size() != 1)
    throw Error(ErrorCode::kUsage,
                fmt::format("task 'self_supervised' is for one node type and one relation; this "
                            "dataset has {} node types and {} relations",
                            schema.nodes.size(),
                            schema.relations.size()),
                "import the relation by itself");
  const NodeTypeSchema& only = schema.nodes.front();
  if (!node_type.empty() && node_type != only.name)
    throw Error(ErrorCode::kUsage,
                fmt::format("there is no node type '{}'", node_type),
                fmt::format("leave task.node_type out, or set it to \"{}\"", only.name));
  if (only.features.empty())
    throw Error(
        ErrorCode::kUsage,
        fmt::format("task 'self_supervised' learns from features, and '{}' has none", only.name),
        "import features for this node type");
  if (only.labels && only.labels->kind == LabelKind::kRegression)
    throw Error(
        ErrorCode::kUsage,
        fmt::format("labels of '{}' are numbers, and a linear probe tells classes", only.name),
        "import the labels as classes, or leave them out");
  return 0;
}

// Parts of another method's loss would be left out without a word.
void refuse_parts(const SelfSupervisedOptions& options) {
  const auto& parts = options.parts;
  const std::array<std::pair<const char*, double>, 4> weights{
      {{"contrast", parts.contrast.weight},
       {"adjacency", parts.adjacency.weight},
       {"variance", parts.variance.weight},
       {"latent", parts.latent.weight}}};
  for (const auto& [part, weight] : weights)
    if (weight != 0)
      throw Error(ErrorCode::kUsage,
                  fmt::format("task.{}.weight is {}, and only method \"masked\" has this part of "
                              "a loss",
                              part,
                              weight),
                  fmt::format("set task.method = \"masked\", or leave [task.{}] out", part));
}

std::shared_ptr<Pretext> make_pretext(const SelfSupervisedOptions& options,
                                      std::int64_t features,
                                      RandomKey key) {
  if (options.method != PretextMethod::kMasked) refuse_parts(options);
  switch (options.method) {
    case PretextMethod::kDgi:
      return std::make_shared<GraphInfomax>(options.width, key);
    case PretextMethod::kBgrl:
      return std::make_shared<BootstrappedViews>(options.views, options.width, key);
    case PretextMethod::kMasked:
      break;
  }
  return std::make_shared<MaskedAutoencoder>(options.parts, features, options.width, key);
}

std::uint64_t members(const Array& list) {
  return static_cast<std::uint64_t>(list.numel());
}

Array joined(const std::vector<const Array*>& lists, MemoryLedger* ledger) {
  std::int64_t count = 0;
  for (const Array* list : lists) count += list->numel();
  Array all = Array::make(DType::kU64, {count}, ledger, "seeds").or_throw();
  auto at = all.as<std::uint64_t>().begin();
  for (const Array* list : lists) at = std::ranges::copy(list->as<std::uint64_t>(), at).out;
  std::ranges::sort(all.as<std::uint64_t>());
  return all;
}

Array all_nodes(std::uint64_t count, MemoryLedger* ledger) {
  Array all =
      Array::make(DType::kU64, {static_cast<std::int64_t>(count)}, ledger, "seeds").or_throw();
  const std::span<std::uint64_t> ids = all.as<std::uint64_t>();
  std::iota(ids.begin(), ids.end(), std::uint64_t{0});
  return all;
}

}  // namespace

void SelfSupervisedOptions::describe(Schema& schema) {
  schema
      .choice("method",
              method,
              {{"masked",
                PretextMethod::kMasked,
                "masked features are made again: GraphMAE, GCMAE, GraphMAE2, by the weights below"},
               {"dgi", PretextMethod::kDgi, "nodes are told from those of permuted features"},
               {"bgrl", PretextMethod::kBgrl, "one view tells another's embedding"}})
      .help("what the encoder is trained for");
  schema.field("node_type", node_type).help("whose embeddings are learned; empty: the only type");
  schema.field("width", width).help("columns of an embedding").range(1, 1 << 16);
  schema
      .choice("nodes",
              nodes,
              {{"all", NodeSet::kAll, "all"}, {"split", NodeSet::kSplit, "those of the split"}})
      .help("which nodes are trained on, without their labels");
  schema
      .choice("measured",
              measured,
              {{"split", NodeSet::kSplit, "those of the split"}, {"all", NodeSet::kAll, "all"}})
      .help("which nodes a test makes clusters of; its probe is of the split either way");
  schema
      .choice("choose",
              choose,
              {{"validation", ChosenEpoch::kValidation, "the best by train.early_stopping.metric"},
               {"last", ChosenEpoch::kLast, "the last; nothing is validated"}})
      .help("which epoch's weights are tested");
  schema
      .choice("floors",
              floors,
              {{"beside",
                probe::Floors::kBeside,
                "raw features, SGC and a random encoder, where memory has room for them"},
               {"none", probe::Floors::kNone, "none"}})
      .help("what a test measures beside, by the same probe: rows that nobody learned");
  schema.section("masked", parts.masked, "of method \"masked\": features that are made again");
  schema.section("contrast", parts.contrast, "of method \"masked\": two views of a node are alike");
  schema.section("adjacency", parts.adjacency, "of method \"masked\": which nodes are linked");
  schema.section("variance", parts.variance, "of method \"masked\": embeddings stay apart");
  schema.section("latent", parts.latent, "of method \"masked\": the embedding of whole features");
  schema.section("views", views, "of method \"bgrl\"");
  schema.section("momentum", momentum, "of the encoder that follows: latent, bgrl");
  schema.section("probe", probe, "the classifier over frozen embeddings");
}

SelfSupervised::SelfSupervised(const Options& options, const TaskContext& context)
    : options_(options),
      type_(checked_type(context.schema, options.node_type)),
      labels_(context.schema.nodes[type_].labels),
      key_(context.key),
      pretext_(make_pretext(
          options, std::int64_t{context.schema.nodes[type_].features.front().dim}, context.key)) {}

std::uint64_t SelfSupervised::nodes_asked(Part part, std::uint64_t all, const Sizes& split) const {
  const std::uint64_t of_split = split.train + split.valid + split.test;
  switch (part) {
    case Part::kAll:
      return all;
    case Part::kTrain:
      return options_.nodes == NodeSet::kAll ? all : of_split;
    case Part::kValid:
      if (options_.choose == ChosenEpoch::kLast || split.valid == 0) return 0;
      return split.train + split.valid;
    case Part::kTest:
      if (split.test == 0) return 0;
      return options_.measured == NodeSet::kAll ? all : of_split;
    case Part::kNone:
      break;
  }
  return 0;
}

std::uint64_t SelfSupervised::expected(Part part,
                                       const GraphSchema& schema,
                                       const std::string& split) const {
  const SplitSchema* const found = schema.split(split);
  return nodes_asked(part,
                     schema.nodes.at(type_).count,
                     found == nullptr ? Sizes{} : Sizes{found->train, found->valid, found->test});
}

void SelfSupervised::open(const TaskData& data) {
  const GraphSchema& schema = data.dataset.schema();
  split_ = {};
  if (schema.splits.empty() && options_.nodes == NodeSet::kAll) {
    for (Array* part : {&split_.train, &split_.valid, &split_.test})
      *part = Array::make(DType::kU64, {0}).or_throw();
    return;
  }
  split_ = data.dataset.split(data.split);
}

std::uint64_t SelfSupervised::count(Part part, const GraphData& data) const {
  return nodes_asked(part,
                     data.schema().nodes[type_].count,
                     {members(split_.train), members(split_.valid), members(split_.test)});
}

Array SelfSupervised::nodes_of(Part part, const GraphData& data) const {
  const std::uint64_t asked = count(part, data), all = data.schema().nodes[type_].count;
  if (asked == 0) return joined({}, data.ledger());
  const bool whole = part == Part::kAll ||
                     (part == Part::kTrain && options_.nodes == NodeSet::kAll) ||
                     (part == Part::kTest && options_.measured == NodeSet::kAll);
  if (whole) return all_nodes(all, data.ledger());
  if (part == Part::kValid) return joined({&split_.train, &split_.valid}, data.ledger());
  return joined({&split_.train, &split_.valid, &split_.test}, data.ledger());
}

std::unique_ptr<QuerySource> SelfSupervised::queries(const QueryRequest& request,
                                                     const GraphData& data) const {
  NodeQueryOptions asked;
  asked.nodes = nodes_of(request.part, data);
  asked.type = type_;
  asked.batch_size = request.batch_size;
  asked.shuffle = request.shuffle;
  asked.key = request.key;
  asked.sampler = request.sampler;
  if (request.sampler && request.sampler->needs_times()) asked.times = data.node_times(type_);
  return std::make_unique<NodeQueries>(data.schema(), std::move(asked), request.ledger);
}

// Training needs none.
bool SelfSupervised::has_labels(Part part, const GraphData&) const {
  return part == Part::kTrain || labels_.has_value();
}

torch::Tensor SelfSupervised::outputs(Model& model, const Batch& batch) {
  torch::Tensor rows = encoded_rows(model.encode(batch), batch, type_, options_.width);
  if (batch.num_queries() == batch.num_seeds(type_)) return rows;
  return rows.index_select(0, nn::as_tensor(batch.queries.nodes));
}

torch::Tensor SelfSupervised::training_loss(Model& model, const Batch& batch, RandomKey key) {
  const MomentumOptions& momentum = options_.momentum;
  torch::Tensor loss = pretext_->loss({model, target_.get(), batch, type_, key, executor_});
  model.set_step_key(key);
  // By the weights before this step of the optimizer, as GraphMAE2 does.
  if (target_ && batch.epoch >= static_cast<std::uint64_t>(momentum.from_epoch)) {
    const double kept =
        nn::cosine_momentum(momentum.start, static_cast<double>(batch.epoch), momentum.epochs);
    nn::follow_module(*target_, model, kept);
    pretext_->follow(kept);
  }
  return loss;
}

Better SelfSupervised::direction(const std::string& metric) const {
  return metric == "loss" ? Better::kLower : Better::kHigher;
}

std::vector<std::string> SelfSupervised::prediction_columns() const {
  std::vector<std::string> columns;
  columns.reserve(static_cast<std::size_t>(options_.width));
  for (std::int64_t c = 0; c < options_.width; ++c)
    columns.push_back("embedding_" + std::to_string(c));
  return columns;
}

TargetStart SelfSupervised::target_start() const {
  if (options_.method == PretextMethod::kBgrl) return TargetStart::kOwn;
  const bool latent =
      options_.method == PretextMethod::kMasked && options_.parts.latent.weight != 0;
  return latent ? TargetStart::kCopy : TargetStart::kNone;
}

void SelfSupervised::serve(const Model& model, std::shared_ptr<Model> target) {
  if (!target) return;
  if (target_start() == TargetStart::kCopy) nn::copy_module(*target, model);
  nn::stop_gradients(*target);
  target_ = pretext_->register_module("target", std::move(target));
}

// Rows with labels and ids as they came, together, in order, and as the probe standardises them.
std::uint64_t SelfSupervised::kept_bytes(std::uint64_t rows) const {
  constexpr std::uint64_t kCopies = 4, kIds = 16;
  if (!labels_) return 0;
  const std::uint64_t of_labels =
      labels_->kind == LabelKind::kClass ? sizeof(std::int64_t) : labels_->width * sizeof(float);
  const auto width = static_cast<std::uint64_t>(options_.width);
  return kCopies * rows * (width * sizeof(float) + of_labels + kIds);
}

// k-means takes longer than the probe, and each validation would run it.
std::unique_ptr<MetricAccumulator> SelfSupervised::metrics_of(Part part,
                                                              const std::string& chosen) const {
  const bool clusters = part != Part::kValid || chosen == "nmi" || chosen == "ari";
  return make_embedding_metrics(
      {split_, labels_, options_.probe, key_.with("probe"), clusters, options_.floors}, part);
}

std::vector<std::string> SelfSupervised::validation_metrics() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : metrics_of(Part::kValid, "nmi")->result()) names.push_back(name);
  return names;
}

}  // namespace sluice::tasks
