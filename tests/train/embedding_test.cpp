// Knowledge-graph embeddings from files to figures: every rank among all entities by brute force
// over the learned rows, whole runs, and what comes out under the user's ids.
#include "support/expect_error.h"
#include "support/npy_file.h"
#include "train/embedding_support.h"
#include "train/evaluation.h"

#include <cmath>
#include <functional>
#include <map>
#include <sstream>

using namespace sluice;
using namespace sluice::test;

namespace {

// A link's rank by brute force.
double rank_of(const Tensor& scores,
               std::int64_t own,
               const std::function<bool(std::int64_t)>& known) {
  const double score = scores[own].item<double>();
  double rank = 1;
  for (std::int64_t node = 0; node < scores.size(0); ++node) {
    if (node == own || known(node)) continue;
    const double other = scores[node].item<double>();
    const double room = 1e-5 * std::abs(score);
    rank += other > score + room ? 1 : other >= score - room ? 0.5 : 0;
  }
  return rank;
}

// Of each link of a part the four best ends, best first, none of which makes a training link.
void check_best(const Graph& graph, const TempDir& dir, LinkEnd end, Part part, Quiet& quiet) {
  const std::size_t links = graph.parts[part == Part::kTrain ? 0 : 2].size();
  const PredictReport best = predict_best_run(
      (dir / "run").string(), {}, {part}, {end, 4}, dir / "best.csv", quiet.context);
  CHECK(best.rows == links * 4);
  std::istringstream found(read_all(dir / "best.csv"));
  std::string line;
  std::getline(found, line);
  CHECK(line == "source,target,rank,score,type");
  std::size_t at = 0;
  double before = 0;
  while (std::getline(found, line)) {
    const auto [link, rank, score] = best_line(line);
    CHECK(rank == static_cast<std::int64_t>(at % 4 + 1));
    if (rank > 1) CHECK(score <= before);
    before = score;
    // Links that training knows are not told again.
    CHECK(graph.count_training(link.s, link.r, link.o) == 0);
    ++at;
  }
  CHECK(at == links * 4);
}

}  // namespace

TEST_CASE("ranks among all entities: both ends, filtered, by brute force over the rows") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  for (const bool reciprocal : {false, true}) {
    CAPTURE(reciprocal);
    OpenParts opened(dir,
                     fmt::format("ranking = \"all\"\nloss = \"all\"\nreciprocal = {}", reciprocal));
    // Two entities that score the same everywhere: ties count half.
    opened.parts.rows->in_place().at("rows.entity")[3].copy_(
        opened.parts.rows->in_place().at("rows.entity")[7]);
    const Dense dense(opened);
    double reciprocal_sum = 0, sum = 0, hits1 = 0, hits3 = 0, hits10 = 0, count = 0;
    std::array<double, kTypes> by_type{}, of_type{};
    for (const Triple& t : graph.parts[2]) {
      const std::int64_t label = opened.label_of(t.r);
      const double ranks[] = {
          rank_of(dense.tails(t.s, label),
                  t.o,
                  [&](std::int64_t o) {
                    return graph.has({t.s, t.r, o});
                  }),
          rank_of(dense.heads(t.o, label, reciprocal), t.s, [&](std::int64_t s) {
            return graph.has({s, t.r, t.o});
          })};
      for (const double rank : ranks) {
        ++count;
        sum += rank;
        reciprocal_sum += 1 / rank;
        hits1 += rank <= 1;
        hits3 += rank <= 3;
        hits10 += rank <= 10;
        by_type[static_cast<std::size_t>(t.r)] += 1 / rank;
        ++of_type[static_cast<std::size_t>(t.r)];
      }
    }
    const auto log = make_silent_logger();
    for (const std::int64_t batch_size : {1024, 7}) {
      opened.options.eval.batch_size = batch_size;
      const Metrics got =
          evaluate(opened.parts, Part::kTest, {}, 0, ProgressStyle::kSilent, *log).metrics;
      CHECK(got.at("test.mrr") == doctest::Approx(reciprocal_sum / count).epsilon(1e-6));
      CHECK(got.at("test.mean_rank") == doctest::Approx(sum / count).epsilon(1e-6));
      CHECK(got.at("test.hits@1") == doctest::Approx(hits1 / count));
      CHECK(got.at("test.hits@3") == doctest::Approx(hits3 / count));
      CHECK(got.at("test.hits@10") == doctest::Approx(hits10 / count));
      for (std::size_t r = 0; r < kTypes; ++r)
        CHECK(got.at(fmt::format("test.mrr:r{}", r)) ==
              doctest::Approx(by_type[r] / of_type[r]).epsilon(1e-6));
    }
    const std::vector<std::string> said = opened.parts.task->warnings(opened.parts.data);
    REQUIRE(said.size() == 1);
    CHECK(said[0].starts_with("1 of 50 valid and test links have an end that no training link"));
  }
}

