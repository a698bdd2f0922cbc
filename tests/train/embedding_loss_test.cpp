// The losses of link prediction over learned rows as their formulas say, with their gradients, by
// the dense form.
#include "train/embedding_support.h"

#include <sluice/nn/tensor_view.h>

#include <cmath>

using namespace sluice;
using namespace sluice::test;

namespace {

// The links of a mini-batch, relations by label.
std::vector<Triple> links_of(const Batch& batch) {
  std::vector<Triple> links;
  const auto ids = batch.seeds[0].as<std::uint64_t>();
  const auto node = [&](const Array& rows, std::size_t i) {
    return static_cast<std::int64_t>(ids[static_cast<std::size_t>(rows.as<std::int64_t>()[i])]);
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
Stepped first_step(OpenParts& opened) {
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

TEST_CASE("1vsAll with N3 and a loss over relations: value and gradients of the dense form") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  for (const bool reciprocal : {false, true}) {
    CAPTURE(reciprocal);
    OpenParts opened(
        dir,
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
          all.push_back(dense.score(
              dense.entities[from].unsqueeze(0), label, dense.entities[to].unsqueeze(0))[0][0]);
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
      OpenParts opened(
          dir,
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
        const double weight =
            1 / std::sqrt(static_cast<double>(graph.count_training(s, r, -1) +
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

TEST_CASE("what dropout zeroes counts in the regularizer all the same") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  const auto loss_of = [&](const std::string& weight) {
    OpenParts opened(dir,
                     "loss = \"all\"\nranking = \"all\"\nrelation_dropout = 0.5\n"
                     "regularizer = \"lp\"\nregularizer_power = 3\nregularizer_weight = " +
                         weight,
                     {"model.dropout=0.6"});
    const Stepped step = first_step(opened);
    const Dense dense(opened);
    double size = 0;
    for (const auto& [s, r, o] : links_of(*step.batch))
      size += (dense.entities[s].abs().pow(3).sum() + dense.entities[o].abs().pow(3).sum() +
               dense.relations[r].abs().pow(3).sum())
                  .item<double>() /
              3;
    return std::pair(step.loss, size / 32);
  };
  const auto [less, size] = loss_of("0.25");
  const auto [more, same_size] = loss_of("0.75");
  CHECK(size == same_size);
  CHECK(more - less == doctest::Approx(0.5 * size).epsilon(1e-4));
}
