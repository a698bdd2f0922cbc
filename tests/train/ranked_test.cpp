// Ranks of links by brute force: beside drawn ends, at the ends that are asked about, with and
// without known links among them; and of an encoder's rows among all entities.
#include "support/expect_error.h"
#include "support/generated_dataset.h"
#include "tasks/link_ranks.h"
#include "train/embedding_support.h"
#include "train/encoded_nodes.h"
#include "train/evaluation.h"
#include "train/layer_run.h"
#include "train/stored_encodings.h"

#include <cmath>
#include <functional>
#include <set>
#include <sstream>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr LoaderMemory kRoom{64 << 20, 64 << 20};

// By link of a part: the nodes beside each end; -1 where none was found.
struct Beside {
  std::vector<std::vector<std::int64_t>> tails, heads;
};

Beside beside_links(Parts& parts, Part part) {
  Beside beside;
  const auto loader = parts.evaluation_loader(part, kRoom);
  loader->start({});
  while (const auto batch = loader->next()) {
    const Queries& queries = batch->queries;
    const auto seeds = std::as_const(batch->seeds[0]).as<std::uint64_t>();
    const auto add = [&](const Array& rows, std::vector<std::vector<std::int64_t>>& lists) {
      if (rows.empty()) return;
      const auto columns = static_cast<std::size_t>(rows.size(1));
      const auto all = rows.as<std::int64_t>();
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (i % columns == 0) lists.emplace_back();
        lists.back().push_back(
            all[i] < 0 ? -1 : static_cast<std::int64_t>(seeds[static_cast<std::size_t>(all[i])]));
      }
    };
    add(queries.negatives, beside.tails);
    add(queries.shared_sources, beside.heads);
  }
  return beside;
}

// Ranks summed up.
struct Sums {
  double reciprocal = 0, ranks = 0, hits10 = 0, count = 0;

  void add(double rank) {
    ++count;
    ranks += rank;
    reciprocal += 1 / rank;
    hits10 += rank <= 10;
  }
  void check(const Metrics& got) const {
    CHECK(got.at("test.mrr") == doctest::Approx(reciprocal / count).epsilon(1e-6));
    CHECK(got.at("test.mean_rank") == doctest::Approx(ranks / count).epsilon(1e-6));
    CHECK(got.at("test.hits@10") == doctest::Approx(hits10 / count));
  }
};

double rank_beside(const Tensor& scores, std::int64_t own, const std::vector<std::int64_t>& nodes) {
  const double score = scores[own].item<double>();
  double rank = 1;
  for (const std::int64_t node : nodes) {
    if (node < 0) continue;
    const double other = scores[node].item<double>();
    rank += other > score ? 1 : other == score ? 0.5 : 0;
  }
  return rank;
}

double rank_among_others(const Tensor& scores,
                         std::int64_t own,
                         const std::function<bool(std::int64_t)>& known) {
  const double score = scores[own].item<double>(), room = 1e-5 * std::abs(score);
  double rank = 1;
  for (std::int64_t node = 0; node < scores.size(0); ++node) {
    if (node == own || known(node)) continue;
    const double other = scores[node].item<double>();
    rank += other > score + room ? 1 : other >= score - room ? 0.5 : 0;
  }
  return rank;
}

// Of the nodes beside both ends of the test's links: those that make a known link, and those that
// make one of another relation alone.
std::pair<std::size_t, std::size_t> count_links(const Graph& graph, const Beside& beside) {
  std::size_t known = 0, of_others = 0;
  for (std::size_t i = 0; i < graph.parts[2].size(); ++i) {
    const Triple& t = graph.parts[2][i];
    const auto look = [&](const Triple& other) {
      const bool is_known = graph.has(other);
      known += is_known;
      for (std::int64_t r = 0; r < kTypes && !is_known; ++r)
        if (graph.has({other.s, r, other.o})) {
          ++of_others;
          break;
        }
    };
    for (const std::int64_t node : beside.tails[i]) {
      REQUIRE(node != t.o);
      if (node >= 0) look({t.s, t.r, node});
    }
    for (const std::int64_t node : beside.heads[i]) {
      REQUIRE(node != t.s);
      if (node >= 0) look({node, t.r, t.o});
    }
  }
  return {known, of_others};
}

