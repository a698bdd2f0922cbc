#include "storage/format/manifest.h"

#include "core/hash.h"
#include "storage/io/file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

// The manifest begins with these bytes, then 16 digits: XXH3-64 of the whole text with those digits
// as zeros.
constexpr std::string_view kHead = "{\n  \"checksum\": \"";
constexpr std::string_view kNoDigits = "0000000000000000";
constexpr std::uint64_t kMaxManifestBytes = 64ull << 20;

std::uint64_t text_checksum(std::string text) {
  text.replace(kHead.size(), kNoDigits.size(), kNoDigits);
  return xxh3_64(std::as_bytes(std::span(text)));
}

Json features_json(const std::vector<FeatureSchema>& tables) {
  Json all = Json::array();
  for (const FeatureSchema& table : tables) {
    all.push_back({{"name", table.name},
                   {"dtype", feature_dtype_name(table.dtype)},
                   {"rows", table.rows},
                   {"dim", table.dim},
                   {"rows_per_page", Manifest::layout_of(table).rows_per_page}});
  }
  return all;
}

Json labels_json(const std::optional<LabelSchema>& labels) {
  if (!labels) return nullptr;
  return {{"kind", to_string(labels->kind)}, {"width", labels->width}};
}

Json schema_json(const GraphSchema& schema) {
  Json nodes = Json::array();
  for (const NodeTypeSchema& node : schema.nodes) {
    nodes.push_back({{"type", node.name},
                     {"count", node.count},
                     {"ids", to_string(node.ids)},
                     {"features", features_json(node.features)},
                     {"labels", labels_json(node.labels)},
                     {"times", node.has_times}});
  }
  Json edges = Json::array();
  for (const RelationSchema& relation : schema.relations) {
    edges.push_back({{"source", relation.source},
                     {"relation", relation.name},
                     {"target", relation.target},
                     {"count", relation.edges},
                     {"edge_ids", relation.has_edge_ids},
                     {"edge_id_bound", relation.edge_id_bound},
                     {"times", relation.has_times},
                     {"features", features_json(relation.features)},
                     {"labels", labels_json(relation.labels)}});
    // A key that older readers may ignore: in-edges are whole without it.
    if (relation.has_out_edges) edges.back()["out_edges"] = true;
    if (relation.appended != 0) {
      edges.back()["appended"] = relation.appended;
      edges.back()["appended_id_bound"] = relation.appended_id_bound;
    }
  }
  Json splits = Json::array();
  for (const SplitSchema& split : schema.splits) {
    splits.push_back({{"name", split.name},
                      {"node_type", split.node_type},
                      {"train", split.train},
                      {"valid", split.valid},
                      {"test", split.test}});
  }
  Json graph = {
      {"nodes", std::move(nodes)}, {"edges", std::move(edges)}, {"splits", std::move(splits)}};
  if (schema.partitions) {
    graph["partitions"] = {{"node_type", schema.partitions->node_type},
                           {"parts", schema.partitions->parts},
                           {"frames", schema.partitions->frames}};
  }
  return graph;
}

// Thrown while walking the JSON, turned into an Error at the top: which key is wrong and how.
struct Malformed {
  std::string what;
};

template <class T>
T get(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) throw Malformed{fmt::format("key '{}' is missing", key)};
  try {
    return found->get<T>();
  } catch (const Json::exception&) {
    throw Malformed{fmt::format("key '{}' has the wrong type", key)};
  }
}

std::string get_name(const Json& object, const char* key) {
  auto name = get<std::string>(object, key);
  if (const std::string problem = name_problem(name); !problem.empty()) {
    throw Malformed{fmt::format("'{}' is no name: '{}' {}", key, name, problem)};
  }
  return name;
}

template <class Enum>
Enum get_enum(const Json& object, const char* key, std::initializer_list<Enum> values) {
  const auto name = get<std::string>(object, key);
  for (const Enum value : values) {
    if (to_string(value) == name) return value;
  }
  throw Malformed{fmt::format("key '{}' has the unknown value '{}'", key, name)};
}

