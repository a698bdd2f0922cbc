#include "prep/table/mtx_reader.h"

#include "prep/table/text_cells.h"
#include "prep/table/text_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <initializer_list>

namespace sluice {
namespace {

constexpr const char* kMtxSizeHint =
    "behind the comments stands 'rows columns entries', then a line an entry: 'row column value'";
constexpr const char* kMtxArrayHint =
    "in Python: import numpy, scipy.io, scipy.sparse; scipy.sparse.save_npz('edges.npz', "
    "scipy.sparse.coo_matrix(scipy.io.mmread('...')))";

}  // namespace

void MtxReader::Options::describe(Schema& schema) {
  schema.field("block", block)
      .range(4096, 512 * static_cast<double>(kMiB))
      .help("text that is held in memory at a time");
}

MtxReader::MtxReader(const Options& options, const TableSource& source)
    : TableReader(source), tokens_(source, options.block.bytes, {}, Banner::kAllow) {
  refuse_tables(source);
  read_banner();
  tokens_.set_comment("%");
  read_size();
  for (const char* name : {"source", "target"}) columns_.push_back({name, {}, 1});
  if (banner_.field != "pattern") columns_.push_back({"weight", {}, 1});
}

void MtxReader::fail(const std::string& message, const std::string& hint) const {
  throw Error(ErrorCode::kData, message, hint, Place{path().string(), line_, -1, -1});
}

/// The fields of the next line that has some; none at the end. Valid until the next call.
const std::vector<std::string>& MtxReader::read_line() {
  constexpr std::size_t kMostFields = 8;
  fields_.clear();
  while (true) {
    const TextTokens::Token token = tokens_.next();
    if (token == TextTokens::Token::kField && fields_.size() < kMostFields)
      fields_.emplace_back(tokens_.text());
    if (token == TextTokens::Token::kField) continue;
    line_ = tokens_.line();
    if (token == TextTokens::Token::kEnd || !fields_.empty()) return fields_;
  }
}

void MtxReader::read_banner() {
  const std::vector<std::string>& words = read_line();
  const auto banner = parse_market_banner(fmt::format("{}", fmt::join(words, " ")));
  if (!banner)
    fail("the file does not begin with '%%MatrixMarket'",
         "a list of edges without that line is format = \"list\"");
  banner_ = *banner;
  if (banner_.form == "array")
    fail("this MatrixMarket file holds a whole matrix (array), not its entries", kMtxArrayHint);
  if (banner_.object != "matrix" || banner_.form != "coordinate")
    fail(fmt::format("this MatrixMarket file holds {}",
                     shown_cell(banner_.object + " " + banner_.form)),
         "'matrix coordinate' is what is read");
  if (banner_.field == "complex")
    fail("the values of this MatrixMarket file are complex", "weights are one number each");
  const auto known = [&](const std::string& word, std::initializer_list<std::string_view> all) {
    for (const std::string_view one : all)
      if (word == one) return;
    fail(fmt::format("this MatrixMarket file says {}", shown_cell(word)),
         fmt::format("known: {}", fmt::join(all, ", ")));
  };
  known(banner_.field, {"real", "double", "integer", "pattern"});
  known(banner_.symmetry, {"general", "symmetric", "skew-symmetric"});
}

void MtxReader::read_size() {
  const std::vector<std::string>& fields = read_line();
  size_line_ = line_;
  if (fields.size() != 3) fail("the size of this MatrixMarket file is missing", kMtxSizeHint);
  std::int64_t* const sizes[] = {&num_rows_, &num_columns_, &num_entries_};
  for (std::size_t i = 0; i < 3; ++i) {
    if (parse_integer_cell(fields[i], *sizes[i]) != std::errc{} || *sizes[i] < 0)
      fail(fmt::format("{} is no size of a matrix", shown_cell(fields[i])), kMtxSizeHint);
  }
}

void MtxReader::select(const std::vector<ColumnRequest>& requests) {
  rows_.emplace(columns_, requests, *source_.ledger);
}

bool MtxReader::next(TableChunk& chunk) {
  first_row_ += rows_->rows();
  rows_->clear();
  while (!done_ && !rows_->full()) {
    const std::vector<std::string>& fields = read_line();
    done_ = fields.empty();
    if (!done_) take_entry(fields);
  }
  if (done_ && entries_ != num_entries_) {
    fail(fmt::format("the file ends after {} of the {} entries that line {} tells",
                     entries_,
                     num_entries_,
                     size_line_),
         "the file was cut short, or its size is wrong");
  }
  chunk.first_row = first_row_;
  rows_->view(chunk);
  return chunk.rows != 0;
}

std::optional<std::int64_t> MtxReader::line_of(std::uint64_t row) const {
  return rows_->line_of(static_cast<std::size_t>(row - first_row_));
}

void MtxReader::take_entry(const std::vector<std::string>& fields) {
  if (fields.size() != columns_.size()) {
    fail(fmt::format("{} fields, but an entry of '{}' has {}",
                     fields.size(),
                     banner_.field,
                     columns_.size()),
         kMtxSizeHint);
  }
  if (++entries_ > num_entries_) {
    fail(fmt::format("one more than the {} entries that line {} tells", num_entries_, size_line_),
         "correct the size, or the lines");
  }
  const std::int64_t row = take_index(fields[0], num_rows_, "row");
  const std::int64_t column = take_index(fields[1], num_columns_, "column");
  std::string weight = columns_.size() == 3 ? fields[2] : std::string();
  put_edge(row, column, weight);
  if (banner_.symmetry == "general" || row == column) return;
  if (banner_.symmetry == "skew-symmetric" && !weight.empty()) {
    const bool negative = weight.front() == '-';
    if (negative || weight.front() == '+') weight.erase(0, 1);
    if (!negative) weight.insert(weight.begin(), '-');
  }
  put_edge(column, row, weight);
}

std::int64_t MtxReader::take_index(const std::string& text,
                                   std::int64_t most,
                                   const char* what) const {
  std::int64_t index = 0;
  if (parse_integer_cell(text, index) == std::errc{} && index >= 1 && index <= most) return index;
  fail(fmt::format("{} is no {} of the matrix", shown_cell(text), what),
       fmt::format("{}s run from 1 to {}, as line {} tells", what, most, size_line_));
}

void MtxReader::put_edge(std::int64_t source, std::int64_t target, const std::string& weight) {
  rows_->put(0, source);
  rows_->put(1, target);
  if (columns_.size() == 3) rows_->put_cell(2, weight, Place{path().string(), line_, -1, -1});
  rows_->end_row(line_);
}

}  // namespace sluice