Metrics measure_test(Parts& parts) {
  const auto log = make_silent_logger();
  return evaluate(parts, Part::kTest, {}, 0, ProgressStyle::kSilent, *log).metrics;
}

const std::vector<std::string> kEncoder{"model.type=graphsage", "sampler.fanout=[5, 5]"};

std::vector<std::string> encoder_with(std::vector<std::string> more) {
  more.insert(more.begin(), kEncoder.begin(), kEncoder.end());
  return more;
}

// Rows of all entities by one mini-batch that asks about them all, with whole neighbourhoods.
Tensor rows_of_batch(Parts& parts) {
  const torch::NoGradGuard no_grad;
  parts.model->eval();
  const auto loader = parts.evaluation_loader(Part::kTest, kRoom);
  loader->start({});
  const auto batch = loader->next();
  REQUIRE(batch != nullptr);
  REQUIRE(batch->num_seeds(0) == kEntities);
  parts.rows->begin(*batch, nn::Gradients::kNone);
  const Tensor encoded = parts.model->encode(*batch).at(0);
  parts.rows->end();
  Tensor rows = torch::zeros({kEntities, encoded.size(1)}, torch::kFloat64);
  const auto seeds = std::as_const(batch->seeds[0]).as<std::uint64_t>();
  for (std::int64_t i = 0; i < kEntities; ++i)
    rows[static_cast<std::int64_t>(seeds[static_cast<std::size_t>(i)])] =
        encoded[i].to(torch::kFloat64);
  return rows;
}

}  // namespace

TEST_CASE("drawn ranks: both ends where both are asked about, pooled, by brute force") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  for (const bool reciprocal : {false, true}) {
    for (const bool filtered : {false, true}) {
      CAPTURE(reciprocal);
      CAPTURE(filtered);
      OpenParts opened(dir,
                       fmt::format("loss = \"softmax\"\nshare = true\neval_negatives = 12\n"
                                   "reciprocal = {}\nfiltered = {}",
                                   reciprocal,
                                   filtered));
      const Dense dense(opened);
      const Beside beside = beside_links(opened.parts, Part::kTest);
      REQUIRE(beside.tails.size() == graph.parts[2].size());
      REQUIRE(beside.heads.size() == graph.parts[2].size());
      CHECK(beside.heads[0].size() == 12);
      const auto [known, of_others] = count_links(graph, beside);
      CHECK((known == 0) == filtered);
      CHECK(of_others > 0);  // a link of another relation is none of this one
      Sums sums;
      for (std::size_t i = 0; i < graph.parts[2].size(); ++i) {
        const Triple& t = graph.parts[2][i];
        const std::int64_t label = opened.label_of(t.r);
        sums.add(rank_beside(dense.tails(t.s, label), t.o, beside.tails[i]));
        sums.add(rank_beside(dense.heads(t.o, label, reciprocal), t.s, beside.heads[i]));
      }
      for (const std::int64_t batch_size : {1024, 7}) {
        opened.options.eval.batch_size = batch_size;
        sums.check(measure_test(opened.parts));
        CHECK(beside_links(opened.parts, Part::kTest).heads == beside.heads);
      }
      // Other links, other nodes.
      CHECK(beside_links(opened.parts, Part::kValid).heads[0] != beside.heads[0]);
      if (filtered)
        CHECK(opened.parts.task->warnings(opened.parts.data).at(0).starts_with("1 of 50 valid"));
    }
  }
}

