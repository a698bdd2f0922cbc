// Models over several node types and relations: shapes, gradients, learning, determinism, what they
// read of types without features, and what they refuse.
#include "models/support.h"

#include "core/threads.h"
#include "storage/embedding/table_rows.h"
#include "support/expect_error.h"

#include <sluice/nn/learned_rows.h>
#include <sluice/registry.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

using namespace sluice;
using namespace sluice::testing;
using torch::Tensor;

namespace {

const std::vector<std::string> kTypedModels{
    "model.type = 'rgcn'\nmodel.bases = 3\n",
    "model.type = 'graphsage'\n",
    "model.type = 'graphsage'\nmodel.aggregator = 'max'\nmodel.combine = 'concat'\n",
    "model.type = 'hgt'\nmodel.heads = 4\n",
    "model.type = 'simple_hgn'\nmodel.heads = 4\nmodel.attention_dropout = 0.1\n",
    "model.type = 'gat'\nmodel.norm = 'layer'\nmodel.residual = true\n",
    "model.type = 'bg_hgnn'\nmodel.code_width = 32\n"};

// Those that can tell by which relation a neighbour is one.
bool tells_relations(const std::string& toml) {
  return toml.find("'gat'") == std::string::npos && toml.find("'bg_hgnn'") == std::string::npos;
}

const std::string kTypedRest =
    "model.hidden = 16\nmodel.dropout = 0.1\noptimizer.type = 'adam'\noptimizer.lr = 0.02\n";

constexpr std::size_t kPapers = 60, kAuthors = 30, kSubjects = 4;
constexpr std::int64_t kPaperClasses = 3, kPaperDim = 5, kAuthorDim = 4;
constexpr std::size_t kOfPapers = 0, kOfAuthors = 1, kOfSubjects = 2;

using Neighbours = std::vector<std::vector<std::int32_t>>;

/// Papers of three classes. Two of a paper's authors, who tell their group by their features, are
/// of its class; by another relation two are of the next class. Subjects have no features.
struct Academy {
  GraphSchema schema;
  std::vector<Neighbours> lists;  // by relation and target
  std::vector<Array> features;    // by type
  std::vector<std::int32_t> labels;

  Academy() {
    add_type("paper", kPapers, kPaperDim);
    add_type("author", kAuthors, kAuthorDim);
    add_type("subject", kSubjects, 0);
    schema.nodes[0].labels = LabelSchema{LabelKind::kClass, kPaperClasses};
    std::vector<float> author_rows = random_floats(kAuthors * kAuthorDim, 2);
    for (std::size_t a = 0; a < kAuthors; ++a)
      author_rows[a * kAuthorDim + a % kPaperClasses] += 2.0f;
    features = {array_of(random_floats(kPapers * kPaperDim, 1), {kPapers, kPaperDim}),
                array_of(author_rows, {kAuthors, kAuthorDim}),
                Array()};
    Neighbours written(kPapers), reviewed(kPapers), of(kAuthors), about(kPapers);
    for (std::size_t p = 0; p < kPapers; ++p) {
      labels.push_back(static_cast<std::int32_t>(p % kPaperClasses));
      for (std::uint64_t e = 0; e < 2; ++e) {
        const RandomKey draw = RandomKey(3).with(p).with(e);
        const std::size_t writer = 3 * draw.below(kAuthors / 3, 0) + p % kPaperClasses;
        written[p].push_back(static_cast<std::int32_t>(writer));
        of[writer].push_back(static_cast<std::int32_t>(p));
        reviewed[p].push_back(
            static_cast<std::int32_t>(3 * draw.below(kAuthors / 3, 1) + (p + 1) % kPaperClasses));
      }
      about[p].push_back(static_cast<std::int32_t>(p % kSubjects));
    }
    add_relation("author", "written", "paper", written);
    add_relation("author", "reviewed", "paper", reviewed);
    add_relation("paper", "of", "author", of);
    add_relation("subject", "about", "paper", about);
  }

