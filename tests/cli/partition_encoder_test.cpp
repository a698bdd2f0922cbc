// Partition mode with an encoder that reads neighbours, by the command line: rows on disk are those
// of a run in memory that goes the same way, wherever edges are, with kills, over several node
// types; and what the report says beside an exact run.
#include "cli/disk_equals_memory.h"
#include "cli/partition_ground.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

using namespace sluice::test;
using nlohmann::json;

namespace {

using Assignments = std::vector<std::string>;

// What makes an encoder of a PartitionGround's config.
const Assignments kEncoder{"model.type=graphsage", "model.hidden=32", "sampler.fanout=[4, 4]"};

Assignments encoder(Assignments more) {
  more.insert(more.end(), kEncoder.begin(), kEncoder.end());
  return more;
}

// Links of entities, and tags that point at entities: both have learned rows, of other lengths of
// partitions, and tags are no ends of links.
class TypedPartitions {
 public:
  TypedPartitions() {
    const sluice::RandomKey key(78);
    std::string links = "source,target\n", marks = "tag,entity\n";
    for (std::uint64_t n = 0; n < 8000; ++n)
      links += fmt::format("{},{}\n", key.below(3000, 2 * n), key.below(3000, 2 * n + 1));
    for (std::uint64_t n = 0; n < 9000; ++n)
      marks +=
          fmt::format("{},{}\n", key.with("tag").below(700, n), key.with("entity").below(3000, n));
    temp_.write("links.csv", links);
    temp_.write("marks.csv", marks);
    const auto graph = temp_.write(
        "graph.toml",
        "[[nodes]]\ntype = \"entity\"\ncount = 3000\n[[nodes]]\ntype = \"tag\"\ncount = 700\n"
        "[[edges]]\nrelation = \"to\"\nsource = \"entity\"\ntarget = \"entity\"\n"
        "file = \"links.csv\"\nedge_ids = true\n"
        "[[edges]]\nrelation = \"marks\"\nsource = \"tag\"\ntarget = \"entity\"\n"
        "file = \"marks.csv\"\n");
    const Outcome made =
        run({tool("sluice-prep"), "import", "--config", graph, "--out", temp_ / "data"});
    REQUIRE_MESSAGE(made.code == 0, made.err);
    temp_.write("run.toml",
                fmt::format("dataset.path = \"{}\"\nrun.dir = \"{}\"\nmemory.host = \"192MiB\"\n"
                            "model = {{ type = \"graphsage\", hidden = 16 }}\n"
                            "sampler.fanout = [4, 4]\n[embedding]\ndim = 32\ninit = 0.3\n"
                            "mode = \"partitions\"\npartitions = 8\nslots = 3\n[task]\n"
                            "type = \"link_prediction\"\nrelation = \"to\"\nwidth = 16\n"
                            "edge_split = [0.8, 0.1, 0.1]\nends = \"both\"\nloss = \"softmax\"\n"
                            "negatives = 16\nshare = true\neval_negatives = 20\n[train]\n"
                            "epochs = 2\nbatch_size = 64\ncompute_threads = 1\n",
                            (temp_ / "data").string(),
                            (temp_ / "run").string()));
  }

  json report(const std::string& place) const {
    const Outcome outcome = run({tool("sluice-train"),
                                 "run",
                                 (temp_ / "run.toml").string(),
                                 "--json",
                                 "--overwrite",
                                 "--set",
                                 "storage.embeddings=" + place});
    REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    return json::parse(outcome.out);
  }
  std::string rows() const { return read_all(temp_ / "run" / "weights.safetensors"); }

 private:
  TempDir temp_;
};

}  // namespace

TEST_CASE("partitions with an encoder on disk are a run in memory that goes the same way") {
  const PartitionGround ground;
  for (const char* order : {"beta", "comet", "legend"}) {
    CAPTURE(order);
    const std::string set = std::string("embedding.order=") + order;
    const json memory = ground.report(encoder({set, "storage.embeddings=memory"}));
    const std::string rows = ground.rows();
    for (const char* edges : {"memory", "disk"}) {
      CAPTURE(edges);
      const json disk = ground.report(encoder({set,
                                               "storage.embeddings=disk",
                                               std::string("storage.topology=") + edges,
                                               "train.data_threads=3"}));
      CHECK(results(disk) == results(memory));
      CHECK(ground.rows() == rows);
      CHECK(disk.at("approximate") == "partition mode");
      CHECK(disk.at("partitions").at("neighbours") == "resident");
      CHECK(disk.at("partitions").at("bytes_written").get<std::uint64_t>() > 0);
      if (std::string(order) == "beta") CHECK(disk.at("partitions").at("swaps") == 2 * 42);
    }
  }
}

