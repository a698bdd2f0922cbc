#include "prep/table/graphs_reader.h"

#include "prep/table/text_cells.h"
#include "prep/table/text_columns.h"

#include <fmt/format.h>

#include <utility>

namespace sluice {
namespace {

constexpr std::array<std::string_view, 3> kGraphTables{"edges", "nodes", "graphs"};
constexpr std::int64_t kMostAttributes = 1'000'000;
constexpr const char* kHint =
    "a line with the number of graphs; for each a line 'nodes label' and a line a node, 'tag "
    "degree "
    "neighbour...'";

/// The fields behind the neighbours in the first line of a node; 0 where there is none, or where
/// the text is not as it should be: reading it says so.
std::int64_t count_attributes(TextTokens tokens) {
  using Token = TextTokens::Token;
  const auto number = [&]() -> std::int64_t {
    std::int64_t value = -1;
    Token token = tokens.next();
    while (token == Token::kLineEnd) token = tokens.next();
    if (token == Token::kEnd || parse_integer_cell(tokens.text(), value) != std::errc{}) return -1;
    return value;
  };
  for (std::int64_t graphs = number(); graphs > 0; --graphs) {
    const std::int64_t nodes = number();
    if (nodes < 0 || tokens.next() != Token::kField) return 0;
    if (nodes == 0) continue;
    if (tokens.next() != Token::kLineEnd || tokens.next() != Token::kField) return 0;  // the tag
    const std::int64_t degree = number();
    if (degree < 0) return 0;
    std::int64_t fields = 0;
    while (tokens.next() == Token::kField && fields - degree < kMostAttributes) ++fields;
    return fields < degree ? 0 : fields - degree;
  }
  return 0;
}

}  // namespace

void GraphsReader::Options::describe(Schema& schema) {
  schema.field("block", block)
      .range(4096, 512 * static_cast<double>(kMiB))
      .help("text that is held in memory at a time; lines may be longer");
}

GraphsReader::GraphsReader(const Options& options, const TableSource& source)
    : TableReader(source),
      table_(static_cast<Table>(choose_table(source, kGraphTables))),
      attributes_(count_attributes(TextTokens(source, options.block.bytes, {}))),
      tokens_(source, options.block.bytes, {}) {
  const auto add = [&](std::string name) { columns_.push_back({std::move(name), {}, 1}); };
  if (table_ == Table::kEdges) {
    add("source");
    add("target");
  } else if (table_ == Table::kGraphs) {
    add("label");
    add("nodes");
  } else {
    add("graph");
    add("tag");
    for (std::int64_t i = 0; i < attributes_; ++i) add(fmt::format("attr{}", i));
  }
}

void GraphsReader::fail(const std::string& message, const std::string& hint) const {
  throw Error(ErrorCode::kData, message, hint, tokens_.place());
}

void GraphsReader::select(const std::vector<ColumnRequest>& requests) {
  rows_.emplace(columns_, requests, *source_.ledger);
}

bool GraphsReader::next(TableChunk& chunk) {
  first_row_ += rows_->rows();
  rows_->clear();
  while (!done_ && !rows_->full()) {
    switch (tokens_.next()) {
      case TextTokens::Token::kField:
        take_field();
        ++field_;
        break;
      case TextTokens::Token::kLineEnd:
        if (field_ != 0) end_line();  // blank lines do not count
        field_ = 0;
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

std::optional<std::int64_t> GraphsReader::line_of(std::uint64_t row) const {
  return rows_->line_of(static_cast<std::size_t>(row - first_row_));
}

/// The field as a count.
std::int64_t GraphsReader::count_field(const std::string& what) const {
  std::int64_t value = 0;
  const std::errc problem = parse_integer_cell(tokens_.text(), value);
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (problem != std::errc{} || value < 0 || value > kMost)
    fail(fmt::format("{} is no {}", shown_cell(tokens_.text()), what), kHint);
  return value;
}

void GraphsReader::take_field() {
  switch (state_) {
    case State::kCount:
      if (field_ != 0) fail("the first line holds more than the number of graphs", kHint);
      num_graphs_ = count_field("number of graphs");
      break;
    case State::kGraph:
      take_graph_field(field_);
      break;
    case State::kNode:
      take_node_field(field_);
      break;
    case State::kBehind:
      fail(fmt::format("text behind the last of {} graphs", num_graphs_),
           "correct the number of graphs in the first line, or remove the text");
  }
}

void GraphsReader::take_graph_field(std::int64_t at) {
  if (at == 0) {
    graph_line_ = tokens_.line();
    num_nodes_ = count_field("number of nodes");
  } else if (at == 1) {
    if (table_ == Table::kGraphs) rows_->put_cell(0, tokens_.text(), tokens_.place());
  } else {
    fail(fmt::format("graph {}: more than 2 fields where it should begin", graph_), kHint);
  }
}

void GraphsReader::take_node_field(std::int64_t at) {
  if (at == 0) {
    if (table_ == Table::kNodes) rows_->put_cell(1, tokens_.text(), tokens_.place());
  } else if (at == 1) {
    degree_ = count_field("degree");
  } else if (at < 2 + degree_) {
    take_neighbour();
  } else if (table_ == Table::kNodes && at < 2 + degree_ + attributes_) {
    rows_->put_cell(static_cast<std::size_t>(at - degree_), tokens_.text(), tokens_.place());
  }
}

void GraphsReader::take_neighbour() {
  std::int64_t neighbour = 0;
  const std::errc problem = parse_integer_cell(tokens_.text(), neighbour);
  if (problem != std::errc{} || neighbour < 0 || neighbour >= num_nodes_) {
    fail(fmt::format("graph {}, node {}: the neighbour {} is none of the {} nodes",
                     graph_,
                     node_,
                     shown_cell(tokens_.text()),
                     num_nodes_),
         fmt::format("neighbours are counted from 0 within the graph, which begins in line {}",
                     graph_line_));
  }
  if (table_ != Table::kEdges) return;
  rows_->put(0, first_node_ + node_);
  rows_->put(1, first_node_ + neighbour);
  rows_->end_row(tokens_.line());
}

void GraphsReader::end_line() {
  if (state_ == State::kNode) {
    end_node_line();
  } else if (state_ == State::kGraph) {
    end_graph_line();
  } else {
    state_ = State::kGraph;
  }
  // Graphs without nodes end where they begin.
  while (state_ == State::kNode && node_ == num_nodes_) {
    first_node_ += num_nodes_;
    ++graph_;
    state_ = State::kGraph;
  }
  if (state_ == State::kGraph && graph_ == num_graphs_) state_ = State::kBehind;
}

void GraphsReader::end_graph_line() {
  if (field_ < 2) fail(fmt::format("graph {} has no label", graph_), kHint);
  if (table_ == Table::kGraphs) {
    rows_->put(1, num_nodes_);
    rows_->end_row(tokens_.line());
  }
  state_ = State::kNode;
  node_ = 0;
}

void GraphsReader::end_node_line() {
  const auto where = [&] { return fmt::format("graph {}, node {}", graph_, node_); };
  if (field_ < 2) fail(fmt::format("{}: there is no degree", where()), kHint);
  if (field_ < 2 + degree_) {
    fail(fmt::format("{}: {} neighbours, but its degree is {}", where(), field_ - 2, degree_),
         kHint);
  }
  const std::int64_t behind = field_ - 2 - degree_;
  if (behind != attributes_) {
    fail(fmt::format("{}: {} fields behind its {} neighbours, but the first node has {}",
                     where(),
                     behind,
                     degree_,
                     attributes_),
         "the degree is wrong, or the attributes are not as many for each node");
  }
  if (table_ == Table::kNodes) {
    rows_->put(0, graph_);
    rows_->end_row(tokens_.line());
  }
  ++node_;
}

void GraphsReader::finish() {
  done_ = true;
  const std::string hint = "the file was cut short, or it tells wrong numbers";
  if (state_ == State::kCount) fail("the file is empty", kHint);
  if (state_ == State::kGraph) {
    fail(fmt::format("the file ends after {} of {} graphs", graph_, num_graphs_), hint);
  }
  if (state_ == State::kNode) {
    fail(fmt::format("the file ends after {} of {} nodes of graph {}, which begins in line {}",
                     node_,
                     num_nodes_,
                     graph_,
                     graph_line_),
         hint);
  }
}

}  // namespace sluice
