// Known links by brute force over the lists that they are gathered from: answers, counts, what is
// odd, and what all of it is charged.
#include "tasks/known_links.h"
#include "support/process.h"
#include "support/temp_dir.h"

#include <sluice/dataset.h>
#include <sluice/loader.h>
#include <sluice/random.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

using namespace sluice;
using namespace sluice::test;
using tasks::KnownLinks;
using Looked = KnownLinks::Looked;

namespace {

using Pair = std::pair<std::uint64_t, std::uint64_t>;
using PairList = std::vector<Pair>;

constexpr std::uint64_t kKnownNodes = 50;

std::shared_ptr<const Links> links_of(const PairList& pairs) {
  LinkArrays all;
  const auto count = static_cast<std::int64_t>(pairs.size());
  all.sources = Array::make(DType::kU64, {count}).or_throw();
  all.targets = Array::make(DType::kU64, {count}).or_throw();
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    all.sources.as<std::uint64_t>()[i] = pairs[i].first;
    all.targets.as<std::uint64_t>()[i] = pairs[i].second;
  }
  return std::make_shared<ListedLinks>(std::move(all));
}

// Node 0 is a hub; a pair in ten is there twice; nodes from 45 on are in no training link.
std::array<PairList, 3> drawn_parts() {
  const RandomKey key(23);
  std::array<PairList, 3> parts;
  std::uint64_t n = 0;
  for (std::size_t part = 0; part < 3; ++part) {
    const std::uint64_t nodes = part == 0 ? 45 : kKnownNodes;
    for (std::size_t i = 0; i < (part == 0 ? 400u : 60u); ++i) {
      const std::uint64_t from = key.below(3, n++) == 0 ? 0 : key.below(nodes, n++);
      parts[part].emplace_back(from, key.below(nodes, n++));
      if (key.below(10, n++) == 0) parts[part].push_back(parts[part].back());
    }
  }
  return parts;
}

// Answers of a part's links, ascending.
std::vector<std::uint64_t> brute_answers(const PairList& pairs, Looked looked, std::uint64_t node) {
  std::vector<std::uint64_t> found;
  for (const auto& [from, to] : pairs) {
    const bool destination = looked == Looked::kDestination;
    if ((destination ? from : to) == node) found.push_back(destination ? to : from);
  }
  std::ranges::sort(found);
  return found;
}

std::vector<std::uint64_t> nodes_in(std::span<const KnownLinks::Entry> entries) {
  std::vector<std::uint64_t> nodes;
  for (const KnownLinks::Entry& entry : entries) nodes.push_back(entry.answer);
  return nodes;
}

// A dataset that links without types need nothing of.
struct AnyData {
  AnyData() {
    dir.write("edges.csv", "source,target\n0,1\n1,2\n");
    const auto config = dir.write("graph.toml",
                                  "[[nodes]]\ntype = \"node\"\ncount = 3\n"
                                  "[[edges]]\nfile = \"edges.csv\"\n");
    const Outcome made =
        run({tool("sluice-prep"), "import", "--config", config, "--out", dir / "data"});
    REQUIRE_MESSAGE(made.code == 0, made.err);
    dataset.emplace(Dataset::open((dir / "data").string(), {.ledger = &ledger}));
    data.emplace(*dataset, GraphDataOptions{}, LabelsOf{});
  }

  TempDir dir;
  MemoryLedger ledger;
  std::optional<Dataset> dataset;
  std::optional<GraphData> data;
};

std::uint64_t charged(const MemoryLedger& ledger, bool peak) {
  for (const MemoryLedger::Entry& entry : ledger.entries())
    if (entry.name == "known links") return peak ? entry.peak : entry.bytes;
  return 0;
}

}  // namespace

TEST_CASE("known links: answers and counts of all parts by brute force") {
  const AnyData any;
  const std::array<PairList, 3> parts = drawn_parts();
  const KnownLinks::Source source{*any.data,
                                  {links_of(parts[0]), links_of(parts[1]), links_of(parts[2])},
                                  false,
                                  true,
                                  {kKnownNodes, kKnownNodes}};
  MemoryLedger ledger;
  const KnownLinks known(source, KnownLinks::Keep::kAll, &ledger);
  for (const Looked looked : {Looked::kDestination, Looked::kSource}) {
    for (std::uint64_t node = 0; node < kKnownNodes; ++node) {
      const KnownLinks::Answers answers = known.answers(looked, node, 0);
      CHECK(nodes_in(answers.training) == brute_answers(parts[0], looked, node));
      std::vector<std::uint64_t> others = brute_answers(parts[1], looked, node);
      for (const std::uint64_t other : brute_answers(parts[2], looked, node))
        others.push_back(other);
      std::ranges::sort(others);
      CHECK(nodes_in(answers.others) == others);
      CHECK(known.count_training(looked, node, 0) == std::ssize(answers.training));
      CHECK(known.count_training(looked, node, 1) == 0);
    }
  }
  // Of 24 bytes an entry, one an end; what finds nodes that training does not have is gone again.
  const std::size_t all = parts[0].size() + parts[1].size() + parts[2].size();
  CHECK(charged(ledger, false) == 2 * 24 * all);
  CHECK(charged(ledger, true) > charged(ledger, false));

  std::set<std::uint64_t> trained;
  for (const auto& [from, to] : parts[0]) trained.insert({from, to});
  std::uint64_t unseen = 0, repeated = 0;
  for (const std::size_t part : {1u, 2u})
    for (const Pair& pair : parts[part]) {
      unseen += trained.contains(pair.first) && trained.contains(pair.second) ? 0u : 1u;
      repeated += std::ranges::count(parts[0], pair) != 0 ? 1u : 0u;
    }
  REQUIRE(unseen > 0);
  REQUIRE(repeated > 0);
  CHECK(known.asked() == parts[1].size() + parts[2].size());
  CHECK(known.unseen() == unseen);
  CHECK(known.repeated() == repeated);
}

TEST_CASE("known links: those alone that valid and test links ask for, within the budget") {
  const AnyData any;
  std::array<PairList, 3> parts = drawn_parts();
  parts[1] = {{0, 3}};
  parts[2] = {{7, 3}};
  const KnownLinks::Source source{*any.data,
                                  {links_of(parts[0]), links_of(parts[1]), links_of(parts[2])},
                                  false,
                                  true,
                                  {kKnownNodes, kKnownNodes}};
  MemoryLedger ledger;
  const KnownLinks known(source, KnownLinks::Keep::kAsked, &ledger);
  for (const std::uint64_t node : {0u, 7u})
    CHECK(nodes_in(known.answers(Looked::kDestination, node, 0).training) ==
          brute_answers(parts[0], Looked::kDestination, node));
  CHECK(known.answers(Looked::kDestination, 1, 0).training.empty());
  CHECK(known.answers(Looked::kSource, 1, 0).training.empty());
  CHECK(nodes_in(known.answers(Looked::kSource, 3, 0).others) == std::vector<std::uint64_t>{0, 7});
  // A byte less than it took is too little.
  MemoryLedger small(ledger.peak() - 1);
  CHECK_THROWS_AS(KnownLinks(source, KnownLinks::Keep::kAsked, &small), Error);
}
