// OGB's data sets of several node types.
#include "prep/layout/ogb_parts.h"
#include "prep/table/csv_text.h"

#include <fmt/format.h>

#include <charconv>

namespace sluice {
namespace {

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  for (CsvField& field : split_csv_line(line, ',')) fields.push_back(std::move(field.text));
  return fields;
}

class OgbHetero {
 public:
  OgbHetero(const FileSet& files, const std::string& folder, Description& made)
      : files_(files), folder_(folder), raw_(folder + "raw/"), made_(made) {}

  void run() {
    read_counts();
    read_triplets();
    add_ogb_splits(files_, made_, folder_, SplitOf::kNodes);
  }

 private:
  // The only file with a header: the types' names above their numbers of nodes.
  void read_counts() {
    const auto file = files_.find_csv(raw_ + "num-node-dict");
    if (!file) return;
    const auto lines = files_.first_lines(*file, 3);
    const auto names = fields_of(lines.empty() ? "" : lines[0]);
    const auto counts = fields_of(lines.size() < 2 ? "" : lines[1]);
    const Place place{(files_.root() / *file).string(), 2, -1, -1};
    if (names.size() != counts.size())
      throw Error(ErrorCode::kData,
                  fmt::format("{} numbers of nodes for {} types", counts.size(), names.size()),
                  "a line with the names of the types, and one with their numbers of nodes",
                  place);
    if (lines.size() > 2)
      throw Error(ErrorCode::kData,
                  "many graphs of several node types cannot be imported",
                  "export one of its graphs, or one node type",
                  place);
    for (std::size_t i = 0; i < names.size(); ++i) {
      NodeSpec& node = add_type(names[i]);
      const char* end = counts[i].data() + counts[i].size();
      if (std::from_chars(counts[i].data(), end, node.count).ptr != end || node.count < 0)
        throw Error(ErrorCode::kData,
                    fmt::format("'{}' is no number of nodes", counts[i]),
                    "a whole number",
                    place);
    }
  }

  NodeSpec& add_type(const std::string& name) {
    NodeSpec& node = made_.spec.nodes.emplace_back();
    node.type = plain_name(name);
    const std::string folder = raw_ + "node-feat/" + name + "/";
    if (const auto file = files_.find_csv(folder + "node-feat")) node.features.file = *file;
    if (const auto file = files_.find_csv(folder + "node_year")) node.times.file = *file;
    if (const auto file = files_.find_csv(raw_ + "node-label/" + name + "/node-label"))
      set_ogb_labels(files_,
                     made_,
                     *file,
                     node.labels,
                     fmt::format("nodes[{}].labels", made_.spec.nodes.size() - 1));
    return node;
  }

  std::string known_type(const std::string& name) {
    std::string type = plain_name(name);
    for (const NodeSpec& node : made_.spec.nodes)
      if (node.type == type) return type;
    return add_type(name).type;
  }

  void read_triplets() {
    const std::string file = *files_.find_csv(raw_ + "triplet-type-list");
    const auto table = files_.open(file, "auto", made_.spec.formats);
    std::vector<ColumnRequest> requests;
    requests.reserve(3);
    for (std::size_t i = 0; i < 3; ++i)
      requests.push_back({table->column({}, i).name, ColumnType::kText});
    table->select(requests);
    for (TableChunk chunk; table->next(chunk);) {
      for (std::size_t row = 0; row < chunk.rows; ++row) {
        std::vector<std::string> names;
        names.reserve(chunk.columns.size());
        for (const ColumnValues& column : chunk.columns) names.emplace_back(column.text[row]);
        add_relation(names);
      }
    }
  }

  void add_relation(const std::vector<std::string>& names) {
    const std::string folder =
        fmt::format("{}relations/{}___{}___{}/", raw_, names[0], names[1], names[2]);
    const auto file = files_.find_csv(folder + "edge");
    if (!file)
      throw Error(
          ErrorCode::kData,
          fmt::format(
              "there is no edge.csv.gz of the relation {}, {}, {}", names[0], names[1], names[2]),
          "triplet-type-list names it",
          Place{(files_.root() / folder).string(), -1, -1, -1});
    const std::string source = known_type(names[0]), target = known_type(names[2]);
    EdgeSpec& edge = made_.spec.edges.emplace_back();
    edge.relation = plain_name(names[1]);
    edge.source = source;
    edge.target = target;
    edge.file = *file;
    if (const auto features = files_.find_csv(folder + "edge-feat")) edge.features.file = *features;
    if (made_.spec.edges.size() == 1)
      made_.comment("edges[0].reverse",
                    "Relations stand as they are in the files. A name here adds the same edges the "
                    "other way round, so that messages pass both ways.");
    if (const auto types = files_.find_csv(folder + "edge_reltype"); types && !told_types_) {
      told_types_ = true;
      made_.comment(
          "edges[0]",
          "edge_reltype.csv.gz is not needed: it numbers the relations, which have names.");
    }
  }

  const FileSet& files_;
  std::string folder_, raw_;
  Description& made_;
  bool told_types_ = false;
};

}  // namespace

void describe_ogb_hetero(const FileSet& files, const std::string& folder, Description& made) {
  OgbHetero(files, folder, made).run();
}

}  // namespace sluice