TEST_CASE("stored negatives: ranks at both ends among those in the rows, by brute force") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  constexpr std::size_t kBeside = 9;
  // By part: nodes beside each link, none its own end; the last of a row is sometimes missing.
  std::array<std::vector<std::int64_t>, 2> tails, heads;
  const RandomKey key(5);
  const auto draw = [&](std::uint64_t end, const Triple& t, std::int64_t own, auto& out) {
    const RandomKey of = key.with(end).with(static_cast<std::uint64_t>(t.s * kEntities + t.o));
    for (std::size_t i = 0; i < kBeside; ++i) {
      const auto node = static_cast<std::int64_t>(of.below(kEntities - 1, i));
      const bool missing = i + 1 == kBeside && of.below(2, kBeside) == 0;
      out.push_back(missing ? -1 : node + (node >= own ? 1 : 0));
    }
  };
  for (const std::size_t part : {0u, 1u}) {
    for (const Triple& t : graph.parts[part + 1]) {
      draw(0, t, t.o, tails[part]);
      draw(1, t, t.s, heads[part]);
    }
    const std::string name = part == 0 ? "lists/valid" : "lists/test";
    dir.write(name + ".npy", npy_table(tails[part], kBeside));
    dir.write(name + "_sources.npy", npy_table(heads[part], kBeside));
  }
  const std::string stored = fmt::format("stored_negatives = \"{}\"", (dir / "lists").string());
  const auto log = make_silent_logger();
  for (const bool reciprocal : {false, true}) {
    CAPTURE(reciprocal);
    OpenParts opened(
        dir,
        fmt::format("loss = \"softmax\"\nshare = true\nreciprocal = {}\n{}", reciprocal, stored));
    const Dense dense(opened);
    CHECK(opened.parts.task->main_metric() == "mrr");
    double reciprocal_sum = 0, hits3 = 0, count = 0;
    for (std::size_t i = 0; i < graph.parts[2].size(); ++i) {
      const Triple& t = graph.parts[2][i];
      const std::int64_t label = opened.label_of(t.r);
      const auto rank = [&](const Tensor& scores, std::int64_t own, const auto& lists) {
        double place = 1;
        for (std::size_t n = i * kBeside; n < (i + 1) * kBeside; ++n) {
          if (lists[1][n] < 0) continue;
          place += scores[lists[1][n]].template item<double>() > scores[own].template item<double>()
                       ? 1
                       : 0;
        }
        ++count;
        reciprocal_sum += 1 / place;
        hits3 += place <= 3;
      };
      rank(dense.tails(t.s, label), t.o, tails);
      rank(dense.heads(t.o, label, reciprocal), t.s, heads);
    }
    for (const std::int64_t batch_size : {1024, 7}) {
      opened.options.eval.batch_size = batch_size;
      const Metrics got =
          evaluate(opened.parts, Part::kTest, {}, 0, ProgressStyle::kSilent, *log).metrics;
      CHECK(got.at("test.mrr") == doctest::Approx(reciprocal_sum / count).epsilon(1e-6));
      CHECK(got.at("test.hits@3") == doctest::Approx(hits3 / count));
    }
  }
  // A list of one part's sources, and lists where ranks are among all.
  const auto refused = [&](const std::string& task) {
    return expect_error([&] { (void)OpenParts(dir, task); });
  };
  CHECK(refused("loss = \"all\"\nranking = \"all\"\n" + stored).code() == ErrorCode::kUsage);
  std::filesystem::remove(dir / "lists/valid_sources.npy");
  const Error alone = refused("loss = \"softmax\"\nshare = true\n" + stored);
  CHECK(alone.message().find("one part alone") != std::string::npos);
  // Rows in another order than the split's show by a link's own end.
  std::vector<std::int64_t> own_end = tails[0];
  own_end[3] = graph.parts[1][0].o;
  dir.write("lists/valid.npy", npy_table(own_end, kBeside));
  const Error order = refused("loss = \"softmax\"\nshare = true\n" + stored);
  CHECK(order.code() == ErrorCode::kData);
  CHECK(order.message().find("row 0, column 3") != std::string::npos);
}

