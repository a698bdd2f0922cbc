// A GraphSpec as text and back: any values, whatever they are.
#include "prep/import/graph_spec.h"
#include "prep/import/spec_toml.h"
#include "prep/table/table_formats.h"
#include "registry/core.h"

#include <sluice/options.h>
#include <sluice/random.h>
#include <sluice/units.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using namespace sluice;

namespace {

/// Sets about half of the fields of a schema to what its key and limits allow.
class Scribbler {
 public:
  explicit Scribbler(std::uint64_t seed) : key_(seed) {}

  std::uint64_t below(std::uint64_t end) { return key_.below(end, counter_++); }

  void scribble(const Schema& schema) {
    for (const auto& field : schema.fields())
      if (below(2) == 0 || field->is_required()) set(*field);
    for (const Schema::Nested& nested : schema.nested())
      if (nested.schema) scribble(*nested.schema);
  }

 private:
  std::string text() {
    static const std::vector<std::string> parts{
        "a", "Z9", "\"", "\\", "\n", "#", "'", "\t", "ä€", " ", "=", "[x]", "\x7f", "\x01"};
    std::string out;
    for (std::uint64_t i = below(6); i > 0; --i) out += parts[below(parts.size())];
    return out;
  }

  double number(const Field& field) {
    const auto limits = field.range_limits().value_or(std::pair(-1e6, 1e6));
    const double low = std::max(limits.first, -1e6), high = std::min(limits.second, 1e6);
    return low + (high - low) * static_cast<double>(below(1000)) / 1000;
  }

  void set(const Field& field) {
    const double value = number(field);
    const auto whole = static_cast<std::int64_t>(value);
    std::visit(
        [&](auto target) {
          using Target = decltype(target);
          if constexpr (std::is_same_v<Target, std::shared_ptr<EnumRef>>) {
            const auto values = target->values();
            CHECK(target->set(values[below(values.size())].name));
          } else if constexpr (std::is_same_v<Target, bool*>) {
            *target = !*target;
          } else if constexpr (std::is_same_v<Target, std::string*>) {
            *target = text();
          } else if constexpr (std::is_same_v<Target, ByteSize*>) {
            target->bytes = static_cast<std::uint64_t>(std::max(value, 0.0));
          } else if constexpr (std::is_same_v<Target, double*>) {
            *target = value;
          } else if constexpr (std::is_same_v<Target, std::vector<std::string>*>) {
            *target = {text(), text()};
          } else if constexpr (std::is_same_v<Target, std::vector<double>*>) {
            *target = {value, value / 3};
          } else if constexpr (std::is_same_v<Target, std::int64_t*>) {
            *target = whole;
          } else {
            FAIL("no such field in a graph.toml yet: " << field.key());
          }
        },
        field.target());
  }

  RandomKey key_;
  std::uint64_t counter_ = 0;
};

std::string dump(GraphSpec& spec) {
  Schema schema;
  spec.describe(schema);
  return schema.dump();
}

}  // namespace

TEST_CASE("a spec printed as a graph.toml is read back the same, with comments and without") {
  const TableFormats formats = table_formats();
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    Scribbler random(seed);
    GraphSpec spec(formats);
    spec.nodes.resize(random.below(3));
    spec.edges.resize(random.below(3));
    spec.splits.resize(random.below(3));
    const auto scribble = [&](auto& items) {
      for (auto& item : items) {
        Schema schema;
        item.describe(schema);
        random.scribble(schema);
      }
    };
    scribble(spec.nodes);
    scribble(spec.edges);
    scribble(spec.splits);
    Schema schema;
    spec.describe(schema);
    random.scribble(schema);
    SpecComments comments;
    if (seed % 2 == 0) {
      comments.head = {"one \"line\"\nand another \x01", ""};
      comments.at = {{"root", "where"},
                     {"nodes[0]", "a type"},
                     {"nodes[0].labels.file", "why"},
                     {"edges[1].undirected", std::string(300, 'x') + " y"},
                     {"graphs", "many"},
                     {"csv", "text"}};
    }
    const std::string toml = to_toml(spec, formats, comments);
    CAPTURE(toml);
    GraphSpec back(formats);
    Config::parse(toml, "graph.toml").bind_to(back);
    REQUIRE(dump(back) == dump(spec));
    REQUIRE(to_toml(back, formats, comments) == toml);
  }
}

TEST_CASE("only what differs is printed, and what has a comment") {
  const TableFormats formats = table_formats();
  GraphSpec spec(formats);
  CHECK(to_toml(spec, formats).empty());
  spec.edges.resize(1);
  spec.edges[0].file = "a \"b\".csv";
  spec.nodes.resize(1);
  spec.graphs.sizes.file = "sizes.csv";
  const SpecComments comments{{"Top."}, {{"edges[0].undirected", "Once or twice?"}}};
  CHECK(to_toml(spec, formats, comments) ==
        "# Top.\n\n[[nodes]]\n\n[[edges]]\nfile = \"a \\\"b\\\".csv\"\n# Once or twice?\n"
        "undirected = false\n\n[graphs]\nsizes.file = \"sizes.csv\"\n");
}
