#include "prep/update/append_nodes.h"

#include "core/interrupt.h"
#include "prep/import/label_coder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace sluice {
namespace {

constexpr std::uint64_t kChunkRows = 4096;

[[noreturn]] void refuse(const NodeState& node, const std::string& what, const std::string& hint) {
  throw Error(ErrorCode::kUsage, fmt::format("[[nodes]] '{}': {}", node.spec.type, what), hint);
}

std::string names_of(const std::vector<FeatureSchema>& tables) {
  std::string names;
  for (const FeatureSchema& table : tables)
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", table.name);
  return names;
}

void check(const NodeState& node) {
  const NodeTypeSchema& there = node.earlier->schema();
  if (there.has_times)
    refuse(node, "nodes with times cannot be appended", "import the dataset again");
  if (there.features.size() > 1)
    refuse(node,
           fmt::format("new nodes need rows of {} feature tables ({}), and features gives those of "
                       "one",
                       there.features.size(),
                       names_of(there.features)),
           "import the dataset again with all nodes, then propagate and attach");
  // Bits go by column, whatever these are called; classes by name are numbered anew in each import.
  if (there.labels && there.labels->kind == LabelKind::kClass && !there.labels->names.empty() &&
      !node.spec.labels.file.empty())
    refuse(node, "labels with names cannot be appended", "import the dataset again");
  if (there.ids != IdKind::kDense && node.spec.id_list.file.empty())
    refuse(node,
           "new nodes need their ids",
           "name the list of the new ones: id_list = { file = ... }");
  if (!there.features.empty() && node.spec.features.file.empty())
    refuse(node,
           fmt::format("new nodes need features, {} a row", there.features.front().dim),
           "name a file with those of the new nodes: features = { file = ... }");
  if (there.ids == IdKind::kDense && node.spec.count != 0 &&
      static_cast<std::uint64_t>(node.spec.count) < there.count)
    refuse(node,
           fmt::format("count = {}, and there are {} nodes already", node.spec.count, there.count),
           "count is that of all nodes, old and new");
}

// Sparse rows as rows with room for more entries: the same bytes, and zeros.
std::vector<std::byte> with_more_room(std::span<const std::byte> rows,
                                      std::size_t from_bytes,
                                      std::size_t to_bytes) {
  std::vector<std::byte> wider(rows.size() / from_bytes * to_bytes);
  for (std::size_t at = 0, to = 0; at < rows.size(); at += from_bytes, to += to_bytes)
    std::copy_n(rows.data() + at, from_bytes, wider.data() + to);
  return wider;
}

// Nobody said what the new nodes' labels are: they have none.
void append_missing_labels(ImportContext& context, NodeState& node) {
  const LabelSchema& schema = *node.earlier->schema().labels;
  auto file = context.writer.create(node_path(node.spec.type, "labels.bin"));
  node.earlier->copy_labels(*file);
  std::vector<std::byte> row(label_row_bytes(schema));
  write_missing_label(schema, row);
  for (std::uint64_t i = node.first_new(); i < *node.ids.count(); ++i) file->append(row);
  context.writer.add(std::move(file));
  node.schema.labels = schema;
}

}  // namespace

void DatasetNodes::copy_features(FeatureWriter& to) const {
  const auto store = dataset_.features(schema_.name, {}, schema_.features.front().name);
  std::vector<std::uint64_t> wanted;
  std::vector<std::byte> rows;
  for (std::uint64_t first = 0; first < schema_.count; first += kChunkRows) {
    throw_if_interrupted();
    wanted.resize(std::min(kChunkRows, schema_.count - first));
    for (std::uint64_t i = 0; i < wanted.size(); ++i) wanted[i] = first + i;
    rows.resize(wanted.size() * store->row_bytes());
    store->gather(wanted, rows).or_throw();
    if (to.layout().row_bytes == store->row_bytes()) {
      to.append_rows(rows);
    } else {
      to.append_rows(with_more_room(rows, store->row_bytes(), to.layout().row_bytes));
    }
  }
}

void DatasetNodes::copy_labels(DataFileWriter& to) const {
  const Array labels = dataset_.labels(schema_.name);
  to.append(labels.raw());
}

bool brings_nodes(const NodeSpec& spec, const NodeTypeSchema& schema) {
  return !spec.features.file.empty() || !spec.labels.file.empty() || !spec.id_list.file.empty() ||
         (spec.count != 0 && static_cast<std::uint64_t>(spec.count) != schema.count);
}

std::uint64_t append_nodes(ImportContext& context, NodeState& node) {
  check(node);
  const NodeSpec& spec = node.spec;
  const NodeTypeSchema& there = node.earlier->schema();
  node.schema = there;
  node.schema.features.clear();
  node.schema.labels.reset();
  if (spec.count != 0) node.ids.set_count(static_cast<std::uint64_t>(spec.count), "count", {});
  if (!spec.id_list.file.empty()) import_id_list(context, node);
  if (!spec.features.file.empty()) import_features(context, node);
  if (!spec.labels.file.empty() && spec.labels.id_column.empty())
    import_labels_by_position(context, node);
  if (!node.ids.count())
    refuse(node, "how many new nodes there are is not known", "say count, of all nodes");
  if (!spec.labels.id_column.empty()) import_labels_by_id(context, node);
  if (spec.labels.file.empty() && there.labels) append_missing_labels(context, node);
  node.schema.count = *node.ids.count();
  if (node_id_dtype(node.schema.count) != node_id_dtype(there.count))
    refuse(node, "beyond 2^32 nodes ids take more bytes in every file", "import the dataset again");
  node.ids.write(context.writer);
  return node.schema.count - there.count;
}

}  // namespace sluice