TEST_CASE("a run learns a graph by heart, and goes on from a checkpoint bit for bit") {
  const TempDir dir;
  // r1 turns r0 round, r2 is r0 twice: what is left out follows from what is there.
  std::string parts[3];
  for (std::int64_t node = 0; node < 40; ++node) {
    const std::int64_t next = (node * 7 + 3) % 40, last = (next * 7 + 3) % 40;
    parts[0] += fmt::format("{}\tr0\t{}\n", node, next);
    parts[node % 5 == 1 ? 2 : node % 5 == 3 ? 1 : 0] += fmt::format("{}\tr1\t{}\n", next, node);
    parts[0] += fmt::format("{}\tr2\t{}\n", node, last);
  }
  dir.write("train.txt", parts[0]);
  dir.write("valid.txt", parts[1]);
  dir.write("test.txt", parts[2]);
  const auto config = dir.write("graph.toml",
                                "[[nodes]]\ntype = \"entity\"\ncount = 40\n[[edges]]\n"
                                "file = \"train.txt\"\nformat = \"triples\"\n"
                                "type_column = \"relation\"\ntypes = \"labels\"\n"
                                "source_column = \"head\"\ntarget_column = \"tail\"\n"
                                "[[splits]]\nof = \"edges\"\nvalid = \"valid.txt\"\n"
                                "test = \"test.txt\"\nformat = \"triples\"\n");
  const Outcome made =
      run({tool("sluice-prep"), "import", "--config", config, "--out", dir / "data"});
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const std::string text =
      config_of(dir,
                "ranking = \"all\"\nloss = \"all\"\nreciprocal = true\nregularizer = \"n3\"\n"
                "regularizer_weight = 0.02");
  const std::vector<std::string> sets{"embedding.dim=40",
                                      "task.width=40",
                                      "embedding.lr=0.2",
                                      "embedding.init=0.01",
                                      "train.optimizer.lr=0.2",
                                      "train.batch_size=16",
                                      "train.compute_threads=2"};
  const auto with = [&](const std::string& name, const std::string& epochs) {
    std::vector<std::string> all = sets;
    all.push_back("run.dir=" + (dir / name).string());
    all.push_back("train.epochs=" + epochs);
    return options_of(text, all);
  };
  Quiet quiet;
  const RunReport whole =
      run_training(with("whole", "40"), RunDirectory::Mode::kNew, quiet.context);
  CHECK(whole.metrics.at("test.mrr") > 0.8);
  (void)run_training(with("parts", "15"), RunDirectory::Mode::kNew, quiet.context);
  const RunReport resumed =
      resume_training((dir / "parts").string(), {"train.epochs=40"}, quiet.context);
  CHECK(resumed.weights_xxh3 == whole.weights_xxh3);
  CHECK(same_figures(resumed.metrics, whole.metrics));
  const RunReport again = evaluate_run((dir / "whole").string(), {}, {}, quiet.context);
  CHECK(again.metrics.at("test.mrr") == whole.metrics.at("test.mrr"));
}

