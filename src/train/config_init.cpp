#include "train/config_init.h"

#include "core/cgroup.h"
#include "core/utf8.h"
#include "train/options.h"
#include "train/plan_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace sluice {
namespace {

constexpr std::size_t kWidth = 100;
// What is written where only events say what to learn.
constexpr const char* kEventTask = "temporal_link_prediction";
constexpr const char* kEventModel = "tf_tgn";
constexpr const char* kEventSampler = "temporal";

std::string comment(const std::string& text) {
  std::string out;
  std::size_t column = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (column == 0 || column + 1 + (end - at) > kWidth) {
      out += column == 0 ? "#" : "\n#";
      column = 1;
    }
    out.append(1, ' ').append(text, at, end - at);
    column += 1 + end - at;
    at = end + 1;
  }
  return out + "\n";
}

std::string notes(const Field& field) {
  std::string text = field.help_text();
  const auto add = [&](const std::string& note) {
    text.append(text.empty() ? "" : "; ").append(note);
  };
  if (const auto* choice = std::get_if<std::shared_ptr<EnumRef>>(&field.target())) {
    for (const auto& value : (*choice)->values()) {
      add(value.name + (value.help.empty() ? "" : ": " + value.help));
    }
    return text;
  }
  std::string kind = field.type_name();
  if (!field.unit_text().empty()) kind += ", " + field.unit_text();
  if (const auto& limits = field.range_limits()) {
    kind += limits->second == std::numeric_limits<double>::infinity()
                ? fmt::format(", at least {}", limits->first)
                : fmt::format(", {} to {}", limits->first, limits->second);
  }
  add(kind);
  return text;
}

void write_table(std::string& out, const Schema& schema, const std::string& path);

void write_nested(std::string& out, const Schema::Nested& entry, const std::string& path) {
  const std::string table = path.empty() ? entry.key : path + "." + entry.key;
  out += "\n";
  if (!entry.help.empty()) out += comment(entry.help);
  out += fmt::format("[{}]\n", table);
  if (entry.schema) return write_table(out, *entry.schema, table);
  for (const auto& known : entry.catalog->list()) out += comment(known.name + ": " + known.help);
  out += fmt::format("type = \"{}\"\n", entry.selection->type);
  Schema inner;
  entry.selection->options->describe(inner);
  write_table(out, inner, table);
}

void write_table(std::string& out, const Schema& schema, const std::string& path) {
  for (const auto& field : schema.fields()) {
    out += comment(notes(*field)) + fmt::format("{} = {}\n", field->key(), field->value_text());
  }
  for (const Schema::Nested& entry : schema.nested()) {
    if (!entry.list) write_nested(out, entry, path);
  }
}

// What to learn: the task, the split that is for it, and keys of [task] that are not their
// defaults.
struct Target {
  std::string task, split = "default";
  std::uint64_t train = 0, valid = 0;
  std::string keys{};
  const char* asked = "seeds";
  bool at_times = false;  // its queries are of nodes at times
};

[[noreturn]] void refuse(const std::string& path, std::string message, std::string hint) {
  throw Error(ErrorCode::kUsage, std::move(message), std::move(hint), Place{path, -1, -1, -1});
}

/// @param task its name; empty: the one that the labels are for
Target node_target(const GraphSchema& schema, const std::string& path, const std::string& task) {
  if (task == "self_supervised")
    refuse(path,
           "config init writes no config for task 'self_supervised'",
           "begin with one of those that docs/self-supervised.md lists, as "
           "configs/cora-graphmae.toml");
  // A task of a program's own takes labels of any kind, as far as is known here.
  const bool of_a_kind = task.empty() || task == "regression" || task == "node_classification";
  for (const SplitSchema& split : schema.splits) {
    const NodeTypeSchema* node = schema.node_type(split.node_type);
    if (node == nullptr || !node->labels) continue;
    const char* const fits =
        node->labels->kind == LabelKind::kRegression ? "regression" : "node_classification";
    if (!of_a_kind) return {task, split.name, split.train, split.valid};
    if (task.empty() || task == fits) return {fits, split.name, split.train, split.valid};
  }
  refuse(
      path,
      task.empty()
          ? "the dataset has no split of a node type with labels: there is nothing to train on"
          : fmt::format("the dataset has no split of a node type with labels for task '{}'", task),
      "import it with labels and [[splits]], or say --task link_prediction, which needs neither");
}

// The first relation that has what a task of links needs.
const RelationSchema& asked_relation(const GraphSchema& schema,
                                     const std::string& path,
                                     const std::string& task,
                                     bool at_times) {
  for (const RelationSchema& relation : schema.relations) {
    const bool classes = relation.labels && relation.labels->kind == LabelKind::kClass;
    if ((classes || task != "edge_classification") && (relation.has_times || !at_times))
      return relation;
  }
  refuse(path,
         fmt::format("the dataset has no relation for task '{}'", task),
         task == "edge_classification" ? "import labels of [[edges]]"
         : at_times                    ? "import [[edges]] with time_column"
                                       : "import [[edges]]");
}

bool has_key(const Schema& keys, std::string_view key) {
  return std::ranges::any_of(keys.fields(), [&](const auto& field) { return field->key() == key; });
}

