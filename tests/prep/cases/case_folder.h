// A folder of the kind that users have, imported as they would: by a graph.toml or by the guess,
// with what was said meanwhile.
#pragma once

#include "prep/layout_support.h"

#include <spdlog/sinks/ostream_sink.h>

#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

using NamedEdges = std::multiset<std::pair<std::string, std::string>>;

struct CaseFolder : LayoutFolder {
  struct Imported {
    Dataset dataset;
    std::string said;  ///< the warnings of the import

    bool says(const std::string& text) const { return said.find(text) != std::string::npos; }
  };

  Imported import_spec(GraphSpec spec, const std::filesystem::path& root) const {
    const TableFormats formats = table_formats();
    MemoryLedger ledger(budget, "--memory");
    ThreadArena arena(threads);
    std::ostringstream said;
    spdlog::logger log("case", std::make_shared<spdlog::sinks::ostream_sink_mt>(said));
    log.set_level(spdlog::level::warn);
    log.set_pattern("%v");
    PrepContext context{ledger, arena, log, ProgressStyle::kSilent};
    import_dataset(std::move(spec), formats, {root, out(), Overwrite::kReplace, "test"}, context);
    CHECK(ledger.used() == 0);
    return {Dataset::open(out()), said.str()};
  }

  /// As a graph.toml says.
  Imported by_toml(const std::string& toml) const {
    const TableFormats formats = table_formats();
    GraphSpec spec(formats);
    Config::parse(toml, "graph.toml").bind_to(spec);
    return import_spec(std::move(spec), dir / "raw");
  }

  /// As it is guessed.
  Imported by_guess(const Described& described) const {
    return import_spec(described.spec, resolve_root(described.spec, "", std::nullopt));
  }
  Imported by_guess(const std::vector<std::string>& paths = {}) const {
    return by_guess(describe(paths));
  }

  /// The error that a graph.toml ends with; nothing is left behind.
  std::string refusal(const std::string& toml) const {
    std::filesystem::remove_all(dir / "out");
    const std::string text = as_text(expect_error([&] { by_toml(toml); }), *this);
    CHECK(leftovers().empty());
    return text;
  }
  std::string guess_refusal() const {
    return as_text(expect_error([&] { describe(); }), *this);
  }
};

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A graph.toml as one line, so that comments can be looked for whatever their line ends.
inline std::string on_one_line(std::string text) {
  for (auto at = text.find("\n# "); at != std::string::npos; at = text.find("\n# "))
    text.replace(at, 3, " ");
  return text;
}

inline std::vector<std::string> names_of(const Dataset& dataset, const std::string& type) {
  const ExternalIds ids = dataset.ids(type);
  const NodeTypeSchema& schema = *dataset.schema().node_type(type);
  std::vector<std::string> names;
  for (std::uint64_t node = 0; node < schema.count; ++node) names.push_back(ids.text(node));
  return names;
}

/// The edges of a relation, by the ids of its nodes.
inline NamedEdges edges_of(const Dataset& dataset, const std::string& relation) {
  const RelationSchema& schema = *dataset.schema().relation(relation);
  const auto sources = names_of(dataset, schema.source), targets = names_of(dataset, schema.target);
  NamedEdges edges;
  const auto lists = in_edges(dataset, relation);
  for (std::size_t target = 0; target < lists.size(); ++target)
    for (const std::uint64_t source : lists[target])
      edges.emplace(sources[source], targets[target]);
  return edges;
}

inline std::vector<float> features_of(const CaseFolder& folder,
                                      const Dataset& dataset,
                                      const std::string& type = "node") {
  const NodeTypeSchema& schema = *dataset.schema().node_type(type);
  REQUIRE(schema.features.size() == 1);
  return stored_f32_rows(folder.out(), type, schema.count, schema.features[0].dim);
}

inline std::vector<std::int32_t> labels_of(const Dataset& dataset,
                                           const std::string& type = "node") {
  return values_of<std::int32_t>(dataset.labels(type));
}

inline std::string npy_pairs(const std::string& shape, const std::vector<std::int64_t>& values) {
  return npy("<i8", shape, bytes_of_values(values));
}

}  // namespace sluice::test
