#include "tasks/dynamic_node_labels.h"

#include "core/type_index.h"
#include "samplers/temporal_graph.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <vector>

namespace sluice::tasks {
namespace {

constexpr const char* kLabelsCharge = "labels at times";

Array label_array(DType dtype, std::uint64_t count, MemoryLedger* ledger) {
  return Array::make(dtype, {static_cast<std::int64_t>(count)}, ledger, kLabelsCharge).or_throw();
}

bool has_classes(const RelationSchema& relation) {
  return relation.labels && relation.labels->kind == LabelKind::kClass;
}

// The relations that a name may mean.
std::vector<std::size_t> relations_called(const GraphSchema& schema, const std::string& name) {
  std::vector<std::size_t> found;
  for (std::size_t r = 0; r < schema.relations.size(); ++r) {
    const RelationSchema& relation = schema.relations[r];
    const bool meant = name.empty() ? relation.has_times && has_classes(relation)
                                    : relation.name == name || relation.key() == name;
    if (meant) found.push_back(r);
  }
  return found;
}

std::string keys_of(const GraphSchema& schema) {
  std::string keys;
  for (const RelationSchema& relation : schema.relations)
    keys += (keys.empty() ? "" : ", ") + relation.key();
  return keys;
}

[[noreturn]] void refuse_label(const NodeLabelEvent& event, const std::string& what) {
  throw Error(
      ErrorCode::kData,
      fmt::format("a label of node {} (as stored) at time {} has {}", event.node, event.time, what),
      "import the labels again, with classes that are there and weights of 0 or more");
}

// What the edges of a relation say, 24 bytes each.
class ReadLabels {
 public:
  ReadLabels(const Dataset& dataset, const LabelRelation& of)
      : of_(of),
        key_(dataset.schema().relations.at(of.relation).key()),
        graph_(TemporalGraph::load(dataset, key_).or_throw()),
        bytes_(label_array(
            DType::kU8, graph_.view().num_edges() * sizeof(NodeLabelEvent), dataset.ledger())) {
    if (of.edges_have_classes) {
      classes_ = dataset.edge_labels(key_);
    } else if (dataset.schema().relations[of.relation].has_weights) {
      weights_ = dataset.edge_weights(key_);
    }
    const TemporalView& view = graph_.view();
    const auto all = events();
    for (std::uint64_t target = 0; target < view.num_nodes(); ++target) {
      for (std::uint64_t p = view.offsets[target]; p < view.offsets[target + 1]; ++p)
        all[p] = event_at(p, target);
    }
  }

  std::span<NodeLabelEvent> events() {
    return {reinterpret_cast<NodeLabelEvent*>(bytes_.as<std::uint8_t>().data()),
            static_cast<std::size_t>(bytes_.numel()) / sizeof(NodeLabelEvent)};
  }

 private:
  NodeLabelEvent event_at(std::uint64_t position, std::uint64_t target) const {
    const TemporalView& view = graph_.view();
    NodeLabelEvent event{view.neighbour(position), view.time(position)};
    if (of_.edges_have_classes) {
      event.label = classes_.as<std::int32_t>()[view.edge_id(position)];
    } else {
      event.label = static_cast<std::int32_t>(target);
      if (!weights_.empty()) event.weight = weights_.as<float>()[position];
    }
    return event;
  }

