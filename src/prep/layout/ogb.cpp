#include "prep/layout/ogb.h"

#include "prep/layout/glance.h"
#include "prep/layout/ogb_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace sluice {
namespace {

constexpr const char* kDirections =
    "Some of these data sets (ogbn-products and -proteins, ogbg-mol*, ogbl-ppa, -collab and -ddi) "
    "name each edge once for both directions: say true for them.";

/// What is known of a data set's form: its folder, and the file that tells it.
struct Found {
  enum class Form { kCsv, kHetero, kArrays } form;
  std::string folder;
  std::string file;
};

std::optional<Found> find_form(const FileSet& files) {
  for (const std::string_view extension : {".csv.gz", ".csv"}) {
    const auto with = [&](const char* stem) { return stem + std::string(extension); };
    const std::string hetero = with("raw/triplet-type-list"), plain = with("raw/edge");
    if (const auto folder = files.folder_of(hetero))
      return Found{Found::Form::kHetero, *folder, *folder + hetero};
    if (const auto folder = files.folder_of(plain))
      return Found{Found::Form::kCsv, *folder, *folder + plain};
  }
  if (const auto folder = files.folder_of("raw/data.npz"))
    return Found{Found::Form::kArrays, *folder, *folder + "raw/data.npz"};
  return std::nullopt;
}

/// One node type, in CSV files.
class OgbData {
 public:
  OgbData(const FileSet& files, const std::string& folder, Description& made)
      : files_(files), folder_(folder), raw_(folder + "raw/"), made_(made) {}

  void run() {
    describe_nodes();
    describe_edges();
    const SplitOf of = many_ ? SplitOf::kGraphs : SplitOf::kNodes;
    if (const auto file = files_.find_csv(raw_ + "graph-label"))
      set_ogb_labels(files_, made_, *file, made_.spec.graphs.labels, "graphs.labels");
    add_ogb_splits(files_, made_, folder_, of);
    warn_of_others();
  }

 private:
  void describe_nodes() {
    NodeSpec& node = made_.spec.nodes.emplace_back();
    if (const auto file = files_.find_csv(raw_ + "num-node-list")) {
      const auto counts = read_ogb_numbers(files_, made_, *file, 2);
      many_ = counts.size() > 1 || files_.find_csv(raw_ + "graph-label");
      if (many_) {
        made_.spec.graphs.sizes.file = *file;
        const auto edges = files_.find_csv(raw_ + "num-edge-list");
        if (edges) made_.spec.graphs.edge_sizes.file = *edges;
      } else if (!counts.empty()) {
        node.count = counts.front();
      }
    }
    if (const auto file = files_.find_csv(raw_ + "node-feat")) node.features.file = *file;
    if (const auto file = files_.find_csv(raw_ + "node_year")) node.times.file = *file;
    if (const auto file = files_.find_csv(raw_ + "node-label"))
      set_ogb_labels(files_, made_, *file, node.labels, "nodes[0].labels");
  }

  void describe_edges() {
    EdgeSpec& edge = made_.spec.edges.emplace_back();
    edge.file = *files_.find_csv(raw_ + "edge");
    made_.comment("edges[0].undirected", kDirections);
    const auto weights = files_.find_csv(raw_ + "edge_weight");
    if (const auto file = files_.find_csv(raw_ + "edge-feat")) {
      edge.features.file = *file;
      if (weights) warn_file(*weights, "edges have one table of features, edge-feat here");
    } else if (weights) {
      edge.features.file = *weights;
      made_.comment("edges[0].features.file",
                    "Weights come as features of one number: weight_column is of the file of edges "
                    "itself.");
    }
    if (const auto file = files_.find_csv(raw_ + "edge_reltype"))
      set_ogb_labels(files_, made_, *file, edge.labels, "edges[0].labels");
    if (!edge.labels.file.empty())
      made_.comment("edges[0].labels.file", "The relation of each edge, by number.");
  }

  void warn_file(const std::string& file, const std::string& why) {
    made_.warn(fmt::format("{}: {}", file, why));
  }