std::vector<FeatureSchema> read_features(const Json& object) {
  std::vector<FeatureSchema> tables;
  for (const Json& entry : get<Json>(object, "features")) {
    FeatureSchema table;
    table.name = get_name(entry, "name");
    const auto dtype = parse_feature_dtype(get<std::string>(entry, "dtype"));
    if (!dtype) throw Malformed{"key 'dtype' has an unknown value"};
    table.dtype = *dtype;
    table.rows = get<std::uint64_t>(entry, "rows");
    table.dim = get<std::uint32_t>(entry, "dim");
    if (table.dim > kMaxFeatureDim)
      throw Malformed{fmt::format("'dim' is larger than {}", kMaxFeatureDim)};
    if (get<std::uint32_t>(entry, "rows_per_page") != Manifest::layout_of(table).rows_per_page) {
      throw Malformed{"'rows_per_page' does not follow from dtype and dim"};
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

std::optional<LabelSchema> read_labels(const Json& object) {
  const auto entry = get<Json>(object, "labels");
  if (entry.is_null()) return std::nullopt;
  return LabelSchema{
      get_enum(entry, "kind", {LabelKind::kClass, LabelKind::kMultiLabel, LabelKind::kRegression}),
      get<std::uint32_t>(entry, "width")};
}

GraphSchema read_schema(const Json& object) {
  GraphSchema schema;
  for (const Json& entry : get<Json>(object, "nodes")) {
    NodeTypeSchema node;
    node.name = get_name(entry, "type");
    node.count = get<std::uint64_t>(entry, "count");
    node.ids = get_enum(entry, "ids", {IdKind::kDense, IdKind::kInteger, IdKind::kString});
    node.features = read_features(entry);
    node.labels = read_labels(entry);
    node.has_times = get<bool>(entry, "times");
    if (schema.node_type(node.name) != nullptr)
      throw Malformed{fmt::format("node type '{}' stands twice", node.name)};
    schema.nodes.push_back(std::move(node));
  }
  for (const Json& entry : get<Json>(object, "edges")) {
    RelationSchema relation;
    relation.source = get_name(entry, "source");
    relation.name = get_name(entry, "relation");
    relation.target = get_name(entry, "target");
    relation.edges = get<std::uint64_t>(entry, "count");
    relation.has_edge_ids = get<bool>(entry, "edge_ids");
    relation.edge_id_bound = get<std::uint64_t>(entry, "edge_id_bound");
    relation.has_times = get<bool>(entry, "times");
    if (entry.contains("appended")) {
      relation.appended = get<std::uint64_t>(entry, "appended");
      relation.appended_id_bound = get<std::uint64_t>(entry, "appended_id_bound");
    }
    relation.has_out_edges = entry.contains("out_edges") && get<bool>(entry, "out_edges");
    relation.features = read_features(entry);
    relation.labels = read_labels(entry);
    for (const std::string& end : {relation.source, relation.target}) {
      if (schema.node_type(end) == nullptr)
        throw Malformed{fmt::format("an edge names the unknown node type '{}'", end)};
    }
    if (schema.relation(relation.key()) != nullptr)
      throw Malformed{fmt::format("relation '{}' stands twice", relation.key())};
    schema.relations.push_back(std::move(relation));
  }
  for (const Json& entry : get<Json>(object, "splits")) {
    SplitSchema split;
    split.name = get_name(entry, "name");
    split.node_type = get_name(entry, "node_type");
    split.train = get<std::uint64_t>(entry, "train");
    split.valid = get<std::uint64_t>(entry, "valid");
    split.test = get<std::uint64_t>(entry, "test");
    schema.splits.push_back(std::move(split));
  }
  if (object.contains("partitions")) {
    const auto entry = get<Json>(object, "partitions");
    schema.partitions = PartitionSchema{get<std::string>(entry, "node_type"),
                                        get<std::uint64_t>(entry, "parts"),
                                        get<std::uint64_t>(entry, "frames")};
  }
  return schema;
}

std::map<std::string, FileEntry> read_files(const Json& object) {
  std::map<std::string, FileEntry> files;
  for (const Json& entry : get<Json>(object, "files")) {
    FileEntry file;
    file.path = get<std::string>(entry, "path");
    file.bytes = get<std::uint64_t>(entry, "bytes");
    const auto digest = get<std::string>(entry, "xxh3");
    const auto [end, problem] =
        std::from_chars(digest.data(), digest.data() + digest.size(), file.digest, 16);
    const bool escapes =
        file.path.empty() || file.path.front() == '/' || file.path.find("..") != std::string::npos;
    if (problem != std::errc{} || end != digest.data() + digest.size() || escapes ||
        file.bytes % kPageBytes != 0) {
      throw Malformed{fmt::format("the entry of file '{}' is malformed", file.path)};
    }
    files.emplace(file.path, file);
  }
  return files;
}

}  // namespace

FeatureLayout Manifest::layout_of(const FeatureSchema& features) {
  return FeatureLayout::make(features.dtype, features.dim, features.rows);
}

int Manifest::version_of(const GraphSchema& schema) {
  const auto is_new = [](const FeatureSchema& table) {
    return table.dtype == DType::kBF16 || table.dtype == DType::kI8;
  };
  const auto has_new = [&](const auto& owner) {
    return std::any_of(owner.features.begin(), owner.features.end(), is_new);
  };
  const bool any = std::any_of(schema.nodes.begin(), schema.nodes.end(), has_new) ||
                   std::any_of(schema.relations.begin(), schema.relations.end(), has_new);
  const auto is_newest = [](const RelationSchema& relation) {
    return relation.has_times || relation.appended != 0;
  };
  if (std::any_of(schema.relations.begin(), schema.relations.end(), is_newest)) return 3;
  return any ? 2 : 1;
}

std::string Manifest::to_text() const {
  Json files_json = Json::array();
  for (const auto& [path, file] : files) {
    files_json.push_back({{"path", path}, {"bytes", file.bytes}, {"xxh3", hex64(file.digest)}});
  }
  Json json = {{"checksum", kNoDigits},
               {"format", "sluice-dataset"},
               {"version", version_of(schema)},
               {"generation", generation},
               {"created_by", created_by},
               {"graph", schema_json(schema)},
               {"files", std::move(files_json)}};
  std::string text = json.dump(2) + "\n";
  text.replace(kHead.size(), kNoDigits.size(), hex64(text_checksum(text)));
  return text;
}

Result<Manifest> Manifest::from_text(const std::string& text, const std::string& file) {
  const Place place{file, -1, -1, -1};
  const Error damaged(ErrorCode::kData,
                      "the manifest's checksum does not match its content",
                      "the dataset is damaged: restore it from a copy or prepare it again",
                      place);
  if (text.size() < kHead.size() + kNoDigits.size() || text.compare(0, kHead.size(), kHead) != 0)
    return damaged;
  if (text.substr(kHead.size(), kNoDigits.size()) != hex64(text_checksum(text))) return damaged;
  try {
    const Json json = Json::parse(text);
    if (get<std::string>(json, "format") != "sluice-dataset")
      throw Malformed{"'format' is not sluice-dataset"};
    Manifest manifest;
    manifest.version = get<int>(json, "version");
    if (manifest.version < 1)
      throw Malformed{fmt::format("there is no format version {}", manifest.version)};
    if (manifest.version > kFormatVersion) {
      return Error(ErrorCode::kData,
                   fmt::format("the dataset has format version {}; this build reads up to {}",
                               manifest.version,
                               kFormatVersion),
                   "use a newer Sluice, or prepare the dataset again with this one",
                   place);
    }
    manifest.generation = get<std::uint64_t>(json, "generation");
    manifest.created_by = get<std::string>(json, "created_by");
    manifest.schema = read_schema(get<Json>(json, "graph"));
    manifest.files = read_files(json);
    manifest.checksum = text_checksum(text);
    return manifest;
  } catch (const Malformed& problem) {
    return Error(ErrorCode::kData,
                 fmt::format("malformed manifest: {}", problem.what),
                 "prepare the dataset again",
                 place);
  } catch (const Json::exception& problem) {
    return Error(ErrorCode::kData,
                 fmt::format("malformed manifest: {}", problem.what()),
                 "prepare the dataset again",
                 place);
  }
}

Result<Manifest> Manifest::load(const std::filesystem::path& dataset) {
  const std::filesystem::path path = dataset / kManifestName;
  std::error_code ignored;
  if (!std::filesystem::exists(dataset, ignored)) {
    return Error(ErrorCode::kData,
                 "there is no such dataset",
                 "check the path, or make one with sluice-prep import",
                 Place{dataset.string(), -1, -1, -1});
  }
  if (!std::filesystem::exists(path, ignored)) {
    return Error(ErrorCode::kData,
                 fmt::format("not a dataset: it has no {}", kManifestName),
                 "give the directory that sluice-prep wrote",
                 Place{dataset.string(), -1, -1, -1});
  }
  auto text = read_text_file(path, kMaxManifestBytes);
  if (!text) return std::move(text).error();
  return from_text(text.value(), path.string());
}

}  // namespace sluice
