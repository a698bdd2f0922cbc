#include "prep/layout/dgl.h"

#include "prep/layout/dgl_parts.h"

#include <fmt/format.h>

namespace sluice {
namespace {

std::optional<std::string> find_yaml(const FileSet& files) {
  for (const char* name : {"metadata.yaml", "metadata.yml", "meta.yaml", "meta.yml"})
    if (const auto folder = files.folder_of(name)) return *folder + name;
  return std::nullopt;
}

}  // namespace

std::optional<std::string> DglLayout::recognise(const FileSet& files) const {
  const auto file = find_yaml(files);
  if (!file) return std::nullopt;
  return fmt::format("there is {}", *file);
}

Description DglLayout::describe(const FileSet& files) const {
  const std::string name = *find_yaml(files);
  const std::string folder = name.substr(0, name.size() - base_name(name).size());
  const Yaml meta = Yaml::parse(files.read_small(name), (files.root() / name).string());
  Description made(files);
  if (meta.has("graph")) {
    describe_graphbolt(files, folder, meta, made);
  } else if (meta.has("edge_data")) {
    describe_dgl_csv(files, folder, meta, made);
  } else {
    meta.fail("there is neither graph (GraphBolt) nor edge_data (CSVDataset)",
              "these two are known of DGL's YAML files");
  }
  return made;
}

}  // namespace sluice
