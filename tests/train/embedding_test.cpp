// Knowledge-graph embeddings from files to figures, beside brute force over the learned rows: every
// rank among all entities, every loss as its formula says, what a step moves.
#include "support/process.h"
#include "tasks/known_links.h"
#include "train/evaluation.h"
#include "train/support.h"

#include <doctest/doctest.h>

#include <sluice/nn/tensor_view.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <sstream>

using namespace sluice;
using namespace sluice::test;
using torch::Tensor;

namespace {

constexpr std::int64_t kEntities = 30, kTypes = 3;

struct Triple {
  std::int64_t s, r, o;
  auto operator<=>(const Triple&) const = default;
};

// Distinct triples; the last entity is in no training triple.
struct Graph {
  std::array<std::vector<Triple>, 3> parts;  // train, valid, test

  Graph() {
    const RandomKey key(17);
    std::set<Triple> seen;
    const auto draw = [&](std::size_t count, std::int64_t entities, std::vector<Triple>& out) {
      static std::uint64_t n = 0;
      while (out.size() < count) {
        const auto below = [&](std::int64_t bound) {
          return static_cast<std::int64_t>(key.below(static_cast<std::uint64_t>(bound), n++));
        };
        const Triple triple{below(entities), below(kTypes), below(entities)};
        if (seen.insert(triple).second) out.push_back(triple);
      }
    };
    draw(220, kEntities - 1, parts[0]);
    draw(25, kEntities - 1, parts[1]);
    draw(24, kEntities - 1, parts[2]);
    parts[2].push_back({kEntities - 1, 1, 4});
  }

  bool has(const Triple& triple) const {
    return std::ranges::any_of(
        parts, [&](const auto& part) { return std::ranges::count(part, triple) != 0; });
  }
  std::int64_t count_training(std::int64_t s, std::int64_t r, std::int64_t o) const {
    return std::ranges::count_if(parts[0], [&](const Triple& t) {
      return t.r == r && (s < 0 || t.s == s) && (o < 0 || t.o == o);
    });
  }

  std::filesystem::path import(const TempDir& dir) const {
    const std::array<const char*, 3> names{"train.txt", "valid.txt", "test.txt"};
    for (std::size_t part = 0; part < 3; ++part) {
      std::string text;
      for (const Triple& t : parts[part]) text += fmt::format("{}\tr{}\t{}\n", t.s, t.r, t.o);
      dir.write(names[part], text);
    }
    const auto config = dir.write(
        "graph.toml",
        fmt::format("[[nodes]]\ntype = \"entity\"\ncount = {}\n[[edges]]\nfile = \"train.txt\"\n"
                    "format = \"triples\"\ntype_column = \"relation\"\ntypes = \"labels\"\n"
                    "source_column = \"head\"\ntarget_column = \"tail\"\n[[splits]]\n"
                    "of = \"edges\"\nvalid = \"valid.txt\"\ntest = \"test.txt\"\n"
                    "format = \"triples\"\n",
                    kEntities));
    const Outcome made =
        run({tool("sluice-prep"), "import", "--config", config, "--out", dir / "data"});
    REQUIRE_MESSAGE(made.code == 0, made.err);
    return dir / "data";
  }
};

std::string config_of(const TempDir& dir, const std::string& task) {
  return fmt::format(
      "dataset.path = \"{}\"\nrun.dir = \"{}\"\nmemory.host = \"256MiB\"\n"
      "model.type = \"embedding\"\nembedding = {{ dim = 8, init = 0.7, lr = 0.05 }}\n"
      "[task]\ntype = \"link_prediction\"\nwidth = 8\ndecoder = \"complex\"\n"
      "decoder_init = 0.7\nends = \"both\"\n{}\n"
      "[train]\nepochs = 3\nbatch_size = 32\ncompute_threads = 1\n"
      "optimizer = {{ type = \"adagrad\", lr = 0.05 }}\n",
      (dir / "data").string(),
      (dir / "run").string(),
      task);
}

/// A run's parts over the graph, and its learned rows in double.
class Opened {
 public:
  Opened(const TempDir& dir, const std::string& task)
      : options(options_of(config_of(dir, task))),
        ledger(std::make_shared<MemoryLedger>()),
        parts(options, RunDevice{}, ledger, {Placement::kMemory, Placement::kMemory}) {
    const LabelSchema& labels = *parts.dataset.schema().relations[0].labels;
    for (std::size_t label = 0; label < labels.names.size(); ++label)
      type_of_[std::stoul(labels.names[label].substr(1))] = static_cast<std::int64_t>(label);
  }

