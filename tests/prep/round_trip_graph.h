// A random graph under external ids, and what a dataset of it must hold.
#pragma once

#include "round_trip.h"

#include <sluice/random.h>

namespace sluice::test {

/// A graph under external ids, and how to write parts of it.
struct Truth {
  std::vector<std::string> ids;
  std::vector<int> labels;  // -1: none
  std::vector<std::vector<float>> features;
  struct Edge {
    std::size_t source, target;
    std::int64_t time;
    float weight;
    std::string type;
    int label;
  };
  std::vector<Edge> edges;

  std::string edge_csv(char delimiter = ',') const {
    std::string text = "weight,from,time,to,kind,label,x,y\n";
    std::replace(text.begin(), text.end(), ',', delimiter);
    for (const Edge& e : edges)
      text += fmt::format("{1}{0}{2}{0}{3}{0}{4}{0}{5}{0}{6}{0}{7}{0}{8}\n",
                          delimiter,
                          e.weight,
                          quoted(ids[e.source]),
                          e.time,
                          quoted(ids[e.target]),
                          e.type,
                          e.label,
                          e.weight + 1,
                          -e.weight);
    return text;
  }

  std::string node_csv() const {
    std::string text = "id,label,f0,f1\n";
    for (std::size_t i = 0; i < ids.size(); ++i)
      text += fmt::format("{},{},{},{}\n",
                          quoted(ids[i]),
                          labels[i] < 0 ? "" : std::to_string(labels[i]),
                          features[i][0],
                          features[i][1]);
    return text;
  }

  /// Rows as an export has them.
  std::vector<CsvRow> node_rows(bool attributes) const {
    std::vector<CsvRow> rows{{"id"}};
    if (attributes) rows[0] = {"id", "label", "f0", "f1"};
    for (std::size_t i = 0; i < ids.size(); ++i) {
      rows.push_back({ids[i]});
      if (!attributes) continue;
      rows.back().push_back(labels[i] < 0 ? "" : std::to_string(labels[i]));
      for (const float f : features[i]) rows.back().push_back(fmt::format("{}", f));
    }
    return sorted_rows(rows);
  }

  std::vector<CsvRow> pairs(const std::string& type = "") const {
    std::vector<CsvRow> rows{{"source", "target"}};
    for (const Edge& e : edges)
      if (type.empty() || e.type == type) rows.push_back({ids[e.source], ids[e.target]});
    return sorted_rows(rows);
  }

  static std::string quoted(const std::string& id) {
    if (id.find_first_of(",\"\t") == std::string::npos) return id;
    std::string text = "\"";
    for (const char c : id) text += c == '"' ? std::string("\"\"") : std::string(1, c);
    return text + '"';
  }
};

template <class Name>
Truth draw(std::uint64_t seed, std::size_t nodes, std::size_t edges, const Name& name) {
  const RandomKey key(seed);
  Truth truth;
  for (std::size_t i = 0; i < nodes; ++i) {
    truth.ids.push_back(name(i));
    truth.labels.push_back(static_cast<int>(key.with(i).below(4, 0)) - 1);
    truth.features.push_back({static_cast<float>(key.with(i).below(1000, 1)) / 16,
                              -static_cast<float>(key.with(i).below(1000, 2)) / 8});
  }
  truth.labels[0] = 2;
  for (std::size_t i = 0; i < edges; ++i) {
    const RandomKey one = key.with("edge").with(i);
    // Each node has an edge, so that ids can be collected from them.
    const std::size_t source = i < nodes ? i : one.below(nodes, 0);
    truth.edges.push_back({source,
                           one.below(nodes, 1),
                           static_cast<std::int64_t>(one.below(100, 2)) - 50,
                           static_cast<float>(one.below(64, 3)) / 4,
                           fmt::format("t{}", i < 3 ? i : one.below(3, 4)),
                           static_cast<int>(one.below(2, 5))});
  }
  return truth;
}

inline std::string string_name(std::size_t i) {
  // Delimiters, quotes and UTF-8 in names.
  return fmt::format("{}n{}", i % 5 == 0 ? "a, \"b\" " : i % 5 == 1 ? "\u00e9\u00df " : "", i * 7);
}
inline std::string integer_name(std::size_t i) {
  return std::to_string(static_cast<std::int64_t>(i * i * 1'000'003) - 4'000'000'000);
}

struct Fixture {
  std::uint64_t seed = random_seed();
  TempDir dir;
  Datasets datasets{dir};

  /// The edges alone, of every type together.
  void check_pairs(const std::string& toml, const Truth& truth) const {
    const Content content = datasets.content(datasets.import(toml, dir / "raw"));
    CHECK((content.at("node__edge__node") == truth.pairs()));
    CHECK((content.at("node") == truth.node_rows(false)));
  }
  void write(const std::string& name, const std::string& text) const {
    dir.write("raw/" + name, text);
  }
};

}  // namespace sluice::test