/// @param keys the task's
Target link_target(const GraphSchema& schema,
                   const std::string& path,
                   const std::string& task,
                   const Schema& keys) {
  const bool at_times = has_key(keys, "split_times"), one_relation = has_key(keys, "relation");
  const RelationSchema& relation = asked_relation(schema, path, task, at_times);
  Target target{task};
  target.asked = at_times ? "events" : "links";
  target.at_times = at_times;
  if (schema.relations.size() > 1 && one_relation)
    target.keys += fmt::format("relation = \"{}\"\n", relation.key());
  for (const EdgeSplitSchema& split : schema.edge_splits) {
    if (!split.relation.empty() && split.relation != relation.key()) continue;
    if (at_times && !one_relation) break;  // labels at times have no stored split
    if (at_times) target.keys += "split_by = \"stored\"\n";
    target.split = split.name;
    target.valid = split.valid;
    target.train = split.train != 0
                       ? split.train
                       : relation.edges - std::min(relation.edges, split.valid + split.test);
    return target;
  }
  target.keys += at_times ? "edge_split = [0.7, 0.15, 0.15]\n" : "edge_split = [0.85, 0.05, 0.1]\n";
  target.train = relation.edges / 20 * (at_times ? 14 : 17);
  target.valid = relation.edges / 20;
  return target;
}

template <class Catalog>
[[noreturn]] void refuse_name(const Catalog& catalog, const char* what, const std::string& name) {
  std::vector<std::string> known;
  for (const auto& entry : catalog.list()) known.push_back(entry.name);
  throw unknown_name(what, name, known);
}

/// @param asked the task's name; empty: by labels of nodes, else by events
Target target_of(const GraphSchema& schema,
                 const std::string& path,
                 const std::string& asked,
                 const TaskCatalog& tasks) {
  const bool events = std::ranges::any_of(schema.relations, &RelationSchema::has_times);
  const bool labels = std::ranges::any_of(
      schema.nodes, [](const NodeTypeSchema& node) { return node.labels.has_value(); });
  const std::string task = asked.empty() && events && !labels ? kEventTask : asked;
  if (task.empty()) return node_target(schema, path, task);
  const auto options = tasks.make_options(task);
  if (!options) refuse_name(tasks, "task", task);
  Schema keys;
  options->describe(keys);
  return has_key(keys, "edge_split") ? link_target(schema, path, task, keys)
                                     : node_target(schema, path, task);
}

// What the task reads a node in: a model that is learned rows alone has as many columns.
std::int64_t task_width(const RunOptions& options,
                        const TrainRegistry& registry,
                        const Dataset& dataset) {
  return registry.tasks.create(options.task, {dataset.schema()})->output_width();
}

std::uint64_t suggested_budget(const std::filesystem::path& root) {
  const std::uint64_t granted = memory_granted(root);
  const std::uint64_t free = granted > 2 * kOverheadBytes ? granted - kOverheadBytes : granted / 2;
  return std::max<std::uint64_t>(256, free / 4 * 3 / kMiB / 256 * 256) * kMiB;
}

}  // namespace

std::string commented_toml(const Schema& schema) {
  std::string out;
  write_table(out, schema, "");
  return out;
}

std::string config_for(const std::string& path,
                       const TrainRegistry& registry,
                       const std::string& task,
                       const std::string& model,
                       const std::filesystem::path& root) {
  if (!valid_utf8(path)) {
    throw Error(ErrorCode::kUsage,
                "the dataset's path is not valid UTF-8, which a config must be",
                "make a link to it under another name (ln -s), and name that",
                Place{path, -1, -1, -1});
  }
  const Dataset dataset = Dataset::open(path);
  const Target target = target_of(dataset.schema(), path, task, registry.tasks);
  RunOptions options(registry);
  options.dataset.path = path;
  options.dataset.split = target.split;
  options.memory.host.bytes = suggested_budget(root);
  options.task = {target.task, registry.tasks.make_options(target.task)};
  const std::string chosen = model.empty() && target.at_times ? kEventModel : model;
  if (!chosen.empty()) {
    options.model = {chosen, registry.models.make_options(chosen)};
    if (!options.model.options) refuse_name(registry.models, "model", chosen);
  }
  if (auto events = registry.samplers.make_options(kEventSampler); target.at_times && events)
    options.sampler = {kEventSampler, std::move(events)};
  Schema keys;
  options.task.options->describe(keys);
  Config::parse(target.keys, "the task").bind(keys);
  if (model == "embedding") options.embedding.dim = task_width(options, registry, dataset);
  // A mini-batch of no more than the seeds there are, and about a hundred steps an epoch where
  // there are many.
  std::int64_t batch = 1024;
  while (batch > 32 && static_cast<std::uint64_t>(batch) * 4 > target.train) batch /= 2;
  options.train.batch_size = batch;
  if (target.valid > 0) options.train.early_stopping.patience = 20;
  options.train.epochs = 100;
  const std::string name = std::filesystem::path(path).lexically_normal().filename().string();
  options.run.dir = "runs/" + (name.empty() || name == "." ? std::string("run") : name);
  Schema schema;
  options.describe(schema);
  return fmt::format(
             "# A training config for {}: {} nodes, {} edges, {} training {}.\n"
             "#\n#   sluice-train run THIS_FILE\n#\n"
             "# Every key is here with its default or what fits this dataset and machine; any of "
             "them may be left out\n"
             "# but dataset.path.\n\n",
             path,
             format_count(dataset.schema().total_nodes()),
             format_count(dataset.schema().total_edges()),
             format_count(target.train),
             target.asked) +
         commented_toml(schema);
}

}  // namespace sluice
