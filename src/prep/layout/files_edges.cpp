// Which of some files hold edges, and how they are described.
#include "prep/layout/files_guess.h"
#include "prep/layout/left_out.h"
#include "prep/table/column_names.h"
#include "prep/table/matrix_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace sluice {
namespace {

using namespace std::string_view_literals;
using Kind = FileRole::Kind;

/// Of two columns that are called after things, such as userId and movieId, with ids in common:
/// that these are the same nodes.
std::string say_two_things(const EdgeGuess& guess) {
  static constexpr std::array kThings{
      "user"sv, "users"sv, "item"sv, "items"sv, "movie"sv, "product"sv, "artist"sv, "book"sv};
  const ColumnGlance& source = guess.glance.columns[guess.source_at.front()];
  const ColumnGlance& target = guess.glance.columns[guess.target_at.front()];
  const auto is_thing = [](const std::string& name) {
    return ends_in_id(name) ||
           std::find(kThings.begin(), kThings.end(), lower_name(name)) != kThings.end();
  };
  const std::string &from = source.info.name, &to = target.info.name;
  if (guess.signs == EdgeSigns::kNames || from == to || !is_thing(from) || !is_thing(to)) return {};
  if (!source.meets(target)) return {};
  return fmt::format(
      " Some ids are in {0} and in {1}, and name the same nodes here. If these are two things, "
      "give each a [[nodes]] of its own and name them in source and target.",
      from,
      to);
}

/// What keeps an array from being edges; empty where nothing is told.
std::string why_no_pairs(const FileSet& files,
                         const std::string& file,
                         const TableOptions& options) {
  const std::string format = files.format_of(file);
  if (format != "npy" && format != "npz") return {};
  const auto table = files.open(file, "auto", options);
  if (table->columns().size() != 1) return {};
  const ColumnInfo& column = table->columns().front();
  if (column.truth) return "it holds bool, and ids are whole numbers";
  if (table->num_rows() == 0) return "it has no rows";
  const bool pairs = column.width == 2 || table->num_rows() == 2;
  if (pairs && column.dtype &&
      (*column.dtype == DType::kF64 || *column.dtype == DType::kF32 ||
       *column.dtype == DType::kF16))
    return "it holds floats, and ids are whole numbers: save a.astype('int64')";
  return pairs
             ? ""
             : fmt::format("it has {} numbers a row, and edges are [E, 2] or [2, E]", column.width);
}

/// What an archive that could not be read as one table says where it holds sparse matrices.
std::optional<Error> parts_of_archive(const FileSet& files,
                                      const std::string& file,
                                      const TableOptions& options) {
  if (files.format_of(file) != "npz") return std::nullopt;
  try {
    (void)files.open(file, "auto", options)->turn_sparse({}, SparseEntries::kRefuse);
  } catch (const Error& problem) {
    if (problem.code() == ErrorCode::kInterrupted) throw;
    return problem;
  }
  return std::nullopt;
}

}  // namespace

std::optional<EdgeGuess> FilesGuess::try_table(const std::string& file) {
  try {
    TextGuess text;
    if (!use_text(file, text)) return std::nullopt;
    const std::string read_as = text.format == "auto" ? files_.format_of(file) : text.format;
    const std::vector<std::string> parts = files_.files_of(file);  // a matrix is one file
    if (parts.size() == 1 && (read_as == "csv" || read_as == "list" || read_as == "triples")) {
      const std::filesystem::path path = files_.root() / parts.front();
      const std::string comment = files_.format_of(file) == "list" ? "#%" : "";
      const auto matrix = find_matrix(path, comment, files_.ledger());
      if (matrix && matrix->certain) throw matrix_error(*matrix, path);
    }
    EdgeGuess guess = guess_edges(files_, file, text.format, made_.spec.formats);
    check_ends(files_, guess);
    if (!text.why.empty()) guess.why = fmt::format("{}; {}", text.why, guess.why);
    return guess;
  } catch (const Error& failed) {
    if (failed.code() == ErrorCode::kInterrupted) throw;
    const Error problem = parts_of_archive(files_, file, made_.spec.formats).value_or(failed);
    problems_.emplace_back(file, problem);
    const std::int64_t line = problem.place().line;
    made_.warn(fmt::format("{}{}: it could not be read: {}",
                           file,
                           line > 0 ? fmt::format(":{}", line) : "",
                           problem.message()));
  }
  return std::nullopt;
}

