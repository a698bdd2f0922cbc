#include "prep/table/csv_reader.h"

#include "prep/table/arrow_memory.h"
#include "prep/table/csv_text.h"
#include "prep/table/list_parser.h"
#include "prep/table/stray_lines.h"
#include "prep/table/text_blocks.h"
#include "prep/table/text_cells.h"
#include "prep/table/text_columns.h"

#include <arrow/array.h>
#include <arrow/csv/converter.h>
#include <arrow/csv/options.h>
#include <arrow/csv/parser.h>
#include <arrow/type.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <optional>

namespace sluice {
namespace {

std::shared_ptr<arrow::DataType> arrow_type(ColumnType type) {
  switch (type) {
    case ColumnType::kInteger:
      return arrow::int64();
    case ColumnType::kReal:
      return arrow::float64();
    case ColumnType::kText:
      return arrow::utf8();
    case ColumnType::kRaw:
      break;
  }
  throw Error(ErrorCode::kInternal, "a CSV column has no raw bytes");
}

arrow::csv::ConvertOptions convert_options(EmptyCell empty) {
  arrow::csv::ConvertOptions options;
  options.strings_can_be_null = false;
  if (empty == EmptyCell::kMissing) options.null_values = {""};
  return options;
}

char csv_delimiter(const CsvReader::Options& options, const std::filesystem::path& path) {
  if (options.delimiter.empty()) return text_extension(path) == ".tsv" ? '\t' : ',';
  const char c = options.delimiter.front();
  if (options.delimiter.size() == 1 && c != '"' && c != '\n' && c != '\r') return c;
  throw Error(ErrorCode::kUsage,
              fmt::format("[csv] delimiter = \"{}\" is not one character", options.delimiter),
              "for example \";\" or \"\\t\"");
}

/// Writes `missing` where the column has nulls. The buffers come from our own converter, so nobody
/// shares them.
template <class ArrowArray, class Value>
void fill_missing(const arrow::Array& array, Value missing) {
  const auto& typed = static_cast<const ArrowArray&>(array);
  if (typed.null_count() == 0) return;
  auto* values = reinterpret_cast<Value*>(typed.data()->buffers[1]->mutable_data());
  for (std::int64_t i = 0; i < typed.length(); ++i) {
    if (typed.IsNull(i)) values[i] = missing;
  }
}

ColumnValues view_of(const arrow::Array& array, ColumnType type) {
  const auto rows = static_cast<std::size_t>(array.length());
  ColumnValues view;
  if (type == ColumnType::kInteger) {
    view.integers = {static_cast<const arrow::Int64Array&>(array).raw_values(), rows};
  } else if (type == ColumnType::kReal) {
    view.reals = {static_cast<const arrow::DoubleArray&>(array).raw_values(), rows};
  } else {
    const auto& text = static_cast<const arrow::StringArray&>(array);
    if (rows != 0) view.text.offsets = {text.raw_value_offsets(), rows + 1};
    view.text.bytes =
        text.value_data() ? reinterpret_cast<const char*>(text.value_data()->data()) : "";
  }
  return view;
}

}  // namespace

void CsvReader::Options::describe(Schema& schema) {
  schema
      .choice("header",
              header,
              {{"yes", CsvHeader::kYes, "the first line names the columns"},
               {"no", CsvHeader::kNo, "it is data: the columns are c0, c1, ..."}})
      .help("whether the first line names the columns");
  schema.field("columns", columns)
      .help("names for all columns, in the order of the file, instead of its own");
  schema.field("delimiter", delimiter)
      .help("the character between fields; empty: a tab in files named .tsv, else a comma");
  schema.field("block", block)
      .range(4096, 512 * static_cast<double>(kMiB))
      .help("text that one thread parses at a time; no line may be longer");
}

class CsvReader::Impl {
 public:
  Impl(const Options& options, const TableSource& source)
      : arena_(*source.arena),
        ledger_(source.ledger),
        pool_(*source.ledger),
        blocks_(source, options.block.bytes, "is this a CSV file? If so raise [csv] block") {
    refuse_tables(source);
    layout_.file = source.path.string();
    layout_.header = options.header;
    layout_.delimiter = csv_delimiter(options, source.path);
    read_columns(options.columns);
    parse_options_.delimiter = layout_.delimiter;
  }

