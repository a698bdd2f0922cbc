#include "train/config_init.h"

#include "core/cgroup.h"
#include "core/utf8.h"
#include "train/plan_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace sluice {
namespace {

constexpr std::size_t kWidth = 100;

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

// The node type to learn about, and the split that is for it.
struct Target {
  const NodeTypeSchema* node = nullptr;
  const SplitSchema* split = nullptr;
};

Target target_of(const GraphSchema& schema, const std::string& path) {
  for (const SplitSchema& split : schema.splits) {
    const NodeTypeSchema* node = schema.node_type(split.node_type);
    if (node != nullptr && node->labels) return {node, &split};
  }
  throw Error(ErrorCode::kUsage,
              "the dataset has no split of a node type with labels: there is nothing to train on",
              "import it with labels and [[splits]]",
              Place{path, -1, -1, -1});
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
                       const std::filesystem::path& root) {
  if (!valid_utf8(path)) {
    throw Error(ErrorCode::kUsage,
                "the dataset's path is not valid UTF-8, which a config must be",
                "make a link to it under another name (ln -s), and name that",
                Place{path, -1, -1, -1});
  }
  const Dataset dataset = Dataset::open(path);
  const Target target = target_of(dataset.schema(), path);
  RunOptions options(registry);
  options.dataset.path = path;
  options.dataset.split = target.split->name;
  options.memory.host.bytes = suggested_budget(root);
  options.task.type =
      target.node->labels->kind == LabelKind::kRegression ? "regression" : "node_classification";
  // A mini-batch of no more than the seeds there are, and about a hundred steps an epoch where
  // there are many.
  std::int64_t batch = 1024;
  while (batch > 32 && static_cast<std::uint64_t>(batch) * 4 > target.split->train) batch /= 2;
  options.train.batch_size = batch;
  if (target.split->valid > 0) options.train.early_stopping.patience = 20;
  options.train.epochs = 100;
  const std::string name = std::filesystem::path(path).lexically_normal().filename().string();
  options.run.dir = "runs/" + (name.empty() || name == "." ? std::string("run") : name);
  Schema schema;
  options.describe(schema);
  return fmt::format(
             "# A training config for {}: {} nodes, {} edges, {} training seeds.\n"
             "#\n#   sluice-train run THIS_FILE\n#\n"
             "# Every key is here with its default or what fits this dataset and machine; any of "
             "them may be left out\n"
             "# but dataset.path.\n\n",
             path,
             format_count(dataset.schema().total_nodes()),
             format_count(dataset.schema().total_edges()),
             format_count(target.split->train)) +
         commented_toml(schema);
}

}  // namespace sluice
