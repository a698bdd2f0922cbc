// Which of some files hold edges, and how they are described.
#include "prep/layout/files_guess.h"

#include "prep/table/matrix_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

namespace sluice {
namespace {

using Kind = FileRole::Kind;

std::string lower_stem(const std::string& file) {
  std::string stem = stem_of(file);
  for (char& c : stem) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return stem;
}

bool says_edges(const std::string& file) {
  const std::string stem = lower_stem(file);
  for (const char* word : {"edge", "graph", "adj", "link", "network", "relation"})
    if (stem.find(word) != std::string::npos) return true;
  return false;
}

bool says_nodes(const std::string& file) {
  const std::string stem = lower_stem(file);
  for (const char* word : {"nodes", "node", "vertices", "entities", "mapping"})
    if (stem == word) return true;
  return false;
}

}  // namespace

std::optional<EdgeGuess> FilesGuess::try_edges(const std::string& file) {
  try {
    TextGuess text;
    if (!use_text(file, text)) return std::nullopt;
    const std::string read_as = text.format == "auto" ? files_.format_of(file) : text.format;
    if (read_as == "csv" || read_as == "list" || read_as == "triples") {
      const std::filesystem::path path = files_.root() / file;
      const std::string comment = files_.format_of(file) == "list" ? "#%" : "";
      const auto matrix = find_matrix(path, comment, files_.ledger());
      if (matrix && matrix->certain) throw matrix_error(*matrix, path);
    }
    EdgeGuess guess = guess_edges(files_, file, text.format, made_.spec.formats);
    if (!text.why.empty()) guess.why = fmt::format("{}; {}", text.why, guess.why);
    if (guess.found()) return guess;
  } catch (const Error& problem) {
    if (problem.code() == ErrorCode::kInterrupted) throw;
    made_.warn(fmt::format("{}: it could not be read: {}", file, problem.message()));
    if (!fault_) fault_ = problem;
  }
  return std::nullopt;
}

void FilesGuess::add_relation(const FileRole& role) {
  auto guess = try_edges(role.file);
  if (!guess) return;
  Edges& edges = edges_.emplace_back();
  edges.guess = *std::move(guess);
  edges.source = plain_name(role.source);
  edges.target = plain_name(role.target);
  edges.relation =
      role.relation.empty() ? edges.source + "_" + edges.target : plain_name(role.relation);
}

void FilesGuess::find_edges() {
  for (const FileRole& role : roles_)
    if (role.kind == Kind::kRelation) add_relation(role);
  const bool relations = !edges_.empty();
  std::vector<std::string> unused;
  for (const FileRole& role : roles_) {
    if (role.kind != Kind::kOther) continue;
    if (says_nodes(role.file)) {
      made_.warn(
          fmt::format("{}: tables of nodes are not guessed: name its columns in id_list, "
                      "features and labels of a [[nodes]]",
                      role.file));
      continue;
    }
    auto guess = relations ? std::nullopt : try_edges(role.file);
    if (guess) {
      edges_.emplace_back().guess = *std::move(guess);
    } else if (files_.format_of(role.file) == "raw") {
      made_.warn(why_unread(role.file));
      if (!fault_)
        fault_ = Error(ErrorCode::kData,
                       "nothing says what this raw file holds",
                       "name it in a graph.toml, with [raw] dtype and width",
                       Place{(files_.root() / role.file).string(), -1, -1, -1});
    } else {
      unused.push_back(role.file);
    }
  }
  keep_likely_edges();
  for (const FileRole& role : roles_) {
    if (!edges_.empty()) break;
    if (role.kind != Kind::kSplit || role.part != "train") continue;
    auto guess = try_edges(role.file);
    if (!guess) continue;
    train_ = role.file;
    edges_.emplace_back().guess = *std::move(guess);
  }
  if (!unused.empty())
    made_.warn(fmt::format("{}: nothing tells what {} for",
                           fmt::join(unused, ", "),
                           unused.size() == 1 ? "it is" : "they are"));
  // A file that is at fault says more than that there are no edges.
  if (edges_.empty() && fault_) throw Error(*fault_);
  if (edges_.empty())
    throw Error(ErrorCode::kData,
                "no edges can be told among these files",
                made_.warnings.empty()
                    ? "describe them in a graph.toml (sluice-prep import --keys), and import it "
                      "with --config"
                    : made_.warnings.front(),
                Place{files_.root().string(), -1, -1, -1});
}

// Of several tables that may hold edges, those whose names say so; each is a relation.
void FilesGuess::keep_likely_edges() {
  if (edges_.size() < 2 || edges_[0].source != "node") return;
  const auto likely = [](const Edges& edges) { return says_edges(edges.guess.file); };
  if (std::any_of(edges_.begin(), edges_.end(), likely)) {
    for (const Edges& edges : edges_)
      if (!likely(edges))
        made_.warn(fmt::format("{}: it may hold edges, but its name says nothing of them",
                               edges.guess.file));
    std::erase_if(edges_, [&](const Edges& edges) { return !likely(edges); });
  }
  if (edges_.size() < 2) return;
  for (Edges& edges : edges_) edges.relation = plain_name(stem_of(edges.guess.file));
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
  edge.weight_column = guess.weight;
  if (!guess.label.empty() && guess.type.empty()) {
    edge.labels.columns = {guess.label};
    TableGlance only;
    only.whole = guess.glance.whole;
    for (const ColumnGlance& column : guess.glance.columns)
      if (column.info.name == guess.label && !column.integers) only.columns = {column};
    if (!only.columns.empty())
      made_.comment(path + ".labels.kind", guess_labels(only, edge.labels));
  }
  made_.comment(path + ".file", fmt::format("Columns: {}.{}", guess.why, guess.doubt));
  if (!guess.type.empty())
    made_.comment(path + ".type_column", "types = \"labels\" would make one relation of them.");
  if (edges.source != edges.target)
    made_.comment(path + ".reverse",
                  "A name here adds the same edges the other way round, so that messages pass "
                  "both ways.");
  else if (guess.table.empty() && train_.empty() && guess.time.empty())
    made_.comment(path + ".undirected", "Say true if each edge stands once for both directions.");
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
    if (size == 0 || node.ids == IdKind::kString) continue;
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