TEST_CASE("drawn ranks: the destination alone where that alone is asked about") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  for (const bool filtered : {false, true}) {
    CAPTURE(filtered);
    OpenParts opened(
        dir,
        fmt::format("loss = \"softmax\"\nnegatives = 4\neval_negatives = 12\nfiltered = {}",
                    filtered),
        {"task.ends=destination"});
    const Dense dense(opened);
    const Beside beside = beside_links(opened.parts, Part::kTest);
    CHECK(beside.heads.empty());
    Sums sums;
    for (std::size_t i = 0; i < graph.parts[2].size(); ++i) {
      const Triple& t = graph.parts[2][i];
      for (const std::int64_t node : beside.tails[i])
        if (filtered) CHECK_FALSE(graph.has({t.s, t.r, node}));
      sums.add(rank_beside(dense.tails(t.s, opened.label_of(t.r)), t.o, beside.tails[i]));
    }
    sums.check(measure_test(opened.parts));
  }
}

TEST_CASE("training links are ranked beside no link that is known, as others are") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  Quiet quiet;
  const std::string task = "ranking = \"all\"\nloss = \"softmax\"\nshare = true\nnegatives = 4";
  const std::vector<std::string> as_begun{"train.epochs=0"};
  (void)run_training(
      options_of(config_of(dir, task), as_begun), RunDirectory::Mode::kNew, quiet.context);
  const OpenParts opened(dir, task, as_begun);
  const Dense dense(opened);
  Sums sums;
  for (const Triple& t : graph.parts[0]) {
    const std::int64_t label = opened.label_of(t.r);
    sums.add(rank_among_others(dense.tails(t.s, label), t.o, [&](std::int64_t o) {
      return graph.has({t.s, t.r, o});
    }));
    sums.add(rank_among_others(dense.heads(t.o, label, false), t.s, [&](std::int64_t s) {
      return graph.has({s, t.r, t.o});
    }));
  }
  const Metrics got =
      evaluate_run((dir / "run").string(), {}, {Part::kTrain}, quiet.context).metrics;
  CHECK(got.at("train.mrr") == doctest::Approx(sums.reciprocal / sums.count).epsilon(1e-6));
  CHECK(got.at("train.mean_rank") == doctest::Approx(sums.ranks / sums.count).epsilon(1e-6));
}

TEST_CASE("an encoder's ranks among all entities are those of every entity by itself") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  std::filesystem::create_directories(dir / "run");
  const auto log = make_silent_logger();
  for (const bool reciprocal : {false, true}) {
    CAPTURE(reciprocal);
    OpenParts opened(dir,
                     fmt::format("ranking = \"all\"\nloss = \"softmax\"\nshare = true\n"
                                 "eval_negatives = 40\nreciprocal = {}",
                                 reciprocal),
                     kEncoder);
    // Validations go by drawn nodes, which make no known link either.
    CHECK(ranks_encoded(opened.parts));
    const Beside beside = beside_links(opened.parts, Part::kTest);
    CHECK(count_links(graph, beside).first == 0);
    CHECK(opened.parts.task->warnings(opened.parts.data).at(0).find("among 40 drawn nodes") !=
          std::string::npos);
    const double drawn = measure_test(opened.parts).at("test.mrr");

    Dense dense(opened);
    dense.entities = rows_of_batch(opened.parts);
    Sums sums;
    for (const Triple& t : graph.parts[2]) {
      const std::int64_t label = opened.label_of(t.r);
      sums.add(rank_among_others(dense.tails(t.s, label), t.o, [&](std::int64_t o) {
        return graph.has({t.s, t.r, o});
      }));
      sums.add(rank_among_others(dense.heads(t.o, label, reciprocal), t.s, [&](std::int64_t s) {
        return graph.has({s, t.r, t.o});
      }));
    }
    const auto model = opened.parts.model;
    for (const std::int64_t batch_size : {1024, 7}) {
      opened.options.eval.batch_size = batch_size;
      const Metrics got =
          evaluate_by_layer(opened.parts, Part::kTest, 0, ProgressStyle::kSilent, *log).metrics;
      sums.check(got);
      CHECK(got.at("test.mrr") != drawn);
      CHECK(got.contains("test.mrr:r1"));
    }
    // The run is as it was.
    CHECK((opened.parts.model == model));
    opened.options.eval.batch_size = 1024;
    CHECK(measure_test(opened.parts).at("test.mrr") == drawn);
  }
}