  void add_type(const std::string& name, std::uint64_t count, std::uint32_t dim) {
    NodeTypeSchema type;
    type.name = name;
    type.count = count;
    if (dim != 0) type.features.push_back({"features", DType::kF32, count, dim});
    schema.nodes.push_back(type);
  }

  void add_relation(const std::string& source,
                    const std::string& name,
                    const std::string& target,
                    Neighbours neighbours) {
    RelationSchema relation;
    relation.source = source;
    relation.name = name;
    relation.target = target;
    schema.relations.push_back(relation);
    lists.push_back(std::move(neighbours));
  }

  std::size_t type_of(const std::string& name) const {
    std::size_t type = 0;
    while (schema.nodes[type].name != name) ++type;
    return type;
  }

  /// All papers are seeds; each layer is the whole graph, the last the papers' edges alone.
  Batch batch(std::size_t layers) const {
    Batch batch;
    batch.nodes.resize(schema.nodes.size());
    batch.seeds.resize(schema.nodes.size());
    for (std::size_t type = 0; type < schema.nodes.size(); ++type) {
      const auto count = static_cast<std::int64_t>(schema.nodes[type].count);
      std::vector<std::uint64_t> ids(static_cast<std::size_t>(count));
      std::iota(ids.begin(), ids.end(), std::uint64_t{0});
      BatchNodes& nodes = batch.nodes[type];
      nodes.ids = array_of(ids);
      if (!features[type].empty()) nodes.features = {features[type]};
      nodes.relation_degrees = degrees_into(type);
      nodes.size_at.assign(layers + 1, count);
      if (type != kOfPapers) nodes.size_at.back() = 0;
    }
    batch.seeds[kOfPapers] = batch.nodes[kOfPapers].ids;
    batch.layers.resize(layers);
    for (std::size_t layer = 0; layer < layers; ++layer)
      for (std::size_t r = 0; r < lists.size(); ++r)
        batch.layers[layer].push_back(block(r, layer + 1 == layers));
    batch.labels = array_of(labels);
    return batch;
  }

 private:
  Block block(std::size_t r, bool last) const {
    const std::size_t source = type_of(schema.relations[r].source);
    const std::size_t target = type_of(schema.relations[r].target);
    Block block = make_block(static_cast<std::int64_t>(schema.nodes[source].count),
                             last && target != kOfPapers ? Neighbours() : lists[r]);
    block.relation = r;
    block.source_type = source;
    block.target_type = target;
    return block;
  }

  Array degrees_into(std::size_t type) const {
    std::vector<std::size_t> into;
    for (std::size_t r = 0; r < lists.size(); ++r)
      if (schema.relations[r].target == schema.nodes[type].name) into.push_back(r);
    std::vector<std::int64_t> degrees;
    for (std::size_t node = 0; node < schema.nodes[type].count; ++node)
      for (const std::size_t r : into)
        degrees.push_back(static_cast<std::int64_t>(lists[r][node].size()));
    return array_of(degrees,
                    {static_cast<std::int64_t>(schema.nodes[type].count),
                     static_cast<std::int64_t>(into.size())});
  }
};

std::unique_ptr<Model> typed_model(const std::string& toml,
                                   const GraphSchema& schema,
                                   std::uint64_t seed = 1,
                                   ThreadArena* threads = nullptr,
                                   nn::LearnedRows* rows = nullptr) {
  const RunOptions options(toml + kTypedRest);
  return builtin_models().create(
      options.model, {schema, {kOfPapers}, kPaperClasses, RandomKey(seed), threads, nullptr, rows});
}

std::set<std::string> names_of_parameters(const Model& model) {
  std::set<std::string> names;
  for (const auto& item : model.named_parameters()) names.insert(item.key());
  return names;
}

std::int64_t count_of_parameters(const Model& model) {
  std::int64_t count = 0;
  for (const Tensor& parameter : model.parameters()) count += parameter.numel();
  return count;
}

double share_correct(const Tensor& outputs, const Academy& academy) {
  const Tensor labels = torch::tensor(
      std::vector<std::int64_t>(academy.labels.begin(), academy.labels.end()), torch::kInt64);
  return outputs.argmax(1).eq(labels).to(torch::kFloat64).mean().item<double>();
}

struct Trained {
  double accuracy = 0;
  Tensor weights, outputs;
};

Trained train_typed(const std::string& toml, std::uint64_t seed, int threads) {
  const Academy academy;
  const Batch batch = academy.batch(2);
  ThreadArena arena(threads);
  const auto model = typed_model(toml, academy.schema, seed, &arena);
  const RunOptions options(toml + kTypedRest);
  const auto optimizer = builtin_optimizers().create(options.optimizer, parameters_of(*model));
  const auto task = builtin_tasks().create({"node_classification", nullptr}, {academy.schema});
  for (std::uint64_t step = 0; step < 60; ++step) {
    model->set_step_key(RandomKey(seed).with(step));
    optimizer->zero_grad();
    node_task(task).loss(model->encode(batch)[kOfPapers], batch).backward();
    optimizer->step();
  }
  model->eval();
  const torch::NoGradGuard no_grad;
  Trained trained;
  trained.outputs = model->encode(batch)[kOfPapers];
  trained.accuracy = share_correct(trained.outputs, academy);
  std::vector<Tensor> parameters;
  for (const Tensor& parameter : model->parameters()) parameters.push_back(parameter.flatten());
  trained.weights = torch::cat(parameters);
  return trained;
}

}  // namespace

