// The first layer a group of node types at a time: what it gives and its gradients are the plain
// order's, whatever the model and whether features come with the mini-batch or when asked for; the
// groups; and the peak of a step.
#include "models/support.h"

#include "storage/embedding/table_rows.h"

#include <sluice/deferred_features.h>
#include <sluice/models/typed_stack.h>
#include <sluice/nn/learned_rows.h>
#include <sluice/nn/ledger_allocator.h>
#include <sluice/nn/tensor_view.h>
#include <sluice/registry.h>

#include <algorithm>
#include <array>
#include <utility>

using namespace sluice;
using namespace sluice::testing;
using torch::Tensor;

namespace {

constexpr std::size_t kTypes = 4;
constexpr std::int64_t kOutputs = 3, kHidden = 64;
constexpr std::size_t kDegree = 4;  // so that means of integers are exact
constexpr std::array<std::uint32_t, kTypes> kWidths{64, 256, 768, 1024};
constexpr std::array<std::uint32_t, kTypes> kNarrow{4, 6, 8, 10};

const std::vector<std::string> kSummingModels{
    "model.type = 'rgcn'\nmodel.bases = 3\n",
    "model.type = 'rgcn'\nmodel.residual = true\nmodel.norm = 'layer'\n",
    "model.type = 'graphsage'\nmodel.residual = true\n",
    "model.type = 'graphsage'\nmodel.aggregator = 'max'\nmodel.combine = 'concat'\n"};

enum class Arrival { kWithBatch, kWhenAsked };

// Features of each type, and how often they were asked for.
class CountedRows final : public DeferredFeatures {
 public:
  explicit CountedRows(std::vector<Array> features) : features_(std::move(features)) {}

  std::int64_t columns(std::size_t type, std::size_t group) const override {
    return group == 0 ? features_.at(type).size(1) : 0;
  }
  void gather(std::size_t type,
              std::size_t /*group*/,
              std::int64_t first,
              std::span<float> out) const override {
    const auto begin = static_cast<std::size_t>(first * features_.at(type).size(1));
    const auto from = std::as_const(features_.at(type)).as<float>().subspan(begin, out.size());
    std::copy(from.begin(), from.end(), out.begin());
    ++asked[type];
  }

  mutable std::array<int, kTypes> asked{};

 private:
  std::vector<Array> features_;
};

// Four types with as many rows each; each has edges into the first, and from it.
struct FourTypes {
  GraphSchema schema;
  std::vector<Array> features;
  std::int64_t rows;

  FourTypes(const std::array<std::uint32_t, kTypes>& widths, std::int64_t count) : rows(count) {
    for (std::size_t type = 0; type < kTypes; ++type) {
      NodeTypeSchema node;
      node.name = std::string(1, static_cast<char>('a' + type));
      node.count = static_cast<std::uint64_t>(count);
      node.features.push_back({"features", DType::kF32, node.count, widths[type]});
      schema.nodes.push_back(node);
      std::vector<float> values;
      const std::int64_t columns = widths[type];
      for (std::int64_t i = 0; i < count * columns; ++i)
        values.push_back(integer(RandomKey(11).with(type), i));
      features.push_back(array_of(values, {count, columns}));
    }
    schema.nodes[0].labels = LabelSchema{LabelKind::kClass, kOutputs};
    for (std::size_t type = 0; type < kTypes; ++type) add_relation(type, 0);
    for (std::size_t type = 1; type < kTypes; ++type) add_relation(0, type);
  }

  // One of -1, 0, 1.
  static float integer(RandomKey key, std::int64_t at) {
    return static_cast<float>(key.below(3, static_cast<std::uint64_t>(at))) - 1;
  }

  void add_relation(std::size_t source, std::size_t target) {
    RelationSchema relation;
    relation.source = schema.nodes[source].name;
    relation.target = schema.nodes[target].name;
    relation.name = relation.source + "_" + relation.target;
    schema.relations.push_back(relation);
    ends.emplace_back(source, target);
  }