  LabelRelation of_;
  std::string key_;
  TemporalGraph graph_;
  Array bytes_;
  Array classes_, weights_;
};

}  // namespace

LabelRelation LabelRelation::find(const GraphSchema& schema,
                                  const std::string& name,
                                  const std::string& who) {
  const auto refuse = [&](const std::string& message) {
    throw Error(ErrorCode::kUsage,
                who + ": " + message,
                "set task.labels to a relation whose edges have times: it says of its sources "
                "which class they were of when. There are: " +
                    keys_of(schema));
  };
  const std::vector<std::size_t> found = relations_called(schema, name);
  if (found.size() != 1)
    refuse(name.empty()
               ? fmt::format("{} relations have times and class labels, not one", found.size())
               : fmt::format("{} relations are called '{}'", found.size(), name));
  const RelationSchema& relation = schema.relations[found[0]];
  if (!relation.has_times) refuse(fmt::format("relation '{}' has no times", relation.key()));
  LabelRelation made;
  made.relation = found[0];
  made.node_type = type_index(schema, relation.source);
  made.edges_have_classes = has_classes(relation);
  made.classes = made.edges_have_classes
                     ? relation.labels->width
                     : schema.nodes.at(type_index(schema, relation.target)).count;
  constexpr std::uint64_t kMostClasses = 1 << 16;
  if (made.classes > kMostClasses)
    refuse(
        fmt::format("the edges of '{}' have no class labels, and the {} nodes of type '{}' are "
                    "more classes than {}",
                    relation.key(),
                    made.classes,
                    relation.target,
                    kMostClasses));
  return made;
}

NodeLabels NodeLabels::load(const Dataset& dataset, const LabelRelation& of) {
  ReadLabels read(dataset, of);
  return {
      read.events(), dataset.schema().nodes.at(of.node_type).count, of.classes, dataset.ledger()};
}

NodeLabels::NodeLabels(std::span<NodeLabelEvent> events,
                       std::uint64_t num_nodes,
                       std::uint64_t num_classes,
                       MemoryLedger* ledger)
    : num_classes_(num_classes) {
  const std::uint64_t kept = keep_sound(events, num_nodes);
  left_out_ = events.size() - kept;
  take(events.first(kept), num_nodes, ledger);
}

// Those that say something, to the front, and in order: how many there are.
std::uint64_t NodeLabels::keep_sound(std::span<NodeLabelEvent> events,
                                     std::uint64_t num_nodes) const {
  for (const NodeLabelEvent& event : events) {
    if (event.node >= num_nodes) refuse_label(event, "no such node");
    if (event.label >= 0 && static_cast<std::uint64_t>(event.label) >= num_classes_)
      refuse_label(event, fmt::format("class {} of {}", event.label, num_classes_));
    if (!(event.weight >= 0) || !std::isfinite(event.weight))
      refuse_label(event, fmt::format("weight {}", event.weight));
  }
  const auto said = std::ranges::partition(
      events, [](const NodeLabelEvent& event) { return event.label >= 0 && event.weight > 0; });
  const auto kept = static_cast<std::size_t>(said.begin() - events.begin());
  std::ranges::sort(events.first(kept), {}, [](const NodeLabelEvent& event) {
    return std::tuple(event.node, event.time, event.label, event.weight);
  });
  return kept;
}

void NodeLabels::take(std::span<const NodeLabelEvent> events,
                      std::uint64_t num_nodes,
                      MemoryLedger* ledger) {
  const auto begins = [&](std::size_t i) {
    return i == 0 || events[i].node != events[i - 1].node || events[i].time != events[i - 1].time;
  };
  std::uint64_t vectors = 0;
  for (std::size_t i = 0; i < events.size(); ++i) vectors += begins(i) ? 1u : 0u;
  node_offsets_ = label_array(DType::kU64, num_nodes + 1, ledger);
  entry_offsets_ = label_array(DType::kU64, vectors + 1, ledger);
  nodes_ = label_array(DType::kU64, vectors, ledger);
  times_ = label_array(DType::kI64, vectors, ledger);
  order_ = label_array(DType::kU64, vectors, ledger);
  labels_ = label_array(DType::kI32, events.size(), ledger);
  weights_ = label_array(DType::kF32, events.size(), ledger);
  const auto of_node = node_offsets_.as<std::uint64_t>();
  const auto entries = entry_offsets_.as<std::uint64_t>();
  const auto nodes = nodes_.as<std::uint64_t>();
  const auto times = times_.as<std::int64_t>();
  std::ranges::fill(of_node, std::uint64_t{0});
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    labels_.as<std::int32_t>()[i] = events[i].label;
    weights_.as<float>()[i] = events[i].weight;
    if (!begins(i)) continue;
    entries[next] = i;
    nodes[next] = events[i].node;
    times[next] = events[i].time;
    ++of_node[events[i].node + 1];
    ++next;
  }
  entries[vectors] = events.size();
  std::partial_sum(of_node.begin(), of_node.end(), of_node.begin());
  const auto order = order_.as<std::uint64_t>();
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  std::ranges::sort(
      order, {}, [&](std::uint64_t place) { return std::tuple(times[place], nodes[place]); });
}

NodeLabels::Range NodeLabels::before(std::uint64_t node, std::int64_t time) const {
  const auto offsets = node_offsets_.as<std::uint64_t>();
  const std::uint64_t first = offsets[node];
  const auto own = times_.as<std::int64_t>().subspan(first, offsets[node + 1] - first);
  const auto end = std::ranges::lower_bound(own, time);
  return {first, first + static_cast<std::uint64_t>(end - own.begin())};
}

std::optional<std::uint64_t> NodeLabels::find(std::uint64_t node, std::int64_t time) const {
  const std::uint64_t place = before(node, time).last;
  const bool there = place < node_offsets_.as<std::uint64_t>()[node + 1] &&
                     times_.as<std::int64_t>()[place] == time;
  return there ? std::optional(place) : std::nullopt;
}

void NodeLabels::add_shares(std::uint64_t place, std::span<double> out) const {
  const auto offsets = entry_offsets_.as<std::uint64_t>();
  const auto labels = labels_.as<std::int32_t>();
  const auto weights = weights_.as<float>();
  double total = 0;
  for (std::uint64_t i = offsets[place]; i < offsets[place + 1]; ++i) total += weights[i];
  for (std::uint64_t i = offsets[place]; i < offsets[place + 1]; ++i)
    out[static_cast<std::size_t>(labels[i])] += weights[i] / total;
}

}  // namespace sluice::tasks