void FilesGuess::add_relation(const FileRole& role) {
  auto guess = try_table(role.file);
  if (guess && !guess->found())
    made_.warn(
        fmt::format("{}: its name says a relation, but it has no two columns of ids", role.file));
  if (!guess || !guess->found()) return;
  Edges& edges = edges_.emplace_back();
  edges.guess = *std::move(guess);
  edges.name = role.name;
  edges.typed = true;
  edges.source = plain_name(role.source);
  edges.target = plain_name(role.target);
  edges.relation =
      role.relation.empty() ? edges.source + "_" + edges.target : plain_name(role.relation);
}

void FilesGuess::look_at_tables() {
  for (const FileRole& role : roles_) {
    if (role.kind != Kind::kOther) continue;
    if (auto guess = try_table(role.file)) {
      tables_.push_back({role, *std::move(guess)});
    } else if (files_.format_of(role.file) == "raw") {
      made_.warn(say_unread(role.file));
      problems_.emplace_back(role.file,
                             Error(ErrorCode::kData,
                                   "nothing says what this raw file holds",
                                   "name it in a graph.toml, with [raw] dtype and width",
                                   Place{(files_.root() / role.file).string(), -1, -1, -1}));
    }
  }
}

void FilesGuess::add_edges(Table table) {
  Edges& edges = edges_.emplace_back();
  edges.guess = std::move(table.guess);
  edges.name = table.role.name;
  edges.value = table.role.value;
}

// Of tables that may hold edges, those that do not list the nodes of others.
void FilesGuess::choose_edges() {
  if (!edges_.empty()) return;  // names say which hold edges
  std::vector<bool> lists;
  lists.reserve(tables_.size());
  for (std::size_t i = 0; i < tables_.size(); ++i) lists.push_back(lists_nodes_of_others(i));
  std::vector<Table> others;
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    if (tables_[i].guess.found() && !lists[i]) {
      add_edges(std::move(tables_[i]));
    } else {
      others.push_back(std::move(tables_[i]));
    }
  }
  tables_ = std::move(others);
  keep_likely_edges();
}

// Where nothing else holds edges: the train part of a split of them, or of a graph.
void FilesGuess::add_other_edges() {
  for (const FileRole& role : roles_) {
    if (!edges_.empty()) return;
    const bool part = role.kind == Kind::kSplit || role.kind == Kind::kPartialGraph;
    if (!part || role.part != "train") continue;
    auto guess = try_table(role.file);
    if (!guess || !guess->found()) continue;
    train_ = role.file;
    add_edges({role, *std::move(guess)});
  }
}

void FilesGuess::find_edges() {
  for (const FileRole& role : roles_)
    if (role.kind == Kind::kRelation) add_relation(role);
  look_at_tables();
  choose_edges();
  add_other_edges();
  if (edges_.empty()) refuse();
  find_ends();
  find_keys();
  claim_ends();
  name_relations();
  name_types();
  say_unclaimed();
}

