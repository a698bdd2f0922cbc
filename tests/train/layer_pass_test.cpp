// All nodes layer by layer: equal to recursive full-neighbour inference, of every model that can be
// taken so; the same bits whatever the room and the number of threads; rows read once.
#include "train/layer_pass.h"
#include "models/carry_size.h"
#include "models/readout.h"
#include "support/expect_error.h"
#include "support/generated_dataset.h"
#include "train/layer_work.h"
#include "train/support.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::test;
using torch::Tensor;

namespace {

constexpr std::uint64_t kNodes = 600, kFeatures = 12;
constexpr std::uint64_t kPapers = 400, kAuthors = 200;
constexpr std::uint64_t kChunk = 100;  // targets of a mini-batch: several, the last one full

void generate_homogeneous(const TempDir& dir) {
  generate_dataset(dir / "data",
                   {{"--nodes", std::to_string(kNodes)},
                    {"--edges", "3000"},
                    {"--features", std::to_string(kFeatures)}});
}

// Papers that cite and are written; authors have features and no in-edges; institutions are read by
// nobody.
void generate_typed(const TempDir& dir) {
  const Outcome made = run({tool("sluice-prep"),
                            "generate",
                            "hetero",
                            "--out",
                            (dir / "data").string(),
                            "--papers",
                            std::to_string(kPapers),
                            "--authors",
                            std::to_string(kAuthors),
                            "--institutions",
                            "20",
                            "--cites",
                            "1600",
                            "--writes",
                            "900",
                            "--works-at",
                            "200",
                            "--features",
                            "12",
                            "--author-features",
                            "5",
                            "--classes",
                            "4"});
  REQUIRE_MESSAGE(made.code == 0, made.err);
}

// A run's parts with the weights that it begins with. @param model keys of [model], as TOML
class Begun {
 public:
  Begun(const TempDir& dir, const std::string& model, Placement where, int threads)
      : options(options_of("dataset.path = \"" + (dir / "data").string() + "\"\nrun.dir = \"" +
                           (dir / "run").string() + "\"\nmemory.host = \"256MiB\"\n" + model +
                           "\n[train]\nepochs = 1\ncompute_threads = " + std::to_string(threads) +
                           "\n[eval]\nbatch_size = 64\n")),
        ledger(std::make_shared<MemoryLedger>()),
        parts(options, RunDevice{}, ledger, {where, where}),
        scratch(dir.path()) {}

  std::size_t type() const { return parts.task->target_types().front(); }

  Tensor by_layers(std::uint64_t room, std::vector<LayerFigures>& figures, int layers = -1) {
    LayerPassOptions pass;
    pass.scratch = scratch;
    pass.chunk = kChunk;
    pass.room = room;
    pass.layers = layers;
    std::vector<bool> wanted(parts.dataset.schema().nodes.size(), false);
    wanted[type()] = true;
    const NodeTables tables = pass_layers(parts, wanted, pass, figures);
    const PanelTable& table = *tables[type()];
    CHECK(table.shape().panels() == 1);
    return read_rows(table, 0, table.shape().rows);
  }
  Tensor by_layers(std::uint64_t room) {
    std::vector<LayerFigures> figures;
    return by_layers(room, figures);
  }

  // Mini-batch by mini-batch, each with the whole neighbourhoods of all hops.
  Tensor recursively() {
    const torch::NoGradGuard no_grad;
    const auto count = static_cast<std::int64_t>(parts.dataset.schema().nodes[type()].count);
    Tensor all = torch::zeros({count, parts.task->output_width()});
    parts.model->eval();
    const auto loader = parts.evaluation_loader(Part::kAll, {64 << 20, 64 << 20});
    loader->start({});
    std::int64_t seen = 0;
    while (const auto batch = loader->next()) {
      parts.rows->begin(*batch, nn::Gradients::kNone);
      const Tensor rows = parts.model->encode(*batch).at(type());
      parts.rows->end();
      const Array& ids = batch->seeds.at(type());
      for (std::int64_t i = 0; i < rows.size(0); ++i) {
        all[static_cast<std::int64_t>(ids.as<std::uint64_t>()[static_cast<std::size_t>(i)])] =
            rows[i];
        ++seen;
      }
    }
    REQUIRE(seen == count);
    return all;
  }