TEST_CASE("typed models give a row a seed of the type asked for, and every parameter a gradient") {
  const Academy academy;
  const Batch batch = academy.batch(2);
  for (const std::string& toml : kTypedModels) {
    INFO(toml);
    const auto model = typed_model(toml, academy.schema);
    REQUIRE(model->num_layers() == 2);
    const Encoding rows = model->encode(batch);
    REQUIRE(rows.size() == 3);
    CHECK(rows[kOfPapers].sizes() == torch::IntArrayRef({kPapers, kPaperClasses}));
    CHECK_FALSE(rows[kOfAuthors].defined());
    CHECK_FALSE(rows[kOfSubjects].defined());
    rows[kOfPapers].square().mul(torch::arange(1, 4)).sum().backward();
    for (const auto& item : model->named_parameters()) {
      INFO(item.key());
      CHECK(item.value().grad().defined());
    }
  }
}

TEST_CASE("typed models learn, and a run is a function of its seed, on any number of threads") {
  for (const std::string& toml : kTypedModels) {
    INFO(toml);
    const Trained trained = train_typed(toml, 1, 1);
    CHECK(trained.accuracy > (tells_relations(toml) ? 0.9 : 0.6));
    const Trained again = train_typed(toml, 1, 3);
    CHECK(torch::equal(again.weights, trained.weights));
    CHECK(torch::equal(again.outputs, trained.outputs));
    CHECK_FALSE(torch::equal(train_typed(toml, 2, 1).weights, trained.weights));
  }
}

TEST_CASE("which author by which relation: models that tell relations apart see them exchanged") {
  const Academy academy;
  Academy exchanged;
  std::swap(exchanged.lists[0], exchanged.lists[1]);
  const torch::NoGradGuard no_grad;
  for (const std::string& toml : kTypedModels) {
    INFO(toml);
    const auto model = typed_model(toml, academy.schema);
    model->eval();
    const Tensor before = model->encode(academy.batch(2))[kOfPapers];
    const Tensor after = model->encode(exchanged.batch(2))[kOfPapers];
    // As many edges of both: only what an edge's relation is has changed.
    CHECK(torch::allclose(before, after, 1e-4, 1e-5) != tells_relations(toml));
  }
}