  std::int64_t label_of(std::int64_t r) const { return type_of_[static_cast<std::size_t>(r)]; }
  std::int64_t relation_of(std::int64_t label) const {
    return std::ranges::find(type_of_, label) - type_of_.begin();
  }

  RunOptions options;
  std::shared_ptr<MemoryLedger> ledger;
  Parts parts;

 private:
  std::array<std::int64_t, kTypes> type_of_{};
};

/// Learned rows as leaves in double, and ComplEx over them by complex numbers.
struct Dense {
  explicit Dense(const Opened& opened)
      : entities(opened.parts.weights().at("rows.entity").to(torch::kFloat64).requires_grad_()),
        relations(
            opened.parts.weights().at("head.relations").to(torch::kFloat64).requires_grad_()) {}

  static Tensor numbers(const Tensor& rows) {
    const auto half = rows.chunk(2, -1);
    return torch::complex(half[0], half[1]);
  }
  /// [rows of s, rows of o], a relation by label.
  Tensor score(const Tensor& s, std::int64_t label, const Tensor& o) const {
    const Tensor left = numbers(s) * numbers(relations[label]);
    return torch::real(left.mm(numbers(o).conj().t()));
  }
  Tensor tails(std::int64_t s, std::int64_t label) const {
    return score(entities[s].unsqueeze(0), label, entities)[0];
  }
  Tensor heads(std::int64_t o, std::int64_t label, bool reciprocal) const {
    if (reciprocal) return tails(o, label + kTypes);
    return score(entities, label, entities[o].unsqueeze(0)).select(1, 0);
  }
  Tensor cube(const Tensor& row) const { return numbers(row).abs().pow(3).sum(); }

  Tensor entities, relations;
};

// A link's rank by brute force.
double rank_of(const Tensor& scores, std::int64_t own, const std::function<bool(std::int64_t)>& known) {
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

// The links of a mini-batch, relations by label.
std::vector<Triple> links_of(const Batch& batch) {
  std::vector<Triple> links;
  const auto ids = batch.seeds[0].as<std::uint64_t>();
  const auto node = [&](const Array& rows, std::size_t i) {
    return static_cast<std::int64_t>(
        ids[static_cast<std::size_t>(rows.as<std::int64_t>()[i])]);
  };
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch.num_queries()); ++i)
    links.push_back({node(batch.queries.sources, i),
                     batch.labels.as<std::int32_t>()[i],
                     node(batch.queries.destinations, i)});
  return links;
}

struct Stepped {
  double loss;
  std::shared_ptr<const Batch> batch;
  Tensor of_entities, of_relations;  // gradients
};

// The loss of the first mini-batch and its gradients, all summed up by entity.
Stepped first_step(Opened& opened) {
  Parts& parts = opened.parts;
  const auto loader = parts.training_loader({});
  loader->start({});
  Stepped out;
  out.batch = loader->next();
  parts.model->train();
  parts.rows->begin(*out.batch, nn::Gradients::kWanted);
  const Tensor loss = parts.task->training_loss(*parts.model, *out.batch, parts.key());
  loss.backward();
  out.loss = loss.item<double>();
  out.of_entities = torch::zeros({kEntities, 8}, torch::kFloat64);
  const Tensor ids = nn::as_tensor(out.batch->nodes[0].ids).view(torch::kInt64);
  out.of_entities.index_add_(0, ids, parts.rows->rows(0).grad().to(torch::kFloat64));
  if (opened.options.task.type == "link_prediction" && parts.rows->all(0).grad().defined())
    out.of_entities += parts.rows->all(0).grad().to(torch::kFloat64);
  for (const auto& item : parts.task->head()->named_parameters())
    if (item.key() == "relations") out.of_relations = item.value().grad().to(torch::kFloat64);
  parts.rows->end();
  return out;
}

void check_gradient(const Tensor& got, const Tensor& expected) {
  const double most = expected.abs().max().item<double>();
  CHECK((got - expected).abs().max().item<double>() < 2e-5 * (1 + most));
}

void check_step(const Stepped& step, const Dense& dense, const Tensor& loss) {
  CHECK(step.loss == doctest::Approx(loss.item<double>()).epsilon(1e-5));
  loss.backward();
  check_gradient(step.of_entities, dense.entities.grad());
  check_gradient(step.of_relations, dense.relations.grad());
}

}  // namespace