TEST_CASE("an encoder over learned rows: they alone stand for features that are not there") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  const std::string text =
      config_of(dir, "loss = \"softmax\"\nshare = true\nnegatives = 8\neval_negatives = 5");
  Quiet quiet;
  const auto options = [&](const std::vector<std::string>& more) {
    std::vector<std::string> sets{"model.type=graphsage", "sampler.fanout=[5, 5]"};
    sets.insert(sets.end(), more.begin(), more.end());
    return options_of(text, sets);
  };
  const RunReport report = run_training(options({}), RunDirectory::Mode::kNew, quiet.context);
  CHECK(std::isfinite(report.metrics.at("test.mrr")));
  try {
    (void)run_training(options({"embedding.dim=0"}), RunDirectory::Mode::kReplace, quiet.context);
    FAIL("no features and no rows");
  } catch (const Error& error) {
    CHECK(error.message() == "model 'graphsage' needs node features, and 'entity' has none");
  }
}

TEST_CASE("options of links that do not go together are refused with a way out") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  const auto log = make_silent_logger();
  const auto refused = [&](const std::string& task, const std::vector<std::string>& sets = {}) {
    try {
      const RunOptions options = options_of(config_of(dir, task), sets);
      (void)plan_run(options, {}, *log);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kUsage);
      return error.hint();
    }
    return std::string("not refused");
  };
  CHECK(refused("loss = \"softmax\"") == "set task.share = true");
  CHECK(refused("loss = \"all\"\nreciprocal = true", {"task.ends=destination"}) ==
        "set task.ends = \"both\"");
  CHECK(refused("loss = \"all\"", {"task.width=10"}) ==
        "set embedding.dim = 10 and leave embedding.types out");
  CHECK(refused("loss = \"all\"", {"task.width=7", "embedding.dim=7"}) ==
        "set task.width to an even number: the real parts, then the imaginary ones");
  CHECK(refused("loss = \"all\"\nrelation_weight = 1", {"task.decoder=transe"}) ==
        "set task.relation_weight = 0");
  CHECK(refused("loss = \"all\"\nregularizer_weight = 1") == "set task.regularizer = \"n3\"");
  CHECK(refused("loss = \"all\"\nregularizer = \"n3\"") ==
        "set task.regularizer_weight = 0.01 for one, or task.regularizer = \"none\"");
  for (const char* key : {"chunk = 10", "of_batch = 0.5"})
    CHECK(refused(std::string("loss = \"all\"\n") + key) ==
          "set task.share = true, or leave it out");
  CHECK(refused("loss = \"all\"", {"embedding.types=[\"entitie\"]"}).find("entity") !=
        std::string::npos);
}

TEST_CASE("the best ends and the rows of a run come under the user's ids") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  Quiet quiet;
  const std::string text = config_of(dir, "ranking = \"all\"\nloss = \"all\"");
  (void)run_training(options_of(text), RunDirectory::Mode::kNew, quiet.context);
  const std::string run = (dir / "run").string();
  const PredictReport rows = embed_run(run, {}, {}, {}, dir / "rows.csv", quiet.context);
  CHECK(rows.rows == kEntities);
  std::istringstream lines(read_all(dir / "rows.csv"));
  std::string line;
  std::getline(lines, line);
  CHECK(line == "id,e0,e1,e2,e3,e4,e5,e6,e7");
  std::map<std::int64_t, std::vector<double>> entities;
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    std::string cell;
    std::getline(cells, cell, ',');
    std::vector<double>& row = entities[std::stol(cell)];
    while (std::getline(cells, cell, ',')) row.push_back(std::stod(cell));
    CHECK(row.size() == 8);
  }
  REQUIRE(entities.size() == kEntities);
  for (const LinkEnd end : {LinkEnd::kDestination, LinkEnd::kSource})
    check_best(graph, dir, end, Part::kTest, quiet);
  // What the run keeps is not written over.
  const std::string kept = read_all(dir / "run/weights.safetensors");
  for (const char* name : {"run/weights.safetensors", "run/checkpoints/rows/entity/rows.npy"}) {
    CAPTURE(std::string(name));
    const Error error =
        expect_error([&] { (void)embed_run(run, {}, {}, {}, dir / name, quiet.context); });
    CHECK(error.code() == ErrorCode::kUsage);
    CHECK(error.message() == "this is a file of the run itself, which it would replace");
    CHECK(error.place().file == (dir / name).string());
  }
  CHECK(read_all(dir / "run/weights.safetensors") == kept);
  CHECK(embed_run(run, {}, {}, {}, dir / "run/rows.safetensors", quiet.context).rows == kEntities);
  const Error ending =
      expect_error([&] { (void)embed_run(run, {}, {}, {}, dir / "rows.txt", quiet.context); });
  CHECK(ending.message().find(".safetensors") != std::string::npos);
}