// The file that is most likely to be meant, and what keeps it from being read.
void FilesGuess::refuse() const {
  constexpr const char* kDescribe =
      "describe them in a graph.toml (sluice-prep import --keys), and import it with --config";
  if (!problems_.empty()) {
    const Error& problem = problems_.front().second;
    throw Error(problem.code(),
                fmt::format("no edges can be told among these files, and {} could not be read: {}",
                            problems_.front().first,
                            problem.message()),
                problem.hint(),
                problem.place());
  }
  std::vector<std::string> known, unknown;
  for (const std::string& name : files_.names()) {
    if (goes_with_data(name)) continue;
    (files_.format_of(name).empty() ? unknown : known).push_back(name);
  }
  if (known.empty() && !unknown.empty()) {
    const auto size = [&](const std::string& name) {
      std::error_code problem;
      const auto bytes = std::filesystem::file_size(files_.root() / name, problem);
      return problem ? 0 : bytes;
    };
    std::stable_sort(unknown.begin(), unknown.end(), [&](const auto& a, const auto& b) {
      return size(a) > size(b);
    });
    std::vector<std::string> others(unknown.begin() + 1, unknown.end());
    if (others.size() > 5) others.resize(5);
    throw Error(
        ErrorCode::kData,
        fmt::format("no edges can be told among these files: {}: {}{}",
                    unknown[0],
                    why_unread(unknown[0]),
                    others.empty() ? "" : fmt::format("; so of {}", fmt::join(others, ", "))),
        fmt::format("in a graph.toml: [[edges]] file = \"{}\", format = ... (sluice-prep "
                    "import --keys), and import it with --config",
                    unknown[0]),
        Place{(files_.root() / unknown[0]).string(), -1, -1, -1});
  }
  for (const std::string& name : known) {
    if (known.size() > 1 && !says_edges(name)) continue;
    const std::string why = why_no_pairs(files_, name, made_.spec.formats);
    if (why.empty()) continue;
    throw Error(ErrorCode::kData,
                fmt::format("no edges can be told among these files: {}: {}", name, why),
                kDescribe,
                Place{(files_.root() / name).string(), -1, -1, -1});
  }
  for (const Table& table : tables_) {
    const auto& columns = table.guess.glance.columns;
    if (known.size() > 1 && !says_edges(table.role.name)) continue;
    if (columns.size() > 1 && columns[0].has_points() && columns[1].has_points())
      throw points_error(files_, table.role.file, columns[0].info.name);
  }
  std::vector<std::string> names = known.empty() ? files_.names() : known;
  names.insert(names.end(), unknown.begin(), unknown.end());
  const bool more = names.size() > 10;
  if (more) names.resize(10);
  throw Error(ErrorCode::kData,
              fmt::format("no edges can be told among these files: {}{}",
                          fmt::join(names, ", "),
                          more ? ", ..." : ""),
              made_.warnings.empty() ? kDescribe : made_.warnings.front(),
              Place{(files_.root() / names.front()).string(), -1, -1, -1});
}

// Of several tables that may hold edges, those whose names say so; each is a relation.
void FilesGuess::keep_likely_edges() {
  if (edges_.size() < 2) return;
  const auto likely = [](const Edges& edges) { return says_edges(edges.name); };
  if (!std::any_of(edges_.begin(), edges_.end(), likely)) return;
  for (Edges& edges : edges_) {
    if (likely(edges)) continue;
    FileRole role;
    role.file = edges.guess.file;
    role.name = edges.name;
    tables_.push_back({std::move(role), std::move(edges.guess)});
  }
  std::erase_if(edges_, [&](const Edges& edges) { return !likely(edges); });
}

void FilesGuess::name_relations() {
  if (edges_[0].typed || (edges_.size() < 2 && edges_[0].value.empty())) return;
  for (Edges& edges : edges_) {
    const std::string stem = plain_name(stem_of(edges.name));
    const std::string value = plain_name(edges.value);
    const bool one_name = std::all_of(edges_.begin(), edges_.end(), [&](const Edges& other) {
      return stem_of(other.name) == stem_of(edges.name);
    });
    edges.relation = edges.value.empty() ? stem
                     : one_name          ? value
                                         : fmt::format("{}_{}", stem, value);
  }
  // Folders of different tables may have equal values.
  for (std::size_t i = 0; i < edges_.size(); ++i)
    for (std::size_t k = 0, same = 1; k < i; ++k)
      if (edges_[k].relation == edges_[i].relation)
        edges_[i].relation += fmt::format("_{}", ++same);
}

