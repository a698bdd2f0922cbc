// Learned rows on disk beside features on disk: what each table's cache gets by [storage] cache
// "ranked", against a ranking of single rows, and that results do not depend on it.
#include "pipeline/data/graph_data_state.h"
#include "storage/io/disk_profile.h"
#include "support/expect_error.h"
#include "support/process.h"
#include "train/cached_tables.h"
#include "train/plan_run.h"
#include "train/support.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

void generate_authors(const std::filesystem::path& out,
                      const std::string& papers = "6000",
                      const std::string& features = "256") {
  const Outcome made = run({tool("sluice-prep"),
                            "generate",
                            "hetero",
                            "--out",
                            out.string(),
                            "--papers",
                            papers,
                            "--authors",
                            "3000",
                            "--institutions",
                            "20",
                            "--cites",
                            "20000",
                            "--writes",
                            "12000",
                            "--works-at",
                            "3000",
                            "--features",
                            features,
                            "--author-features",
                            "16",
                            "--classes",
                            "4",
                            "--train",
                            "0.2",
                            "--valid",
                            "0.05",
                            "--test",
                            "0.05"});
  REQUIRE_MESSAGE(made.code == 0, made.err);
}

std::string authors_config(const TempDir& dir) {
  return "dataset.path = \"" + (dir / "data").string() + "\"\nrun.dir = \"" +
         (dir / "run").string() +
         "\"\nmemory.host = \"256MiB\"\nsampler.fanout = [5, 5]\n"
         "model = { type = \"rgcn\", hidden = 16, bases = 2 }\n"
         "embedding = { dim = 32, types = [\"paper\", \"author\"] }\n"
         "storage = { features = \"disk\", embeddings = \"disk\" }\n"
         "task = { type = \"node_classification\", node_type = \"paper\" }\n"
         "[train]\nepochs = 2\nbatch_size = 8\ncompute_threads = 1\nhash_batches = true\n"
         "[eval]\nbatch_size = 8\n";  // small, so that tables have rows beside those of two
}

/// Of the environment, while this lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value, 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

/// A disk that reads 4 KiB in 100 us, and writes half as fast as it reads.
DiskProfile given_disk() {
  DiskRates rates;
  for (std::size_t i = 0; i < rates.read_seconds.size(); ++i)
    rates.read_seconds[i] = 1e-4 * DiskRates::kRequestBytes[i] / DiskRates::kRequestBytes[0];
  rates.sequential_read = 1e9;
  rates.sequential_write = 5e8;
  return DiskProfile(rates);
}

/// How often each node of a type is the source of an edge, most first.
std::vector<std::uint64_t> uses_by_hand(const Parts& parts, const std::string& type) {
  const GraphSchema& schema = parts.dataset.schema();
  std::vector<std::uint64_t> uses(schema.node_type(type)->count);
  const SamplerGraph& graph = parts.data.graph();
  for (std::size_t r = 0; r < schema.relations.size(); ++r) {
    if (schema.relations[r].source != type) continue;
    const CscView* edges = graph.relations[r]->resident();
    REQUIRE(edges != nullptr);
    for (std::uint64_t at = 0; at < graph.relations[r]->num_edges(); ++at)
      ++uses[edges->neighbour(at)];
  }
  std::ranges::sort(uses, std::greater());
  return uses;
}

/// Bytes of each table beyond its least rows, row by row, best first.
std::vector<std::uint64_t> shares_by_hand(const std::vector<CachedTable>& tables,
                                          std::uint64_t bytes) {
  struct Row {
    double saved;
    std::size_t table;
  };
  std::vector<Row> rows;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    std::uint64_t number = 0;
    for (const auto& [uses, count] : tables[t].uses)
      for (std::uint64_t i = 0; i < count; ++i)
        if (number++ >= tables[t].least_rows)
          rows.push_back(
              {uses * tables[t].miss_seconds / static_cast<double>(tables[t].row_bytes), t});
  }
  std::stable_sort(
      rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.saved > b.saved; });
  std::vector<std::uint64_t> shares(tables.size());
  std::set<std::size_t> full;
  for (const Row& row : rows) {
    const std::uint64_t size = tables[row.table].row_bytes;
    if (size > bytes) full.insert(row.table);
    if (full.contains(row.table)) continue;
    shares[row.table] += size;
    bytes -= size;
  }
  return shares;
}

std::uint64_t bytes_of_line(const MemoryPlan& plan, const std::string& name) {
  for (const MemoryLine& line : plan.lines)
    if (line.name == name) return line.bytes;
  return 0;
}

}  // namespace

