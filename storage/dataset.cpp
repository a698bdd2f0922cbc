#include <sluice/dataset.h>

#include "storage/feature/disk_store.h"
#include "storage/feature/memory_store.h"
#include "storage/format/data_file.h"
#include "storage/format/data_file_reader.h"
#include "storage/format/manifest.h"
#include "storage/format/succession.h"
#include "storage/topology/merged_order.h"
#include "storage/topology/paged_times.h"
#include "storage/topology/paged_topology.h"
#include "storage/topology/resident_topology.h"
#include "storage/topology/topology_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

template <class Item, class Name>
std::vector<std::string> names_of(const std::vector<Item>& items, const Name& name) {
  std::vector<std::string> names;
  names.reserve(items.size());
  for (const Item& item : items) names.push_back(name(item));
  return names;
}

std::string node_name(const NodeTypeSchema& node) {
  return node.name;
}
std::string split_name(const SplitSchema& split) {
  return split.name;
}
std::string relation_name(const RelationSchema& relation) {
  return relation.key();
}
std::string table_name(const FeatureSchema& table) {
  return table.name;
}

// That a number is below the length of what it is looked up in.
void check_node(std::uint64_t node, std::int64_t count) {
  if (node < static_cast<std::uint64_t>(count)) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("the id of node {} is asked for, and there are {} nodes", node, count),
              "nodes are numbered from 0");
}

std::int64_t extent(std::uint64_t count) {
  return static_cast<std::int64_t>(count);
}

}  // namespace

struct Dataset::State {
  std::string path;
  DatasetOptions options;
  Manifest manifest;

  const NodeTypeSchema& node_type(std::string_view name) const {
    if (const auto* node = manifest.schema.node_type(name)) return *node;
    throw unknown("node type", name, names_of(manifest.schema.nodes, node_name));
  }

  Error unknown(std::string_view kind,
                std::string_view name,
                const std::vector<std::string>& known) const {
    std::string list;
    for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
    return Error(ErrorCode::kUsage,
                 fmt::format("the dataset has no {} '{}'", kind, name),
                 list.empty() ? "it has none" : "it has: " + list,
                 Place{path, -1, -1, -1});
  }

  Array load(const std::string& file,
             DType dtype,
             Array::Shape shape,
             std::string_view charge) const {
    return load_array(path, manifest, file, dtype, std::move(shape), options, charge).or_throw();
  }

  Array load_labels(const LabelSchema& labels, const std::string& file, std::uint64_t rows) const {
    switch (labels.kind) {
      case LabelKind::kClass:
        return load(file, DType::kI32, {extent(rows)}, "labels");
      case LabelKind::kMultiLabel:
        return load(file, DType::kU8, {extent(rows), (labels.width + 7) / 8}, "labels");
      case LabelKind::kRegression:
        return load(file, DType::kF32, {extent(rows), labels.width}, "labels");
    }
    throw Error(ErrorCode::kInternal, "unknown label kind");
  }

  Split load_split(const SplitSchema& split) const {
    const auto part = [&](const char* file, std::uint64_t count) {
      return load(split_path(split.name, file), DType::kU64, {extent(count)}, "splits");
    };
    return {split.node_type,
            part("train", split.train),
            part("valid", split.valid),
            part("test", split.test)};
  }

  const RelationSchema& relation(std::string_view key) const {
    if (const RelationSchema* found = manifest.schema.relation(key)) return *found;
    throw unknown("relation", key, names_of(manifest.schema.relations, relation_name));
  }

  const FeatureSchema& table(const std::vector<FeatureSchema>& tables,
                             const std::string& owner,
                             std::string_view name) const {
    for (const FeatureSchema& each : tables)
      if (each.name == name) return each;
    throw unknown(
        fmt::format("feature table of {} named", owner), name, names_of(tables, table_name));
  }

  std::unique_ptr<FeatureStore> open(const FeatureSchema& table,
                                     const std::string& file,
                                     const FeatureStoreOptions& how) const {
    if (how.placement == Placement::kMemory)
      return MemoryFeatureStore::load(path, manifest, table, file, options, how.io, how.device);
    return DiskFeatureStore::open(path, manifest, table, file, options, how);
  }

  Error lacks(std::string_view owner, std::string_view what) const {
    return {ErrorCode::kUsage,
            fmt::format("'{}' has no {}", owner, what),
            "sluice-prep inspect shows what there is",
            Place{path, -1, -1, -1}};
  }
};