  /// Two layers: a quarter of all rows, then a sixteenth of the first type's. Without features.
  Batch batch() const {
    Batch made;
    made.nodes.resize(kTypes);
    made.seeds.resize(kTypes);
    for (std::size_t type = 0; type < kTypes; ++type) {
      std::vector<std::uint64_t> ids;
      for (std::int64_t i = 0; i < rows; ++i) ids.push_back(static_cast<std::uint64_t>(i));
      made.nodes[type].ids = array_of(ids);
      made.nodes[type].size_at = {rows, rows / 4, type == 0 ? rows / 16 : 0};
    }
    std::vector<std::uint64_t> seeds(static_cast<std::size_t>(rows / 16));
    for (std::size_t i = 0; i < seeds.size(); ++i) seeds[i] = i;
    made.seeds[0] = array_of(seeds);
    made.layers.resize(2);
    for (std::size_t layer = 0; layer < 2; ++layer)
      for (std::size_t r = 0; r < ends.size(); ++r)
        made.layers[layer].push_back(block(made, layer, r));
    return made;
  }

  std::vector<std::pair<std::size_t, std::size_t>> ends;

 private:
  Block block(const Batch& in, std::size_t layer, std::size_t r) const {
    const auto& [source, target] = ends[r];
    const std::int64_t sources = in.nodes[source].size_at[layer];
    const auto targets = static_cast<std::size_t>(in.nodes[target].size_at[layer + 1]);
    std::vector<std::vector<std::int32_t>> lists(targets);
    for (std::size_t t = 0; t < targets; ++t)
      for (std::uint64_t e = 0; e < kDegree; ++e)
        lists[t].push_back(static_cast<std::int32_t>(RandomKey(5).with(layer).with(r).with(t).below(
            static_cast<std::uint64_t>(sources), e)));
    Block made = make_block(sources, lists);
    made.relation = r;
    made.source_type = source;
    made.target_type = target;
    return made;
  }
};

std::unique_ptr<Model> summing_model(const std::string& toml,
                                     const std::string& execution,
                                     const GraphSchema& schema,
                                     std::int64_t hidden = kHidden,
                                     nn::LearnedRows* rows = nullptr) {
  const RunOptions options(toml + "model.execution = '" + execution + "'\nmodel.hidden = " +
                           std::to_string(hidden) + "\noptimizer.type = 'adam'\n");
  return builtin_models().create(options.model,
                                 {schema, {0}, kOutputs, RandomKey(1), nullptr, nullptr, rows});
}

const models::RelationFirst& order_of(const Model& model) {
  const auto* const order = dynamic_cast<const models::TypedStack&>(model).relation_first();
  REQUIRE(order != nullptr);
  return *order;
}

struct Stepped {
  Tensor outputs;
  std::vector<Tensor> gradients;
};

Stepped step(Model& model, const Batch& batch) {
  model.train();
  model.set_step_key(RandomKey(3));
  Stepped stepped;
  stepped.outputs = model.encode(batch)[0];
  (stepped.outputs * torch::arange(1, kOutputs + 1)).sum().backward();
  for (const Tensor& parameter : model.parameters()) {
    REQUIRE(parameter.grad().defined());
    stepped.gradients.push_back(parameter.grad().clone());
  }
  stepped.outputs = stepped.outputs.detach();
  return stepped;
}

Batch with_features(const FourTypes& graph, Arrival arrival) {
  Batch batch = graph.batch();
  for (std::size_t type = 0; type < kTypes; ++type)
    batch.nodes[type].features = {arrival == Arrival::kWithBatch ? graph.features[type] : Array()};
  if (arrival == Arrival::kWhenAsked)
    batch.deferred = std::make_shared<CountedRows>(graph.features);
  return batch;
}

bool near(const Tensor& got, const Tensor& expected) {
  const double error = (got - expected).abs().max().item<double>();
  return error <= 1e-5 * (1 + expected.abs().max().item<double>());
}

void set_to_integers(Model& model) {
  const torch::NoGradGuard no_grad;
  std::uint64_t number = 0;
  for (Tensor& parameter : model.parameters()) {
    const Tensor flat = parameter.view({-1});
    ++number;
    for (std::int64_t i = 0; i < flat.numel(); ++i)
      flat.data_ptr<float>()[i] = FourTypes::integer(RandomKey(17).with(number), i);
  }
}

}  // namespace

