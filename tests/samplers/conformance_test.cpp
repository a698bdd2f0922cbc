// What every sampler promises, whatever it chooses: Sampler's contract and Batch's, on random
// multigraphs of several types and relations.
#include "batch_checks.h"
#include "sampler_kinds.h"
#include "sampler_support.h"

#include "support/sanitized.h"

#include <doctest/doctest.h>

#include <optional>
#include <thread>

namespace sluice {
namespace {

using test::Held;
using test::SamplerKind;
using test::sanitized;
using test::TestGraph;

using test::kAllParts;

// Runs a property on each sampler, named in what fails.
template <class Property>
void for_each_kind(Property property) {
  for (const SamplerKind& kind : test::sampler_kinds()) {
    CAPTURE(kind.name);
    property(kind);
  }
}

// A request with the seeds that it refers to.
struct Asked {
  std::vector<std::uint64_t> seeds;
  SampleRequest request;

  Asked(const TestGraph& graph, std::uint64_t index, std::size_t most = 12) {
    const std::size_t type = index % graph.schema.nodes.size();
    seeds = test::random_seeds(graph, type, most, RandomKey(index).with("asked"));
    request = {.epoch = index / 4, .round = index, .index = index, .seeds = {seeds, type}};
  }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;
};

std::uint64_t hash_of(Sampler& sampler, const SampleRequest& request, MemoryLedger* ledger) {
  return hash_batch(sampler.sample(request, ledger).or_throw());
}

std::uint64_t charged(const MemoryLedger& ledger, std::string_view name) {
  for (const auto& entry : ledger.entries()) {
    if (entry.name == name) return entry.bytes;
  }
  return 0;
}

TEST_CASE("batches are well-formed parts of the graph, the same wherever its edges are kept") {
  for_each_kind([](const SamplerKind& kind) {
    for (std::uint64_t seed = 0; seed < sanitized(40u, 8u); ++seed) {
      CAPTURE(seed);
      const TestGraph graph = test::random_graph(seed);
      const auto resident = kind.make(graph.open(Held::k32), kAllParts, RandomKey(seed));
      const auto wide = kind.make(graph.open(Held::k64), kAllParts, RandomKey(seed));
      const auto hidden = kind.make(graph.open(Held::kHidden), kAllParts, RandomKey(seed));
      for (std::uint64_t index = 0; index < 3; ++index) {
        const Asked asked(graph, index);
        const Batch batch = resident->sample(asked.request, nullptr).or_throw();
        CHECK(batch.epoch == asked.request.epoch);
        CHECK(batch.index == index);
        CHECK(SeedLists(batch.seeds).total() == asked.request.seeds.total());
        test::check_whole_batch(graph, batch, resident->num_layers());
        CHECK(hash_of(*wide, asked.request, nullptr) == hash_batch(batch));
        CHECK(hash_of(*hidden, asked.request, nullptr) == hash_batch(batch));
      }
    }
  });
}

TEST_CASE("a batch depends on its request alone: not on batches before, nor on the ledger") {
  for_each_kind([](const SamplerKind& kind) {
    const TestGraph graph = test::random_graph(4);
    MemoryLedger first, second;
    const auto busy = kind.make(graph.open(Held::k32), kAllParts, RandomKey(1));
    for (std::uint64_t index = 0; index < 8; ++index) {
      const Asked asked(graph, index), other(graph, index + 100, 60);
      const auto fresh = kind.make(graph.open(Held::kHidden), kAllParts, RandomKey(1));
      const std::uint64_t hash = hash_of(*fresh, asked.request, nullptr);
      (void)busy->sample(other.request, index % 2 == 0 ? &first : &second).or_throw();
      CHECK(hash_of(*busy, asked.request, &first) == hash);
      CHECK(second.used() == 0);  // another ledger takes the workspace over
      CHECK(hash_of(*busy, asked.request, index % 3 == 0 ? &second : nullptr) == hash);
      CHECK(first.used() == 0);
    }
  });
}

TEST_CASE("the same parts are in a batch whatever else is asked for, and no others") {
  for_each_kind([](const SamplerKind& kind) {
    const TestGraph graph = test::random_graph(4);
    const Asked asked(graph, 0, 30);
    const auto whole = kind.make(graph.open(Held::k32), kAllParts, RandomKey(1));
    const auto bare = kind.make(graph.open(Held::k32), {.transpose = false}, RandomKey(1));
    const Batch all = whole->sample(asked.request, nullptr).or_throw();
    const Batch batch = bare->sample(asked.request, nullptr).or_throw();
    for (std::size_t type = 0; type < all.nodes.size(); ++type) {
      CHECK(test::same_elements<std::uint64_t>(batch.nodes[type].ids, all.nodes[type].ids));
      CHECK(batch.nodes[type].degrees.data() == nullptr);
      CHECK(batch.nodes[type].relation_degrees.data() == nullptr);
      CHECK(all.nodes[type].relation_degrees.size(0) == all.nodes[type].ids.numel());
      CHECK(batch.nodes[type].features.empty());
    }
    for (std::size_t layer = 0; layer < all.layers.size(); ++layer) {
      for (std::size_t r = 0; r < all.layers[layer].size(); ++r) {
        const Block& block = batch.layers[layer][r];
        CHECK(test::lists_of(block) == test::lists_of(all.layers[layer][r]));
        CHECK(block.edge_ids.data() == nullptr);
        CHECK(block.transposed_offsets.data() == nullptr);
      }
    }
  });
}

TEST_CASE("wrong seeds are errors that say what is wrong, and the sampler works on") {
  for_each_kind([](const SamplerKind& kind) {
    const TestGraph graph = test::random_graph(4);
    const auto sampler = kind.make(graph.open(Held::k32), kAllParts, RandomKey(1));
    const Asked asked(graph, 1);
    const std::uint64_t hash = hash_of(*sampler, asked.request, nullptr);
    const std::vector<std::uint64_t> twice = {0, 1, 0}, beyond = {100000};
    const auto repeated = sampler->sample({.index = 6, .seeds = twice}, nullptr);
    REQUIRE_FALSE(repeated);
    CHECK(repeated.error().code() == ErrorCode::kData);
    CHECK(repeated.error().message() == "seed 0 appears twice in mini-batch 6");
    const auto outside = sampler->sample({.seeds = beyond}, nullptr);
    REQUIRE_FALSE(outside);
    CHECK(outside.error().code() == ErrorCode::kData);
    CHECK(outside.error().message().find("seed 100000 is no node: type 't0' has") == 0);
    const auto no_type = sampler->sample({.seeds = {twice, 9}}, nullptr);
    REQUIRE_FALSE(no_type);
    CHECK(no_type.error().code() == ErrorCode::kInternal);
    CHECK(hash_of(*sampler, asked.request, nullptr) == hash);
  });
}

TEST_CASE("a batch without seeds is empty, not an error") {
  for_each_kind([](const SamplerKind& kind) {
    const TestGraph graph = test::random_graph(4);
    const auto sampler = kind.make(graph.open(Held::k32), kAllParts, RandomKey(1));
    const Batch batch = sampler->sample({}, nullptr).or_throw();
    test::check_whole_batch(graph, batch, sampler->num_layers());
    for (const BatchNodes& nodes : batch.nodes) CHECK(nodes.ids.empty());
  });
}

TEST_CASE("batches and workspace are charged, and all of it is given back") {
  for_each_kind([](const SamplerKind& kind) {
    const TestGraph graph = test::random_graph(4);
    const Asked asked(graph, 0, 30);
    MemoryLedger ledger;
    {
      auto sampler = kind.make(graph.open(Held::k32), kAllParts, RandomKey(1));
      std::optional<Batch> batch = sampler->sample(asked.request, &ledger).or_throw();
      const std::uint64_t batch_bytes = charged(ledger, "batches");
      const std::uint64_t workspace_bytes = charged(ledger, "sampler workspace");
      CHECK(batch_bytes > 0);
      CHECK(workspace_bytes > 0);
      CHECK(ledger.used() == batch_bytes + workspace_bytes);
      CHECK(sampler->workspace_bytes() == workspace_bytes);
      batch.reset();
      CHECK(ledger.used() == workspace_bytes);
      // The same batch again needs no more workspace.
      batch = sampler->sample(asked.request, &ledger).or_throw();
      CHECK(charged(ledger, "sampler workspace") == workspace_bytes);
      sampler.reset();
      CHECK(ledger.used() == batch_bytes);
      test::check_whole_batch(graph, *batch, batch->layers.size());  // it owns what it shows
    }
    CHECK(ledger.used() == 0);
  });
}

TEST_CASE("a budget too small is an error wherever it strikes, and the sampler works on") {
  for_each_kind([](const SamplerKind& kind) {
    const TestGraph graph = test::random_graph(4);
    const Asked asked(graph, 0, 30);
    const auto whole = kind.make(graph.open(Held::k32), kAllParts, RandomKey(1));
    const std::uint64_t hash = hash_of(*whole, asked.request, nullptr);
    for (const Held held : {Held::k32, Held::kHidden}) {
      MemoryLedger ledger(std::uint64_t{8} << 20);
      const auto sampler = kind.make(graph.open(held), kAllParts, RandomKey(1));
      int refused = 0;
      for (std::uint64_t room = 0;; room += sanitized(512u, 4096u)) {
        REQUIRE(room < ledger.limit());
        const Charge rest =
            ledger.charge("rest", ledger.available() - std::min(ledger.available(), room))
                .or_throw();
        const auto batch = sampler->sample(asked.request, &ledger);
        if (batch) {
          CHECK(hash_batch(batch.value()) == hash);
          break;
        }
        REQUIRE(batch.error().code() == ErrorCode::kResource);
        REQUIRE(charged(ledger, "batches") == 0);
        ++refused;
      }
      CHECK(refused > 2);
    }
  });
}

TEST_CASE("a failing disk is passed on, and the sampler works on") {
  for_each_kind([](const SamplerKind& kind) {
    const TestGraph graph = test::random_graph(4);
    const Asked asked(graph, 0, 30);
    const SamplerGraph opened = graph.open(Held::kHidden);
    const auto sampler = kind.make(opened, kAllParts, RandomKey(1));
    const std::uint64_t hash = hash_of(*sampler, asked.request, nullptr);
    const auto set_failing = [&](bool failing) {
      for (const auto& relation : opened.relations)
        dynamic_cast<test::ListTopology&>(*relation).fail_neighbours = failing;
    };
    set_failing(true);
    const auto failed = sampler->sample(asked.request, nullptr);
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code() == ErrorCode::kIo);
    set_failing(false);
    CHECK(hash_of(*sampler, asked.request, nullptr) == hash);
  });
}

TEST_CASE("1, 2 and 16 threads make the same batches, however they are dealt out") {
  for_each_kind([](const SamplerKind& kind) {
    constexpr std::size_t kBatches = sanitized(48, 32);
    const TestGraph graph = test::random_graph(11);
    for (const Held held : {Held::k32, Held::kHidden}) {
      const SamplerGraph opened = graph.open(held);
      const auto run = [&](std::size_t threads) {
        std::vector<std::uint64_t> hashes(kBatches);
        const auto work = [&](std::size_t first) {
          const auto sampler = kind.make(opened, kAllParts, RandomKey(1));
          for (std::size_t b = first; b < kBatches; b += threads)
            hashes[b] = hash_of(*sampler, Asked(graph, b, 30).request, nullptr);
        };
        std::vector<std::thread> others;
        for (std::size_t t = 1; t < threads; ++t) others.emplace_back(work, t);
        work(0);
        for (std::thread& other : others) other.join();
        return hashes;
      };
      const auto alone = run(1);
      CHECK(run(2) == alone);
      CHECK(run(16) == alone);
    }
  });
}

TEST_CASE("a topology on disk is asked for much at once") {
  for_each_kind([](const SamplerKind& kind) {
    TestGraph graph = test::make_graph({100, 80});
    test::add_relation(graph, 0, 1, test::random_lists(100, 80, RandomKey(1)));
    test::add_relation(graph, 1, 0, test::random_lists(80, 100, RandomKey(2)));
    const SamplerGraph opened = graph.open(Held::kHidden);
    const auto sampler = kind.make(opened, kAllParts, RandomKey(1));
    CHECK(sampler->sample(Asked(graph, 0, 40).request, nullptr));
    for (const auto& relation : opened.relations) {
      const auto& topology = dynamic_cast<test::ListTopology&>(*relation);
      CHECK(topology.range_calls <= 16);  // a few a hop or step, not one a node
      CHECK(topology.neighbour_calls <= 16);
    }
  });
}

}  // namespace
}  // namespace sluice