  const CsvLayout& layout() const { return layout_; }
  void select(const std::vector<ColumnRequest>& requests);
  bool next(TableChunk& chunk);
  std::int64_t line_of(std::uint64_t row) const {
    const Block& block = group_[current_ - 1];
    return csv_line_of_row(block.text, block.first_line, row - block.first_row);
  }

 private:
  struct Block : TextBlocks::Block {
    std::uint64_t first_row = 0;
    std::size_t rows = 0;
    const ListColumns* plain = nullptr;  // where the columns are that Arrow was not asked for
    std::vector<std::shared_ptr<arrow::Array>> columns;
    arrow::Status status;
    std::optional<std::int64_t> stray_line;  // a header again, or a blank one before a row

    ColumnValues values(std::size_t column, ColumnType type) const {
      return plain != nullptr ? plain->view(column, type, rows) : view_of(*columns[column], type);
    }
  };

  void read_columns(const std::vector<std::string>& names);
  bool load_group();
  bool parse_plain(Block& block, ListColumns& columns);
  void parse(Block& block);
  arrow::Status convert(Block& block, const arrow::csv::BlockParser& parser);
  void look_for_header(Block& block) const;
  void look_for_blanks(Block& block);
  [[noreturn]] void fail(const Block& block) const;

  ThreadArena& arena_;
  MemoryLedger* ledger_;
  LedgerMemoryPool pool_;  // before all that is allocated from it
  TextBlocks blocks_;
  CsvLayout layout_;
  arrow::csv::ParseOptions parse_options_;
  HeaderProbe header_probe_;
  bool blanks_count_ = false;  // a blank line before a row is an error
  BlankLines blank_lines_;
  std::vector<arrow::csv::ConvertOptions>
      convert_options_;  // by request: converters keep references to them
  std::vector<std::shared_ptr<arrow::csv::Converter>> converters_;
  ListLayout plain_layout_;
  std::optional<ListParser>
      plain_;  // while all fields are plain: without quotes, numbers in digits
  std::vector<ListColumns> plain_columns_;  // by block of a group: they keep their memory
  std::vector<Block> group_;
  std::size_t current_ = 0;  // blocks of the group that were handed out
  std::uint64_t next_row_ = 0;
};

void CsvReader::Impl::read_columns(const std::vector<std::string>& names) {
  const bool named = layout_.header == CsvHeader::kYes;
  const auto fail = [&](const char* message, std::int64_t line) {
    throw Error(ErrorCode::kData,
                message,
                named ? "the first line must name the columns" : "it should hold lines like '0,1'",
                Place{layout_.file, line, -1, -1});
  };
  auto line = blocks_.peek_line();
  if (!line) fail("the file is empty", -1);
  if (named && trimmed_cell(*line).empty()) fail("the first line is blank", 1);
  for (; line && line->empty(); line = blocks_.peek_line()) {
    blank_lines_.note(blocks_.line());
    blocks_.skip_line();
  }
  if (!line) fail("the file holds only blank lines", -1);
  const Place place{layout_.file, blocks_.line(), -1, -1};
  const auto split = [this](const std::string& text) {
    std::vector<std::string> fields;
    for (CsvField& field : split_csv_line(text, layout_.delimiter))
      fields.push_back(std::move(field.text));
    return fields;
  };
  if (auto error = leading_count_error(blocks_.peek_lines(kCountLines, kCountBytes), split, place))
    throw Error(*error);
  line = blocks_.peek_line();
  layout_.columns = parse_csv_header(*line, layout_.header, layout_.delimiter, place);
  if (named)
    for (const ColumnInfo& column : layout_.columns) layout_.header_names.push_back(column.name);
  rename_columns(layout_.columns, names, "[csv] columns", place);
  if (!named) layout_.header_names = names;
  if (named) blocks_.skip_line();
}

void CsvReader::Impl::select(const std::vector<ColumnRequest>& requests) {
  layout_.requests = requests;
  layout_.positions = positions_of(requests, layout_.columns);
  header_probe_ = HeaderProbe(layout_.header_names, requests, layout_.positions);
  blanks_count_ = layout_.columns.size() == 1 &&
                  std::any_of(requests.begin(), requests.end(), [](const ColumnRequest& request) {
                    return request.blank == BlankLine::kRefuse;
                  });
  convert_options_.reserve(requests.size());
  for (const ColumnRequest& request : requests) {
    convert_options_.push_back(convert_options(request.empty));
    auto made =
        arrow::csv::Converter::Make(arrow_type(request.type), convert_options_.back(), &pool_);
    if (!made.ok()) throw Error(ErrorCode::kInternal, "Arrow: " + made.status().ToString());
    converters_.push_back(std::move(made).ValueUnsafe());
  }
  // Each column of texts has room for all of its block.
  constexpr std::ptrdiff_t kMostTexts = 3;
  const auto texts = std::count_if(requests.begin(), requests.end(), [](const auto& request) {
    return request.type == ColumnType::kText;
  });
  if (texts > kMostTexts || is_of_numbers(layout_.delimiter)) return;
  plain_layout_ = {layout_.file,
                   ListRules::kStrict,
                   layout_.delimiter,
                   {},
                   layout_.columns,
                   {},
                   layout_.requests,
                   layout_.positions};
  plain_.emplace(plain_layout_);
}

bool CsvReader::Impl::next(TableChunk& chunk) {
  do {
    if (current_ == group_.size() && !load_group()) return false;
    const Block& block = group_[current_++];
    if (!block.status.ok() || block.stray_line) fail(block);
    chunk.first_row = block.first_row;
    chunk.rows = block.rows;
    chunk.columns.clear();
    for (std::size_t i = 0; i < layout_.requests.size(); ++i) {
      chunk.columns.push_back(block.values(i, layout_.requests[i].type));
    }
  } while (chunk.rows == 0);  // blank lines only
  return true;
}

bool CsvReader::Impl::load_group() {
  group_.clear();
  current_ = 0;
  std::vector<TextBlocks::Block> texts;
  if (!blocks_.next_group(texts)) return false;
  group_.resize(texts.size());
  if (plain_columns_.size() < texts.size()) plain_columns_.resize(texts.size());
  std::atomic<bool> all_plain = true;
  arena_.for_each(texts.size(), [&](std::size_t i) {
    static_cast<TextBlocks::Block&>(group_[i]) = texts[i];
    if (!plain_ || !parse_plain(group_[i], plain_columns_[i])) {
      all_plain = false;
      parse(group_[i]);
    }
    if (header_probe_.request() && group_[i].status.ok()) look_for_header(group_[i]);
  });
  if (!all_plain) plain_.reset();  // what follows is likely to be of the same kind
  if (auto refusal = pool_.refusal()) throw Error(*refusal);
  for (Block& block : group_) {
    block.first_row = next_row_;
    next_row_ += block.rows;
    if (blanks_count_) look_for_blanks(block);
  }
  return true;
}

// Faster than Arrow, but only where there is no doubt what a block means.
bool CsvReader::Impl::parse_plain(Block& block, ListColumns& columns) {
  if (block.text.find('"') != std::string_view::npos) return false;
  const std::size_t rows =
      plain_->max_rows(static_cast<std::size_t>(block.lines), block.text.size());
  columns.reserve(layout_.requests, rows, block.text.size(), ledger_);
  const ListParser::Parsed parsed = plain_->parse(block.text, columns);
  if (parsed.fault) return false;
  block.rows = parsed.rows;
  block.plain = &columns;
  return true;
}

void CsvReader::Impl::parse(Block& block) {
  const bool has_nul = std::memchr(block.text.data(), '\0', block.text.size()) != nullptr;
  if (has_nul || has_lone_return(block.text)) {  // Arrow would let them pass
    block.status = arrow::Status::Invalid(has_nul ? "a NUL byte" : "a lone carriage return");
    return;
  }
  // Blanks around fields are Arrow's to keep, but for numbers: what it reads has none.
  std::string_view text = block.text;
  AlignedBuffer trimmed;
  const char* const blanks = layout_.delimiter == ' '    ? "\t"
                             : layout_.delimiter == '\t' ? " "
                                                         : " \t";
  if (text.find_first_of(blanks) != text.npos) {
    const std::uint64_t room = text.size() + static_cast<std::uint64_t>(block.lines);
    trimmed = AlignedBuffer::make(room, ledger_, "trimmed text").or_throw();
    char* const out = reinterpret_cast<char*>(trimmed.data());
    text = {out, trim_csv_fields(text, layout_.delimiter, layout_.columns.size(), out)};
  }
  arrow::csv::BlockParser parser(&pool_,
                                 parse_options_,
                                 static_cast<std::int32_t>(layout_.columns.size()),
                                 -1,
                                 std::numeric_limits<std::int32_t>::max());
  std::uint32_t parsed = 0;
  block.status = parser.ParseFinal(text, &parsed);
  if (block.status.ok() && parsed != text.size())
    block.status = arrow::Status::Invalid("a row that does not end");
  if (block.status.ok()) block.status = convert(block, parser);
}

void CsvReader::Impl::look_for_header(Block& block) const {
  const std::size_t probe = *header_probe_.request();
  const ColumnValues values = block.values(probe, layout_.requests[probe].type);
  const auto rows = header_probe_.candidates(values, block.rows);
  if (!rows.empty())
    block.stray_line = csv_header_line(block.text, block.first_line, rows, layout_);
}

void CsvReader::Impl::look_for_blanks(Block& block) {
  const auto is_blank = [](std::string_view line) { return line.empty(); };
  const auto is_row = [](std::string_view line) { return !line.empty(); };
  const auto blank = blank_lines_.before_rows(
      block.text, block.first_line, block.lines, block.rows, is_blank, is_row);
  if (blank && (!block.stray_line || *blank < *block.stray_line)) block.stray_line = blank;
}

arrow::Status CsvReader::Impl::convert(Block& block, const arrow::csv::BlockParser& parser) {
  block.rows = static_cast<std::size_t>(parser.num_rows());
  for (std::size_t i = 0; i < converters_.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(
        auto array,
        converters_[i]->Convert(parser, static_cast<std::int32_t>(layout_.positions[i])));
    const ColumnType type = layout_.requests[i].type;
    if (type == ColumnType::kInteger) fill_missing<arrow::Int64Array, std::int64_t>(*array, -1);
    if (type == ColumnType::kReal) {
      fill_missing<arrow::DoubleArray>(*array, std::numeric_limits<double>::quiet_NaN());
    }
    block.columns.push_back(std::move(array));
  }
  return arrow::Status::OK();
}

void CsvReader::Impl::fail(const Block& block) const {
  if (block.status.IsOutOfMemory()) {
    throw Error(ErrorCode::kResource, "the system has no memory to parse CSV", "lower [csv] block");
  }
  std::optional<Error> error;
  if (!block.status.ok()) error = diagnose_csv(block.text, block.first_line, layout_);
  if (block.stray_line && (!error || *block.stray_line <= error->place().line)) {
    const Place place{layout_.file, *block.stray_line, -1, -1};
    std::size_t at = 0;
    for (std::int64_t line = block.first_line; line < *block.stray_line; ++line)
      (void)next_csv_line(block.text, at);
    const bool blank =
        *block.stray_line < block.first_line || next_csv_line(block.text, at).empty();
    throw blank ? blank_line_error(place, "\"\"") : header_again_error(place, kFirstLineIsARow);
  }
  if (error) throw Error(*error);
  throw Error(
      ErrorCode::kData,
      fmt::format("cannot be read as CSV: {}", block.status.message()),
      fmt::format(
          "the fault is in lines {} to {}", block.first_line, block.first_line + block.lines),
      Place{layout_.file, block.first_line, -1, -1});
}

CsvReader::CsvReader(const Options& options, const TableSource& source)
    : TableReader(source), impl_(std::make_unique<Impl>(options, source)) {}
CsvReader::~CsvReader() = default;

const std::vector<ColumnInfo>& CsvReader::columns() const {
  return impl_->layout().columns;
}
void CsvReader::select(const std::vector<ColumnRequest>& requests) {
  impl_->select(requests);
}
bool CsvReader::next(TableChunk& chunk) {
  return impl_->next(chunk);
}
std::optional<std::int64_t> CsvReader::line_of(std::uint64_t row) const {
  return impl_->line_of(row);
}

}  // namespace sluice
