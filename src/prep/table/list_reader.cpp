#include "prep/table/list_reader.h"

#include "prep/table/csv_text.h"
#include "prep/table/list_parser.h"
#include "prep/table/market_banner.h"
#include "prep/table/stray_lines.h"
#include "prep/table/text_blocks.h"
#include "prep/table/text_cells.h"
#include "prep/table/text_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace sluice {
namespace {

char list_delimiter(const std::string& delimiter, const std::string& table) {
  if (delimiter.empty()) return '\0';
  const char c = delimiter.front();
  const bool line_end = c == '\0' || c == '\n' || c == '\r';
  if (delimiter.size() == 1 && !line_end && !is_of_numbers(c)) return c;
  throw Error(
      ErrorCode::kUsage,
      fmt::format(
          "[{}] delimiter = \"{}\" is not one character beside those of numbers", table, delimiter),
      "for example \",\" or \"\\t\"; leave it out for any white space");
}

void describe_block(Schema& schema, ByteSize& block) {
  schema.field("block", block)
      .range(4096, 512 * static_cast<double>(kMiB))
      .help("text that one thread parses at a time; no line may be longer");
}

void describe_list(Schema& schema, std::string& delimiter, std::string& comment, ByteSize& block) {
  schema.field("delimiter", delimiter).help("the character between fields; empty: any white space");
  schema.field("comment", comment)
      .help("lines that begin with one of these characters are passed over");
  describe_block(schema, block);
}

std::vector<std::string> triple_names(std::size_t fields) {
  if (fields != 3) return {};
  return {"head", "relation", "tail"};
}

std::vector<std::string> openke_names(std::size_t fields) {
  if (fields == 3) return {"head", "tail", "relation"};
  if (fields == 2) return {"name", "number"};
  return {};
}

std::vector<std::string> multiplex_names(std::size_t fields) {
  if (fields == 3) return {"type", "source", "target"};
  if (fields == 4) return {"type", "source", "target", "label"};
  return {};
}

}  // namespace

class ListReader::Impl {
 public:
  Impl(const Kind& kind, const Options& options, const TableSource& source)
      : arena_(*source.arena),
        ledger_(source.ledger),
        blocks_(source,
                options.block.bytes,
                fmt::format("is this a text file of lines? If so raise [{}] block", kind.name)) {
    refuse_tables(source);
    layout_.file = source.path.string();
    layout_.delimiter = list_delimiter(options.delimiter, kind.name);
    layout_.comment = options.comment;
    read_columns(kind, options.columns);
  }

  const std::vector<ColumnInfo>& columns() const { return layout_.columns; }
  void select(const std::vector<ColumnRequest>& requests) {
    layout_.requests = requests;
    layout_.positions = positions_of(requests, layout_.columns);
    header_probe_ = HeaderProbe(layout_.header_names, requests, layout_.positions);
    blanks_count_ = layout_.columns.size() == 1 &&
                    std::any_of(requests.begin(), requests.end(), [](const ColumnRequest& request) {
                      return request.blank == BlankLine::kRefuse;
                    });
    parser_.emplace(layout_);
  }
  bool next(TableChunk& chunk);
  std::int64_t line_of(std::uint64_t row) const {
    const Block& block = group_[current_ - 1];
    return list_line_of_row(block.text, block.first_line, row - block.first_row, layout_);
  }

 private:
  struct Block : TextBlocks::Block {
    std::uint64_t first_row = 0;
    ListParser::Parsed parsed;
    ListColumns columns;
    std::optional<std::int64_t> stray_line;  // the columns' names, or a blank one before a row
  };

  void pass_to_first_row();
  void refuse_count();
  void take_count();
  void check_count() const;
  void read_columns(const Kind& kind, const std::vector<std::string>& names);
  bool load_group();
  void look_for_header(Block& block) const;
  void look_for_blanks(Block& block);
  bool is_blank(std::string_view line) const { return is_blank_list_line(line, layout_); }
  [[noreturn]] void fail(const Block& block) const;

  ThreadArena& arena_;
  MemoryLedger* ledger_;
  TextBlocks blocks_;
  ListLayout layout_;
  std::optional<ListParser> parser_;
  HeaderProbe header_probe_;
  bool blanks_count_ = false;  // a blank line before a row is an error
  BlankLines blank_lines_;
  std::vector<Block> group_;  // as many as the largest group had: they keep their memory
  std::size_t filled_ = 0;    // blocks of the group that hold text
  std::size_t current_ = 0;   // blocks of the group that were handed out
  std::uint64_t next_row_ = 0;
  std::optional<std::uint64_t> count_;  // that the first line says
};

