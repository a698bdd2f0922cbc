// Labels: in the order of the nodes, streamed; or under ids, gathered in memory and written whole.
#include "core/interrupt.h"
#include "prep/import/import_context.h"
#include "prep/import/label_coder.h"
#include "prep/table/text_cells.h"

#include <sluice/units.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace sluice {
namespace {

constexpr std::size_t kMostNames = std::size_t{1} << 20;

std::unique_ptr<TableReader> open_labels(ImportContext& context,
                                         const LabelSpec& spec,
                                         SparseEntries entries) {
  auto table = context.open(spec.file, spec.format);
  (void)table->turn_sparse(spec.columns, spec.id_column.empty() ? entries : SparseEntries::kAllow);
  return table;
}

/// How labels are read, once that is settled: of kind "auto" a column of words is read by name.
struct LabelPlan {
  LabelSpec spec;
  std::vector<std::string> names;  ///< of the classes, where labels are names
  bool found_words = false;        ///< nobody said that they are names
};

/// Whether the first value of a column, of those that are labels, is a word: then all are.
bool holds_words(ImportContext& context, const LabelSpec& spec, SparseEntries entries) {
  const auto table = open_labels(context, spec, entries);
  const LabelCoder coder(*table, spec);
  if (coder.requests().size() != 1) return false;
  const ColumnInfo& column = table->column(coder.requests()[0].name, 0);
  if (column.dtype) return false;
  if (column.words) return true;
  const NoLabelValues none(spec.none);
  table->select({{column.name,
                  ColumnType::kText,
                  EmptyCell::kMissing,
                  ColumnUse::kClasses,
                  BlankLine::kPass}});
  for (TableChunk chunk; table->next(chunk);) {
    throw_if_interrupted();
    for (std::size_t row = 0; row < chunk.rows; ++row) {
      const std::string_view cell = trimmed_cell(chunk.columns[0].text[row]);
      double number = 0;
      if (!cell.empty() && !none.has(cell)) return parse_real_cell(cell, number) != std::errc{};
    }
  }
  return false;
}

// Numbers among words are likely to be the classes, and the words to say that there is none.
void refuse_numbers_among_words(const TableReader& table,
                                const TableChunk& chunk,
                                std::size_t row,
                                const LabelCoder& coder,
                                const std::string& first_word) {
  double number = 0;
  const std::string_view cell = trimmed_cell(chunk.columns[0].text[row]);
  if (table.column(coder.requests()[0].name, 0).words) return;
  if (cell.empty() || parse_real_cell(cell, number) != std::errc{}) return;
  throw table.value_error(
      chunk.first_row + row,
      coder.requests()[0].name,
      fmt::format(
          "{} is a number, and {} before it is none", shown_cell(cell), shown_cell(first_word)),
      "say labels.kind = \"name\" if both are classes; words that stand for no label go into "
      "labels.none");
}

// The names of all classes, where labels are names: a first pass over their column.
LabelPlan plan_labels(ImportContext& context, const LabelSpec& spec, SparseEntries entries) {
  LabelPlan plan{spec, {}, false};
  if (spec.kind == LabelKindChoice::kAuto && holds_words(context, spec, entries)) {
    plan.spec.kind = LabelKindChoice::kName;
    plan.found_words = true;
  }
  if (plan.spec.kind != LabelKindChoice::kName) return plan;
  const auto table = open_labels(context, spec, entries);
  LabelCoder coder(*table, plan.spec);
  table->select(coder.requests());
  std::unordered_set<std::string> seen;
  for (TableChunk chunk; table->next(chunk);) {
    throw_if_interrupted();
    for (std::size_t row = 0; row < chunk.rows; ++row) {
      std::string name = coder.name(chunk.columns[0], row);
      if (name.empty()) continue;
      if (plan.found_words && !plan.names.empty())
        refuse_numbers_among_words(*table, chunk, row, coder, plan.names.front());
      if (seen.insert(name).second) plan.names.push_back(std::move(name));
    }
    if (seen.size() <= kMostNames) continue;
    throw Error(ErrorCode::kData,
                fmt::format("there are more than {} different labels", kMostNames),
                "are they numbers to predict? Then say kind = \"regression\"",
                Place{table->path().string(), -1, -1, -1});
  }
  if (plan.names.empty())
    throw Error(ErrorCode::kData,
                "no row has a label",
                "leave labels out",
                Place{table->path().string(), -1, -1, -1});
  if (!plan.found_words) sort_label_names(plan.names);
  return plan;
}

/// The first few of many names.
std::string shown_names(const std::vector<std::string>& names) {
  constexpr std::size_t kMostShown = 8;
  const std::size_t shown = std::min(names.size(), kMostShown);
  return fmt::format(
      "{}{}",
      fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
      shown < names.size() ? ", ..." : "");
}

// What users may not have meant.
void say_labels(ImportContext& context, const LabelPlan& plan, const LabelCoder& coder) {
  Logger& log = context.prep.log;
  const std::string& file = plan.spec.file;
  const std::string column =
      plan.spec.columns.empty() ? "" : fmt::format(" '{}'", fmt::join(plan.spec.columns, "', '"));
  if (plan.found_words)
    log.info(
        "{}: the labels{} are words: {} classes by name, in the order in which they first appear: "
        "{}",
        file,
        column,
        format_count(plan.names.size()),
        shown_names(plan.names));
  for (const std::string& name : plan.names) {
    if (without_blanks(name) == trimmed_cell(name)) continue;
    log.warn("{}: the class {} has a blank that is no space before or behind it: take it out",
             file,
             shown_cell(name));
  }
  if (plan.spec.minus_one_is_none && coder.none_rows() != 0)
    log.warn("{}: {} rows say -1, which is no label; labels.none = [\"\"] would make it a class",
             file,
             format_count(coder.none_rows()));
  if (coder.minus_ones() != 0 && coder.classes_seen().seen() == 1)
    log.warn(
        "{}: {} rows say -1, which is no label, and all others are of one class; if -1 is a class "
        "as well, say labels.kind = \"name\" and labels.none = [\"\"]",
        file,
        format_count(coder.minus_ones()));
  if (plan.spec.kind == LabelKindChoice::kAuto && coder.one_hot())
    log.warn(
        "{}: each row has one 1 and else 0, as one class a row is written: by kind = \"auto\" "
        "these are {}; save one number a row, the place of the 1, for classes, or say which kind "
        "is "
        "meant",
        file,
        coder.kind() == LabelKind::kRegression ? "amounts to predict (\"regression\")"
                                               : "many classes a row (\"multi_label\")");
  if (const std::string rounded = coder.rounding(); !rounded.empty())
    log.warn("{}: {}", file, rounded);
  const bool counted = coder.kind() == LabelKind::kClass && plan.names.empty() && coder.any();
  const std::uint64_t classes = counted ? coder.schema().width : 0;
  const ClassCount& seen = coder.classes_seen();
  if (plan.spec.kind == LabelKindChoice::kAuto && classes > 2 && !seen.has(0) && seen.has(1))
    log.warn(
        "{}: the labels begin with 1: class 0 is one of {} and has no row; say labels.kind = "
        "\"name\" for classes of those that occur, or labels.kind = \"class\" if there is a class "
        "0",
        file,
        format_count(classes));
  if (!seen.most_are_empty(classes)) return;
  const std::uint64_t largest = classes - 1;
  const bool narrow = largest == 127 || largest == 255 || largest == 32767 || largest == 65535;
  log.warn(
      "{}: {} of {} classes occur, as the largest label is {}; if labels are numbers that are no "
      "classes 0, 1, 2, ... say labels.kind = \"name\"{}",
      file,
      format_count(coder.classes_seen().seen()),
      format_count(classes),
      largest,
      narrow ? fmt::format("; if {0} stands for no label, labels.none = [\"{0}\"]", largest) : "");
}

// Labels behind those that are there must be of their kind.
void check_kind(const EarlierNodes* earlier, const LabelCoder& coder, const Place& place) {
  if (earlier == nullptr) return;
  const NodeTypeSchema& type = earlier->schema();
  const std::optional<LabelSchema>& there = type.labels;
  // Classes are one number a row, and their count may grow.
  const bool many = there && there->kind == coder.kind() && coder.kind() != LabelKind::kClass;
  if (many && there->width != coder.width())
    throw Error(ErrorCode::kData,
                fmt::format("{} labels a row, and the nodes of type '{}' have {}",
                            coder.width(),
                            type.name,
                            there->width),
                "give as many as were imported, in the same order: labels.columns names them",
                place);
  if (there && there->kind == coder.kind()) return;
  throw Error(ErrorCode::kData,
              there ? fmt::format("the labels are of another kind than those that nodes of type "
                                  "'{}' have",
                                  type.name)
                    : fmt::format("nodes of type '{}' have no labels", type.name),
              there ? "give labels as they were imported" : "leave labels out",
              place);
}

// Columns of labels are classes, so they stand in the same order.
void check_columns(const EarlierNodes* earlier, const LabelCoder& coder, const Place& place) {
  if (earlier == nullptr || coder.kind() != LabelKind::kMultiLabel) return;
  const std::vector<std::string>& there = earlier->schema().labels->names;
  const std::vector<std::string> now = coder.schema().names;
  const auto differ = std::mismatch(there.begin(), there.end(), now.begin(), now.end());
  if (there.empty() || now.empty() || differ.first == there.end()) return;
  throw Error(ErrorCode::kData,
              fmt::format("the label column '{}' stands where the nodes of type '{}' have '{}'",
                          *differ.second,
                          earlier->schema().name,
                          *differ.first),
              "name the columns in the order in which they were imported: labels.columns",
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
  const LabelPlan plan = plan_labels(context, spec, target.entries);
  const auto table = open_labels(context, spec, target.entries);
  const Place place{table->path().string(), -1, -1, -1};
  LabelCoder coder(*table, plan.spec, plan.names);
  check_kind(target.earlier, coder, place);
  check_columns(target.earlier, coder, place);
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
  if (target.earlier == nullptr) say_labels(context, plan, coder);
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
  const LabelPlan plan = plan_labels(context, spec, SparseEntries::kAllow);
  const auto table = open_labels(context, spec, SparseEntries::kAllow);
  const std::string id_column = find_id_column(*table, spec.id_column).name;
  LabelCoder coder(*table, plan.spec, plan.names);
  std::vector<ColumnRequest> requests{
      {id_column, node.ids.column_type(), EmptyCell::kRefuse, ColumnUse::kIds}};
  requests.insert(requests.end(), coder.requests().begin(), coder.requests().end());
  table->select(requests);

  check_kind(node.earlier, coder, Place{table->path().string(), -1, -1, -1});
  check_columns(node.earlier, coder, Place{table->path().string(), -1, -1, -1});
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
  if (node.earlier == nullptr) say_labels(context, plan, coder);
  node.schema.labels = schema_of(node.earlier, coder);
}

}  // namespace sluice