TEST_CASE("a run's plan gives learned rows what their rows among the best of all tables take") {
  const TempDir dir;
  generate_authors(dir / "data");
  const RunOptions options = options_of(authors_config(dir), {"storage.cache=ranked"});
  auto ledger = std::make_shared<MemoryLedger>();
  Parts parts(
      options, RunDevice{}, ledger, {Placement::kDisk, Placement::kMemory, Placement::kDisk});
  MemoryNeeds needs = measure_needs(parts, {});
  CHECK(needs.counted == 6000 * sizeof(std::uint32_t));  // a type at a time
  const std::uint64_t least = plan_memory(needs, 0).least;
  needs.caches = measure_caches(parts, needs, given_disk(), TableAccess::kWrite);
  CHECK(needs.caches.share == CacheShare::kRanked);
  for (const MemoryLedger::Entry& entry : ledger->entries())
    if (entry.name == "node hotness") CHECK(entry.bytes == 0);
  // Those of the trial are gone.
  CHECK(parts.data.state().caches.empty());
  CHECK(table_caches(parts).size() == 2);

  // What tables are told by.
  const double page = given_disk().seconds_for(4096);
  REQUIRE(needs.caches.learned.size() == 2);
  REQUIRE(needs.caches.features.size() == 2);
  const auto has_uses = [&](const CachedTable& table, const std::string& type) {
    RowsByUses expected;
    for (const std::uint64_t uses : uses_by_hand(parts, type))
      ++expected[static_cast<std::uint32_t>(uses)];
    return table.uses == expected;
  };
  const std::vector<RowTables::Cached> cached = parts.tables.cached();
  REQUIRE(cached.size() == 2);
  for (std::size_t i = 0; i < cached.size(); ++i) {
    const CachedTable& table = needs.caches.learned[i];
    CHECK(has_uses(table, cached[i].table->name));
    // 32 values and as many squares, 16 rows to a page: read, and what gives way is read to be
    // merged, and written.
    CHECK(table.miss_seconds == doctest::Approx(4 * page));
    CHECK(table.row_bytes >= 256);
    CHECK(table.row_bytes < 512);
    CHECK(table.least_rows == cached[i].table->rows->needs().least_rows);
  }
  const auto wide = std::ranges::find_if(
      needs.caches.features, [](const CachedTable& table) { return table.row_bytes >= 1024; });
  REQUIRE(wide != needs.caches.features.end());
  CHECK(has_uses(*wide, "paper"));
  CHECK(wide->miss_seconds == doctest::Approx(page));
  CHECK(wide->least_rows > 64);

  // What the rule gives, of several budgets.
  std::vector<CachedTable> all = needs.caches.learned;
  all.insert(all.end(), needs.caches.features.begin(), needs.caches.features.end());
  for (const std::uint64_t more : {2u, 5u, 8u}) {
    CAPTURE(more);
    const MemoryPlan plan = plan_memory(needs, least + more * kMiB);
    REQUIRE(plan.fits());
    CHECK(plan.least == least);
    const std::uint64_t windows =
        memory_ratios::raised(std::max(needs.training.window_bytes, needs.evaluation.window_bytes));
    const std::uint64_t free = plan.budget - plan.fixed - windows - bytes_of_line(plan, "queue");
    const std::uint64_t without_rows =
        std::max<std::uint64_t>(std::min<std::uint64_t>(free, 8 * kMiB) / 2, free / 8);
    const auto by_hand = shares_by_hand(all, free - without_rows);
    const std::uint64_t expected = by_hand[0] + by_hand[1];
    const std::uint64_t got = plan.learned_cache + bytes_of_line(plan, "mini-batches ahead");
    // Rows that stand at the bar together may be of either table.
    CHECK(got - needs.learned.least <= expected + 4096);
    CHECK(expected <= got - needs.learned.least + 4096);
    REQUIRE(plan.learned_shares.size() == 2);
    CHECK(plan.learned_shares[0] + plan.learned_shares[1] + needs.learned.least <=
          plan.learned_cache);
    // That is what the tables' caches are.
    parts.tables.share_cache(plan.learned_cache, plan.learned_window, plan.learned_shares);
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < cached.size(); ++i) {
      const TableRows& rows = *cached[i].table->rows;
      CHECK(rows.cache_bytes() <= rows.needs().least_cache + plan.learned_shares[i]);
      CHECK(rows.cached_rows() >= rows.needs().least_rows);
      bytes += rows.cache_bytes();
    }
    CHECK(bytes <= plan.learned_cache);
  }

  // With room for all of them each is kept, though the size of a row is rounded up.
  const MemoryPlan roomy = plan_memory(needs, least + 64 * kMiB);
  CHECK(roomy.learned_cache == needs.learned.most);
  parts.tables.share_cache(roomy.learned_cache, roomy.learned_window, roomy.learned_shares);
  for (const RowTables::Cached& table : cached)
    CHECK(table.table->rows->cached_rows() == table.table->rows->rows());
}