// Passes over what stands before the first row.
void ListReader::Impl::pass_to_first_row() {
  const std::string_view delimiter = layout_.delimiter == '\0' ? " " : "";
  const std::string hint =
      fmt::format("it should hold lines of fields, such as '0{}1'",
                  delimiter.empty() ? std::string(1, layout_.delimiter) : std::string(delimiter));
  auto line = blocks_.peek_line();
  if (!line)
    throw Error(ErrorCode::kData, "the file is empty", hint, Place{layout_.file, -1, -1, -1});
  for (; line; line = blocks_.peek_line()) {
    const Place place{layout_.file, blocks_.line(), -1, -1};
    if (auto error = diagnose_list_bytes(*line, place)) throw Error(*error);
    refuse_market_banner(*line, layout_.file, blocks_.line());
    if (is_list_row(*line, layout_)) return;
    if (is_blank(*line)) blank_lines_.note(blocks_.line());
    blocks_.skip_line();
  }
  throw Error(ErrorCode::kData,
              "the file holds only comments and blank lines",
              hint,
              Place{layout_.file, -1, -1, -1});
}

void ListReader::Impl::refuse_count() {
  const auto split = [this](const std::string& line) {
    std::vector<std::string> fields;
    if (!is_list_row(line, layout_)) return fields;
    ListLayout layout = layout_;
    if (layout.delimiter == '\0' && line.find('\t') != std::string::npos) layout.delimiter = '\t';
    for (const std::string_view field : split_list_line(line, layout)) fields.emplace_back(field);
    return fields;
  };
  const Place place{layout_.file, blocks_.line(), -1, -1};
  if (auto error = leading_count_error(blocks_.peek_lines(kCountLines, kCountBytes), split, place))
    throw Error(*error);
}

// The line before the rows that says how many these are.
void ListReader::Impl::take_count() {
  const std::string line(*blocks_.peek_line());
  const auto fields = split_list_line(line, layout_);
  const std::string_view only = fields.size() == 1 ? fields[0] : std::string_view();
  std::uint64_t count = 0;
  const auto [end, problem] = std::from_chars(only.data(), only.data() + only.size(), count);
  if (problem != std::errc() || end != only.data() + only.size())
    throw Error(ErrorCode::kData,
                fmt::format("the first line, {}, is not the number of rows", shown_cell(line)),
                "for rows from the first line on say format = \"list\", with [list] columns",
                Place{layout_.file, blocks_.line(), -1, -1});
  count_ = count;
  blocks_.skip_line();
  pass_to_first_row();
}

void ListReader::Impl::check_count() const {
  if (!count_ || *count_ == next_row_) return;
  throw Error(ErrorCode::kData,
              fmt::format("the first line says {} rows, and there are {}", *count_, next_row_),
              "is the file whole? Else correct the number in its first line",
              Place{layout_.file, 1, -1, -1});
}

void ListReader::Impl::read_columns(const Kind& kind, const std::vector<std::string>& names) {
  pass_to_first_row();
  kind.counted ? take_count() : refuse_count();
  const std::string line(*blocks_.peek_line());
  if (kind.tabs_first && layout_.delimiter == '\0' && line.find('\t') != std::string::npos)
    layout_.delimiter = '\t';
  const std::size_t count = split_list_line(line, layout_).size();
  const Place place{layout_.file, blocks_.line(), -1, -1};
  layout_.columns = numbered_columns(count);
  rename_columns(layout_.columns, names, fmt::format("[{}] columns", kind.name), place);
  layout_.header_names = names;
  if (kind.names == nullptr) return;
  const std::vector<std::string> known = kind.names(count);
  if (known.empty()) {
    throw Error(ErrorCode::kData,
                fmt::format("{} fields, but {}", count, kind.expected),
                "for other lines say format = \"list\"",
                place);
  }
  rename_columns(layout_.columns, known, kind.name, place);
}

bool ListReader::Impl::next(TableChunk& chunk) {
  do {
    if (current_ == filled_ && !load_group()) return false;
    const Block& block = group_[current_++];
    if (block.parsed.fault || block.stray_line) fail(block);
    chunk.first_row = block.first_row;
    chunk.rows = block.parsed.rows;
    chunk.columns.clear();
    for (std::size_t i = 0; i < layout_.requests.size(); ++i)
      chunk.columns.push_back(block.columns.view(i, layout_.requests[i].type, chunk.rows));
  } while (chunk.rows == 0);  // comments only
  return true;
}