Dataset::Dataset(std::unique_ptr<State> state) : state_(std::move(state)) {}
Dataset::Dataset(Dataset&&) noexcept = default;
Dataset& Dataset::operator=(Dataset&&) noexcept = default;
Dataset::~Dataset() = default;

Dataset Dataset::open(const std::string& path, DatasetOptions options) {
  auto state = std::make_unique<State>();
  state->path = path;
  state->options = options;
  state->manifest = Manifest::load(path).or_throw();
  for (const auto& [file, entry] : state->manifest.files)
    (void)find_file(path, state->manifest, file).or_throw();
  return Dataset(std::move(state));
}

const std::string& Dataset::path() const {
  return state_->path;
}
const GraphSchema& Dataset::schema() const {
  return state_->manifest.schema;
}
MemoryLedger* Dataset::ledger() const {
  return state_->options.ledger;
}
std::uint64_t Dataset::generation() const {
  return state_->manifest.generation;
}
std::uint64_t Dataset::fingerprint() const {
  return state_->manifest.checksum;
}

std::optional<Dataset> Dataset::newer() const {
  for (std::uint64_t seen = fingerprint();;) {
    const Manifest now = Manifest::load(path()).or_throw();
    if (now.checksum == fingerprint()) return std::nullopt;
    check_succession(state_->manifest, now, path()).or_throw();
    try {
      Dataset opened = open(path(), state_->options);
      if (opened.fingerprint() == now.checksum) return opened;
    } catch (const Error&) {
      if (seen == now.checksum) throw;  // else it may have been replaced while it was opened
    }
    seen = now.checksum;
  }
}

bool Dataset::replaced() const {
  const auto now = Manifest::load(path());
  return !now || now.value().checksum != fingerprint();
}

std::unique_ptr<FeatureStore> Dataset::features(std::string_view node_type,
                                                const FeatureStoreOptions& options,
                                                std::string_view name) const {
  const NodeTypeSchema& node = state_->node_type(node_type);
  const FeatureSchema& table =
      state_->table(node.features, fmt::format("node type '{}'", node_type), name);
  return state_->open(table, node_path(node.name, table.name + ".bin"), options);
}

std::unique_ptr<FeatureStore> Dataset::edge_features(std::string_view relation,
                                                     const FeatureStoreOptions& options,
                                                     std::string_view name) const {
  const RelationSchema& found = state_->relation(relation);
  const FeatureSchema& table =
      state_->table(found.features, fmt::format("relation '{}'", relation), name);
  return state_->open(table, relation_path(found, table.name + ".bin"), options);
}

std::unique_ptr<Topology> Dataset::topology(std::string_view relation,
                                            const TopologyOptions& options) const {
  const RelationSchema& found = state_->relation(relation);
  if (options.placement == Placement::kMemory)
    return ResidentTopology::load(
        state_->path, state_->manifest, found, state_->options, options.io);
  return PagedTopology::open(state_->path, state_->manifest, found, state_->options, options);
}

Array Dataset::labels(std::string_view node_type) const {
  const NodeTypeSchema& node = state_->node_type(node_type);
  if (node.labels)
    return state_->load_labels(*node.labels, node_path(node.name, "labels.bin"), node.count);
  throw Error(ErrorCode::kUsage,
              fmt::format("node type '{}' has no labels", node_type),
              "import it with labels = \"FILE\"",
              Place{state_->path, -1, -1, -1});
}

Array Dataset::edge_labels(std::string_view relation) const {
  const RelationSchema& found = state_->relation(relation);
  if (found.labels)
    return state_->load_labels(
        *found.labels, relation_path(found, "labels.bin"), found.edge_id_bound);
  throw state_->lacks(relation, "labels");
}

Array Dataset::node_times(std::string_view node_type) const {
  const NodeTypeSchema& node = state_->node_type(node_type);
  if (!node.has_times) throw state_->lacks(node_type, "times");
  return state_->load(
      node_path(node.name, "times.bin"), DType::kI64, {extent(node.count)}, "times");
}

Array Dataset::edge_times(std::string_view relation) const {
  const RelationSchema& found = state_->relation(relation);
  if (!found.has_times) throw state_->lacks(relation, "times");
  if (found.appended != 0)
    return load_merged_times(state_->path, state_->manifest, found, state_->options).or_throw();
  return state_->load(
      relation_path(found, "times.bin"), DType::kI64, {extent(found.edges)}, "times");
}

std::shared_ptr<PagedTimes> Dataset::paged_times(std::string_view relation,
                                                 Topology& topology,
                                                 const TopologyOptions& options) const {
  const RelationSchema& found = state_->relation(relation);
  if (!found.has_times) throw state_->lacks(relation, "times");
  if (found.appended != 0) throw appended_in_memory_only(found, state_->path);
  return PagedTimes::open(state_->path, state_->manifest, found, topology, state_->options, options)
      .or_throw();
}

