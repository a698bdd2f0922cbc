#include "prep/table/metis_reader.h"

#include "prep/table/text_cells.h"
#include "prep/table/text_columns.h"

#include <fmt/format.h>

#include <limits>

namespace sluice {
namespace {

constexpr std::array<std::string_view, 2> kMetisTables{"edges", "nodes"};
constexpr const char* kHeaderHint =
    "the first line is 'nodes edges [fmt [weights]]', as the METIS manual has it";

/// A count in the header; nothing where it is none.
std::optional<std::int64_t> count_of(std::string_view text) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 2;
  std::int64_t value = 0;
  if (parse_integer_cell(text, value) != std::errc{} || value < 0 || value > kMost)
    return std::nullopt;
  return value;
}

}  // namespace

void MetisReader::Options::describe(Schema& schema) {
  schema.field("block", block)
      .range(4096, 512 * static_cast<double>(kMiB))
      .help("text that is held in memory at a time; lines may be longer");
}

MetisReader::MetisReader(const Options& options, const TableSource& source)
    : TableReader(source),
      tokens_(source, options.block.bytes, "%"),
      nodes_asked_(choose_table(source, kMetisTables) == 1) {
  read_header();
  const auto add = [&](std::string name) { columns_.push_back({std::move(name), {}, 1}); };
  if (nodes_asked_) {
    add("id");
    for (std::int64_t i = 0; i < node_weights_; ++i) add(fmt::format("weight{}", i));
    if (sizes_) add("size");
  } else {
    add("source");
    add("target");
    if (edge_weights_) add("weight");
  }
}

void MetisReader::fail(const std::string& message, const std::string& hint) const {
  throw Error(ErrorCode::kData, message, hint, tokens_.place());
}

void MetisReader::read_header() {
  using Token = TextTokens::Token;
  std::vector<std::string> fields;
  for (Token token = tokens_.next();; token = tokens_.next()) {
    if (token == Token::kEnd) fail("the file has no header", kHeaderHint);
    if (token == Token::kField) fields.emplace_back(tokens_.text());
    if (token == Token::kLineEnd && !fields.empty()) break;
    if (fields.size() > 4) fail("the header has more than 4 fields", kHeaderHint);
  }
  header_line_ = tokens_.line();
  if (fields.size() < 2) fail("the header has only one field", kHeaderHint);
  const auto nodes = count_of(fields[0]);
  const auto edges = count_of(fields[1]);
  if (!nodes || !edges) {
    fail(fmt::format(
             "{} is no count of {}", shown_cell(fields[nodes ? 1 : 0]), nodes ? "edges" : "nodes"),
         kHeaderHint);
  }
  num_nodes_ = *nodes;
  num_edges_ = *edges;
  read_format(fields);
}

void MetisReader::read_format(const std::vector<std::string>& fields) {
  std::string format = fields.size() > 2 ? fields[2] : "000";
  if (format.size() > 3 || format.find_first_not_of("01") != std::string::npos) {
    fail(fmt::format("fmt is {}", shown_cell(format)),
         "it has three digits, 0 or 1: node sizes, node weights, edge weights");
  }
  format.insert(0, 3 - format.size(), '0');
  sizes_ = format[0] == '1';
  edge_weights_ = format[2] == '1';
  node_weights_ = format[1] == '1' ? 1 : 0;
  if (fields.size() < 4) return;
  const auto weights = count_of(fields[3]);
  constexpr std::int64_t kMostWeights = 1000;
  if (!weights || *weights > kMostWeights || (node_weights_ == 0) != (*weights == 0)) {
    fail(fmt::format("{} weights a node do not go with fmt = {}", fields[3], format),
         "with node weights (fmt x1x) there is at least one, without them none");
  }
  node_weights_ = *weights;
}

void MetisReader::select(const std::vector<ColumnRequest>& requests) {
  rows_.emplace(columns_, requests, *source_.ledger);
}