bool ListReader::Impl::load_group() {
  filled_ = current_ = 0;
  std::vector<TextBlocks::Block> texts;
  if (!blocks_.next_group(texts)) {
    check_count();
    return false;
  }
  filled_ = texts.size();
  if (group_.size() < filled_) group_.resize(filled_);
  arena_.for_each(filled_, [&](std::size_t i) {
    Block& block = group_[i];
    static_cast<TextBlocks::Block&>(block) = texts[i];
    const std::size_t rows =
        parser_->max_rows(static_cast<std::size_t>(block.lines), block.text.size());
    block.columns.reserve(layout_.requests, rows, block.text.size(), ledger_);
    block.parsed = parser_->parse(block.text, block.columns);
    block.stray_line = std::nullopt;
    if (header_probe_.request()) look_for_header(block);
  });
  for (std::size_t i = 0; i < filled_; ++i) {
    group_[i].first_row = next_row_;
    next_row_ += group_[i].parsed.rows;
    if (blanks_count_) look_for_blanks(group_[i]);
  }
  return true;
}

void ListReader::Impl::look_for_header(Block& block) const {
  const std::size_t probe = *header_probe_.request();
  const std::size_t rows = block.parsed.rows;
  const auto found =
      header_probe_.candidates(block.columns.view(probe, layout_.requests[probe].type, rows), rows);
  if (!found.empty())
    block.stray_line = list_header_line(block.text, block.first_line, found, layout_);
}

void ListReader::Impl::look_for_blanks(Block& block) {
  const auto blank = blank_lines_.before_rows(
      block.text,
      block.first_line,
      block.lines,
      block.parsed.rows,
      [this](std::string_view line) { return is_blank(line); },
      [this](std::string_view line) { return is_list_row(line, layout_); });
  if (blank && (!block.stray_line || *blank < *block.stray_line)) block.stray_line = blank;
}

void ListReader::Impl::fail(const Block& block) const {
  const std::size_t at = block.parsed.fault.value_or(block.text.size());
  const std::string_view before = block.text.substr(0, at);
  const std::int64_t number = block.first_line + std::count(before.begin(), before.end(), '\n');
  if (block.stray_line && *block.stray_line <= number) {
    const Place place{layout_.file, *block.stray_line, -1, -1};
    std::size_t behind = 0;
    for (std::int64_t i = block.first_line; i < *block.stray_line; ++i)
      (void)next_csv_line(block.text, behind);
    const bool blank =
        *block.stray_line < block.first_line || is_blank(next_csv_line(block.text, behind));
    throw blank ? blank_line_error(place, "") : header_again_error(place);
  }
  std::string_view line = block.text.substr(at, block.text.find('\n', at) - at);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (auto error = diagnose_list_line(line, number, layout_)) throw Error(*error);
  throw Error(ErrorCode::kInternal,
              fmt::format("the line {} of an edge list does not read, for no reason known",
                          shown_cell(line)));
}

void ListReader::Options::describe(Schema& schema) {
  schema.field("columns", columns).help("names for all columns; empty: c0, c1, ...");
  describe_list(schema, delimiter, comment, block);
}
void TriplesReader::Options::describe(Schema& schema) {
  describe_list(schema, delimiter, comment, block);
}
void OpenKeReader::Options::describe(Schema& schema) {
  describe_block(schema, block);
}
void MultiplexReader::Options::describe(Schema& schema) {
  describe_list(schema, delimiter, comment, block);
}

ListReader::ListReader(const Options& options, const TableSource& source)
    : ListReader(Kind{"list", nullptr, {}}, options, source) {}
ListReader::ListReader(const Kind& kind, const Options& options, const TableSource& source)
    : TableReader(source), impl_(std::make_unique<Impl>(kind, options, source)) {}
ListReader::~ListReader() = default;

TriplesReader::TriplesReader(const Options& options, const TableSource& source)
    : ListReader(Kind{"triples", triple_names, "a triple has 3: head, relation, tail", true},
                 {{}, options.delimiter, options.comment, options.block},
                 source) {}

OpenKeReader::OpenKeReader(const Options& options, const TableSource& source)
    : ListReader(Kind{"openke",
                      openke_names,
                      "a row has 3: head, tail, relation; or 2: name, number",
                      true,
                      true},
                 {{}, {}, {}, options.block},
                 source) {}

MultiplexReader::MultiplexReader(const Options& options, const TableSource& source)
    : ListReader(
          Kind{"multiplex", multiplex_names, "an edge has 3 or 4: type, source, target, label"},
          {{}, options.delimiter, options.comment, options.block},
          source) {}

const std::vector<ColumnInfo>& ListReader::columns() const {
  return impl_->columns();
}
void ListReader::select(const std::vector<ColumnRequest>& requests) {
  impl_->select(requests);
}
bool ListReader::next(TableChunk& chunk) {
  return impl_->next(chunk);
}
std::optional<std::int64_t> ListReader::line_of(std::uint64_t row) const {
  return impl_->line_of(row);
}

}  // namespace sluice
