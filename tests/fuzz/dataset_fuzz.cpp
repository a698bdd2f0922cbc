// What a dataset says of itself: the manifest and the checksum files, as they come and with their
// own checksums put right, so that what is behind those is reached.
#include "core/hash.h"
#include "fuzz/memory_file.h"
#include "fuzz/targets.h"
#include "storage/format/checksum.h"
#include "storage/format/manifest.h"

#include <fmt/format.h>

#include <span>

namespace sluice::fuzz {
namespace {

constexpr std::string_view kHead = "{\n  \"checksum\": \"";
constexpr std::size_t kDigits = 16;

/// A manifest of which only the text behind its checksum is given.
std::string with_checksum(std::string_view rest) {
  std::string text = fmt::format("{}{}{}", kHead, std::string(kDigits, '0'), rest);
  text.replace(kHead.size(), kDigits, hex64(xxh3_64(std::as_bytes(std::span(text)))));
  return text;
}

void manifest_body(std::string_view bytes) {
  Input input(bytes);
  const bool repair = input.choose(2) == 1;
  const std::string text = repair ? with_checksum(input.rest()) : std::string(input.rest());
  const auto manifest = Manifest::from_text(text, "manifest.json");
  if (!manifest) return check_error(manifest.error());
  const std::string again = manifest.value().to_text();
  const auto second = Manifest::from_text(again, "manifest.json");
  if (!second) throw Finding(fmt::format("what is read can be written: {}", second.error().what()));
  expect(second.value().to_text() == again, "a manifest is written as it was read");
}

GraphSchema example_schema() {
  GraphSchema schema;
  NodeTypeSchema node;
  node.name = "node";
  node.count = 8;
  node.features.push_back({});
  node.features.back().name = "features";
  node.features.back().rows = 8;
  node.features.back().dim = 3;
  node.labels = LabelSchema{};
  schema.nodes.push_back(node);
  RelationSchema relation;
  relation.source = relation.target = "node";
  relation.name = "edge";
  relation.edges = 12;
  schema.relations.push_back(relation);
  schema.splits.push_back({"default", "node", 4, 2, 2});
  return schema;
}

std::vector<std::string> manifest_seeds() {
  Manifest plain;
  plain.created_by = "test";
  plain.schema = example_schema();
  plain.files["nodes/node/features.bin"] = {"nodes/node/features.bin", 4096, 1};
  Manifest full = plain;
  full.schema.nodes[0].labels->width = 2;
  full.schema.nodes[0].labels->names = {"a", "b"};
  full.schema.relations[0].has_weights = true;
  full.schema.relations[0].appended = 1;
  full.schema.edge_splits.push_back({"default", "node__edge__node", 4, 4, 4});
  full.schema.graphs = GraphCollectionSchema{};
  full.schema.graphs->node_type = "node";
  full.schema.partitions = PartitionSchema{"node", 2, 1};
  const auto behind = [](const Manifest& manifest) {
    return "1" + manifest.to_text().substr(kHead.size() + kDigits);
  };
  return {"0" + plain.to_text(), behind(plain), behind(full), "1\"}", "1\", \"format\": 1}"};
}

void checksum_body(std::string_view bytes) {
  Input input(bytes);
  std::string content;
  if (input.choose(2) == 1) {
    content = "SLUICESM";
    content += input.rest();
    const std::uint64_t self = xxh3_64(std::as_bytes(std::span(content)));
    content.append(reinterpret_cast<const char*>(&self), sizeof self);
  } else {
    content = input.rest();
  }
  const MemoryFile file(content);
  MemoryLedger ledger(1 << 20, "--memory");
  {
    const auto sums = ChecksumFile::load(file.path(), &ledger);
    if (!sums) return check_error(sums.error());
    const auto again = sums.value().serialize();
    expect(again.size() == content.size(), "a checksum file is written as long as it was read");
    expect(sums.value().digest() == sums.value().digest(), "its sums are there");
  }
  expect(ledger.used() == 0, "all memory is given back");
}

std::vector<std::string> checksum_seeds() {
  std::vector<std::string> all;
  for (const std::size_t pages : {0u, 1u, 3u}) {
    ChecksumFile sums;
    sums.append(std::vector<std::byte>(pages * kPageBytes));
    const std::vector<std::byte> bytes = sums.serialize();
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    all.push_back("0" + text);
    all.push_back("1" + text.substr(8, text.size() - 16));
  }
  return all;
}

}  // namespace

Target manifest_target() {
  return {"manifest",
          manifest_body,
          manifest_seeds,
          {"\"features\"",
           "\"labels\"",
           "\"names\"",
           "\"weights\"",
           "\"appended\"",
           "null",
           "\"edge_splits\"",
           "\"graphs\"",
           "\"partitions\"",
           "\"rows_per_page\"",
           "-1",
           "1e300",
           "18446744073709551615",
           "\"int8\"",
           "\"bf16\"",
           "\"count\""}};
}

Target checksum_target() {
  return {"checksum", checksum_body, checksum_seeds, {"SLUICESM"}};
}

}  // namespace sluice::fuzz