TEST_CASE("ranks among all entities: both ends, filtered, by brute force over the rows") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  for (const bool reciprocal : {false, true}) {
    CAPTURE(reciprocal);
    Opened opened(
        dir, fmt::format("ranking = \"all\"\nloss = \"all\"\nreciprocal = {}", reciprocal));
    // Two entities that score the same everywhere: ties count half.
    opened.parts.weights().at("rows.entity")[3].copy_(opened.parts.weights().at("rows.entity")[7]);
    const Dense dense(opened);
    double reciprocal_sum = 0, sum = 0, hits1 = 0, hits3 = 0, hits10 = 0, count = 0;
    std::array<double, kTypes> by_type{}, of_type{};
    for (const Triple& t : graph.parts[2]) {
      const std::int64_t label = opened.label_of(t.r);
      const double ranks[] = {rank_of(dense.tails(t.s, label),
                                      t.o,
                                      [&](std::int64_t o) { return graph.has({t.s, t.r, o}); }),
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

TEST_CASE("1vsAll with N3 and a loss over relations: value and gradients of the dense form") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  for (const bool reciprocal : {false, true}) {
    CAPTURE(reciprocal);
    Opened opened(dir,
                  fmt::format("loss = \"all\"\nreciprocal = {}\nrelation_weight = 0.3\n"
                              "regularizer = \"n3\"\nregularizer_weight = 0.2\nranking = \"all\"",
                              reciprocal));
    const Stepped step = first_step(opened);
    const Dense dense(opened);
    const std::vector<Triple> links = links_of(*step.batch);
    REQUIRE(links.size() == 32);
    const auto n = static_cast<double>(links.size());
    Tensor loss = torch::zeros({}, torch::kFloat64);
    for (const auto& [s, r, o] : links) {
      REQUIRE(graph.count_training(s, opened.relation_of(r), o) == 1);
      const Tensor tails = dense.tails(s, r), heads = dense.heads(o, r, reciprocal);
      loss = loss + (torch::logsumexp(tails, 0) - tails[o]) / (2 * n);
      loss = loss + (torch::logsumexp(heads, 0) - heads[s]) / (2 * n);
      const auto between = [&](std::int64_t from, std::int64_t to) {
        std::vector<Tensor> all;
        for (std::int64_t label = 0; label < dense.relations.size(0); ++label)
          all.push_back(dense.score(dense.entities[from].unsqueeze(0),
                                    label,
                                    dense.entities[to].unsqueeze(0))[0][0]);
        return torch::stack(all);
      };
      const Tensor forth = between(s, o), back = between(o, s);
      Tensor relation = torch::logsumexp(forth, 0) - forth[r];
      Tensor cubes = dense.cube(dense.relations[r]);
      if (reciprocal) {
        relation = (relation + torch::logsumexp(back, 0) - back[r + kTypes]) / 2;
        cubes = (cubes + dense.cube(dense.relations[r + kTypes])) / 2;
      }
      cubes = cubes + dense.cube(dense.entities[s]) + dense.cube(dense.entities[o]);
      loss = loss + 0.3 * relation / n + 0.2 * cubes / n;
    }
    check_step(step, dense, loss);
  }
}

TEST_CASE("shared negatives: neither the own end nor a training link counts as one") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  const auto softmax = [](const Tensor& own, const std::vector<Tensor>& others) {
    std::vector<Tensor> all = others;
    all.push_back(own);
    return torch::logsumexp(torch::stack(all), 0) - own;
  };
  for (const bool filtered : {false, true}) {
    for (const std::string kind : {"softmax", "self_adversarial"}) {
      CAPTURE(filtered);
      CAPTURE(kind);
      Opened opened(dir,
                    fmt::format("loss = \"{}\"\nshare = true\nchunk = 10\nnegatives = 12\n"
                                "of_batch = 0.5\nfiltered = {}\ntemperature = 0.5\nreciprocal = true",
                                kind,
                                filtered));
      const Stepped step = first_step(opened);
      const Dense dense(opened);
      const std::vector<Triple> links = links_of(*step.batch);
      const Queries& queries = step.batch->queries;
      REQUIRE(queries.chunk == 10);
      REQUIRE(queries.shared.shape() == Array::Shape{4, 12});
      const auto ids = step.batch->seeds[0].as<std::uint64_t>();
      Tensor sum = torch::zeros({}, torch::kFloat64);
      double weights = 0;
      std::size_t left_out = 0;
      for (std::size_t i = 0; i < links.size(); ++i) {
        const auto& [s, label, o] = links[i];
        const std::int64_t r = opened.relation_of(label);
        const double weight = 1 / std::sqrt(static_cast<double>(graph.count_training(s, r, -1) +
                                                                graph.count_training(-1, r, o) + 6));
        weights += weight;
        for (const bool tail : {true, false}) {
          const Tensor scores = tail ? dense.tails(s, label) : dense.heads(o, label, true);
          const Tensor own = scores[tail ? o : s];
          std::vector<Tensor> others;
          for (std::size_t k = 0; k < 12; ++k) {
            const auto row = queries.shared.as<std::int64_t>()[i / 10 * 12 + k];
            const auto node = static_cast<std::int64_t>(ids[static_cast<std::size_t>(row)]);
            const bool known = graph.count_training(tail ? s : node, r, tail ? node : o) != 0;
            if (node == (tail ? o : s) || (filtered && known)) {
              ++left_out;
              continue;
            }
            others.push_back(scores[node]);
          }
          if (kind == "softmax") {
            sum = sum + softmax(own, others) / (2.0 * static_cast<double>(links.size()));
            continue;
          }
          const Tensor all = torch::stack(others);
          const Tensor share = torch::softmax(0.5 * all.detach(), 0);
          sum = sum + weight * (torch::softplus(-own) + (share * torch::softplus(all)).sum()) / 4;
        }
      }
      CHECK(left_out > 10);
      check_step(step, dense, kind == "softmax" ? sum : sum / weights);
    }
  }
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
  const std::string text = config_of(
      dir,
      "ranking = \"all\"\nloss = \"all\"\nreciprocal = true\nregularizer = \"n3\"\n"
      "regularizer_weight = 0.02");
  const std::vector<std::string> sets{
      "embedding.dim=40", "task.width=40", "embedding.lr=0.2", "embedding.init=0.01",
      "train.optimizer.lr=0.2", "train.batch_size=16", "train.compute_threads=2"};
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
  CHECK(resumed.metrics == whole.metrics);
  const RunReport again = evaluate_run((dir / "whole").string(), {}, {}, quiet.context);
  CHECK(again.metrics.at("test.mrr") == whole.metrics.at("test.mrr"));
}

TEST_CASE("an encoder over learned rows: they alone stand for features that are not there") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  const std::string text = config_of(
      dir, "loss = \"softmax\"\nshare = true\nnegatives = 8\neval_negatives = 5");
  Quiet quiet;
  const auto options = [&](const std::vector<std::string>& more) {
    std::vector<std::string> sets{"model.type=graphsage", "sampler.fanout=[5, 5]"};
    sets.insert(sets.end(), more.begin(), more.end());
    return options_of(text, sets);
  };
  const RunReport report =
      run_training(options({}), RunDirectory::Mode::kNew, quiet.context);
  CHECK(std::isfinite(report.metrics.at("test.mrr")));
  try {
    (void)run_training(options({"embedding.dim=0"}), RunDirectory::Mode::kReplace, quiet.context);
    FAIL("no features and no rows");
  } catch (const Error& error) {
    CHECK(error.message() == "model 'graphsage' needs node features, and 'entity' has none");
  }
  try {
    (void)run_training(
        options({"task.ranking=all"}), RunDirectory::Mode::kReplace, quiet.context);
    FAIL("nodes of an encoder ranked among all");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kUsage);
    CHECK(error.hint() == "set model.type = \"embedding\", or task.ranking = \"sampled\"");
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
  const PredictReport rows =
      embed_run(run, {}, {}, "", dir / "rows.csv", quiet.context);
  CHECK(rows.rows == kEntities);
  const Opened opened(dir, "ranking = \"all\"\nloss = \"all\"");
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
  for (const LinkEnd end : {LinkEnd::kDestination, LinkEnd::kSource}) {
    const PredictReport best =
        predict_best_run(run, {}, {}, {end, 4}, dir / "best.csv", quiet.context);
    CHECK(best.rows == 25 * 4);
    std::istringstream found(read_all(dir / "best.csv"));
    std::getline(found, line);
    CHECK(line == "source,target,rank,score,type");
    std::size_t at = 0;
    double before = 0;
    while (std::getline(found, line)) {
      std::int64_t s = 0, o = 0, rank = 0, type = 0;
      double score = 0;
      REQUIRE(std::sscanf(line.c_str(), "%ld,%ld,%ld,%lf,%ld", &s, &o, &rank, &score, &type) == 5);
      CHECK(rank == static_cast<std::int64_t>(at % 4 + 1));
      if (rank > 1) CHECK(score <= before);
      before = score;
      // Links that training knows are not told again.
      CHECK(graph.count_training(s, opened.relation_of(type), o) == 0);
      ++at;
    }
    CHECK(at == 100);
  }
}