void FilesGuess::describe_edges() {
  for (Edges& edges : edges_) {
    const std::string path = fmt::format("edges[{}]", made_.spec.edges.size());
    describe_edge(edges, path);
    const std::string format =
        edges.guess.format == "auto" ? files_.format_of(edges.guess.file) : edges.guess.format;
    if (format == "mtx") describe_market(edges, path);
    if (edges.guess.table.empty()) continue;
    if (format == "graphs") describe_graphs(edges.guess);
    if (format == "metis") describe_metis(edges.guess);
  }
}

void FilesGuess::describe_edge(Edges& edges, const std::string& path) {
  const EdgeGuess& guess = edges.guess;
  EdgeSpec& edge = made_.spec.edges.emplace_back();
  const bool one_type = made_.spec.nodes.size() == 1;
  edge.relation = edges.relation;
  if (!one_type) {
    edge.source = edges.source;
    edge.target = edges.target;
  }
  edge.file = guess.file + (guess.table.empty() ? "" : "#" + guess.table);
  edge.format = guess.format;
  edge.source_column = guess.source;
  edge.target_column = guess.target;
  edge.type_column = guess.type;
  edge.time_column = guess.time;
  edge.time_scale = guess.time_scale;
  edge.time_unit = guess.time_unit;
  edge.weight_column = guess.weight;
  if (!guess.label.empty() && guess.type.empty()) {
    edge.labels = guess.label_kind;
    edge.labels.columns = {guess.label};
    made_.comment(path + ".labels.kind", guess.label_why);
  }
  made_.comment(path + ".file",
                fmt::format("Columns: {}.{}{}",
                            guess.why,
                            guess.doubt,
                            edges.source == edges.target ? say_two_things(guess) : ""));
  if (!guess.type.empty()) describe_types(edge, guess, path);
  if (edges.source != edges.target)
    made_.comment(path + ".reverse",
                  "A name here adds the same edges the other way round, so that messages pass "
                  "both ways.");
  else if (guess.directions == Directions::kUndirected) {
    edge.csc.undirected = true;
    made_.comment(path + ".undirected", "Its edges are Undirected, each in one row.");
  } else if (guess.directions == Directions::kUnsaid && guess.table.empty() && train_.empty() &&
             guess.time.empty())
    made_.comment(path + ".undirected", "Say true if each edge stands once for both directions.");
  describe_pairs(edge, guess, path);
}

// A relation is a folder and a topology of its own: many are one relation of many types better.
void FilesGuess::describe_types(EdgeSpec& edge, const EdgeGuess& guess, const std::string& path) {
  constexpr std::size_t kManyTypes = 20;
  std::size_t types = 0;
  for (const ColumnGlance& column : guess.glance.columns)
    if (column.info.name == guess.type)
      types = std::max(column.different.size(), column.texts.size());
  if (types <= kManyTypes)
    return made_.comment(path + ".type_column",
                         "types = \"labels\" would make one relation of them.");
  edge.types = EdgeTypes::kLabels;
  made_.comment(
      path + ".types",
      fmt::format("There are {}{} types: one relation of them, as knowledge-graph embeddings read "
                  "them; \"relations\" would make one of each.",
                  types,
                  guess.glance.whole ? "" : " or more"));
}

// Arrays of [2, 2], which their shape does not tell.
void FilesGuess::describe_pairs(EdgeSpec& edge, const EdgeGuess& guess, const std::string& path) {
  const ColumnGlance& column = guess.glance.columns[guess.source_at.front()];
  const bool square =
      column.info.width == 2 && column.info.dtype && guess.glance.rows == 2 && guess.glance.whole;
  if (!square) return;
  const auto table = files_.open(guess.file, guess.format, made_.spec.formats);
  if (!table->turn_pairs(column.info.name, TwoByTwo::kColumns)) return;
  const bool named = says_edge_index(column.info.name) || says_edge_index(base_name(guess.file));
  edge.pairs = named ? PairsChoice::kColumns : PairsChoice::kRows;
  made_.comment(path + ".pairs",
                named
                    ? fmt::format("{} is [2, 2]; what is called edge_index is [2, E].", guess.file)
                    : fmt::format("The array {} of {} is [2, 2], which may be [E, 2], \"rows\", or "
                                  "[2, E], \"columns\": nothing tells which.",
                                  column.info.name,
                                  guess.file));
}

