#include "storage/format/manifest.h"

#include "core/hash.h"
#include "core/json_text.h"
#include "storage/format/schema_json.h"
#include "storage/io/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace sluice {
namespace {

// The manifest begins with these bytes, then 16 digits: XXH3-64 of the whole text with those digits
// as zeros.
constexpr std::string_view kHead = "{\n  \"checksum\": \"";
constexpr std::string_view kNoDigits = "0000000000000000";
constexpr std::uint64_t kMaxManifestBytes = 64ull << 20;

std::uint64_t text_checksum(std::string text) {
  text.replace(kHead.size(), kNoDigits.size(), kNoDigits);
  return xxh3_64(std::as_bytes(std::span(text)));
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

// What version 4 brought.
bool has_attributes(const GraphSchema& schema) {
  const auto named = [](const std::optional<LabelSchema>& labels) {
    return labels && !labels->names.empty();
  };
  const auto node_has = [&](const NodeTypeSchema& node) {
    return node.has_times || named(node.labels);
  };
  const auto relation_has = [](const RelationSchema& relation) {
    return relation.has_weights || !relation.features.empty() || relation.labels;
  };
  return !schema.edge_splits.empty() || schema.graphs ||
         std::any_of(schema.nodes.begin(), schema.nodes.end(), node_has) ||
         std::any_of(schema.relations.begin(), schema.relations.end(), relation_has);
}

}  // namespace

FeatureLayout Manifest::layout_of(const FeatureSchema& features) {
  return FeatureLayout::make(features);
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
  const auto scaled = [](const auto& owner) {
    return std::any_of(owner.features.begin(),
                       owner.features.end(),
                       [](const FeatureSchema& table) { return table.scaling.has_value(); });
  };
  const auto sparse = [](const auto& owner) {
    return std::any_of(owner.features.begin(),
                       owner.features.end(),
                       [](const FeatureSchema& table) { return table.sparse(); });
  };
  const auto lists_nodes = [](const RelationSchema& relation) {
    return relation.listed_targets || relation.listed_sources;
  };
  // Older readers would take the rows for dense ones, and offsets for those of all nodes.
  if (std::any_of(schema.nodes.begin(), schema.nodes.end(), sparse) ||
      std::any_of(schema.relations.begin(), schema.relations.end(), sparse) ||
      std::any_of(schema.relations.begin(), schema.relations.end(), lists_nodes))
    return 7;
  // Older readers would put these edges behind all others, whatever their times.
  if (std::ranges::any_of(schema.relations, [](const RelationSchema& relation) {
        return relation.has_times && relation.appended != 0;
      }))
    return 6;
  // What is appended has to be scaled alike, so that readers may not ignore it.
  if (std::any_of(schema.nodes.begin(), schema.nodes.end(), scaled) ||
      std::any_of(schema.relations.begin(), schema.relations.end(), scaled))
    return 5;
  if (has_attributes(schema)) return 4;
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
               {"graph", schema_to_json(schema)},
               {"files", std::move(files_json)}};
  std::string text = json_text(json, 2) + "\n";
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
    manifest.schema = schema_from_json(get<Json>(json, "graph"));
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
