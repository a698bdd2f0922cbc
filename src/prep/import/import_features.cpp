// Feature tables: from matrices or from columns of numbers, scaled where that is asked for, encoded
// and checked chunk by chunk.
#include "core/interrupt.h"
#include "prep/features/elements.h"
#include "prep/features/feature_encoder.h"
#include "prep/import/feature_rows.h"
#include "prep/import/import_context.h"
#include "prep/import/rounded_numbers.h"
#include "prep/import/rows_by_id.h"
#include "prep/import/sparse_choice.h"
#include "storage/io/disk_space.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <utility>

namespace sluice {
namespace {

// int8 rounds by (seed, node type or relation, row, column).
FeatureEncoding encoding_of(const FeatureSpec& spec,
                            const std::string& owner,
                            DType stored,
                            std::uint32_t dim) {
  FeatureEncoding encoding{stored, dim, spec.not_finite};
  if (stored == DType::kI8 && spec.choice.stochastic()) {
    encoding.draws = RandomKey(static_cast<std::uint64_t>(spec.seed)).with("rounding").with(owner);
  }
  return encoding;
}

// Rows behind those that are there are stored as they are.
DType dtype_of_earlier(const NodeTypeSchema& there, std::uint32_t dim, const Place& place) {
  const std::vector<FeatureSchema>& tables = there.features;
  if (tables.empty()) {
    throw Error(ErrorCode::kData,
                fmt::format("nodes of type '{}' have no features", there.name),
                "leave features out, or import the dataset again",
                place);
  }
  if (tables.front().dim == dim) return tables.front().dtype;
  throw Error(
      ErrorCode::kData,
      fmt::format(
          "{} features a row; nodes of type '{}' have {}", dim, there.name, tables.front().dim),
      "is this the file of another type?",
      place);
}

// The table that rows go into: behind those that are there, theirs.
std::string table_name(const EarlierNodes* earlier) {
  if (earlier == nullptr || earlier->schema().features.empty()) return FeatureSchema().name;
  return earlier->schema().features.front().name;
}

/// The scaling of rows behind those that are there: theirs, whatever the spec leaves out.
std::optional<FeatureScaling> scaling_of_earlier(const NodeTypeSchema& there,
                                                 const FeatureSpec& spec,
                                                 const Place& place) {
  if (there.features.empty()) return std::nullopt;  // that is said elsewhere
  const auto refuse = [&](const std::string& message, const char* hint) {
    throw Error(ErrorCode::kData, message, hint, place);
  };
  std::optional<FeatureScaling> scaling = there.features.front().scaling;
  const std::string stored = scaling ? scaling->scale : "none";
  const std::string asked(to_string(spec.scaling.scale));
  if (spec.scaling.scale != FeatureScale::kNone && asked != stored)
    refuse(fmt::format("scale = \"{}\", and the features of type '{}' were stored with \"{}\"",
                       asked,
                       there.name,
                       stored),
           "leave features.scale out: new rows are scaled as those that are there");
  const bool fills = scaling && !scaling->missing.empty();
  if (fills || !spec.scaling.fills()) return scaling;
  if (spec.scaling.missing == MissingValues::kMean)
    refuse(fmt::format("missing = \"mean\", and no mean is kept of the features of type '{}'",
                       there.name),
           "say missing = \"zero\", or mend the data");
  if (!scaling) scaling.emplace();
  scaling->fill.assign(there.features.front().dim, 0);
  return scaling;
}

std::string rows_that_count(const RowTarget& target) {
  return target.training == nullptr ? std::string("all rows") : target.training_name;
}

/// What is to be done to the rows, where something is. Reads them as often as it takes.
std::optional<FeatureScaling> scaling_of_new(ImportContext& context,
                                             const FeatureSpec& spec,
                                             const RowTarget& target) {
  if (!spec.scaling.any()) return std::nullopt;
  FeatureEncoder room({}, context.prep);
  std::unique_ptr<FeatureRows> rows;
  const auto open = [&] {
    rows.reset();  // its memory first
    rows = std::make_unique<FeatureRows>(context, spec, target, FeatureRows::As::kReals);
  };
  open();
  const std::uint32_t dim = rows->dim();
  const std::vector<std::string> names = rows->names();
  const ReadRows read = [&](const TakeRows& take) {
    for (open(); rows->next(room);) {
      throw_if_interrupted();
      take(rows->first_row(), rows->reals());
    }
  };
  CountsRow counts;
  if (target.training != nullptr)
    counts = [&](std::uint64_t row) { return target.training->get(row); };
  const auto name_of = [&](std::uint32_t column) { return rows->name_of(column); };
  FeatureScaling scaling =
      measure_scaling(spec.scaling, {dim, rows->place()}, read, counts, name_of, context.prep);
  scaling.columns = names;
  if (spec.scaling.needs_statistics()) {
    scaling.over = rows_that_count(target);
    context.prep.log.info("{}: statistics of {} column{} over {} ({})",
                          spec.file,
                          dim,
                          dim == 1 ? "" : "s",
                          scaling.over,
                          format_count(scaling.rows));
  }
  return scaling;
}

}  // namespace

void count_feature_rows(ImportContext& context, NodeState& node) {
  const FeatureSpec& spec = node.spec.features;
  RowTarget target = rows_of(node, spec.file, "features.bin");
  order_by_id(target, context, node, {spec.file, spec.format, spec.id_column});
  if (target.order) return;  // its ids were counted
  FeatureRows rows(context, spec, target, FeatureRows::As::kReals);
  if (const auto known = rows.num_rows()) return target.check_rows(*known, rows.place());
  FeatureEncoder room({}, context.prep);
  std::uint64_t count = 0;
  while (rows.next(room)) {
    throw_if_interrupted();
    count += rows.num_rows_read();
  }
  target.check_rows(count, rows.place());
}

FeatureSchema import_feature_table(ImportContext& context,
                                   const FeatureSpec& spec,
                                   const RowTarget& target) {
  const Place file_place{(context.root / spec.file).string(), -1, -1, -1};
  const std::optional<FeatureScaling> scaling =
      target.earlier != nullptr ? scaling_of_earlier(target.earlier->schema(), spec, file_place)
                                : scaling_of_new(context, spec, target);
  FeatureSpec how = spec;
  // What is missing now becomes what was missing then.
  if (scaling && !scaling->fill.empty()) how.scaling.missing = MissingValues::kZero;
  const std::uint32_t entries = choose_entries(context, spec, target);
  const bool reals = scaling || how.scaling.missing != MissingValues::kAuto;
  FeatureRows rows(
      context, how, target, reals ? FeatureRows::As::kReals : FeatureRows::As::kStored);
  const std::uint32_t dim = rows.dim();
  const DType from = rows.dtype();
  const std::uint64_t first_new = target.first_new;
  if (const auto count = rows.num_rows()) target.check_rows(first_new + *count, rows.place());

  FeatureSchema schema{
      table_name(target.earlier), spec.choice.stored(rows.source_dtype()), 0, dim, scaling};
  if (target.earlier != nullptr) {
    schema.dtype = dtype_of_earlier(target.earlier->schema(), dim, rows.place());
    schema.scaling = target.earlier->schema().features.front().scaling;
  }
  FeatureEncoding encoding = encoding_of(spec, target.owner, schema.dtype, dim);
  encoding.entries = schema.entries = entries;
  FeatureEncoder encoder(encoding, context.prep);
  if (const auto count = rows.num_rows()) {
    schema.rows = first_new + *count;
    require_space(context.writer.staging().path(),
                  FeatureLayout::make(schema).file_bytes(),
                  fmt::format("the features of '{}'", target.owner));
  }
  auto file = context.writer.create(target.path);
  schema.rows = 0;
  FeatureWriter writer(*file, FeatureLayout::make(schema));
  if (target.earlier != nullptr) target.earlier->copy_features(writer);
  Progress progress(context.prep.progress, spec.file, rows.num_rows().value_or(0), "rows");
  RoundedNumbers rounded(from, schema.dtype, dim);
  while (rows.next(encoder)) {
    throw_if_interrupted();
    if (scaling) apply_scaling(*scaling, dim, rows.reals(), context.prep.arena);
    rounded.look(rows.elements(), context.prep.arena);
    const FeatureEncoder::Rows encoded =
        encoder.encode(first_new + rows.first_row(), from, rows.elements());
    if (encoded.refused < rows.num_rows_read() * dim) {
      const double value = element_as_double(from, rows.elements(), encoded.refused);
      rows.refuse(encoded.refused, value, schema.dtype);
    }
    writer.append_rows(encoded.bytes);
    progress.add(rows.num_rows_read());
  }
  const std::string remark =
      rounded.remark([&](std::uint32_t column) { return rows.name_of(column); });
  if (!remark.empty()) context.prep.log.warn("{}: {}", spec.file, remark);
  context.writer.add(std::move(file));
  schema.rows = writer.rows();
  target.check_rows(schema.rows, rows.place());
  return schema;
}

void import_features(ImportContext& context, NodeState& node) {
  const FeatureSpec& spec = node.spec.features;
  RowTarget target = rows_of(node, spec.file, table_name(node.earlier) + ".bin");
  order_by_id(target, context, node, {spec.file, spec.format, spec.id_column});
  target.training = node.training.get();
  if (node.training_split != nullptr)
    target.training_name = fmt::format("the train part of split '{}'", node.training_split->name);
  node.schema.features.push_back(import_feature_table(context, spec, target));
}

}  // namespace sluice
