#include "tasks/link_prediction.h"

#include "samplers/stored_ends.h"
#include "tasks/drawn_ends.h"
#include "tasks/encoded_rows.h"
#include "tasks/link_metrics.h"
#include "tasks/link_ranks.h"

#include <sluice/error.h>
#include <sluice/nn/tensor_view.h>
#include <sluice/units.h>

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <utility>

namespace sluice::tasks {
namespace {

using Looked = KnownLinks::Looked;

// Rows of a type's seeds, as queries name them. An embedding's backward adds in the order of the
// rows, whatever the number of threads.
torch::Tensor rows_at(const torch::Tensor& encoded, const torch::Tensor& rows) {
  return torch::embedding(encoded, rows);
}

std::vector<std::string> names_of_types(const LabelSchema& labels) {
  if (!labels.names.empty()) return labels.names;
  std::vector<std::string> names;
  names.reserve(labels.width);
  for (std::uint32_t type = 0; type < labels.width; ++type) names.push_back(std::to_string(type));
  return names;
}

// The nodes at an end of a mini-batch's links.
std::vector<std::uint64_t> nodes_at_end(const Batch& host, Looked looked) {
  const Queries& queries = host.queries;
  const bool destination = looked == Looked::kDestination;
  const Array& rows = destination ? queries.destinations : queries.sources;
  const Array& seeds = host.seeds[destination ? queries.destination_type : queries.type];
  std::vector<std::uint64_t> nodes;
  nodes.reserve(static_cast<std::size_t>(rows.numel()));
  const auto ids = seeds.as<std::uint64_t>();
  for (const std::int64_t row : rows.as<std::int64_t>())
    nodes.push_back(ids[static_cast<std::size_t>(row)]);
  return nodes;
}

}  // namespace

LinkPrediction::LinkPrediction(const Options& options, const TaskContext& context)
    : LinkTask(options.links, context.schema, "link_prediction"), options_(options) {
  const RelationSchema& of = context.schema.relations[relation()];
  options.check();
  typed_ = options.typed(of);
  if (typed_) {
    type_names_ = names_of_types(*of.labels);
    num_types_ = of.labels->width;
  }
  decoder_ = nn::make_decoder(options.decoder_options(of, context.key.with("decoder")));
}

LabelsOf LinkPrediction::labels_of() const {
  return typed_ ? LabelsOf{{}, relation(), row_classes()} : LabelsOf{};
}

LinkParts::RowTypes LinkPrediction::row_types() const {
  return typed_ ? LinkParts::RowTypes::kRelations : LinkParts::RowTypes::kPassedOver;
}

LinkTask::Negatives LinkPrediction::negatives(const QueryRequest& request,
                                              const GraphData& data) const {
  Negatives wanted;
  if (request.part != Part::kTrain && !options_.stored_negatives.empty()) {
    const Stored& stored = request.part == Part::kValid ? valid_ : test_;
    wanted.destinations = stored.destinations;
    wanted.sources = stored.sources;
  } else if (request.part != Part::kTrain) {
    if (!ranks_all()) wanted = drawn_for_ranks(request, data);
  } else if (options_.loss == nn::LinkLoss::kAll) {
    return wanted;
  } else if (options_.share) {
    wanted.shared = {options_.negatives, options_.chunk, options_.of_batch};
  } else {
    wanted = {options_.negatives, options_.filtered};
  }
  return wanted;
}

// At the ends that training asks about.
LinkTask::Negatives LinkPrediction::drawn_for_ranks(const QueryRequest& request,
                                                    const GraphData& data) const {
  const auto drawn = [&](Looked looked) {
    const bool source = looked == Looked::kSource;
    DrawnEnds::From from;
    from.links = links(request.part, data);
    if (typed_) from.data = &data;
    if (ranks_filtered()) from.known = known_;
    from.nodes = data.schema().nodes[source ? source_type() : destination_type()].count;
    from.count = static_cast<std::uint64_t>(options_.eval_negatives);
    from.key = request.key.with(to_string(request.part)).with(source ? "sources" : "destinations");
    return std::make_shared<const DrawnEnds>(std::move(from), looked);
  };
  Negatives wanted;
  if (ranks_filtered()) {
    wanted.destinations = drawn(Looked::kDestination);
  } else {
    wanted.count = options_.eval_negatives;
  }
  if (options_.ends == LinkEnds::kBoth) wanted.sources = drawn(Looked::kSource);
  return wanted;
}

void LinkPrediction::attach(const GraphData& data) {
  if (!options_.stored_negatives.empty()) open_stored(data);
  known_.reset();
  const bool all =
      gather_ == GatherKnown::kAlways || weighs_links() || (options_.filtered && options_.share);
  if (!ranks_filtered() && !all) return;
  KnownLinks::Source source{
      data,
      {links(Part::kTrain, data), links(Part::kValid, data), links(Part::kTest, data)},
      typed_,
      same_type(),
      {data.schema().nodes[source_type()].count, data.schema().nodes[destination_type()].count}};
  const bool whole = all || gather_ == GatherKnown::kOfTrainingToo;
  known_ = std::make_shared<const KnownLinks>(
      source, whole ? KnownLinks::Keep::kAll : KnownLinks::Keep::kAsked, data.ledger());
}

void LinkPrediction::open_stored(const GraphData& data) {
  if (!lists_links())
    throw Error(ErrorCode::kUsage,
                "task.stored_negatives: the edge split lists ids of edges, in no order that rows "
                "of negatives could follow",
                "import the links of valid and test from files of their own, or leave "
                "task.stored_negatives out");
  valid_ = open_stored(Part::kValid, data);
  test_ = open_stored(Part::kTest, data);
  const bool one_alone = count(Part::kValid, data) != 0 && count(Part::kTest, data) != 0 &&
                         (valid_.sources == nullptr) != (test_.sources == nullptr);
  if (one_alone)
    throw Error(ErrorCode::kUsage,
                "task.stored_negatives: one part alone has a list of sources",
                "write valid_sources.npy and test_sources.npy, or neither");
}

// Of a part with links; sources where there is a file of them.
LinkPrediction::Stored LinkPrediction::open_stored(Part part, const GraphData& data) const {
  const std::shared_ptr<const sluice::Links> asked = links(part, data);
  if (asked->size() == 0) return {};
  if (asked->have_truth())
    throw Error(ErrorCode::kUsage,
                fmt::format("task.stored_negatives: part {} of the edge split has examples of no "
                            "link, which links are measured by",
                            to_string(part)),
                "leave task.stored_negatives out");
  const auto read_list = [&](const std::string& name, StoredSide side) {
    const bool source = side == StoredSide::kSources;
    auto ends = std::make_shared<StoredEnds>(
        StoredEnds::open(std::filesystem::path(options_.stored_negatives) / name,
                         {asked->size(),
                          data.schema().nodes[source ? source_type() : destination_type()].count,
                          "links",
                          source ? "sources" : "destinations",
                          "task.stored_negatives",
                          "a row a link in the order of the edge split"}));
    ends->check_beside(*asked, side);
    return ends;
  };
  Stored stored;
  stored.destinations = read_list(to_string(part) + ".npy", StoredSide::kDestinations);
  const std::string sources = to_string(part) + "_sources.npy";
  if (std::filesystem::exists(std::filesystem::path(options_.stored_negatives) / sources))
    stored.sources = read_list(sources, StoredSide::kSources);
  return stored;
}

PartitionedLinks LinkPrediction::partitioned_links(const GraphData& data) const {
  if (options_.loss != nn::LinkLoss::kAll) return LinkTask::partitioned_links(data);
  throw Error(ErrorCode::kUsage,
              "task.loss = \"all\" sets links beside all nodes, of which some partitions are not "
              "in memory",
              "set task.loss = \"softmax\" and task.share = true, or embedding.mode = \"exact\"");
}

std::vector<std::string> LinkPrediction::warnings(const GraphData& data) const {
  std::vector<std::string> said = LinkTask::warnings(data);
  if (wants_all_nodes() && !ranks_all())
    said.push_back(
        fmt::format("a validation ranks each end that is asked about among {} drawn nodes "
                    "(task.eval_negatives){}",
                    format_count(static_cast<std::uint64_t>(options_.eval_negatives)),
                    data.options().compute == nullptr
                        ? ": rows of all nodes are made once, when training is done"
                        : ", and so does a test on a GPU"));
  if (!known_) return said;
  if (known_->unseen() != 0)
    said.push_back(fmt::format(
        "{} of {} valid and test links have an end that no training link has: they are asked about "
        "all the same",
        format_count(known_->unseen()),
        format_count(known_->asked())));
  if (known_->repeated() != 0)
    said.push_back(fmt::format("{} of {} valid and test links are training links too",
                               format_count(known_->repeated()),
                               format_count(known_->asked())));
  return said;
}

nn::LearnedRows& LinkPrediction::rows_of(const Model& model, const char* key) const {
  nn::LearnedRows* const rows = model.ranked_rows();
  if (rows != nullptr) return *rows;
  throw Error(ErrorCode::kUsage,
              fmt::format("task.{} = \"all\" sets links beside all nodes, which only learned rows "
                          "without an encoder are there for",
                          key),
              fmt::format("set model.type = \"embedding\", or task.{} = \"{}\"",
                          key,
                          std::string_view(key) == "loss" ? "softmax" : "sampled"));
}

LinkPrediction::Links LinkPrediction::links_of(Model& model, const Batch& batch) const {
  Links links;
  links.encoded = model.encode(batch);
  const Queries& queries = batch.queries;
  const auto rows = [&](std::size_t type) {
    return encoded_rows(links.encoded, batch, type, options_.width);
  };
  links.sources = rows_at(rows(source_type()), nn::as_tensor(queries.sources));
  links.destinations = rows_at(rows(destination_type()), nn::as_tensor(queries.destinations));
  if (!nn::reads_relations(options_.decoder)) return links;
  (void)types_of(batch.on_host().labels, static_cast<std::size_t>(queries.size()));  // all there
  links.relations = typed_ ? nn::as_tensor(batch.labels).to(torch::kInt64)
                           : torch::zeros_like(nn::as_tensor(queries.sources));
  return links;
}

LinkPrediction::Asked LinkPrediction::ask(const Links& links, Looked looked) const {
  if (looked == Looked::kDestination)
    return {looked,
            decoder_->query(links.sources, links.relations, nn::Side::kDestination),
            links.destinations};
  // (?, r, o) as (o, r turned round, ?).
  if (options_.reciprocal)
    return {
        looked,
        decoder_->query(links.destinations, links.relations + num_types_, nn::Side::kDestination),
        links.sources};
  return {looked,
          decoder_->query(links.destinations, links.relations, nn::Side::kSource),
          links.sources};
}

std::vector<LinkPrediction::Asked> LinkPrediction::ask_ends(const Links& links) const {
  std::vector<Asked> all{ask(links, Looked::kDestination)};
  if (options_.ends == LinkEnds::kBoth) all.push_back(ask(links, Looked::kSource));
  return all;
}

torch::Tensor LinkPrediction::outputs(Model& model, const Batch& batch) {
  const Links links = links_of(model, batch);
  if (!ranks_all()) {
    torch::Tensor scores = sampled_scores(links, batch);
    if (!lists_sources(batch.queries)) return scores;
    return torch::cat({scores,
                       scores_beside(ask(links, Looked::kSource),
                                     links.encoded.at(source_type()),
                                     batch.queries.shared_sources)},
                      1);
  }
  const Asked asked = ask(links, Looked::kDestination);
  return torch::stack({decoder_->pairwise(asked.queries, asked.own),
                       ranks(model, links, batch, Looked::kDestination),
                       ranks(model, links, batch, Looked::kSource)},
                      1);
}

torch::Tensor LinkPrediction::sampled_scores(const Links& links, const Batch& batch) const {
  return scores_beside(ask(links, Looked::kDestination),
                       links.encoded.at(destination_type()),
                       batch.queries.negatives);
}

// [q, 1 + k]: of each link's own end, then of others, [q, k] rows of what is encoded.
torch::Tensor LinkPrediction::scores_beside(const Asked& asked,
                                            const torch::Tensor& encoded,
                                            const Array& others) const {
  torch::Tensor scores = decoder_->pairwise(asked.queries, asked.own).unsqueeze(1);
  if (others.empty()) return scores;
  const torch::Tensor rows = nn::as_tensor(others);
  const std::int64_t count = rows.size(1);
  const torch::Tensor candidates = rows_at(encoded, rows.clamp_min(0).flatten());
  const torch::Tensor repeated = asked.queries.repeat_interleave(count, 0);
  return torch::cat({scores, decoder_->pairwise(repeated, candidates).view({-1, count})}, 1);
}

// What is known of each link's other end.
std::vector<KnownLinks::Answers> LinkPrediction::known_of(const Batch& host, Looked looked) const {
  const std::vector<std::uint64_t> told = nodes_at_end(host, opposite(looked));
  std::vector<KnownLinks::Answers> known(told.size());
  const std::vector<std::uint32_t> types = types_of(typed_ ? host.labels : Array(), told.size());
  for (std::size_t i = 0; i < told.size(); ++i)
    known[i] = known_->answers(looked, told[i], types[i]);
  return known;
}

torch::Tensor LinkPrediction::ranks(const Model& model,
                                    const Links& links,
                                    const Batch& batch,
                                    Looked looked) const {
  const nn::LearnedRows& rows = rows_of(model, "ranking");
  const std::vector<std::uint64_t> own = nodes_at_end(batch.on_host(), looked);
  const RankQueries asked{ask(links, looked).queries, own, known_of(batch.on_host(), looked)};
  const bool destination = looked == Looked::kDestination;
  return ranks_among_all(*decoder_, rows, destination ? destination_type() : source_type(), asked);
}

BestEnds LinkPrediction::best_ends(Model& model,
                                   const Batch& batch,
                                   LinkEnd end,
                                   std::int64_t count) {
  if (gather_ != GatherKnown::kAlways)
    throw Error(ErrorCode::kInternal, "best ends of a task that was not told to expect them");
  const nn::LearnedRows& rows = rows_of(model, "ranking");
  const Looked looked = end == LinkEnd::kDestination ? Looked::kDestination : Looked::kSource;
  const Links links = links_of(model, batch);
  const RankQueries asked{ask(links, looked).queries, {}, known_of(batch.on_host(), looked)};
  const std::size_t type = end == LinkEnd::kDestination ? destination_type() : source_type();
  const BestRows best = best_among_all(*decoder_, rows, type, asked, count);
  return {nn::as_array(best.nodes.view(torch::kUInt64)), best.scores};
}

std::unique_ptr<MetricAccumulator> LinkPrediction::make_metrics() const {
  return make_link_metrics(ranks_all() ? LinkOutputs::kRanks : LinkOutputs::kScores, type_names_);
}

std::string LinkPrediction::main_metric() const {
  const bool stored = !options_.stored_negatives.empty();
  return ranks_all() || stored || options_.eval_negatives > 1 ? "mrr" : "auc";
}

torch::Tensor LinkPrediction::predict(const torch::Tensor& outputs) const {
  return torch::sigmoid(outputs.narrow(1, 0, 1)).to(torch::kFloat32);
}

}  // namespace sluice::tasks