  RunOptions options;
  std::shared_ptr<MemoryLedger> ledger;
  Parts parts;
  std::filesystem::path scratch;
};

// Of the largest.
double difference(const Tensor& a, const Tensor& b) {
  REQUIRE(a.sizes() == b.sizes());
  return ((a - b).abs().max() / b.abs().max().clamp_min(1e-30)).item<double>();
}

// Room for one column of all nodes: panels of one, windows of a mini-batch.
constexpr std::uint64_t kOneColumn = kNodes * sizeof(float);

void check_model(const TempDir& dir, const std::string& model) {
  CAPTURE(model);
  Begun memory(dir, model, Placement::kMemory, 1);
  const Tensor rows = memory.by_layers(0);
  CHECK(rows.isfinite().all().item<bool>());
  CHECK(rows.std().item<double>() > 1e-4);
  CHECK(difference(rows, memory.recursively()) < 1e-5);
  CHECK(torch::equal(rows, memory.by_layers(kOneColumn)));
  CHECK(torch::equal(rows, memory.by_layers(64 << 10)));
  Begun disk(dir, model, Placement::kDisk, 2);
  CHECK(torch::equal(rows, disk.by_layers(kOneColumn)));
}

// Models with their own defaults that can be taken so; others ask for times, or for something else
// that this dataset lacks.
std::vector<std::string> models_by_layers(const TempDir& dir) {
  std::vector<std::string> able;
  for (const std::string& name : names_of(registry().models)) {
    const std::string model = "model = { type = \"" + name + "\", hidden = 16 }";
    try {
      const Begun begun(dir, model, Placement::kMemory, 1);
      (void)layers_to_pass(begun.parts);
      able.push_back(name);
    } catch (const Error& error) {
      CHECK_MESSAGE(error.code() == ErrorCode::kUsage, name, ": ", error.message());
    }
  }
  return able;
}

}  // namespace

TEST_CASE("every model that asks no times is the same layer by layer as recursively") {
  const TempDir dir;
  generate_homogeneous(dir);
  const std::vector<std::string> able = models_by_layers(dir);
  for (const char* name : {"graphsage",
                           "gcn",
                           "gat",
                           "gin",
                           "rgcn",
                           "hgt",
                           "simple_hgn",
                           "bg_hgnn",
                           "mlp",
                           "sign",
                           "sehgnn",
                           "rphgnn"})
    CHECK_MESSAGE(std::ranges::count(able, name) == 1, name);
  for (const std::string& name : able)
    check_model(dir, "model = { type = \"" + name + "\", hidden = 16 }");
}

TEST_CASE("so are their options: aggregators, norms, residuals, three layers, learned rows") {
  const TempDir dir;
  generate_homogeneous(dir);
  for (const char* model :
       {"model = { type = \"graphsage\", hidden = 10, aggregator = \"max\", combine = \"concat\", "
        "norm = \"layer\", residual = true, layers = 3 }\n[sampler]\nfanout = [5, 5, 5]",
        "model = { type = \"graphsage\", hidden = 16, norm = \"batch\" }\n[embedding]\ndim = 4",
        "model = { type = \"gcn\", hidden = 16, normalisation = \"mean\" }",
        "model = { type = \"gin\", hidden = 16, epsilon = 0.5, residual = true }",
        "model = { type = \"gat\", hidden = 16, output_heads = 2, residual = true }",
        "model = { type = \"simple_hgn\", hidden = 16, layers = 4 }\n"
        "[sampler]\nfanout = [3, 3, 3, 3]"})
    check_model(dir, model);
}