TEST_CASE("relation first gives the plain order's rows and gradients, dropout and all") {
  const FourTypes graph(kWidths, 64);
  for (const std::string& toml : kSummingModels) {
    const std::string dropping = toml + "model.dropout = 0.3\nmodel.input_dropout = 0.2\n";
    INFO(toml);
    const auto plain = summing_model(dropping, "plain", graph.schema);
    const Stepped expected = step(*plain, with_features(graph, Arrival::kWithBatch));
    for (const Arrival arrival : {Arrival::kWithBatch, Arrival::kWhenAsked}) {
      const auto grouped = summing_model(dropping, "relation_first", graph.schema);
      const Stepped got = step(*grouped, with_features(graph, arrival));
      CHECK(near(got.outputs, expected.outputs));
      REQUIRE(got.gradients.size() == expected.gradients.size());
      for (std::size_t i = 0; i < got.gradients.size(); ++i) {
        INFO(plain->named_parameters()[i].key());
        CHECK(near(got.gradients[i], expected.gradients[i]));
      }
    }
    const auto asking = summing_model(dropping, "plain", graph.schema);
    const Stepped asked = step(*asking, with_features(graph, Arrival::kWhenAsked));
    CHECK(torch::equal(asked.outputs, expected.outputs));
  }
}

TEST_CASE("relation first is exact where sums are: on integers, forward and backward") {
  const FourTypes graph(kNarrow, 64);
  const Batch batch = with_features(graph, Arrival::kWhenAsked);
  for (const std::string& toml : kSummingModels) {
    if (toml.find("'layer'") != std::string::npos) continue;  // deviations are no integers
    const std::string whole = toml + "model.dropout = 0\n";
    INFO(toml);
    const auto plain = summing_model(whole, "plain", graph.schema, 4);
    const auto grouped = summing_model(whole, "relation_first", graph.schema, 4);
    set_to_integers(*plain);
    set_to_integers(*grouped);
    const Stepped expected = step(*plain, batch), got = step(*grouped, batch);
    CHECK(expected.outputs.abs().max().item<float>() > 0);
    CHECK(torch::equal(got.outputs, expected.outputs));
    for (std::size_t i = 0; i < got.gradients.size(); ++i) {
      INFO(plain->named_parameters()[i].key());
      CHECK(torch::equal(got.gradients[i], expected.gradients[i]));
    }
  }
}

TEST_CASE("groups hold no more than the largest type, and are gathered once more for gradients") {
  const FourTypes graph(kWidths, 64);
  const auto model = summing_model(kSummingModels[2], "relation_first", graph.schema);
  const auto rows = std::make_shared<CountedRows>(graph.features);
  Batch batch = with_features(graph, Arrival::kWhenAsked);
  batch.deferred = rows;
  // Columns beside the inputs' 64: 1088 of d; 832 of c, and 128 of a; 320 of b.
  const std::vector<std::vector<std::size_t>> groups{{3}, {2, 0}, {1}};
  CHECK(order_of(*model).groups_of(batch) == groups);
  {
    const torch::NoGradGuard no_grad;
    model->eval();
    model->encode(batch);
  }
  CHECK(rows->asked == std::array<int, kTypes>{1, 1, 1, 1});
  (void)step(*model, batch);
  CHECK(rows->asked == std::array<int, kTypes>{3, 3, 3, 3});
  const models::ExecutionFigures& figures = order_of(*model).figures();
  const std::uint64_t floats = 64 * sizeof(float);  // a column of all rows
  CHECK(figures.groups == 3);
  CHECK(figures.relation_first.inputs == 1088 * floats);
  CHECK(figures.plain.inputs == (2112 + 4 * 64) * floats);
  CHECK(figures.plain.gathered == 2 * 2112 * floats);
  CHECK(figures.relation_first.gathered == 3 * 2112 * floats);
}