bool MetisReader::next(TableChunk& chunk) {
  first_row_ += rows_->rows();
  rows_->clear();
  while (!done_ && !rows_->full()) {
    switch (tokens_.next()) {
      case TextTokens::Token::kField:
        take_field();
        break;
      case TextTokens::Token::kLineEnd:
        end_line();
        break;
      case TextTokens::Token::kEnd:
        finish();
        break;
    }
  }
  chunk.first_row = first_row_;
  rows_->view(chunk);
  return chunk.rows != 0;
}

std::optional<std::int64_t> MetisReader::line_of(std::uint64_t row) const {
  return rows_->line_of(static_cast<std::size_t>(row - first_row_));
}

// A line is: [size] [weights...] then neighbours, each with its weight where there are such.
void MetisReader::take_field() {
  if (node_ > num_nodes_) {
    fail(fmt::format("a line more than the {} nodes that line {} tells", num_nodes_, header_line_),
         "correct the header, or the lines");
  }
  const std::int64_t at = field_++;
  const std::int64_t size_fields = sizes_ ? 1 : 0;
  if (at < size_fields + node_weights_) {
    const std::int64_t column = at < size_fields ? node_weights_ + 1 : at - size_fields + 1;
    if (nodes_asked_)
      rows_->put_cell(static_cast<std::size_t>(column), tokens_.text(), tokens_.place());
  } else if (weight_next_) {
    weight_next_ = false;
    if (nodes_asked_) return;
    rows_->put_cell(2, tokens_.text(), tokens_.place());
    rows_->end_row(tokens_.line());
  } else {
    take_neighbour();
  }
}

void MetisReader::take_neighbour() {
  const ColumnRequest neighbours{"target", ColumnType::kInteger, EmptyCell::kRefuse};
  std::int64_t target = 0;
  if (parse_integer_cell(tokens_.text(), target) != std::errc{}) {
    const auto fault = cell_fault(tokens_.text(), neighbours);
    fail(fmt::format("node {}: {}", node_, fault->reason), "neighbours are whole numbers from 1");
  }
  if (target < 1 || target > num_nodes_) {
    fail(fmt::format("node {}: the neighbour {} is out of range", node_, target),
         fmt::format("neighbours run from 1 to {}, as line {} tells", num_nodes_, header_line_));
  }
  if (++entries_ > 2 * num_edges_) {
    fail(fmt::format("more than the {} neighbours that {} edges have by line {}",
                     2 * num_edges_,
                     num_edges_,
                     header_line_),
         "each edge is listed by both of its ends; correct the header, or the lines");
  }
  weight_next_ = edge_weights_;
  if (nodes_asked_) return;
  rows_->put(0, node_);
  rows_->put(1, target);
  if (!edge_weights_) rows_->end_row(tokens_.line());
}

void MetisReader::end_line() {
  if (node_ > num_nodes_) return;  // blank lines behind the last
  const std::int64_t needed = node_weights_ + (sizes_ ? 1 : 0);
  if (field_ < needed) {
    fail(fmt::format("node {}: {} fields, but its size and weights are {}", node_, field_, needed),
         fmt::format("fmt in line {} says what a line begins with", header_line_));
  }
  if (weight_next_) {
    fail(fmt::format("node {}: the last neighbour has no weight", node_),
         fmt::format("by fmt in line {} each neighbour is followed by its edge's", header_line_));
  }
  if (nodes_asked_) {
    rows_->put(0, node_);
    rows_->end_row(tokens_.line());
  }
  ++node_;
  field_ = 0;
}

void MetisReader::finish() {
  done_ = true;
  const std::string hint = "the file was cut short, or its header is wrong";
  if (node_ <= num_nodes_) {
    fail(fmt::format("the file ends after {} of the {} nodes that line {} tells",
                     node_ - 1,
                     num_nodes_,
                     header_line_),
         hint);
  }
  if (entries_ != 2 * num_edges_) {
    fail(fmt::format("the file lists {} neighbours, but {} edges by line {} have {}",
                     entries_,
                     num_edges_,
                     header_line_,
                     2 * num_edges_),
         hint);
  }
}

}  // namespace sluice