TEST_CASE("a node's row does not depend on the numbers of nodes") {
  const Academy academy;
  Academy turned;  // authors in the reverse order
  const auto other = [](std::int32_t author) {
    return static_cast<std::int32_t>(kAuthors) - 1 - author;
  };
  for (const std::size_t r : {0u, 1u})
    for (auto& authors : turned.lists[r])
      for (std::int32_t& author : authors) author = other(author);
  std::ranges::reverse(turned.lists[2]);
  std::vector<float> rows(kAuthors * kAuthorDim);
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = academy.features[1]
                  .as<float>()[(kAuthors - 1 - i / kAuthorDim) * kAuthorDim + i % kAuthorDim];
  turned.features[1] = array_of(rows, {kAuthors, kAuthorDim});
  const torch::NoGradGuard no_grad;
  for (const std::string& toml : kTypedModels) {
    INFO(toml);
    const auto model = typed_model(toml, academy.schema);
    model->eval();
    CHECK(torch::allclose(model->encode(academy.batch(2))[kOfPapers],
                          model->encode(turned.batch(2))[kOfPapers],
                          1e-4,
                          1e-5));
  }
}

TEST_CASE("papers that are asked about under other numbers have the same rows to 1e-5") {
  const Academy academy;
  std::vector<std::size_t> numbers(kPapers);  // by old number, drawn
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  for (std::size_t i = 0; i + 1 < kPapers; ++i)
    std::swap(numbers[i], numbers[i + RandomKey(13).below(kPapers - i, i)]);
  Academy renumbered;
  for (const std::size_t r : {0u, 1u, 3u})  // into papers
    for (std::size_t p = 0; p < kPapers; ++p) renumbered.lists[r][numbers[p]] = academy.lists[r][p];
  for (auto& papers : renumbered.lists[2]) {
    for (std::int32_t& paper : papers)
      paper = static_cast<std::int32_t>(numbers[static_cast<std::size_t>(paper)]);
    std::ranges::sort(papers);  // as a dataset has them: sums are in another order
  }
  std::vector<float> rows(kPapers * kPaperDim);
  std::vector<std::int64_t> order(kPapers);
  for (std::size_t p = 0; p < kPapers; ++p) {
    order[p] = static_cast<std::int64_t>(numbers[p]);
    for (std::size_t c = 0; c < kPaperDim; ++c)
      rows[numbers[p] * kPaperDim + c] = academy.features[0].as<float>()[p * kPaperDim + c];
  }
  renumbered.features[0] = array_of(rows, {kPapers, kPaperDim});
  const Tensor by_old_number = torch::tensor(order, torch::kInt64);
  const torch::NoGradGuard no_grad;
  for (const std::string& toml : kTypedModels) {
    INFO(toml);
    const auto model = typed_model(toml, academy.schema);
    model->eval();
    const Tensor expected = model->encode(academy.batch(2))[kOfPapers];
    const Tensor got = model->encode(renumbered.batch(2))[kOfPapers].index_select(0, by_old_number);
    const double error = (got - expected).abs().max().item<double>();
    CHECK(error <= 1e-5 * (1 + expected.abs().max().item<double>()));
    CHECK_FALSE(torch::allclose(got, model->encode(renumbered.batch(2))[kOfPapers]));
  }
}

TEST_CASE(
    "a type without features has one learned row, or rows of its own where they are learned") {
  const Academy academy;
  const Batch batch = academy.batch(2);
  for (const std::string& toml : kTypedModels) {
    if (toml.find("'bg_hgnn'") != std::string::npos) continue;  // its types have codes
    INFO(toml);
    CHECK(names_of_parameters(*typed_model(toml, academy.schema)).contains("inputs.constant2"));
    TableRowsOptions options;
    options.rows = kSubjects;
    options.dim = 6;
    options.initial.kind = InitialRows::Kind::kUniform;
    options.initial.scale = 0.5;
    options.initial.seed = 5;
    options.optimizer = builtin_sparse_optimizers().make("sgd", "");
    options.rate = 0.1;
    const auto table = std::make_shared<TableRows>(options);
    nn::LearnedRows rows({{"paper", nullptr}, {"author", nullptr}, {"subject", table}},
                         torch::kCPU);
    const auto model = typed_model(toml, academy.schema, 1, nullptr, &rows);
    const std::set<std::string> names = names_of_parameters(*model);
    CHECK(names.contains("inputs.type2.weight"));
    CHECK_FALSE(names.contains("inputs.constant2"));
    rows.begin(batch, nn::Gradients::kWanted);
    model->encode(batch)[kOfPapers].square().mul(torch::arange(1, 4)).sum().backward();
    REQUIRE(rows.rows(kOfSubjects).grad().defined());
    CHECK(rows.rows(kOfSubjects).grad().abs().sum().item<float>() > 0);
    rows.end();
  }
}

