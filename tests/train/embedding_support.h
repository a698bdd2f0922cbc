// What the tests of embeddings share: a small knowledge graph, a run's parts over it, and ComplEx
// over its rows in double.
#pragma once

#include "support/process.h"
#include "train/support.h"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace sluice::test {

using torch::Tensor;

inline constexpr std::int64_t kEntities = 30, kTypes = 3;

struct Triple {
  std::int64_t s, r, o;
  auto operator<=>(const Triple&) const = default;
};

// A line of what predict --top writes of links over types: source,target,rank,score,r<relation>.
struct BestLine {
  Triple link;
  std::int64_t rank;
  double score;
};

inline BestLine best_line(const std::string& line) {
  BestLine found{};
  char comma = 0, letter = 0;
  std::istringstream text(line);
  text >> found.link.s >> comma >> found.link.o >> comma >> found.rank >> comma >> found.score >>
      comma >> letter >> found.link.r;
  REQUIRE_MESSAGE(text, line);
  return found;
}

// Distinct triples; the last entity is in no training triple.
struct Graph {
  std::array<std::vector<Triple>, 3> parts;  // train, valid, test

  Graph() {
    const RandomKey key(17);
    std::set<Triple> seen;
    std::uint64_t n = 0;
    const auto draw = [&](std::size_t count, std::int64_t entities, std::vector<Triple>& out) {
      while (out.size() < count) {
        const auto below = [&](std::int64_t bound) {
          return static_cast<std::int64_t>(key.below(static_cast<std::uint64_t>(bound), n++));
        };
        const Triple triple{below(entities), below(kTypes), below(entities)};
        if (seen.insert(triple).second) out.push_back(triple);
      }
    };
    draw(220, kEntities - 1, parts[0]);
    draw(25, kEntities - 1, parts[1]);
    draw(24, kEntities - 1, parts[2]);
    parts[2].push_back({kEntities - 1, 1, 4});
  }

  bool has(const Triple& triple) const {
    return std::ranges::any_of(
        parts, [&](const auto& part) { return std::ranges::count(part, triple) != 0; });
  }
  std::int64_t count_training(std::int64_t s, std::int64_t r, std::int64_t o) const {
    return std::ranges::count_if(parts[0], [&](const Triple& t) {
      return t.r == r && (s < 0 || t.s == s) && (o < 0 || t.o == o);
    });
  }

  std::filesystem::path import(const TempDir& dir) const {
    const std::array<const char*, 3> names{"train.txt", "valid.txt", "test.txt"};
    for (std::size_t part = 0; part < 3; ++part) {
      std::string text;
      for (const Triple& t : parts[part]) text += fmt::format("{}\tr{}\t{}\n", t.s, t.r, t.o);
      dir.write(names[part], text);
    }
    const auto config = dir.write(
        "graph.toml",
        fmt::format("[[nodes]]\ntype = \"entity\"\ncount = {}\n[[edges]]\nfile = \"train.txt\"\n"
                    "format = \"triples\"\ntype_column = \"relation\"\ntypes = \"labels\"\n"
                    "source_column = \"head\"\ntarget_column = \"tail\"\n[[splits]]\n"
                    "of = \"edges\"\nvalid = \"valid.txt\"\ntest = \"test.txt\"\n"
                    "format = \"triples\"\n",
                    kEntities));
    const Outcome made =
        run({tool("sluice-prep"), "import", "--config", config, "--out", dir / "data"});
    REQUIRE_MESSAGE(made.code == 0, made.err);
    return dir / "data";
  }
};

/// That there is no figure, which is not a number, is the same, too.
inline bool same_figures(const std::map<std::string, double>& a,
                         const std::map<std::string, double>& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.first == y.first &&
           (x.second == y.second || (std::isnan(x.second) && std::isnan(y.second)));
  });
}

inline std::string config_of(const TempDir& dir, const std::string& task) {
  return fmt::format(
      "dataset.path = \"{}\"\nrun.dir = \"{}\"\nmemory.host = \"256MiB\"\n"
      "model.type = \"embedding\"\nembedding = {{ dim = 8, init = 0.7, lr = 0.05 }}\n"
      "[task]\ntype = \"link_prediction\"\nwidth = 8\ndecoder = \"complex\"\n"
      "decoder_init = 0.7\nends = \"both\"\n{}\n"
      "[train]\nepochs = 3\nbatch_size = 32\ncompute_threads = 1\n"
      "optimizer = {{ type = \"adagrad\", lr = 0.05 }}\n",
      (dir / "data").string(),
      (dir / "run").string(),
      task);
}

/// A run's parts over the graph, and its learned rows in double.
class OpenParts {
 public:
  OpenParts(const TempDir& dir, const std::string& task, const std::vector<std::string>& sets = {})
      : options(options_of(config_of(dir, task), sets)),
        ledger(std::make_shared<MemoryLedger>()),
        parts(options, RunDevice{}, ledger, {Placement::kMemory, Placement::kMemory}) {
    const LabelSchema& labels = *parts.dataset.schema().relations[0].labels;
    for (std::size_t label = 0; label < labels.names.size(); ++label)
      type_of_[std::stoul(labels.names[label].substr(1))] = static_cast<std::int64_t>(label);
  }

  std::int64_t label_of(std::int64_t r) const { return type_of_[static_cast<std::size_t>(r)]; }
  std::int64_t relation_of(std::int64_t label) const {
    return std::ranges::find(type_of_, label) - type_of_.begin();
  }

  RunOptions options;
  std::shared_ptr<MemoryLedger> ledger;
  Parts parts;

 private:
  std::array<std::int64_t, kTypes> type_of_{};
};

/// Learned rows as leaves in double, and ComplEx over them by complex numbers.
struct Dense {
  explicit Dense(const OpenParts& opened)
      : entities(
            opened.parts.rows->in_place().at("rows.entity").to(torch::kFloat64).requires_grad_()),
        relations(
            opened.parts.weights().at("head.relations").to(torch::kFloat64).requires_grad_()) {}

  static Tensor numbers(const Tensor& rows) {
    const auto half = rows.chunk(2, -1);
    return torch::complex(half[0], half[1]);
  }
  /// [rows of s, rows of o], a relation by label.
  Tensor score(const Tensor& s, std::int64_t label, const Tensor& o) const {
    const Tensor left = numbers(s) * numbers(relations[label]);
    return torch::real(left.mm(numbers(o).conj().t()));
  }
  Tensor tails(std::int64_t s, std::int64_t label) const {
    return score(entities[s].unsqueeze(0), label, entities)[0];
  }
  Tensor heads(std::int64_t o, std::int64_t label, bool reciprocal) const {
    if (reciprocal) return tails(o, label + kTypes);
    return score(entities, label, entities[o].unsqueeze(0)).select(1, 0);
  }
  Tensor cube(const Tensor& row) const { return numbers(row).abs().pow(3).sum(); }

  Tensor entities, relations;
};

}  // namespace sluice::test