TEST_CASE("so are models over several node types and relations") {
  const TempDir dir;
  generate_typed(dir);
  for (const char* model : {"model = { type = \"graphsage\", hidden = 16 }",
                            "model = { type = \"graphsage\", hidden = 16, aggregator = \"max\" }",
                            "model = { type = \"rgcn\", hidden = 16 }",
                            "model = { type = \"gat\", hidden = 16 }",
                            "model = { type = \"hgt\", hidden = 16 }",
                            "model = { type = \"simple_hgn\", hidden = 16, layers = 3 }\n"
                            "[sampler]\nfanout = [3, 3, 3]",
                            "model = { type = \"bg_hgnn\", hidden = 16, code_width = 32 }",
                            "model = { type = \"rgcn\", hidden = 16 }\n"
                            "[embedding]\ndim = 4\ntypes = [\"author\"]"})
    check_model(dir, std::string("task.node_type = \"paper\"\n") + model);
}

TEST_CASE("rows are read once a layer where lists go by, in as many panels as it takes") {
  const TempDir dir;
  generate_homogeneous(dir);
  Begun begun(dir, "model = { type = \"graphsage\", hidden = 16 }", Placement::kDisk, 1);
  for (const std::uint64_t room : {std::uint64_t{0}, 5 * kOneColumn, kOneColumn}) {
    CAPTURE(room);
    std::vector<LayerFigures> figures;
    (void)begun.by_layers(room, figures);
    REQUIRE(figures.size() == 3);
    CHECK(figures[0].way == "rows");
    CHECK(figures[0].rows_read == kNodes);
    for (const std::size_t layer : {std::size_t{1}, std::size_t{2}}) {
      CHECK(figures[layer].way == "lists");
      CHECK(figures[layer].layer == static_cast<std::int64_t>(layer));
      CHECK(figures[layer].rows == kNodes);
      CHECK(figures[layer].rows_read == kNodes);
    }
    const auto panels = [&](std::uint64_t columns) {
      if (room == 0) return std::uint64_t{1};
      const std::uint64_t fit = std::min(room / kOneColumn, columns);
      return (columns + fit - 1) / fit;
    };
    CHECK(figures[1].panels == panels(kFeatures));
    CHECK(figures[2].panels == panels(16));
    // The rows for the lists, the targets' own and what was made of lists.
    CHECK(figures[1].bytes_written == kNodes * 4 * (kFeatures + 16));
  }
}

TEST_CASE("where edges are looked at rows are read once if they fit, else once a window") {
  const TempDir dir;
  generate_homogeneous(dir);
  Begun begun(dir, "model = { type = \"gat\", hidden = 16 }", Placement::kMemory, 1);
  std::vector<LayerFigures> whole, windows;
  (void)begun.by_layers(0, whole);
  (void)begun.by_layers(kOneColumn, windows);
  for (const std::size_t layer : {std::size_t{1}, std::size_t{2}}) {
    CHECK(whole[layer].way == "edges");
    CHECK(whole[layer].rows_read == kNodes);
    CHECK(whole[layer].times() == 1);
    // A window is one mini-batch here: 100 targets with some 500 in-edges among 600 nodes.
    CHECK(windows[layer].times() > 1.5);
    CHECK(windows[layer].times() < 6);
  }
}

TEST_CASE("hidden layers and inputs can be had; what is not there is refused") {
  const TempDir dir;
  generate_homogeneous(dir);
  Begun begun(dir, "model = { type = \"graphsage\", hidden = 16 }", Placement::kMemory, 1);
  std::vector<LayerFigures> figures;
  CHECK(begun.by_layers(0, figures, 0).size(1) == kFeatures);
  CHECK(figures.size() == 1);
  const Tensor hidden = begun.by_layers(0, figures, 1);
  CHECK(hidden.size(1) == 16);
  CHECK(hidden.min().item<float>() == 0);  // behind a ReLU
  const Error deep = expect_error([&] { (void)begun.by_layers(0, figures, 3); });
  CHECK(deep.code() == ErrorCode::kUsage);
  CHECK(deep.message().find("has 2 layers") != std::string::npos);
  const Error narrow = expect_error([&] { (void)begun.by_layers(kOneColumn - 1, figures); });
  CHECK(narrow.code() == ErrorCode::kResource);
  CHECK(narrow.message().find("one column of all 600 nodes") == 0);
  CHECK(narrow.hint().find("memory.host") != std::string::npos);
}

