// Events that are appended: the dataset that importing all of them at once would have made,
// whatever the order of their times; and what is refused.
#include "import_support.h"
#include "prep/check/verify.h"
#include "prep/update/append.h"
#include "samplers/temporal_support.h"
#include "storage/format/manifest.h"
#include "support/expect_error.h"

#include <doctest/doctest.h>
#include <sluice/random.h>

#include <span>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::uint64_t kFirstNodes = 50, kAllNodes = 60;
constexpr const char* kEventKey = "node__edge__node";

struct EventRow {
  std::uint64_t source = 0, target = 0;
  std::int64_t time = 0;
};

// Heavy ties, self edges, hubs; times in no order. @param nodes that they are between
std::vector<EventRow> draw_event_rows(std::size_t count, std::uint64_t nodes, RandomKey key) {
  std::vector<EventRow> rows;
  for (std::uint64_t i = 0; i < count; ++i) {
    const RandomKey one = key.with(i);
    const bool hub = one.below(3, 0) == 0;
    rows.push_back({one.below(nodes, 1),
                    hub ? 7 : one.below(nodes, 2),
                    static_cast<std::int64_t>(one.below(40, 3)) - 20});
  }
  return rows;
}

std::string csv_of_rows(std::span<const EventRow> rows) {
  std::string text = "src,dst,t\n";
  for (const EventRow& row : rows)
    text += fmt::format("{},{},{}\n", row.source, row.target, row.time);
  return text;
}

// As in-edges, under the ids that they get.
Events events_of_rows(std::span<const EventRow> rows, std::uint64_t first_id, bool both_ways) {
  Events events;
  for (std::size_t i = 0; i < rows.size(); ++i)
    events.push_back({rows[i].source, rows[i].target, rows[i].time, first_id + i});
  return both_ways ? undirected(events) : events;
}

bool same_events(const TemporalView& a, const TemporalView& b) {
  if (!std::ranges::equal(a.offsets, b.offsets)) return false;
  for (std::uint64_t at = 0; at < a.num_edges(); ++at) {
    if (a.time(at) != b.time(at) || a.neighbour(at) != b.neighbour(at) ||
        a.edge_id(at) != b.edge_id(at))
      return false;
  }
  return true;
}

struct EventFolder : ImportFolder {
  UpdateReport append_rows(const std::string& toml) const {
    return update([&](PrepContext& context) {
      const TableFormats formats = table_formats();
      GraphSpec spec(formats);
      Config::parse(toml, "append.toml").bind_to(spec);
      return append_to_dataset(out(), std::move(spec), formats, dir / "raw", "test", context);
    });
  }
  UpdateReport compact() const {
    return update([&](PrepContext& context) { return compact_dataset(out(), "test", context); });
  }
  TemporalGraph events(const std::filesystem::path& dataset) const {
    return TemporalGraph::load(Dataset::open(dataset.string()), kEventKey).or_throw();
  }
  void check_events() const {
    update([&](PrepContext& context) {
      const VerifyReport report = verify_dataset(out().string(), context);
      CHECK(report.problems == std::vector<std::string>());
      CHECK(report.strangers == std::vector<std::string>());
      return UpdateReport{};
    });
  }

 private:
  template <class Work>
  UpdateReport update(const Work& work) const {
    MemoryLedger ledger(budget, "--memory");
    ThreadArena arena(threads);
    const auto log = make_silent_logger();
    PrepContext context{ledger, arena, *log, ProgressStyle::kSilent};
    const UpdateReport report = work(context);
    CHECK(ledger.used() == 0);
    return report;
  }
};

std::string events_toml(const std::string& file, bool both_ways, std::uint64_t nodes = 0) {
  const std::string counted = nodes == 0 ? "" : fmt::format("[[nodes]]\ncount = {}\n", nodes);
  return counted + fmt::format("[[edges]]\nfile = '{}'\ntime_column = 't'\nundirected = {}\n",
                               file,
                               both_ways);
}

}  // namespace