TEST_CASE("partitions with an encoder: LABOR draws in the buffer too") {
  const PartitionGround ground;
  const Assignments labor{"sampler.type=labor", "embedding.partitions=8"};
  Assignments memory = encoder(labor), disk = memory;
  memory.emplace_back("storage.embeddings=memory");
  disk.emplace_back("storage.embeddings=disk");
  const json expected = results(ground.report(memory));
  CHECK(results(ground.report(disk)) == expected);
}

TEST_CASE("partitions with an encoder: exact training sees other neighbours, evaluation the same") {
  const PartitionGround ground;
  const json exact = ground.report(encoder({"embedding.mode=exact"}));
  CHECK_FALSE(exact.contains("partitions"));
  const Outcome trained = run(ground.command(encoder({"storage.embeddings=disk"})));
  REQUIRE_MESSAGE(trained.code == 0, trained.err);
  CHECK(trained.err.find("neighbours are drawn among these") != std::string::npos);
  const json report = json::parse(trained.out);
  CHECK(results(report) != results(exact));
  // Whoever evaluates a stored run knows nothing of partitions.
  const Outcome evaluated = train({"evaluate", ground.dir().string(), "--part", "test", "--json"});
  REQUIRE_MESSAGE(evaluated.code == 0, evaluated.err);
  CHECK(json::parse(evaluated.out).at("metrics").at("test.mrr") ==
        report.at("metrics").at("test.mrr"));
}

TEST_CASE("partitions with an encoder: all parts at once still go bucket by bucket") {
  const PartitionGround ground;
  const Assignments all{"embedding.partitions=4", "embedding.slots=4"};
  Assignments memory = encoder(all), disk = memory;
  memory.emplace_back("storage.embeddings=memory");
  disk.emplace_back("storage.embeddings=disk");
  const json expected = ground.report(memory), got = ground.report(disk);
  CHECK(results(got) == results(expected));
  CHECK(got.at("partitions").at("swaps") == 0);
}

TEST_CASE("partitions with an encoder: the test ranks among all nodes, wherever rows are") {
  const PartitionGround ground;
  const json memory = ground.report(encoder({"task.ranking=all", "storage.embeddings=memory"}));
  const json disk = ground.report(encoder({"task.ranking=all", "storage.embeddings=disk"}));
  CHECK(results(disk) == results(memory));
  const Outcome evaluated = train({"evaluate", ground.dir().string(), "--exact", "--json"});
  REQUIRE_MESSAGE(evaluated.code == 0, evaluated.err);
  CHECK(json::parse(evaluated.out).at("metrics").at("test.mrr") ==
        disk.at("metrics").at("test.mrr"));
}

TEST_CASE("partitions with an encoder: killed again and again, and resumed") {
  check_killed_again(PartitionGround(), kEncoder, full_matrix() ? 50 : 4);
}

TEST_CASE("partitions with an encoder: rows of a node type that no link ends at") {
  const TypedPartitions ground;
  const json memory = ground.report("memory");
  const std::string rows = ground.rows();
  const json disk = ground.report("disk");
  CHECK(results(disk) == results(memory));
  CHECK(ground.rows() == rows);
  CHECK(disk.at("partitions").at("bytes_written").get<std::uint64_t>() > 0);
}

TEST_CASE("partitions: the report sets metrics beside those of an exact run") {
  const PartitionGround ground;
  const std::string exact = (ground.folder() / "exact").string();
  const json of = ground.report({"embedding.mode=exact", "run.dir=" + exact});
  const json report = ground.report({"embedding.exact_run=" + exact, "embedding.order=comet"});
  const json& beside = report.at("exact");
  CHECK(beside.at("run") == exact);
  CHECK(beside.at("epochs") == 2);
  CHECK(beside.at("metrics") == of.at("metrics"));
  const auto mrr = [](const json& from) { return from.at("metrics").at("test.mrr").get<double>(); };
  CHECK(beside.at("of_exact").at("test.mrr").get<double>() ==
        doctest::Approx(mrr(report) / mrr(of)));
  CHECK(json::parse(read_all(ground.dir() / "report.json")).at("exact") == beside);
  // It is said, not computed with: the run is what it is without.
  CHECK(results(report) == results(ground.report({"embedding.order=comet"})));
}