TEST_CASE("best ends leave training links out, however a run is evaluated and of whatever part") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  Quiet quiet;
  // Known links of neither were gathered, or those alone that valid and test ask for.
  for (const char* task : {"loss = \"softmax\"\nshare = true\nnegatives = 8\neval_negatives = 5",
                           "ranking = \"all\"\nloss = \"all\""}) {
    CAPTURE(std::string(task));
    (void)run_training(
        options_of(config_of(dir, task)), RunDirectory::Mode::kReplace, quiet.context);
    for (const LinkEnd end : {LinkEnd::kDestination, LinkEnd::kSource})
      for (const Part part : {Part::kTrain, Part::kTest}) check_best(graph, dir, end, part, quiet);
  }
}

TEST_CASE("where more best ends are asked for than there are, none is a training link") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  Quiet quiet;
  (void)run_training(options_of(config_of(dir, "ranking = \"all\"\nloss = \"all\"")),
                     RunDirectory::Mode::kNew,
                     quiet.context);
  std::size_t left = 0;  // of all links: entities that make no training link at its destination
  for (const Triple& t : graph.parts[2])
    for (std::int64_t o = 0; o < kEntities; ++o) left += graph.count_training(t.s, t.r, o) == 0;
  REQUIRE(left < graph.parts[2].size() * kEntities);
  const auto told = [&](const char* name) {
    return predict_best_run((dir / "run").string(),
                            {},
                            {Part::kTest},
                            {LinkEnd::kDestination, 1000},
                            dir / name,
                            quiet.context)
        .rows;
  };
  CHECK(told("best.csv") == left);
  std::istringstream found(read_all(dir / "best.csv"));
  std::string line;
  std::getline(found, line);
  std::size_t lines = 0;
  for (; std::getline(found, line); ++lines) {
    const auto [link, rank, score] = best_line(line);
    CHECK(std::isfinite(score));
    CHECK(graph.count_training(link.s, link.r, link.o) == 0);
  }
  CHECK(lines == left);
  CHECK(told("best.npy") == left);
  CHECK(read_all(dir / "best.npy").find(fmt::format("'shape': ({},), }}", left)) !=
        std::string::npos);
}

TEST_CASE("stored weights are measured by the model and the split that they were trained with") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  Quiet quiet;
  (void)run_training(
      options_of(config_of(dir, "share = true\nedge_split = [0.7, 0.1, 0.2]\neval_negatives = 5")),
      RunDirectory::Mode::kNew,
      quiet.context);
  const std::string run = (dir / "run").string();
  const auto refused = [&](const std::string& set, const std::string& words) {
    CAPTURE(set);
    const Error error = expect_error([&] { (void)evaluate_run(run, {set}, {}, quiet.context); });
    CHECK(error.code() == ErrorCode::kUsage);
    CHECK(error.message().find(words) != std::string::npos);
    CHECK(expect_error([&] {
            (void)predict_run(run, {set}, {}, dir / "links.csv", quiet.context);
          }).message() == error.message());
  };
  refused("task.edge_split=[0.2, 0.1, 0.7]", "task.edge_split: [0.7, 0.1, 0.2] -> [0.2, 0.1, 0.7]");
  refused("seed=7", "seed: 1 -> 7");  // which draws the parts
  refused("task.decoder=distmult", "task.decoder: \"complex\" -> \"distmult\"");
  refused("task.gamma=3", "task.gamma: 0.0 -> 3.0");
  for (const char* set : {"task.eval_negatives=9", "task.ranking=all", "eval.batch_size=7"}) {
    CAPTURE(std::string(set));
    CHECK(std::isfinite(evaluate_run(run, {set}, {}, quiet.context).metrics.at("test.mrr")));
  }
}