TEST_CASE("types that no row asked for depends on have no parameters") {
  Academy academy;
  academy.add_type("venue", 7, 9);
  academy.features.push_back(array_of(random_floats(7 * 9, 6), {7, 9}));
  academy.add_relation("paper", "in", "venue", Neighbours(7));
  const Batch batch = academy.batch(2);
  for (const std::string& toml : kTypedModels) {
    INFO(toml);
    const auto model = typed_model(toml, academy.schema);
    for (const std::string& name : names_of_parameters(*model)) {
      INFO(name);
      CHECK(name.find("inputs.type3") == std::string::npos);
      CHECK(name.find("features3") == std::string::npos);
    }
    CHECK(model->encode(batch)[kOfPapers].sizes() == torch::IntArrayRef({kPapers, kPaperClasses}));
  }
}

TEST_CASE("BG-HGNN has as many parameters whatever the relations, and codes by its seed") {
  Academy few, many;
  for (int i = 0; i < 40; ++i)
    many.add_relation("author", "more" + std::to_string(i), "paper", Neighbours(kPapers));
  const std::string &blended = kTypedModels.back(), &bases = kTypedModels.front();
  const auto model = typed_model(blended, few.schema);
  CHECK(count_of_parameters(*model) == count_of_parameters(*typed_model(blended, many.schema)));
  CHECK(count_of_parameters(*typed_model(bases, few.schema)) <
        count_of_parameters(*typed_model(bases, many.schema)));
  const auto codes = [](const Model& of) { return of.named_buffers()["inputs.relation_codes"]; };
  CHECK(codes(*model).sizes() == torch::IntArrayRef({4, 32}));
  CHECK(torch::equal(codes(*model), codes(*typed_model(blended, few.schema))));
  CHECK_FALSE(torch::equal(codes(*model), codes(*typed_model(blended, few.schema, 2))));
  CHECK_FALSE(codes(*model).requires_grad());
  // A paper's shares of relations are among what its row is made of.
  model->eval();
  const torch::NoGradGuard no_grad;
  Batch batch = few.batch(2);
  const Tensor before = model->encode(batch)[kOfPapers];
  batch.nodes[kOfPapers].relation_degrees =
      array_of(std::vector<std::int64_t>(kPapers * 3, 1), {kPapers, 3});
  CHECK_FALSE(torch::allclose(before, model->encode(batch)[kOfPapers]));
  CHECK(model->needs().relation_degrees);
  batch.nodes[kOfPapers].relation_degrees = Array();
  CHECK(test::expect_error([&] { (void)model->encode(batch); }).message() ==
        "a batch without the degrees by relation that its model needs");
}

TEST_CASE("typed models refuse what they cannot read, in words") {
  Academy academy;
  for (NodeTypeSchema& type : academy.schema.nodes) type.features.clear();
  const auto refused = [&](const std::string& toml) {
    return test::expect_error([&] { (void)typed_model(toml, academy.schema); });
  };
  for (const std::string& toml : kTypedModels) {
    if (toml.find("'bg_hgnn'") != std::string::npos) continue;  // relations tell it something
    INFO(toml);
    const Error error = refused(toml);
    CHECK(error.code() == ErrorCode::kUsage);
    CHECK(error.message().find("needs node features, and no node type that it reads has any") !=
          std::string::npos);
    CHECK(error.hint().find("embedding.dim") != std::string::npos);
  }
  CHECK(refused("model.type = 'hgt'\nmodel.heads = 5\n").message() ==
        "model 'hgt': hidden = 16 is no multiple of heads = 5");
  CHECK(refused("model.type = 'gcn'\n").message().find("is for one node type and one relation") !=
        std::string::npos);
}
