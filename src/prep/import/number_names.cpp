#include "prep/import/number_names.h"

#include "core/interrupt.h"
#include "prep/table/list_reader.h"

#include <fmt/format.h>

#include <utility>

namespace sluice {
namespace {

/// The names of a file, each once, by the numbers from `first` on.
class NumberNames {
 public:
  NumberNames(const ImportContext& context, const NamesSpec& spec, std::int64_t first)
      : context_(context),
        spec_(spec),
        first_(first),
        table_(context.open(spec.file, spec.format)),
        names_(context.prep.ledger),
        numbers_(context.prep.ledger, "id map") {
    refuse_words();
    std::vector<ColumnRequest> requests{{find_id_column(*table_, spec.column).name,
                                         ColumnType::kText,
                                         EmptyCell::kRefuse,
                                         ColumnUse::kOther}};
    if (numbered())
      requests.push_back({find_id_column(*table_, spec.number_column).name,
                          ColumnType::kInteger,
                          EmptyCell::kRefuse,
                          ColumnUse::kIds});
    table_->select(requests);
    Progress progress(context.prep.progress, spec.file, table_->num_rows().value_or(0), "names");
    for (TableChunk chunk; table_->next(chunk);) {
      throw_if_interrupted();
      look_for_comments(chunk, requests[0].name);
      for (std::size_t row = 0; row < chunk.rows; ++row) add(chunk, requests, row);
      progress.add(chunk.rows);
    }
    if (!in_order_) names_ = by_number(context.prep.ledger);
  }

  StringIdMap take() { return std::move(names_); }
  Place place() const { return {table_->path().string(), -1, -1, -1}; }

 private:
  bool numbered() const { return !spec_.number_column.empty(); }

  // A list parts its lines by any white space: the first word of several would be the name.
  void refuse_words() const {
    const std::size_t fields = table_->columns().size();
    const Place first{table_->path().string(), 1, -1, -1};
    if (dynamic_cast<const OpenKeReader*>(table_.get()) != nullptr && fields != 2)
      throw Error(ErrorCode::kData,
                  fmt::format("{} fields in a line of names, which has 2: name, number", fields),
                  "a tab parts a name of several words from its number",
                  Place{table_->path().string(), 2, -1, -1});
    const bool list = dynamic_cast<const ListReader*>(table_.get()) != nullptr;
    if (list && spec_.column.empty() && fields > (numbered() ? 2u : 1u))
      throw Error(ErrorCode::kData,
                  fmt::format("{} words in a line, and nothing says which is the name", fields),
                  "for names of several words say what may stand between fields, [list] delimiter "
                  "= \"\\t\"; of several columns say which, names.column = \"c0\" for one",
                  first);
  }

  // Comments are no names. Where lines count, one among them moves all behind it by a number, and
  // may have been meant as a name.
  void look_for_comments(const TableChunk& chunk, const std::string& column) {
    if (numbered() || dynamic_cast<const ListReader*>(table_.get()) == nullptr) return;
    const auto line_of = [&](std::size_t row) {
      return table_->value_error(chunk.first_row + row, column, {}, {}).place().line;
    };
    // Lines above a row that are no rows.
    const auto passed = [&](std::size_t row) {
      return line_of(row) - static_cast<std::int64_t>(chunk.first_row + row) - 1;
    };
    if (chunk.first_row == 0) say_comments(passed(0));
    if (passed(chunk.rows - 1) == passed_) return;
    std::size_t low = 0, high = chunk.rows - 1;  // the first row behind one is in [low, high]
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      passed(middle) == passed_ ? low = middle + 1 : high = middle;
    }
    throw Error(ErrorCode::kData,
                "a comment among names, and each line's place is its number",
                "where a name begins so, say [list] comment = \"\"; else take the line out",
                Place{table_->path().string(), line_of(low) - (passed(low) - passed_), -1, -1});
  }

  void say_comments(std::int64_t lines) {
    passed_ = lines;
    if (lines == 0) return;
    context_.prep.log.warn(
        "{}:1: {} passed over as {}: the number {} is the name in line {}; where names begin so, "
        "say [list] comment = \"\"",
        spec_.file,
        lines == 1 ? "the line is" : fmt::format("{} lines are", lines),
        lines == 1 ? "a comment" : "comments",
        first_,
        lines + 1);
  }