TEST_CASE("a model without layers has rows of the type that the task asks about, and no other") {
  const TempDir dir;
  generate_typed(dir);
  Begun begun(dir,
              "task.node_type = \"paper\"\nmodel = { type = \"mlp\", hidden = 16 }",
              Placement::kMemory,
              1);
  std::vector<LayerFigures> figures;
  CHECK(begun.by_layers(0, figures, 0).size(0) == static_cast<std::int64_t>(kPapers));
  LayerPassOptions pass;
  pass.scratch = dir.path();
  pass.layers = 0;
  const std::vector<bool> all(begun.parts.dataset.schema().nodes.size(), true);
  const Error other = expect_error([&] { (void)pass_layers(begun.parts, all, pass, figures); });
  CHECK(other.code() == ErrorCode::kUsage);
  CHECK(other.message().find("has no rows of") != std::string::npos);
}

TEST_CASE("the disk is asked for what layers leave each other, and for the file of the rows") {
  const TempDir dir;
  generate_homogeneous(dir);
  Begun begun(dir,
              "model = { type = \"simple_hgn\", layers = 3, hidden = 16, heads = 4 }\n"
              "[sampler]\nfanout = [3, 3, 3]",
              Placement::kMemory,
              1);
  std::vector<LayerFigures> figures;
  (void)begun.by_layers(0, figures);
  REQUIRE(figures.size() == 4);
  const auto* const size = dynamic_cast<const models::CarrySize*>(begun.parts.model.get());
  REQUIRE(size != nullptr);
  const std::uint64_t edges = begun.parts.dataset.schema().relations.at(0).edges;
  const std::uint64_t rows = kNodes * 16 * sizeof(float);
  // What the first layer wrote: its rows, and weights for the second, which leaves none.
  CHECK(size->carried_bytes(0, kNodes, edges) == edges * (8 + 4 * 4) + kNodes * 4 * 4);
  CHECK(figures[1].bytes_written == rows + size->carried_bytes(0, kNodes, edges));
  CHECK(size->carried_bytes(1, kNodes, edges) == 0);
  CHECK(figures[2].bytes_written == rows);
  LayerPassOptions pass;
  pass.scratch = dir.path();
  pass.output_bytes = std::uint64_t{1} << 62;
  const Error full = expect_error([&] { (void)pass_layers(begun.parts, {true}, pass, figures); });
  CHECK(full.code() == ErrorCode::kResource);
  CHECK(full.message().find("rows between layers") == 0);
}

TEST_CASE("a matrix behind an encoder that was trained before comes with the last layer") {
  const TempDir dir;
  generate_homogeneous(dir);
  Begun begun(dir, "model = { type = \"graphsage\", hidden = 16 }", Placement::kMemory, 1);
  const Tensor bare = begun.by_layers(0);
  Parts& parts = begun.parts;
  const std::int64_t width = parts.task->output_width();
  parts.model = std::make_shared<models::Readout>(
      parts.model,
      width,
      models::EncoderWeights::kFrozen,
      ModelContext{parts.dataset.schema(), parts.task->target_types(), width, RandomKey(3)});
  const Tensor rows = begun.by_layers(0);
  CHECK(difference(rows, begun.recursively()) < 1e-5);
  CHECK(difference(rows, bare) > 1e-2);
  std::vector<LayerFigures> figures;
  CHECK(begun.by_layers(0, figures, 1).size(1) == 16);
}