TEST_CASE("learned rows have the same gradients in either order") {
  const FourTypes graph(kNarrow, 64);
  std::vector<Tensor> gradients;
  for (const char* const execution : {"plain", "relation_first"}) {
    TableRowsOptions options;
    options.rows = 64;
    options.dim = 6;
    options.initial.kind = InitialRows::Kind::kUniform;
    options.initial.scale = 0.5;
    options.initial.seed = 5;
    options.optimizer = builtin_sparse_optimizers().make("sgd", "");
    options.rate = 0.1;
    const auto table = std::make_shared<TableRows>(options);
    nn::LearnedRows rows({{"a", nullptr}, {"b", nullptr}, {"c", nullptr}, {"d", table}},
                         torch::kCPU);
    const auto model = summing_model(kSummingModels[0], execution, graph.schema, 16, &rows);
    const Batch batch = with_features(graph, Arrival::kWhenAsked);
    rows.begin(batch, nn::Gradients::kWanted);
    (void)step(*model, batch);
    REQUIRE(rows.rows(3).grad().defined());
    gradients.push_back(rows.rows(3).grad().clone());
    rows.end();
  }
  CHECK(gradients[0].abs().max().item<float>() > 0);
  CHECK(near(gradients[1], gradients[0]));
}

TEST_CASE("which order: as told, or relation first from a GiB of features of several types on") {
  FourTypes graph(kNarrow, 64);
  const auto needs_of = [&](const std::string& execution) {
    return summing_model(kSummingModels[0], execution, graph.schema)->needs().deferred_features;
  };
  CHECK(needs_of("relation_first"));
  CHECK_FALSE(needs_of("plain"));
  CHECK_FALSE(needs_of("auto"));
  for (std::size_t type = 0; type < kTypes; ++type) {
    graph.schema.nodes[type].count = 1 << 20;
    graph.schema.nodes[type].features[0].dim = kWidths[type];
  }
  CHECK(needs_of("auto"));
  CHECK_FALSE(needs_of("plain"));
  graph.schema.nodes[3].features[0].dim = 1 << 16;  // most of all there is
  CHECK_FALSE(needs_of("auto"));
}

TEST_CASE("relation first: the peak of a step's features and activations is .65 of plain's") {
  const FourTypes graph(kWidths, 2048);
  const auto peak_of = [&](const std::string& toml, const std::string& execution) {
    const auto model = summing_model(toml, execution, graph.schema);
    Batch batch = with_features(graph, Arrival::kWhenAsked);
    // The table of all rows lies elsewhere; what is gathered of it is counted, as tensors are.
    const nn::LedgerAllocation allocation(std::make_shared<MemoryLedger>());
    if (execution == "plain") {
      for (std::size_t type = 0; type < kTypes; ++type)
        batch.nodes[type].features = {nn::as_array(nn::as_tensor(graph.features[type]).clone())};
      batch.deferred = nullptr;
    }
    (void)step(*model, batch);
    return static_cast<double>(allocation.peak());
  };
  for (const std::string& toml : {kSummingModels[0], kSummingModels[2]}) {
    INFO(toml);
    const double plain = peak_of(toml, "plain"), grouped = peak_of(toml, "relation_first");
    INFO("bytes: plain ", plain, ", relation first ", grouped);
    CHECK(plain > 2112.0 * 2048 * sizeof(float));
    CHECK(grouped > 1024.0 * 2048 * sizeof(float));
    CHECK(grouped <= 0.65 * plain);
  }
}
