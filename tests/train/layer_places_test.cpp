// Where edges are for passes over layers: in memory where all of them are, or as far as they are
// named.
#include "support/process.h"
#include "train/layer_run.h"
#include "train/support.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

// 9 MiB of edges between papers, and some more of small relations.
void generate_cited(const std::filesystem::path& out) {
  const Outcome made = run({tool("sluice-prep"),
                            "generate",
                            "hetero",
                            "--out",
                            out.string(),
                            "--papers",
                            "6000",
                            "--authors",
                            "3000",
                            "--institutions",
                            "20",
                            "--cites",
                            "2300000",
                            "--writes",
                            "12000",
                            "--works-at",
                            "3000",
                            "--features",
                            "8",
                            "--author-features",
                            "8",
                            "--classes",
                            "4",
                            "--train",
                            "0.02",
                            "--valid",
                            "0.01",
                            "--test",
                            "0.01"});
  REQUIRE_MESSAGE(made.code == 0, made.err);
}

}  // namespace

TEST_CASE("passes over layers keep no relations in memory beside others that nobody named") {
  const TempDir dir;
  generate_cited(dir / "data");
  Quiet quiet;
  const RunOptions options = options_of(short_config(dir, dir / "data"),
                                        {"train.epochs=1",
                                         "storage.features=disk",
                                         "task.type=node_classification",
                                         "task.node_type=paper"});
  (void)run_training(options, RunDirectory::Mode::kNew, quiet.context);
  RunOptions poor = options;
  poor.memory.host.bytes = 16 * kMiB;
  const GraphSchema schema = Dataset::open((dir / "data").string()).schema();
  // A run by mini-batches has some in memory.
  REQUIRE_FALSE(place_choices(poor.storage, schema, {}, 16 * kMiB, Turns::kNever)
                    .front()
                    .places.relations.empty());

  const auto places = [&](std::vector<std::string> sets) {
    sets.push_back("memory.host=16MiB");
    const auto check = [](Parts&, Part) {};
    return open_for_layers((dir / "run").string(), sets, {}, quiet.context, check)->run.places;
  };
  const Places unnamed = places({});
  CHECK(unnamed.topology.where == Placement::kDisk);
  CHECK(unnamed.relations.empty());
  const Places named = places({"storage.topology_in_memory=[\"writes\"]"});
  CHECK(named.topology.where == Placement::kDisk);
  REQUIRE(named.relations.size() == schema.relations.size());
  for (std::size_t r = 0; r < schema.relations.size(); ++r)
    CHECK((named.relations[r] == Placement::kMemory) == (schema.relations[r].name == "writes"));
}
