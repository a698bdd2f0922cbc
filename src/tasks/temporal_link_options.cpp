#include "tasks/temporal_link_options.h"

#include <sluice/catalog.h>

#include <algorithm>

namespace sluice::tasks {
namespace {

const std::vector<std::string> kEvaluated{"random", "historical", "inductive"};

EventNegativeKind kind_called(const std::string& name) {
  if (name == "historical") return EventNegativeKind::kHistorical;
  return name == "inductive" ? EventNegativeKind::kInductive : EventNegativeKind::kRandom;
}

[[noreturn]] void refuse_options(const std::string& message, const std::string& hint) {
  throw Error(ErrorCode::kUsage, "task 'temporal_link_prediction': " + message, hint);
}

}  // namespace

void TemporalLinkOptions::describe(Schema& schema) {
  schema.field("relation", relation)
      .help("whose events: its name, or SOURCE__NAME__TARGET; empty: the only one with times");
  split.describe(schema);
  schema.field("width", width).help("columns that the model encodes a node in").range(1, 1 << 20);
  schema.field("decoder_hidden", decoder_hidden)
      .help("hidden columns of the network over both ends' rows that scores an event")
      .range(1, 1 << 20);
  schema
      .choice("loss",
              loss,
              {{"bce",
                EventLoss::kLogistic,
                "binary cross-entropy of events and of other destinations, each kind's mean"},
               {"softmax",
                EventLoss::kSoftmax,
                "cross-entropy of an event among its other destinations, never the true one"}})
      .help("what training minimises; its mini-batches come in the order of time, never shuffled");
  schema.field("negatives", negatives)
      .help("other destinations beside an event of training; -1, of loss softmax: all candidates")
      .range(-1, 1 << 20);
  schema
      .choice("candidates",
              candidates,
              {{"destinations", EventCandidates::kDestinations, "nodes with an event, of any part"},
               {"nodes", EventCandidates::kNodes, "all nodes of the type"}})
      .help("what random destinations are drawn from, each alike");
  schema.field("eval_negatives", eval_negatives)
      .help(
          "kinds of other destinations that AP and AUC are measured by, one an event each: "
          "\"random\" (it may be the true one), \"historical\" (the source met it in training), "
          "\"inductive\" (the source has met it since, and never in training)");
  schema.field("ranked", ranked)
      .help(
          "other destinations that an event is ranked among, for MRR: so many random ones, never "
          "the true one; -1: all candidates, but those that the source meets at the event's time; "
          "0: no ranks")
      .range(-1, 1 << 20);
  schema
      .choice("ranked_by",
              ranked_by,
              {{"random", RankedBy::kRandom, "any candidates, which may repeat"},
               {"mixed",
                RankedBy::kMixed,
                "up to half of them met by the source in training, the others not, all distinct; "
                "none that it meets at the event's time"}})
      .help("of `ranked` above 0: which");
  schema.field("ranked_share", ranked_share)
      .help(
          "share of the events that are ranked, drawn by the seed, the same in each epoch; the "
          "others have no rank, and models that remember see them all the same")
      .range(0, 1);
  schema.field("stored_negatives", stored_negatives)
      .help(
          "a folder with valid.npy and test.npy: the destinations that each event is ranked among, "
          "in the place of `ranked`; docs/temporal.md says how they are written");
}

void TemporalLinkOptions::check() const {
  split.check();
  for (const std::string& name : eval_negatives) {
    if (std::ranges::count(kEvaluated, name) == 0)
      throw unknown_name("kind of destinations for task.eval_negatives", name, kEvaluated);
    if (std::ranges::count(eval_negatives, name) > 1)
      refuse_options("'task.eval_negatives' names '" + name + "' twice", "name each kind once");
  }
  if (negatives == 0)
    refuse_options("training without other destinations", "set task.negatives = 1");
  if (negatives < 0 && loss == EventLoss::kLogistic)
    refuse_options("all candidates are for loss \"softmax\"",
                   "set task.loss = \"softmax\", or task.negatives = 1");
  if (eval_negatives.empty() && ranked == 0 && stored_negatives.empty())
    refuse_options("nothing to evaluate by", "set task.eval_negatives = [\"random\"]");
  if (ranked <= 0 && ranked_by == RankedBy::kMixed)
    refuse_options("'ranked_by' is set, and not how many",
                   "set task.ranked = 100, or leave task.ranked_by out");
  const bool ranks = ranked != 0 || !stored_negatives.empty();
  if (ranked_share == 0 && ranks)
    refuse_options("a 'ranked_share' of 0 ranks nothing",
                   "set task.ranked_share = 0.1 for one, or task.ranked = 0");
  if (ranked_share < 1 && !ranks)
    refuse_options("'ranked_share' is set, and not how many",
                   "set task.ranked = 100, or leave task.ranked_share out");
  if (ranked != 0 && !stored_negatives.empty())
    refuse_options("both 'ranked' and 'stored_negatives' are set",
                   "set task.ranked = 0, or leave task.stored_negatives out");
}

std::vector<EventColumns> TemporalLinkOptions::training_columns() const {
  if (negatives < 0) return {{EventNegativeKind::kAll, 0}};
  const auto count = static_cast<std::size_t>(negatives);
  return {{loss == EventLoss::kSoftmax ? EventNegativeKind::kOther : EventNegativeKind::kRandom,
           count}};
}

std::vector<EventColumns> TemporalLinkOptions::evaluation_columns() const {
  std::vector<EventColumns> columns;
  columns.reserve(eval_negatives.size() + 2);
  for (const std::string& name : eval_negatives) columns.push_back({kind_called(name), 1});
  if (ranked < 0) columns.push_back({EventNegativeKind::kAll, 0, ranked_share});
  if (ranked > 0)
    columns.push_back(
        {ranked_by == RankedBy::kMixed ? EventNegativeKind::kMixed : EventNegativeKind::kOther,
         static_cast<std::size_t>(ranked),
         ranked_share});
  if (!stored_negatives.empty()) columns.push_back({EventNegativeKind::kStored, 0, ranked_share});
  return columns;
}

}  // namespace sluice::tasks