Array Dataset::edge_weights(std::string_view relation) const {
  const RelationSchema& found = state_->relation(relation);
  if (!found.has_weights) throw state_->lacks(relation, "weights");
  return state_->load(
      relation_path(found, "weights.bin"), DType::kF32, {extent(found.edges)}, "weights");
}

Split Dataset::split(std::string_view name) const {
  if (const SplitSchema* split = schema().split(name)) return state_->load_split(*split);
  throw state_->unknown("split", name, names_of(schema().splits, split_name));
}

EdgeSplit Dataset::edge_split(std::string_view name) const {
  for (const EdgeSplitSchema& split : schema().edge_splits) {
    if (split.name != name) continue;
    const auto part = [&](const char* file, std::uint64_t count) {
      Array::Shape shape{extent(count)};
      if (split.relation.empty()) shape.push_back(sizeof(EdgeSplit::Row) / sizeof(std::uint64_t));
      return state_->load(split_path(split.name, file), DType::kU64, std::move(shape), "splits");
    };
    return {split.relation,
            part("train", split.train),
            part("valid", split.valid),
            part("test", split.test)};
  }
  throw state_->unknown(
      "split of edges", name, names_of(schema().edge_splits, [](const auto& s) { return s.name; }));
}

GraphCollection Dataset::graphs() const {
  const auto& graphs = schema().graphs;
  if (!graphs) throw state_->lacks(state_->path, "graphs");
  GraphCollection all;
  all.offsets =
      state_->load("graphs/offsets.bin", DType::kU64, {extent(graphs->count) + 1}, "graphs");
  if (graphs->labels)
    all.labels = state_->load_labels(*graphs->labels, "graphs/labels.bin", graphs->count);
  return all;
}

Split Dataset::graph_split(std::string_view name) const {
  std::vector<SplitSchema> splits;
  if (schema().graphs) splits = schema().graphs->splits;
  for (const SplitSchema& split : splits)
    if (split.name == name) return state_->load_split(split);
  throw state_->unknown("split of graphs", name, names_of(splits, split_name));
}

ExternalIds Dataset::ids(std::string_view node_type) const {
  const NodeTypeSchema& node = state_->node_type(node_type);
  const std::string file = node_path(node.name, "ids.bin");
  if (node.ids == IdKind::kDense) return {IdKind::kDense, {}, {}, {}};
  if (node.ids == IdKind::kInteger) {
    return {
        node.ids, state_->load(file, DType::kI64, {extent(node.count)}, "external ids"), {}, {}};
  }
  Array offsets = state_->load(node_path(node.name, "ids.offsets.bin"),
                               DType::kU64,
                               {extent(node.count) + 1},
                               "external ids");
  const auto ends = std::as_const(offsets).as<std::uint64_t>();
  if (ends.front() != 0 || !std::is_sorted(ends.begin(), ends.end())) {
    throw Error(ErrorCode::kData,
                "the id offsets do not ascend from 0",
                "prepare the dataset again",
                Place{state_->path + "/" + node_path(node.name, "ids.offsets.bin"), -1, -1, -1});
  }
  Array bytes = state_->load(file, DType::kU8, {extent(ends.back())}, "external ids");
  return {node.ids, {}, std::move(offsets), std::move(bytes)};
}

ExternalIds::ExternalIds(IdKind kind, Array integers, Array offsets, Array bytes)
    : kind_(kind),
      integers_(std::move(integers)),
      offsets_(std::move(offsets)),
      bytes_(std::move(bytes)) {}

std::string ExternalIds::text(std::uint64_t node) const {
  if (kind_ != IdKind::kString) return std::to_string(integer(node));
  check_node(node, offsets_.numel() - 1);
  const auto ends = offsets_.as<std::uint64_t>();
  const auto bytes = bytes_.as<std::uint8_t>().subspan(ends[node], ends[node + 1] - ends[node]);
  return {bytes.begin(), bytes.end()};
}

std::int64_t ExternalIds::integer(std::uint64_t node) const {
  if (kind_ == IdKind::kDense) return static_cast<std::int64_t>(node);
  if (kind_ == IdKind::kString)
    throw Error(ErrorCode::kUsage, "these ids are strings, not integers", "ask for their text()");
  check_node(node, integers_.numel());
  return integers_.as<std::int64_t>()[node];
}

}  // namespace sluice