TEST_CASE("appended events stand where an import of all puts them, and compact makes it so") {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    CAPTURE(seed);
    const bool both_ways = seed % 2 == 1;
    const RandomKey key = RandomKey(seed).with("appended events");
    // The last append brings new nodes.
    std::vector<EventRow> rows = draw_event_rows(400, kFirstNodes, key.with(0));
    const std::vector<EventRow> last = draw_event_rows(200, kAllNodes, key.with(1));
    rows.insert(rows.end(), last.begin(), last.end());
    const std::span<const EventRow> all(rows);
    EventFolder folder;
    folder.write("base.csv", csv_of_rows(all.first(250)));
    folder.write("more.csv", csv_of_rows(all.subspan(250, 150)));
    folder.write("last.csv", csv_of_rows(all.subspan(400)));
    folder.write("all.csv", csv_of_rows(all));
    folder.run(events_toml("base.csv", both_ways, kFirstNodes));
    const auto whole_path = folder.dir / "out/all";
    folder.run_into(events_toml("all.csv", both_ways, kAllNodes), whole_path);
    const TemporalGraph whole = folder.events(whole_path);
    const TemporalGraph base = folder.events(folder.out());

    CHECK(folder.append_rows(events_toml("more.csv", both_ways)).generation == 2);
    folder.check_events();
    const Events more = events_of_rows(all.subspan(250, 150), 250, both_ways);
    CHECK(same_events(folder.events(folder.out()).view(),
                      append_events(base, more, kFirstNodes, nullptr).or_throw().view()));
    CHECK(Manifest::load(folder.out()).or_throw().version == 6);

    const UpdateReport report = folder.append_rows(events_toml("last.csv", both_ways, kAllNodes));
    CHECK(report.nodes == kAllNodes - kFirstNodes);
    CHECK(report.edges == events_of_rows(all.subspan(400), 400, both_ways).size());
    folder.check_events();
    const TemporalGraph appended = folder.events(folder.out());
    CHECK(same_events(appended.view(), whole.view()));

    // Whatever is asked of them.
    ThreadArena arena(2);
    for (const auto strategy : {TemporalStrategy::kRecent, TemporalStrategy::kUniform}) {
      const TemporalSamplerOptions options{.strategy = strategy, .count = {5, 3}, .window = 11};
      const TemporalSampler one(appended, options, RandomKey(seed)),
          other(whole, options, RandomKey(seed));
      QueryList queries;
      for (std::uint64_t node = 0; node < kAllNodes; ++node)
        for (const std::int64_t time : {-20, -3, 0, 8, 25}) queries.add(node, time);
      const TemporalRequest request{.epoch = 1, .queries = queries.view()};
      CHECK(bytes_of(one.sample(request, TemporalForm::kPacked, arena).or_throw()) ==
            bytes_of(other.sample(request, TemporalForm::kPacked, arena).or_throw()));
    }

    CHECK(folder.compact().generation == 4);
    folder.check_events();
    CHECK(Manifest::load(folder.out()).or_throw().version == 3);
    for (const char* file : {"offsets.bin", "neighbours.bin", "edge_ids.bin", "times.bin"}) {
      CAPTURE(file);
      const std::string name = fmt::format("edges/{}/{}", kEventKey, file);
      CHECK(read_all(folder.out() / name) == read_all(whole_path / name));
    }
  }
}

TEST_CASE("a reader keeps its generation while events are appended and folded in") {
  const std::vector<EventRow> rows = draw_event_rows(300, kFirstNodes, RandomKey(4));
  const std::span<const EventRow> all(rows);
  EventFolder folder;
  folder.write("base.csv", csv_of_rows(all.first(200)));
  folder.write("more.csv", csv_of_rows(all.subspan(200)));
  folder.run(events_toml("base.csv", false, kFirstNodes));
  const Dataset before = Dataset::open(folder.out().string());
  const TemporalGraph old = TemporalGraph::load(before, kEventKey).or_throw();
  folder.append_rows(events_toml("more.csv", false));
  CHECK(old.view().num_edges() == 200);
  const auto newer = before.newer();
  REQUIRE(newer.has_value());
  CHECK(newer->generation() == 2);
  const TemporalGraph grown = TemporalGraph::load(*newer, kEventKey).or_throw();
  CHECK(grown.view().num_edges() == 300);
  folder.compact();
  CHECK(same_events(folder.events(folder.out()).view(), grown.view()));
}

TEST_CASE("dates are appended in the unit that is said") {
  EventFolder folder;
  folder.write("base.csv", "src,dst,t\n0,1,86400\n");
  folder.write("more.csv", "src,dst,t\n2,1,1970-01-01T12:00\n0,1,1970-01-03Z\n");
  folder.write("mended.csv", "src,dst,t\n2,1,1970-01-01T12:00\n0,1,1970-01-03T00:00Z\n");
  folder.run("[[nodes]]\ncount = 3\n[[edges]]\nfile = 'base.csv'\ntime_column = 't'\n");
  const std::string dated = "[[edges]]\ntime_column = 't'\ntime_unit = 's'\nfile = ";
  const Error error = expect_error([&] { folder.append_rows(dated + "'more.csv'\n"); });
  CHECK(std::string(error.what()).find("more.csv:3: column 't'") != std::string::npos);
  CHECK(Manifest::load(folder.out()).or_throw().generation == 1);
  folder.append_rows(dated + "'mended.csv'\n");
  const TemporalGraph graph = folder.events(folder.out());
  const TemporalView& view = graph.view();
  REQUIRE(view.num_edges() == 3);
  CHECK(std::vector{view.time(0), view.time(1), view.time(2)} ==
        std::vector<std::int64_t>{43'200, 86'400, 172'800});
  CHECK(std::vector{view.edge_id(0), view.edge_id(1), view.edge_id(2)} ==
        std::vector<std::uint64_t>{1, 0, 2});
}

TEST_CASE("events without times are refused, and times where there are none") {
  EventFolder folder;
  folder.write("base.csv", "src,dst,t\n0,1,5\n");
  folder.write("more.csv", "src,dst,t\n1,0,6\n");
  folder.run("[[edges]]\nfile = 'base.csv'\ntime_column = 't'\n");
  const auto message = [&](const std::string& toml) {
    return std::string(expect_error([&] { folder.append_rows(toml); }).message());
  };
  CHECK(message("[[edges]]\nfile = 'more.csv'\n") ==
        "edges of relation 'node__edge__node' have times, and these have none");
  CHECK(message("[[edges]]\nfile = 'more.csv'\ntime_column = 't'\nweight_column = 't'\n") ==
        "append takes edges and their times alone: weights, types, features, labels and reverse do "
        "not apply");
  EventFolder plain;
  plain.write("base.csv", "src,dst,t\n0,1,5\n");
  plain.run("[[edges]]\nfile = 'base.csv'\n");
  CHECK(std::string(expect_error([&] {
                      plain.append_rows("[[edges]]\nfile = 'base.csv'\ntime_column = 't'\n");
                    }).message()) ==
        "edges of relation 'node__edge__node' have no times, and these have some");
}
