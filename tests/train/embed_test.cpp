// sluice-train embed and evaluate --exact, from a run that was trained: files by the user's ids,
// the same bytes within any budget, whole or not at all.
#include "core/interrupt.h"
#include "storage/checkpoint/safetensors.h"
#include "support/expect_error.h"
#include "support/file_size_limit.h"
#include "support/generated_dataset.h"
#include "train/node_row_file.h"
#include "train/support.h"

#include <doctest/doctest.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::test;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kAllNodes = 2000, kClasses = 4;

// A run of two epochs over 2000 nodes.
struct TrainedRun {
  TempDir dir;
  Quiet quiet;
  RunReport trained;

  TrainedRun() {
    generate_dataset(dir / "data");
    trained = run_training(
        options_of(short_config(dir, dir / "data")), RunDirectory::Mode::kNew, quiet.context);
  }

  std::string run() const { return (dir / "run").string(); }
  PredictReport embed(const std::string& name,
                      const EmbedOptions& options = {},
                      const std::vector<std::string>& sets = {}) {
    return embed_run(run(), sets, {}, options, dir / name, quiet.context);
  }
  std::set<std::string> entries() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(dir.path()))
      names.insert(entry.path().filename().string());
    return names;
  }
};

std::vector<float> values_in_csv(const fs::path& path, std::int64_t columns) {
  std::istringstream lines(read_all(path));
  std::string line, cell;
  std::getline(lines, line);
  std::vector<float> values;
  for (std::int64_t node = 0; std::getline(lines, line); ++node) {
    std::istringstream cells(line);
    std::getline(cells, cell, ',');
    CHECK(std::stol(cell) == node);
    for (std::int64_t column = 0; column < columns; ++column) {
      REQUIRE(std::getline(cells, cell, ','));
      values.push_back(std::stof(cell));
    }
  }
  return values;
}

}  // namespace

TEST_CASE("embed writes what the model makes of every node, in three formats the same") {
  TrainedRun of;
  const PredictReport csv = of.embed("rows.csv");
  CHECK(csv.rows == kAllNodes);
  REQUIRE(csv.layers.size() == 3);
  for (const LayerFigures& layer : csv.layers) CHECK(layer.times() == 1);
  const std::vector<float> values = values_in_csv(of.dir / "rows.csv", kClasses);
  REQUIRE(values.size() == kAllNodes * kClasses);
  (void)of.embed("rows.npy");
  const std::string npy = read_all(of.dir / "rows.npy");
  CHECK(npy.find("('e3', '<f4')]") != std::string::npos);
  CHECK(npy.find("'shape': (2000,)") != std::string::npos);
  (void)of.embed("rows.safetensors");
  const SafetensorsContent stored =
      read_safetensors(of.dir / "rows.safetensors", nullptr).or_throw();
  bool found = false;
  for (const CheckpointTensor& tensor : stored.tensors) {
    if (tensor.name != "rows") continue;
    found = true;
    CHECK(tensor.value.shape() == Array::Shape{kAllNodes, kClasses});
    const Array& rows = tensor.value;
    CHECK(std::memcmp(rows.data(), values.data(), values.size() * sizeof(float)) == 0);
    const std::size_t record = sizeof(std::int64_t) + kClasses * sizeof(float);
    REQUIRE(npy.size() > kAllNodes * record);
    const std::size_t begin = npy.size() - kAllNodes * record;
    const auto bytes = std::as_bytes(std::span(values));
    for (std::size_t node : {std::size_t{0}, std::size_t{1999}})
      CHECK(std::memcmp(npy.data() + begin + node * record + sizeof(std::int64_t),
                        bytes.data() + node * kClasses * sizeof(float),
                        kClasses * sizeof(float)) == 0);
  }
  CHECK(found);
}

TEST_CASE("embed writes the same bytes within any budget, from memory and from disk") {
  TrainedRun of;
  (void)of.embed("roomy.csv", {}, {"memory.host=512MiB"});
  (void)of.embed("tight.csv",
                 {},
                 {"memory.host=48MiB",
                  "storage.features=disk",
                  "storage.topology=disk",
                  "train.compute_threads=2",
                  "train.data_threads=2"});
  CHECK(read_all(of.dir / "roomy.csv") == read_all(of.dir / "tight.csv"));
  EmbedOptions hidden;
  hidden.layer = 1;
  CHECK(of.embed("hidden.csv", hidden).layers.size() == 2);
  CHECK(values_in_csv(of.dir / "hidden.csv", 16).size() == kAllNodes * 16);
}

TEST_CASE("a file of rows takes no less than the disk is asked for") {
  TrainedRun of;
  const Dataset dataset = Dataset::open((of.dir / "data").string());
  const NodeTypeSchema& type = dataset.schema().nodes.at(0);
  for (const char* name : {"rows.csv", "rows.npy", "rows.safetensors"}) {
    CAPTURE(name);
    (void)of.embed(name);
    const std::uint64_t least = least_row_file_bytes(type, kClasses, of.dir / name);
    CHECK(least >= kAllNodes * kClasses * 2);
    CHECK(fs::file_size(of.dir / name) >= least);
  }
}

TEST_CASE("embed says which rows there are") {
  TrainedRun of;
  EmbedOptions learned;
  learned.rows = EmbeddedRows::kLearned;
  const Error none = expect_error([&] { (void)of.embed("rows.csv", learned); });
  CHECK(none.code() == ErrorCode::kUsage);
  CHECK(none.message() == "this run has no learned rows");
  EmbedOptions other;
  other.type = "nod";
  const Error unknown = expect_error([&] { (void)of.embed("rows.csv", other); });
  CHECK(unknown.code() == ErrorCode::kUsage);
  CHECK_FALSE(fs::exists(of.dir / "rows.csv"));
}

TEST_CASE("an interrupted embed, and one on a full disk, leave nothing") {
  TrainedRun of;
  const std::set<std::string> before = of.entries();
  {
    const InterruptGuard guard;
    REQUIRE(std::raise(SIGINT) == 0);
    const Error stopped = expect_error([&] { (void)of.embed("rows.csv"); });
    CHECK(stopped.code() == ErrorCode::kInterrupted);
  }
  { const InterruptGuard forgets; }
  CHECK(of.entries() == before);
  {
    const FileSizeLimit full(64 << 10);  // the inputs are 156 KiB
    const Error no_room = expect_error([&] { (void)of.embed("rows.csv"); });
    CHECK(no_room.code() == ErrorCode::kResource);
  }
  CHECK(of.entries() == before);
  CHECK(of.embed("rows.csv").rows == kAllNodes);
}

TEST_CASE("evaluate --exact gives the figures of full neighbourhoods, and of the same weights") {
  TrainedRun of;
  EvaluateOptions exact;
  exact.inference = Inference::kByLayer;
  const RunReport by_layer = evaluate_run(of.run(), {}, exact, of.quiet.context);
  const RunReport by_batch = evaluate_run(of.run(), {}, {}, of.quiet.context);
  REQUIRE(by_layer.metrics.size() == by_batch.metrics.size());
  for (const auto& [name, value] : by_batch.metrics) {
    CAPTURE(name);
    REQUIRE(by_layer.metrics.contains(name));
    // One of 200 nodes may be on the other side of a tie.
    CHECK(std::abs(by_layer.metrics.at(name) - value) <= 0.0051);
  }
  CHECK(by_layer.weights_xxh3 == by_batch.weights_xxh3);
}