  void add(const TableChunk& chunk, const std::vector<ColumnRequest>& requests, std::size_t row) {
    const std::string_view name = chunk.columns[0].text[row];
    const auto fail = [&](std::size_t column, const std::string& reason, const std::string& hint) {
      throw table_->value_error(chunk.first_row + row, requests[column].name, reason, hint);
    };
    if (name.empty()) fail(0, "the name is empty", "every number needs a name");
    const std::uint64_t at = names_.size();
    if (names_.take(name) != at)
      fail(0,
           fmt::format("the name '{}' stands here again", name.substr(0, 60)),
           "results go by names: each needs one of its own; or leave names out, and results go by "
           "numbers");
    if (!numbered()) return;
    const std::int64_t number = chunk.columns[1].integers[row];
    if (number < first_)
      fail(1,
           fmt::format("the number {} is below the first, {}", number, first_),
           "numbers run from the first on, without gaps");
    in_order_ = in_order_ && static_cast<std::uint64_t>(number - first_) == at;
    numbers_.push_back(static_cast<std::uint64_t>(number - first_));
  }

  /// The same names, by number.
  StringIdMap by_number(MemoryLedger& ledger) const {
    const std::uint64_t count = names_.size();
    GrowingArray<std::uint64_t> rows(ledger, "id map");
    for (std::uint64_t number = 0; number < count; ++number) rows.push_back(kNoNode);
    for (std::uint64_t row = 0; row < count; ++row) {
      const std::uint64_t number = numbers_.values()[row];
      const bool beyond = number >= count;
      if (!beyond && rows.values()[number] == kNoNode) {
        rows.data()[number] = row;
        continue;
      }
      refuse_number(
          row,
          beyond
              ? fmt::format("the number {} is beyond the {} names", numbers_.values()[row], count)
              : fmt::format("the number {} stands here again", number));
    }
    StringIdMap ordered(ledger);
    for (const std::uint64_t row : rows.values()) (void)ordered.take(names_.id(row));
    return ordered;
  }

  // The file was read to its end: to tell the line, it is read again up to there.
  [[noreturn]] void refuse_number(std::uint64_t row, const std::string& reason) const {
    const auto again = context_.open(spec_.file, spec_.format);
    const std::string column = find_id_column(*again, spec_.number_column).name;
    again->select(std::vector<ColumnRequest>{
        {column, ColumnType::kInteger, EmptyCell::kRefuse, ColumnUse::kIds}});
    const std::string hint = fmt::format("numbers run from {} on, each once", first_);
    for (TableChunk chunk; again->next(chunk);)
      if (row < chunk.first_row + chunk.rows) throw again->value_error(row, column, reason, hint);
    throw Error(ErrorCode::kData, reason, hint, place());
  }

  const ImportContext& context_;
  const NamesSpec& spec_;
  std::int64_t first_;
  std::unique_ptr<TableReader> table_;
  StringIdMap names_;                    // in the order of the file, then in that of the numbers
  GrowingArray<std::uint64_t> numbers_;  // by row; from the first on
  bool in_order_ = true;
  std::int64_t passed_ = 0;  // lines above the first name
};

}  // namespace

void import_node_names(ImportContext& context, NodeState& node) {
  const NamesSpec& spec = node.spec.names;
  NumberNames names(context, spec, node.spec.first_id);
  node.ids.name(names.take(), spec.file, names.place());
  node.schema.ids = node.ids.stored_kind();
}

std::vector<std::string> read_type_names(const ImportContext& context, const EdgeSpec& edge) {
  if (edge.type_names.file.empty()) return {};
  const StringIdMap names = NumberNames(context, edge.type_names, 0).take();
  std::vector<std::string> all;
  all.reserve(names.size());
  for (std::uint64_t number = 0; number < names.size(); ++number)
    all.emplace_back(names.id(number));
  return all;
}

void name_types(SpooledTable& table, std::vector<std::string> names, const EdgeSpec& edge) {
  if (table.type_names.size() > names.size())
    throw Error(ErrorCode::kData,
                fmt::format("the type '{}' has no name in {}, which has those of 0 to {}",
                            table.type_names[names.size()].substr(0, 60),
                            edge.type_names.file,
                            names.size() - 1),
                "types are whole numbers, and type_names has a name for each; or leave type_names "
                "out",
                Place{});
  table.type_names = std::move(names);
  table.type_counts.resize(table.type_names.size(), 0);
}

}  // namespace sluice