TEST_CASE("partitions with an encoder: no test stands beside one that was ranked among others") {
  const PartitionGround ground;
  const std::string exact = (ground.folder() / "exact").string();
  const Assignments ranked{"task.ranking=all", "train.epochs=1"};
  Assignments first = encoder(ranked), second = first;
  first.insert(first.end(), {"embedding.mode=exact", "run.dir=" + exact});
  second.push_back("embedding.exact_run=" + exact);
  json of = ground.report(first);
  CHECK(of.at("ranked_among") == "all");
  json figures = json::object();
  for (const auto& [name, value] : of.at("metrics").items())
    if (!value.is_null()) figures[name] = value;
  CHECK(ground.report(second).at("exact").at("metrics") == figures);
  of["ranked_among"] = "drawn";  // as a run on a GPU says
  std::ofstream(ground.folder() / "exact" / "report.json") << of;
  const json beside = ground.report(second).at("exact");
  CHECK_FALSE(beside.at("metrics").contains("test.mrr"));
  CHECK_FALSE(beside.at("of_exact").contains("test.mrr"));
  CHECK(beside.at("metrics").at("valid.mrr") == of.at("metrics").at("valid.mrr"));
}

TEST_CASE("partitions: what cannot be set beside a run is refused, with what to do") {
  const PartitionGround ground;
  const auto says = [&](const Assignments& sets, const std::string& what) {
    const std::string said = ground.refusal(sets, 2);
    CHECK_MESSAGE(said.find(what) != std::string::npos, said);
  };
  const std::string exact = (ground.folder() / "exact").string();
  const std::string parted = (ground.folder() / "parted").string();
  (void)ground.report({"embedding.mode=exact", "train.epochs=1", "run.dir=" + exact});
  (void)ground.report({"train.epochs=1", "run.dir=" + parted});
  const std::string named = "embedding.exact_run=" + exact;
  says({"embedding.exact_run=" + parted}, "by partitions too");
  says({named, "embedding.mode=exact"}, "this run is exact itself");
  says({named, "embedding.lr=0.25"}, "embedding.lr: 0.1 -> 0.25");
  says({"embedding.exact_run=" + ground.folder().string()},
       ground.folder().string() + ": embedding.exact_run: this is no run directory");
  std::filesystem::remove(ground.folder() / "exact" / "report.json");
  says({named}, exact + ": embedding.exact_run: that run has not ended: it has no report");
  says({named}, "sluice-train resume " + exact + "; or leave it out: --set embedding.exact_run=");
  std::ofstream(ground.folder() / "exact" / "report.json") << "{\"metrics\": 1}";
  CHECK(ground.refusal({named}, 3).find("makes no sense") != std::string::npos);
}

TEST_CASE("partitions: an exact run that has gone is refused by key and directory, or left out") {
  const PartitionGround ground;
  const std::string exact = (ground.folder() / "exact").string();
  (void)ground.report({"embedding.mode=exact", "train.epochs=1", "run.dir=" + exact});
  const Assignments sets{"embedding.exact_run=" + exact, "train.epochs=1"};
  const json before = ground.report(sets);
  std::filesystem::rename(exact, ground.folder() / "elsewhere");
  // Of a run whose config names it, too, where only --set gets past it.
  const std::vector<std::string> resume{"resume", ground.dir().string(), "--json"};
  const Outcome refused = train(resume);
  CHECK(refused.code == 2);
  for (const std::string& said : {refused.err, ground.refusal(sets, 2)}) {
    CAPTURE(said);
    CHECK(said.find(exact + ": embedding.exact_run: there is no such directory") !=
          std::string::npos);
    CHECK(said.find("or leave it out: --set embedding.exact_run=") != std::string::npos);
  }
  std::vector<std::string> without = resume, elsewhere = resume;
  without.insert(without.end(), {"--set", "embedding.exact_run="});
  elsewhere.insert(elsewhere.end(),
                   {"--set", "embedding.exact_run=" + (ground.folder() / "elsewhere").string()});
  const Outcome found = train(elsewhere);
  REQUIRE_MESSAGE(found.code == 0, found.err);
  CHECK(json::parse(found.out).at("exact").at("metrics") == before.at("exact").at("metrics"));
  const Outcome left_out = train(without);
  REQUIRE_MESSAGE(left_out.code == 0, left_out.err);
  CHECK_FALSE(json::parse(left_out.out).contains("exact"));
}

TEST_CASE("partitions: an exact run over what was in the dataset's folder before is refused") {
  const PartitionGround ground;
  const std::string exact = (ground.folder() / "exact").string();
  (void)ground.report({"embedding.mode=exact", "train.epochs=1", "run.dir=" + exact});
  const std::filesystem::path links = ground.folder() / "train.txt";
  const std::string all = read_all(links);
  std::ofstream(links) << all.substr(all.find('\n') + 1);  // one link less
  const Outcome made = run({tool("sluice-prep"),
                            "import",
                            "--overwrite",
                            "--config",
                            (ground.folder() / "graph.toml").string(),
                            "--out",
                            (ground.folder() / "data").string()});
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const std::string said = ground.refusal({"embedding.exact_run=" + exact, "train.epochs=1"}, 2);
  CHECK_MESSAGE(said.find("the dataset has changed since that run") != std::string::npos, said);
}