  // Tables of one row a node or an edge that have no place.
  void warn_of_others() {
    const EdgeSpec& edge = made_.spec.edges[0];
    for (const std::string& name : files_.below(raw_)) {
      const std::string base = base_name(name);
      if (base.starts_with("node_") && name != made_.spec.nodes[0].times.file)
        warn_file(name, "nodes have features, labels and times, and this is none of them");
      if (base.starts_with("edge_") && name != edge.features.file && name != edge.labels.file &&
          !base.starts_with("edge_weight"))
        warn_file(name,
                  "columns of edges stand in the file of edges: paste them together, and say "
                  "time_column or weight_column");
    }
  }

  const FileSet& files_;
  std::string folder_, raw_;
  Description& made_;
  bool many_ = false;
};

/// What a name below split/ says.
struct SplitFile {
  std::string scheme, type, part;
};

std::optional<SplitFile> parse_split(std::string_view name) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    parts.emplace_back(name.substr(at, end - at));
    at = end + 1;
  }
  if (parts.size() != 2 && parts.size() != 3) return std::nullopt;
  const std::string part = stem_of(parts.back());
  if (part != "train" && part != "valid" && part != "test") return std::nullopt;
  return SplitFile{parts[0], parts.size() == 3 ? parts[1] : std::string(), part};
}

}  // namespace

std::vector<std::int64_t> read_ogb_numbers(const FileSet& files,
                                           const Description& made,
                                           const std::string& file,
                                           std::size_t most) {
  const auto table = files.open(file, "auto", made.spec.formats);
  table->select({{table->column({}, 0).name, ColumnType::kInteger}});
  std::vector<std::int64_t> numbers;
  for (TableChunk chunk; numbers.size() < most && table->next(chunk);) {
    const auto values = chunk.columns[0].integers;
    const auto taken = std::min(values.size(), most - numbers.size());
    numbers.insert(
        numbers.end(), values.begin(), values.begin() + static_cast<std::ptrdiff_t>(taken));
  }
  return numbers;
}

void set_ogb_labels(const FileSet& files,
                    Description& made,
                    const std::string& file,
                    LabelSpec& labels,
                    const std::string& where) {
  labels.file = file;
  made.comment(where + ".kind",
               guess_labels(glance_at(files, file, "auto", made.spec.formats), labels));
}

void add_ogb_splits(const FileSet& files,
                    Description& made,
                    const std::string& folder,
                    SplitOf of) {
  const std::string root = folder + "split/";
  std::map<std::pair<std::string, std::string>, SplitSpec> splits;  // by scheme and type
  std::vector<std::string> torch;
  for (const std::string& name : files.below(root)) {
    if (name.ends_with(".pt")) torch.push_back(name);
    const auto file = parse_split(std::string_view(name).substr(root.size()));
    if (!file || files.format_of(name).empty()) continue;
    SplitSpec& split = splits[{file->scheme, file->type}];
    (file->part == "train" ? split.train : file->part == "valid" ? split.valid : split.test) = name;
  }
  for (auto& [key, split] : splits) {
    const auto& [scheme, type] = key;
    const auto same = std::count_if(splits.begin(), splits.end(), [&](const auto& other) {
      return other.first.first == scheme;
    });
    split.name = plain_name(same == 1 ? scheme : fmt::format("{}_{}", scheme, type));
    split.of = of;
    split.node_type = type.empty() ? type : plain_name(type);
    made.spec.splits.push_back(split);
  }
  if (torch.empty()) return;
  made.warn(fmt::format(
      "{}{}: files that torch.save wrote are not read; in Python, numpy.savetxt('train.csv', "
      "torch.load('train.pt')['edge'], '%d', ',') makes one that can be: then add a [[splits]] of "
      "= \"edges\"",
      torch.front(),
      torch.size() == 1 ? "" : fmt::format(" and {} more", torch.size() - 1)));
}

std::optional<std::string> OgbLayout::recognise(const FileSet& files) const {
  const auto found = find_form(files);
  if (!found) return std::nullopt;
  return fmt::format("there is {}", found->file);
}

Description OgbLayout::describe(const FileSet& files) const {
  const Found found = *find_form(files);
  Description made(files);
  made.set_format("csv", "header = \"no\"");
  switch (found.form) {
    case Found::Form::kCsv:
      OgbData(files, found.folder, made).run();
      break;
    case Found::Form::kHetero:
      describe_ogb_hetero(files, found.folder, made);
      break;
    case Found::Form::kArrays:
      describe_ogb_arrays(files, found.folder, made);
      break;
  }
  return made;
}

}  // namespace sluice
