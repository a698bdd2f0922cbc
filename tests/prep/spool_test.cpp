// Spools: what is kept and sorted is the same whatever memory there is.
#include "import_support.h"
#include "prep/spool/sorted_edges.h"
#include "silent_session.h"
#include "support/sanitized.h"

#include <sluice/random.h>

#include <doctest/doctest.h>

#include <algorithm>

using namespace sluice;
using namespace sluice::test;

namespace {

struct Row {
  std::uint64_t source, target, id;
  bool operator==(const Row&) const = default;
};

std::vector<Row> rows_of(SpooledEdges&& edges, std::uint64_t most = ~0ull) {
  std::vector<Row> rows;
  while (const auto view = edges.next_at_most(most)) {
    std::visit(
        [&](const auto& span) {
          CHECK(span.count > 0);
          CHECK(span.count <= most);
          for (std::size_t i = 0; i < span.count; ++i)
            rows.push_back(
                {span.source[i], span.target[i], span.ids == nullptr ? rows.size() : span.ids[i]});
        },
        *view);
  }
  return rows;
}

struct SpoolSession : SilentSession {
  explicit SpoolSession(std::uint64_t budget = MemoryLedger::kUnlimited)
      : SilentSession(2, budget) {}
  TempDir dir;
};

}  // namespace

TEST_CASE("spool: bytes come back, from memory and from disk, across every seam") {
  SpoolSession session;
  for (const std::uint64_t memory : {std::uint64_t{0}, 8 * kMiB, 64 * kMiB}) {
    CAPTURE(memory);
    ScratchBytes bytes(session.dir.path(), &session.ledger, memory);
    const RandomKey key(memory + 1);
    std::vector<std::uint32_t> truth;
    for (std::uint64_t piece = 0; truth.size() < 5'000'000; ++piece) {
      const std::size_t first = truth.size();
      for (std::uint64_t i = 0; i < key.below(300'000, piece); ++i)
        truth.push_back(static_cast<std::uint32_t>(truth.size() * 2654435761u));
      bytes.append_values(std::span<const std::uint32_t>(truth).subspan(first));
    }
    CHECK(bytes.size() == truth.size() * 4);
    CHECK((bytes.spilled() != 0) == (memory < bytes.size()));
    CHECK(session.ledger.used() <= memory + 4 * kMiB);
    for (std::uint64_t i = 0; i < 200; ++i) {
      const std::uint64_t first = key.below(truth.size(), 1'000 + i);
      std::vector<std::uint32_t> got(
          key.below(std::min<std::uint64_t>(truth.size() - first, 3'000'000), 2'000 + i));
      bytes.read_values(first, std::span(got));
      CHECK(std::equal(got.begin(), got.end(), truth.begin() + static_cast<std::ptrdiff_t>(first)));
    }
  }
  CHECK(session.ledger.used() == 0);
}

TEST_CASE(
    "spool: edges come back in pieces of any size, skipped or reversed, wide ids and narrow") {
  SpoolSession session;
  EdgeSpool spool(session.dir.path(), &session.ledger, 0);
  const RandomKey key(5);
  std::vector<Row> truth;
  for (std::uint64_t chunk = 0; chunk < 40; ++chunk) {
    std::vector<std::uint64_t> from, to, ids;
    for (std::uint64_t i = 0; i < key.below(20'000, chunk); ++i) {
      const std::uint64_t wide = chunk % 3 == 0 ? 1ull << 40 : 0;
      from.push_back(key.draw(2 * truth.size()) % 1'000 + wide);
      to.push_back(key.draw(2 * truth.size() + 1) % 1'000);
      ids.push_back(3 * truth.size());
      truth.push_back({from.back(), to.back(), ids.back()});
    }
    spool.append(from, to, ids);
  }
  CHECK((rows_of(SpooledEdges(spool, 3 * truth.size())) == truth));
  CHECK((rows_of(SpooledEdges(spool, 3 * truth.size()), 777) == truth));
  SpooledEdges behind(spool, 3 * truth.size());
  behind.skip(12'345);
  CHECK((rows_of(std::move(behind)) == std::vector<Row>(truth.begin() + 12'345, truth.end())));
  for (Row& row : truth) std::swap(row.source, row.target);
  CHECK((rows_of(SpooledEdges(spool, 3 * truth.size(), SpooledEdges::Way::kReverse)) == truth));
}

TEST_CASE(
    "spool: edges sorted by a key are those of std::stable_sort, in memory and by merging runs") {
  const std::uint64_t seed = random_seed();
  CAPTURE(seed);
  const RandomKey key(seed);
  for (const bool by_itself : {true, false}) {  // ids are places, or stand in the spool
    SpoolSession session;
    EdgeSpool spool(session.dir.path(), &session.ledger, 0);
    ScratchBytes keys(session.dir.path(), &session.ledger, 0);
    std::vector<Row> rows;
    std::vector<std::int64_t> times;
    for (std::uint64_t chunk = 0; chunk < 30; ++chunk) {
      std::vector<std::uint64_t> from, to, ids;
      for (std::uint64_t i = 0; i < test::sanitized(50'000u, 10'000u); ++i) {
        times.push_back(static_cast<std::int64_t>(key.draw(times.size())) >>
                        (chunk % 2 == 0 ? 50 : 1));
        if (!by_itself && times.size() % 7 == 0) continue;
        rows.push_back({key.below(900, 3 * i), key.below(800, 5 * i), times.size() - 1});
        from.push_back(rows.back().source);
        to.push_back(rows.back().target);
        ids.push_back(rows.back().id);
      }
      spool.append(from, to, by_itself ? std::vector<std::uint64_t>() : ids);
    }
    keys.append_values(std::span<const std::int64_t>(times));
    std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
      return times[a.id] < times[b.id];
    });
    for (const std::uint64_t memory : {kMiB, 64 * kMiB, 1024 * kMiB}) {
      CAPTURE(memory);
      const EdgeSpool sorted = sort_edges(spool, keys, session.dir.path(), memory, session.context);
      CHECK((rows_of(SpooledEdges(sorted, times.size())) == rows));
      // Sorted again by another key, so that ids are in no order.
      const EdgeSpool again = sort_edges(sorted, keys, session.dir.path(), memory, session.context);
      CHECK((rows_of(SpooledEdges(again, times.size())) == rows));
    }
  }
}