void FilesGuess::describe_graphs(const EdgeGuess& guess) {
  const auto table = [&](const char* name) { return guess.file + "#" + name; };
  const auto only_column = [&](const TableGlance& seen, const char* name) {
    TableGlance only;
    only.whole = seen.whole;
    for (const ColumnGlance& column : seen.columns)
      if (column.info.name == name) only.columns = {column};
    return only;
  };
  const auto& formats = made_.spec.formats;
  const TableGlance nodes = glance_at(files_, table("nodes"), guess.format, formats);
  const TableGlance graphs = glance_at(files_, table("graphs"), guess.format, formats);
  const auto set_labels = [&](LabelSpec& labels, const char* name, const TableGlance& only) {
    const bool of_nodes = &labels == &made_.spec.nodes.front().labels;
    labels.file = table(name);
    labels.format = guess.format;
    made_.comment(of_nodes ? "nodes[0].labels.kind" : "graphs.labels.kind",
                  guess_labels(only, labels));
    labels.columns = {only.columns.front().info.name};
  };
  NodeSpec& node = made_.spec.nodes.front();
  set_labels(node.labels, "nodes", only_column(nodes, "tag"));
  made_.comment("nodes[0].labels.file", "The tags of the nodes.");
  for (const ColumnGlance& attribute : nodes.columns)
    if (attribute.info.name.starts_with("attr"))
      node.features.columns.push_back(attribute.info.name);
  if (!node.features.columns.empty()) {
    node.features.file = table("nodes");
    node.features.format = guess.format;
  }
  GraphsSpec& spec = made_.spec.graphs;
  spec.membership.file = table("nodes");
  spec.membership.column = "graph";
  spec.membership.format = guess.format;
  set_labels(spec.labels, "graphs", only_column(graphs, "label"));
}

// Its first line says how many nodes there are, counted from 1.
void FilesGuess::describe_metis(const EdgeGuess& guess) {
  NodeSpec& node = made_.spec.nodes.front();
  node.ids = IdKind::kDense;
  node.first_id = 1;
  for (const std::string& line : files_.first_lines(guess.file, 1000)) {
    const auto begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos || line[begin] == '%') continue;
    (void)std::from_chars(line.data() + begin, line.data() + line.size(), node.count);
    return;
  }
}

// Its size says how many nodes there are, counted from 1. Rows may be other nodes than columns.
void FilesGuess::describe_market(const Edges& edges, const std::string& path) {
  std::int64_t sizes[2] = {0, 0};
  for (const std::string& line : files_.first_lines(edges.guess.file, 10'000)) {
    const auto begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos || line[begin] == '%') continue;
    const char* at = line.data() + begin;
    for (std::int64_t& size : sizes) {
      at = std::from_chars(at, line.data() + line.size(), size).ptr;
      while (at != line.data() + line.size() && (*at == ' ' || *at == '\t')) ++at;
    }
    break;
  }
  for (NodeSpec& node : made_.spec.nodes) {
    const std::int64_t size = std::max(node.type == edges.source ? sizes[0] : 0,
                                       node.type == edges.target ? sizes[1] : 0);
    if (size == 0 || node.ids == IdKind::kString || node_tables_.contains(node.type)) continue;
    node.ids = IdKind::kDense;
    node.first_id = 1;
    node.count = std::max(node.count, size);
    made_.comments.at.erase(where(node) + ".ids");
    made_.comments.at[where(node) + ".first_id"] =
        "The matrix counts its rows and columns from 1, and says how many there are.";
  }
  if (edges.source == edges.target && sizes[0] != sizes[1])
    made_.comment(
        path + ".file",
        fmt::format("The matrix is of {} x {}: its rows may be nodes of one type, and its "
                    "columns of another.",
                    sizes[0],
                    sizes[1]));
}

}  // namespace sluice