TEST_CASE("made rows are ranked from memory and from their file alike") {
  const TempDir dir;
  constexpr std::uint64_t kRows = 2000;
  constexpr std::uint32_t kColumns = 64;
  Tensor values = torch::empty({static_cast<std::int64_t>(kRows), kColumns});
  for (std::uint64_t i = 0; i < kRows * kColumns; ++i)
    values.data_ptr<float>()[i] =
        static_cast<float>(RandomKey(3).below(1 << 20, i)) / static_cast<float>(1 << 20) - 0.5f;
  const auto tables = [&] {
    NodeTables made(1);
    made[0] = std::make_unique<PanelTable>(
        dir.path(), PanelShape{kRows, kColumns, kColumns}, DType::kF32);
    made[0]->write_rows(0,
                        0,
                        {static_cast<const std::byte*>(values.data_ptr()),
                         static_cast<std::size_t>(values.nbytes())});
    return made;
  };
  MemoryLedger much, little(1200 << 10, "[memory] host");
  const StoredEncodings memory(tables(), much), file(tables(), little);
  const nn::LearnedRows &in_memory = *memory.ranked_rows(), &on_disk = *file.ranked_rows();
  CHECK(in_memory.resident(0));
  CHECK_FALSE(on_disk.resident(0));
  CHECK(in_memory.count(0) == kRows);
  CHECK(on_disk.dim(0) == kColumns);
  CHECK(in_memory.tile(0, 1990, 10).equal(values.narrow(0, 1990, 10)));
  CHECK(on_disk.tile(0, 1990, 10).equal(values.narrow(0, 1990, 10)));

  nn::DecoderOptions options;
  options.width = kColumns;
  const auto decoder = nn::make_decoder(options);
  const std::vector<std::uint64_t> own{7, 1999, 0, 7};
  const Tensor queries = values.narrow(0, 100, 4);
  const tasks::RankQueries asked{queries, own, std::vector<tasks::KnownLinks::Answers>(4)};
  const Tensor scores = queries.to(torch::kFloat64).mm(values.to(torch::kFloat64).t());
  const Tensor ranks = tasks::ranks_among_all(*decoder, in_memory, 0, asked, 1000);
  CHECK(ranks.equal(tasks::ranks_among_all(*decoder, on_disk, 0, asked, 1000)));
  for (std::int64_t i = 0; i < 4; ++i)
    CHECK(ranks[i].item<double>() ==
          rank_among_others(scores[i],
                            static_cast<std::int64_t>(own[static_cast<std::size_t>(i)]),
                            [](std::int64_t) { return false; }));
  const tasks::BestRows best =
      tasks::best_among_all(*decoder, on_disk, 0, {queries, {}, asked.known}, 5);
  CHECK(best.nodes.equal(std::get<1>(scores.to(torch::kFloat32).topk(5, 1))));
}

