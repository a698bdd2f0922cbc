#include "prep/update/generation.h"

#include "prep/update/all_edges.h"
#include "storage/format/data_file.h"
#include "storage/format/data_file_reader.h"

#include <algorithm>
#include <fstream>
#include <ios>

namespace sluice {

NextGeneration::NextGeneration(const std::filesystem::path& dataset, PrepContext& context)
    : dataset_(dataset),
      context_(context),
      old_(Manifest::load(dataset).or_throw()),
      writer_(dataset, Overwrite::kReplace, &context.ledger) {
  for (const std::string& leftover : writer_.staging().swept())
    context.log.warn("removed what an interrupted run had left: {}", leftover);
  writer_.set_generation(old_.generation + 1);
}

Dataset NextGeneration::open_old() const {
  return Dataset::open(dataset_.string(), {.ledger = &context_.ledger});
}

void NextGeneration::keep_below(const std::string& folder,
                                const std::vector<std::string>& left_out) {
  for (const auto& [path, entry] : old_.files) {
    if (path.compare(0, folder.size(), folder) == 0 && std::ranges::count(left_out, path) == 0)
      writer_.adopt(dataset_, entry);
  }
}

void NextGeneration::keep_splits() {
  keep_below("splits/");
  keep_below("graphs/");
  writer_.schema().splits = old_.schema.splits;
  writer_.schema().edge_splits = old_.schema.edge_splits;
  writer_.schema().graphs = old_.schema.graphs;
}

void NextGeneration::keep_nodes(const NodeTypeSchema& node,
                                const std::vector<std::string>& left_out) {
  keep_below(node_path(node.name, ""), left_out);
}

void NextGeneration::keep_nodes_and_splits() {
  for (const NodeTypeSchema& node : old_.schema.nodes) keep_nodes(node);
  writer_.schema().nodes = old_.schema.nodes;
  keep_splits();
}

void NextGeneration::keep_partitions() {
  keep_below("partitions/");
  writer_.schema().partitions = old_.schema.partitions;
}

void NextGeneration::keep_relation(const RelationSchema& relation,
                                   const std::vector<std::string>& left_out) {
  keep_below(relation_path(relation, ""), left_out);
}

void NextGeneration::copy_values(const std::string& path, std::uint64_t count, DataFileWriter& to) {
  const FileEntry entry = find_file(dataset_, old_, path).or_throw();
  std::uint64_t left = count * sizeof(std::uint64_t);
  scan_file(dataset_,
            entry,
            {},
            &context_.ledger,
            [&](std::uint64_t, std::span<const std::byte> bytes) -> Result<void> {
              const auto part = bytes.first(std::min<std::uint64_t>(left, bytes.size()));
              to.append(part);
              left -= part.size();
              return {};
            })
      .or_throw();
}

std::vector<std::int64_t> NextGeneration::first_values(const std::string& path,
                                                       std::uint64_t count) const {
  std::vector<std::int64_t> values(count);
  std::ifstream file(dataset_ / path, std::ios::binary);
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(count * sizeof(std::int64_t)));
  values.resize(static_cast<std::size_t>(file.gcount()) / sizeof(std::int64_t));
  return values;
}

std::unique_ptr<EdgeStream> NextGeneration::edges(const RelationSchema& relation) const {
  return std::make_unique<AllEdges>(
      dataset_, old_, *old_.schema.relation(relation.key()), &context_.ledger);
}

void NextGeneration::commit(const std::string& created_by, UpdateReport& report) {
  report.bytes = writer_.bytes();
  report.generation = old_.generation + 1;
  writer_.commit(created_by);
}

}  // namespace sluice