TEST_CASE("a budget that is told has room for counts of uses beside what is loaded") {
  const TempDir dir;
  generate_authors(dir / "data", "2000000", "2");
  Quiet quiet;
  const auto with = [&](const std::string& budget) {
    return options_of(authors_config(dir),
                      {"storage.cache=ranked",
                       "storage.topology=memory",
                       "embedding.types=[\"author\"]",
                       "train.batch_size=4",
                       "eval.batch_size=4",
                       "memory.host=" + budget});
  };
  const Error error = expect_error([&] { (void)plan_run(with("8MiB"), {}, *quiet.log); });
  CHECK(error.code() == ErrorCode::kResource);
  const std::string before = "set [memory] host to at least \"";
  REQUIRE(error.hint().find(before) == 0);
  const std::string told =
      error.hint().substr(before.size(), error.hint().find('"', before.size()) - before.size());
  const PlannedRun run = plan_run(with(told), {}, *quiet.log);
  CHECK(run.plan.fits());
  CHECK(run.parts->ledger->peak() <= parse_bytes(told).or_throw().bytes);
}

TEST_CASE("a disk is measured once for a run, and what goes wrong with that is told once") {
  const TempDir dir;
  generate_authors(dir / "data");
  const Variable cache("XDG_CACHE_HOME", dir.write("file", "no folder").string().c_str());
  const RunOptions options = options_of(authors_config(dir), {"storage.cache=ranked"});
  Heard heard;
  PlannedRun run = plan_run(options, {}, *heard.log);
  REQUIRE(run.disk);
  REQUIRE(run.disk->warnings.size() == 1);
  const std::string& warning = run.disk->warnings.front();
  plan_epochs(run, dir.path(), *heard.log);
  CHECK(disk_of(run, *heard.log) == run.disk->profile);
  const std::string text = heard.text.str();
  const std::size_t first = text.find(warning);
  REQUIRE(first != std::string::npos);
  CHECK(text.find(warning, first + 1) == std::string::npos);
}

TEST_CASE("weights are the same bits however caches are shared, and the report has each table's") {
  const TempDir dir;
  generate_authors(dir / "data");
  std::string config = authors_config(dir);
  const std::string narrow = "dim = 32";  // wider, so that not all learned rows fit
  config.replace(config.find(narrow), narrow.size(), "dim = 128");
  Quiet quiet;
  const RunReport memory =
      run_training(options_of(config, {"storage.features=memory", "storage.embeddings=memory"}),
                   RunDirectory::Mode::kNew,
                   quiet.context);
  CHECK(memory.caches.empty());
  const auto with = [&](const std::string& cache, std::uint64_t bytes) {
    return options_of(config,
                      {"storage.cache=" + cache, "memory.host=" + format_bytes_exact(bytes)});
  };
  for (const char* cache : {"ranked", "proportional", "degree"}) {
    CAPTURE(cache);
    const std::uint64_t least = plan_run(with(cache, 256 * kMiB), {}, *quiet.log).plan.least;
    const std::uint64_t budget = least + 2 * kMiB;
    Heard heard;
    CHECK(plan_run(with(cache, budget), {}, *heard.log).plan.learned_shares.size() ==
          (std::string(cache) == "degree" ? 0u : 2u));
    CHECK(heard.said("cache of learned rows 'author'") == (std::string(cache) != "degree"));
    CHECK_FALSE(heard.said("cache of features"));  // those have their sizes later
    const RunReport disk =
        run_training(with(cache, budget), RunDirectory::Mode::kReplace, quiet.context);
    CHECK(disk.weights_xxh3 == memory.weights_xxh3);
    CHECK(disk.batches_xxh3 == memory.batches_xxh3);
    CHECK(disk.metrics == memory.metrics);
    CHECK(disk.ledger_peak <= budget);
    std::multiset<std::string> found;
    for (const TableCache& table : disk.caches) {
      found.insert(std::string(table.of) + " of " + table.table);
      CHECK(table.slots > 0);
      CHECK(table.slots <= table.rows);
      CHECK(table.bytes > 0);
    }
    CHECK(found == std::multiset<std::string>{"features of author",
                                              "features of paper",
                                              "learned rows of author",
                                              "learned rows of paper"});
  }
}
