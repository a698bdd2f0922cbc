// Partition mode by the command line: rows on disk, a few partitions of them in memory, are those
// of a run in memory that goes the same way, whatever the order, the threads and the kills; what
// it says of itself, and what it refuses.
#include "cli/disk_equals_memory.h"
#include "cli/partition_ground.h"

using namespace sluice::test;
using nlohmann::json;

TEST_CASE("partitions on disk are a run in memory that goes the same way") {
  const PartitionGround ground;
  for (const char* order : {"beta", "comet", "sequential", "legend", "auto"}) {
    CAPTURE(order);
    const std::string set = std::string("embedding.order=") + order;
    const json memory = ground.report({set, "storage.embeddings=memory"});
    const std::string rows = ground.rows();
    const json disk = ground.report({set, "storage.embeddings=disk", "train.data_threads=3"});
    CHECK(results(disk) == results(memory));
    CHECK(ground.rows() == rows);
    CHECK(disk.at("approximate") == "partition mode");
    const json& of = disk.at("partitions");
    CHECK(of.at("slots") == (std::string(order) == "comet" ? 6 : 5));
    CHECK(of.at("bytes_read").get<std::uint64_t>() > 0);
    CHECK(of.at("bytes_written").get<std::uint64_t>() > 0);
    if (std::string(order) == "beta") CHECK(of.at("swaps") == 2 * 42);
    CHECK(memory.at("partitions").at("swaps") == 0);
  }
}

TEST_CASE("partitions: an exact run goes another way, and says nothing of them") {
  const PartitionGround ground;
  const json exact = ground.report({"embedding.mode=exact"});
  CHECK_FALSE(exact.contains("approximate"));
  CHECK_FALSE(exact.contains("partitions"));
  CHECK(results(exact) != results(ground.report({})));
}

TEST_CASE("partitions: killed again and again, and resumed") {
  check_killed_again(PartitionGround(), {}, full_matrix() ? 50 : 5);
}

TEST_CASE("partitions: the run says that it is approximate; evaluate, embed and a dry run know") {
  const PartitionGround ground;
  const Outcome trained = run(ground.command({"storage.embeddings=disk"}));
  REQUIRE_MESSAGE(trained.code == 0, trained.err);
  CHECK(trained.err.find("approximate: partition mode") != std::string::npos);
  const json first =
      json::parse(read_all(ground.dir() / "metrics.jsonl")
                      .substr(0, read_all(ground.dir() / "metrics.jsonl").find('\n')));
  CHECK(first.at("partitions").at("swaps") == 42);
  const Outcome evaluated = train({"evaluate", ground.dir().string(), "--part", "test", "--json"});
  REQUIRE_MESSAGE(evaluated.code == 0, evaluated.err);
  const json of = json::parse(evaluated.out);
  CHECK(of.at("approximate") == "partition mode");
  CHECK(of.at("metrics").at("test.mrr") == json::parse(trained.out).at("metrics").at("test.mrr"));
  std::vector<std::string> asked = ground.command({"storage.embeddings=disk"});
  asked.emplace_back("--dry-run");
  const Outcome dry = run(asked);
  REQUIRE_MESSAGE(dry.code == 0, dry.err);
  const json split = json::parse(dry.out).at("memory").at("split");
  CHECK(split.at("embedding partitions").get<std::uint64_t>() >
        kPartitionedEntities * 512 * 5 / 16);
  CHECK(split.at("edge buckets").get<std::uint64_t>() > 0);
}

TEST_CASE("partitions: what cannot be trained by them is refused, with what to do") {
  const PartitionGround ground;
  const auto says = [](const std::string& said, const std::string& what) {
    CHECK_MESSAGE(said.find(what) != std::string::npos, said);
  };
  says(ground.refusal({"task.loss=all"}, 2), "task.loss = \"softmax\"");
  says(ground.refusal({"model.type=graphsage", "sampler.fanout=[3, 3]", "sampler.replace=true"}, 2),
       "sampler.type = \"neighbor\"");
  says(ground.refusal({"dataset.follow=true"}, 2), "dataset.follow = false");
  says(ground.refusal({"embedding.slots=1"}, 2), "embedding.slots");
  says(ground.refusal({"embedding.order=circle"}, 2), "beta");
  // Of the smallest budget 15 of 16 partitions and links are a part that it cannot be without.
  says(ground.refusal({"storage.embeddings=disk", "embedding.slots=14", "memory.host=2MiB"}, 4),
       "embedding partitions");
}
