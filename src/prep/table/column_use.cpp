#include "prep/table/column_use.h"

#include "prep/table/text_cells.h"

#include <fmt/format.h>

#include <cctype>

namespace sluice {
namespace {

constexpr const char* kDates =
    "times are whole numbers, such as seconds since 1970, or numbers that {} makes whole; for "
    "dates "
    "say {} = \"s\", which counts seconds";

}  // namespace

std::string hint_for_text(ColumnUse use) {
  switch (use) {
    case ColumnUse::kIds:
      return "for ids that are text say ids = \"string\"";
    case ColumnUse::kTimes:
      return fmt::format(kDates, "time_scale", "time_unit");
    case ColumnUse::kNodeTimes:
      return fmt::format(kDates, "times.scale", "times.unit");
    case ColumnUse::kWeights:
      return "weights are numbers: name another column, or leave weight_column out";
    case ColumnUse::kClasses:
      return "for classes that are words say labels.kind = \"name\"; a word that stands for no "
             "label goes into labels.none";
    case ColumnUse::kTargets:
      return "targets are numbers; for classes that are words say labels.kind = \"name\", and a "
             "word that stands for no label goes into labels.none";
    case ColumnUse::kBits:
      return "multi_label is 0 or 1 in each column; for classes that are words say labels.kind = "
             "\"name\"";
    case ColumnUse::kFeatures:
      return "features are numbers: leave the column out of features.columns, or encode it as "
             "numbers";
    case ColumnUse::kGraphs:
      return "graphs are numbered, and their sizes are numbers";
    case ColumnUse::kTruths:
      return "1 is an edge, 0 an example of none";
    case ColumnUse::kOther:
      break;
  }
  return "numbers are written like 12, -0.5 or 1e-3";
}

std::string hint_for_fraction(ColumnUse use, bool stored) {
  switch (use) {
    case ColumnUse::kTimes:
      return "say time_scale: 1 rounds times to whole numbers, 1000 keeps thousandths";
    case ColumnUse::kNodeTimes:
      return "say times.scale: 1 rounds times to whole numbers, 1000 keeps thousandths";
    case ColumnUse::kClasses:
      return "for numbers to predict say labels.kind = \"regression\"; classes are whole numbers, "
             "or "
             "names (labels.kind = \"name\")";
    case ColumnUse::kBits:
      return "multi_label is 0 or 1; for numbers to predict say labels.kind = \"regression\"";
    default:
      return stored ? "save a.astype('int64')" : "write whole numbers without a point";
  }
}

std::string hint_beyond_integers(ColumnUse use) {
  switch (use) {
    case ColumnUse::kIds:
      return "say ids = \"string\": ids of any length are kept as they are";
    case ColumnUse::kClasses:
      return "for numbers that are no classes 0, 1, 2, ... say labels.kind = \"name\"";
    case ColumnUse::kTimes:
      return "times are below 2^63: say time_scale to count in another unit";
    case ColumnUse::kNodeTimes:
      return "times are below 2^63: say times.scale to count in another unit";
    default:
      return "use smaller numbers";
  }
}

std::string hint_for_missing(ColumnUse use) {
  if (use == ColumnUse::kFeatures)
    return "every row needs a value here: say features.missing = \"mean\" or \"zero\", or mend the "
           "data";
  return "every row needs a value here";
}

bool is_truth_word(std::string_view cell) {
  std::string lower;
  for (const char c : trimmed_cell(cell).substr(0, 6))
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower == "true" || lower == "false";
}

void refuse_truths_as_ids(const TableReader& table, const ColumnInfo& column) {
  if (!column.truth) return;
  const std::string where =
      table.columns().size() == 1 ? "" : fmt::format("column '{}' ", column.name);
  throw Error(ErrorCode::kData,
              where + "holds bool, where ids are asked",
              kTruthsAsIds,
              Place{table.path().string(), -1, -1, -1});
}

}  // namespace sluice
