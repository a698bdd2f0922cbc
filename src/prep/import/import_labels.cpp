// Labels: in the order of the nodes, streamed; or under ids, gathered in memory and written whole.
#include "core/interrupt.h"
#include "prep/import/import_context.h"
#include "prep/import/label_coder.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <vector>

namespace sluice {
namespace {

constexpr std::size_t kMostNames = std::size_t{1} << 20;

// The names of all classes, where labels are names: a first pass over their column.
std::vector<std::string> collect_label_names(ImportContext& context, const LabelSpec& spec) {
  if (spec.kind != LabelKindChoice::kName) return {};
  const auto table = context.open(spec.file, spec.format);
  const LabelCoder coder(*table, spec);
  table->select(coder.requests());
  std::unordered_set<std::string> seen;
  for (TableChunk chunk; table->next(chunk);) {
    throw_if_interrupted();
    for (std::size_t row = 0; row < chunk.rows; ++row) {
      std::string name = label_name(chunk.columns[0], row);
      if (!name.empty()) seen.insert(std::move(name));
    }
    if (seen.size() <= kMostNames) continue;
    throw Error(ErrorCode::kData,
                fmt::format("there are more than {} different labels", kMostNames),
                "are they numbers to predict? Then say kind = \"regression\"",
                Place{table->path().string(), -1, -1, -1});
  }
  if (seen.empty())
    throw Error(ErrorCode::kData,
                "no row has a label",
                "leave labels out",
                Place{table->path().string(), -1, -1, -1});
  std::vector<std::string> names(seen.begin(), seen.end());
  sort_label_names(names);
  return names;
}

// Labels behind those that are there must be of their kind.
void check_kind(const EarlierNodes* earlier, const LabelCoder& coder, const Place& place) {
  if (earlier == nullptr) return;
  const NodeTypeSchema& type = earlier->schema();
  const std::optional<LabelSchema>& there = type.labels;
  if (there && there->kind == coder.kind() && label_row_bytes(*there) == coder.row_bytes()) return;
  throw Error(ErrorCode::kData,
              there ? fmt::format("the labels are of another kind or width than those that nodes "
                                  "of type '{}' have",
                                  type.name)
                    : fmt::format("nodes of type '{}' have no labels", type.name),
              there ? "give labels as they were imported" : "leave labels out",
              place);
}

// Classes may become more.
LabelSchema schema_of(const EarlierNodes* earlier, const LabelCoder& coder) {
  if (earlier == nullptr) return coder.schema();
  LabelSchema schema = *earlier->schema().labels;
  if (coder.any()) schema.width = std::max(schema.width, coder.schema().width);
  return schema;
}

}  // namespace

LabelSchema import_label_table(ImportContext& context,
                               const LabelSpec& spec,
                               const RowTarget& target,
                               NodeBits* labelled) {
  const std::vector<std::string> names = collect_label_names(context, spec);
  const auto table = context.open(spec.file, spec.format);
  const Place place{table->path().string(), -1, -1, -1};
  LabelCoder coder(*table, spec, names);
  check_kind(target.earlier, coder, place);
  table->select(coder.requests());
  if (const auto rows = table->num_rows()) target.check_rows(target.first_new + *rows, place);
  auto file = context.writer.create(target.path);
  if (target.earlier != nullptr) target.earlier->copy_labels(*file);
  Progress progress(context.prep.progress, spec.file, table->num_rows().value_or(0), "rows");
  std::vector<std::byte> row_bytes(coder.row_bytes());
  std::uint64_t rows = target.first_new;
  for (TableChunk chunk; table->next(chunk); rows += chunk.rows) {
    throw_if_interrupted();
    for (std::size_t row = 0; row < chunk.rows; ++row) {
      if (coder.encode(chunk, 0, row, row_bytes) && labelled != nullptr)
        labelled->set(target.first_new + chunk.first_row + row);
      file->append(row_bytes);
    }
    progress.add(chunk.rows);
  }
  target.check_rows(rows, place);
  context.writer.add(std::move(file));
  return schema_of(target.earlier, coder);
}

void import_labels_by_position(ImportContext& context, NodeState& node) {
  node.labelled = std::make_unique<NodeBits>(context.prep.ledger);
  const LabelSpec& spec = node.spec.labels;
  node.schema.labels = import_label_table(
      context, spec, rows_of(node, spec.file, "labels.bin"), node.labelled.get());
}

void import_labels_by_id(ImportContext& context, NodeState& node) {
  const LabelSpec& spec = node.spec.labels;
  const std::vector<std::string> names = collect_label_names(context, spec);
  const auto table = context.open(spec.file, spec.format);
  const std::string id_column = find_id_column(*table, spec.id_column).name;
  LabelCoder coder(*table, spec, names);
  std::vector<ColumnRequest> requests{{id_column, node.ids.column_type()}};
  requests.insert(requests.end(), coder.requests().begin(), coder.requests().end());
  table->select(requests);

  check_kind(node.earlier, coder, Place{table->path().string(), -1, -1, -1});
  const std::uint64_t first_new = node.first_new();
  const std::uint64_t count = *node.ids.count() - first_new;
  const std::size_t row_bytes = coder.row_bytes();
  AlignedBuffer buffer =
      AlignedBuffer::make(count * row_bytes, &context.prep.ledger, "labels").or_throw();
  const auto row_of = [&](std::uint64_t id) {
    return buffer.bytes().subspan((id - first_new) * row_bytes, row_bytes);
  };
  for (std::uint64_t id = 0; id < count; ++id) coder.write_missing(row_of(first_new + id));
  node.labelled = std::make_unique<NodeBits>(context.prep.ledger);
  Progress progress(context.prep.progress, spec.file, table->num_rows().value_or(0), "rows");
  std::vector<std::uint64_t> nodes;
  for (TableChunk chunk; table->next(chunk);) {
    throw_if_interrupted();
    const IdValues ids = id_values(chunk, 0);
    node.ids.find(ids, {*table, chunk.first_row, id_column}, nodes, context.prep.arena);
    for (std::size_t row = 0; row < chunk.rows; ++row) {
      if (nodes[row] == kNoNode) {
        ++node.skipped;
        continue;
      }
      if (nodes[row] < first_new) {
        throw table->value_error(
            chunk.first_row + row,
            id_column,
            fmt::format("the id {} is of a node that was there before", ids.shown(row)),
            "append labels new nodes alone");
      }
      if (node.labelled->get(nodes[row])) {
        throw table->value_error(chunk.first_row + row,
                                 id_column,
                                 fmt::format("the id {} stands here again", ids.shown(row)),
                                 "each node has one label");
      }
      if (coder.encode(chunk, 1, row, row_of(nodes[row]))) node.labelled->set(nodes[row]);
    }
    progress.add(chunk.rows);
  }
  auto file = context.writer.create(node_path(node.spec.type, "labels.bin"));
  if (node.earlier != nullptr) node.earlier->copy_labels(*file);
  file->append(buffer.bytes().first(count * row_bytes));
  context.writer.add(std::move(file));
  node.schema.labels = schema_of(node.earlier, coder);
}

}  // namespace sluice