TEST_CASE("a run with an encoder tests among all entities, as evaluate does, wherever rows are") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  const std::string text = config_of(
      dir,
      "ranking = \"all\"\nloss = \"softmax\"\nshare = true\nnegatives = 8\neval_negatives = 9");
  Quiet quiet;
  const auto train = [&](const std::vector<std::string>& more) {
    return run_training(
        options_of(text, encoder_with(more)), RunDirectory::Mode::kReplace, quiet.context);
  };
  const RunReport disk = train({"storage.embeddings=disk"});
  const RunReport memory = train({"storage.embeddings=memory"});
  CHECK(same_figures(disk.metrics, memory.metrics));
  CHECK(disk.batches_xxh3 == memory.batches_xxh3);
  CHECK(std::isfinite(memory.metrics.at("valid.mrr")));
  const double mrr = memory.metrics.at("test.mrr");
  CHECK(std::isfinite(mrr));
  const std::string run = (dir / "run").string();
  CHECK(evaluate_run(run, {}, {Part::kTest}, quiet.context).metrics.at("test.mrr") == mrr);
  EvaluateOptions exact;
  exact.inference = Inference::kByLayer;
  CHECK(evaluate_run(run, {}, exact, quiet.context).metrics.at("test.mrr") == mrr);
  // Of a run that is done: by `--set`.
  CHECK(evaluate_run(run, {"task.ranking=sampled"}, {Part::kTest}, quiet.context)
            .metrics.at("test.mrr") != mrr);
  const RunReport done = train({"storage.embeddings=disk"});
  CHECK(resume_training(run, {}, quiet.context).metrics.at("test.mrr") ==
        done.metrics.at("test.mrr"));
}

TEST_CASE("a run that tests layer by layer reports the caches that it trained with") {
  const TempDir dir;
  generate_dataset(dir / "x");
  Quiet quiet;
  const RunReport report = run_training(
      options_of(short_config(dir, dir / "x") +
                     "[task]\ntype = \"link_prediction\"\nwidth = 16\nranking = \"all\"\n"
                     "edge_split = [0.8, 0.1, 0.1]\nloss = \"softmax\"\nshare = true\n"
                     "negatives = 8\neval_negatives = 9\n",
                 {"storage.features=disk"}),
      RunDirectory::Mode::kNew,
      quiet.context);
  CHECK(std::isfinite(report.metrics.at("test.mrr")));
  REQUIRE(report.caches.size() == 1);
  CHECK(std::string(report.caches[0].of) == "features");
  CHECK(report.caches[0].rows == 2000);
  CHECK(report.caches[0].slots > 0);
}

TEST_CASE("the best ends of a run with an encoder are no training links, best first") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  Quiet quiet;
  const std::string text =
      config_of(dir, "loss = \"softmax\"\nshare = true\nnegatives = 8\neval_negatives = 5");
  (void)run_training(options_of(text, kEncoder), RunDirectory::Mode::kNew, quiet.context);
  for (const LinkEnd end : {LinkEnd::kDestination, LinkEnd::kSource}) {
    const PredictReport best = predict_best_run(
        (dir / "run").string(), {}, {Part::kTest}, {end, 4}, dir / "best.csv", quiet.context);
    CHECK(best.rows == graph.parts[2].size() * 4);
    std::istringstream found(read_all(dir / "best.csv"));
    std::string line;
    std::getline(found, line);
    std::size_t at = 0;
    double before = 0;
    std::set<std::int64_t> ends;
    while (std::getline(found, line)) {
      const auto [link, rank, score] = best_line(line);
      CHECK(rank == static_cast<std::int64_t>(at++ % 4 + 1));
      if (rank > 1) CHECK(score <= before);
      before = score;
      CHECK(graph.count_training(link.s, link.r, link.o) == 0);
      ends.insert(end == LinkEnd::kSource ? link.s : link.o);
    }
    CHECK(at == best.rows);
    CHECK(ends.size() > 1);
  }
}

TEST_CASE("an encoder is not trained beside all entities") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  Quiet quiet;
  const std::string text = config_of(dir, "ranking = \"all\"\nloss = \"all\"");
  const Error error = expect_error([&] {
    (void)run_training(options_of(text, kEncoder), RunDirectory::Mode::kNew, quiet.context);
  });
  CHECK(error.code() == ErrorCode::kUsage);
  CHECK(error.hint() == "set model.type = \"embedding\", or task.loss = \"softmax\"");
}
