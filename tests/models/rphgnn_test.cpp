// RpHGNN over tables named as `sluice-prep propagate` names them: how they are grouped, and its
// rows beside loops over plain numbers.
#include "models/rphgnn.h"
#include "models/support.h"
#include "models/table_groups.h"

#include "support/expect_error.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace sluice;
using namespace sluice::testing;
using models::RoundOfRelation;
using torch::Tensor;

namespace {

constexpr std::int64_t kRoundNodes = 7, kRoundOutputs = 3;
constexpr std::uint64_t kTablesSeed = 41;

/// A type with its own table, two rounds of one relation, out of order, and a table of labels.
struct Rounds {
  GraphSchema schema;
  Batch batch;
  std::vector<Array> all;

  Rounds() {
    schema = homogeneous_schema(kRoundNodes, 4, {LabelKind::kClass, kRoundOutputs});
    auto& features = schema.nodes[0].features;
    for (const auto& [name, dim] :
         std::vector<std::pair<const char*, std::uint32_t>>{{"projected-2-a-even", 4},
                                                            {"projected-1-a-odd", 3},
                                                            {"projected-2-a-odd", 3},
                                                            {"projected-1-a-even", 4},
                                                            {"labels-a", 2}})
      features.push_back({name, DType::kF32, kRoundNodes, dim});
    std::vector<std::uint64_t> ids;
    for (std::uint64_t node = 0; node < kRoundNodes; ++node) ids.push_back(node);
    batch.seeds = {array_of(ids)};
    batch.nodes.resize(1);
    batch.nodes[0].ids = batch.seeds[0];
    batch.nodes[0].size_at = {kRoundNodes};
    for (const FeatureSchema& table : features)
      all.push_back(array_of(random_floats(kRoundNodes * table.dim, kTablesSeed + all.size()),
                             {kRoundNodes, static_cast<std::int64_t>(table.dim)}));
  }

  std::unique_ptr<Model> make(const std::string& more) const {
    const RunOptions options("model.type = 'rphgnn'\nmodel.hidden = 5\n" + more +
                             "\noptimizer.type = 'adam'\n");
    return builtin_models().create(options.model,
                                   {schema, {0}, kRoundOutputs, RandomKey(3), nullptr});
  }
  const Batch& of(const Model& model) {
    batch.nodes[0].features.clear();
    for (const std::string& name : model.needs().feature_groups) {
      const auto& features = schema.nodes[0].features;
      for (std::size_t at = 0; at < all.size(); ++at)
        if (features[at].name == name) batch.nodes[0].features.push_back(all[at]);
    }
    return batch;
  }
};

using Row = std::vector<double>;

Row numbers_of(const Array& table, std::int64_t node) {
  const auto values = table.as<float>();
  Row row;
  for (std::int64_t c = 0; c < table.size(1); ++c)
    row.push_back(static_cast<double>(values[static_cast<std::size_t>(node * table.size(1) + c)]));
  return row;
}

double number(const Tensor& tensor, std::int64_t i, std::int64_t j) {
  return static_cast<double>(tensor[i][j].item<float>());
}

// Each filter's sum over rounds, one filter behind the other.
Row convolved(const Model& model, const std::string& group, const std::vector<Row>& rounds) {
  const auto parameters = model.named_parameters();
  const Tensor filters = parameters[group + "_filters"], shifts = parameters[group + "_shifts"];
  REQUIRE(filters.size(1) == static_cast<std::int64_t>(rounds.size()));
  Row out;
  for (std::int64_t f = 0; f < filters.size(0); ++f) {
    for (std::size_t c = 0; c < rounds[0].size(); ++c) {
      double sum = number(shifts, f, 0);
      for (std::size_t r = 0; r < rounds.size(); ++r)
        sum += number(filters, f, static_cast<std::int64_t>(r)) * rounds[r][c];
      out.push_back(sum);
    }
  }
  return out;
}

Row linear(const Model& model, const std::string& name, const Row& x) {
  const auto parameters = model.named_parameters();
  const Tensor weight = parameters[name + ".weight"], bias = parameters[name + ".bias"];
  REQUIRE(weight.size(1) == static_cast<std::int64_t>(x.size()));
  Row out;
  for (std::int64_t o = 0; o < weight.size(0); ++o) {
    double sum = static_cast<double>(bias[o].item<float>());
    for (std::size_t i = 0; i < x.size(); ++i)
      sum += number(weight, o, static_cast<std::int64_t>(i)) * x[i];
    out.push_back(sum);
  }
  return out;
}

Row layer(const Model& model, const std::string& name, const Row& x) {
  const double slope = static_cast<double>(model.named_parameters()[name + "_slope"].item<float>());
  Row out = linear(model, name, x);
  for (double& value : out) value = value > 0 ? value : slope * value;
  return out;
}

// The row that the model should give, by merge.
Row expected_row(const Model& model, const Rounds& rounds, std::int64_t node, bool mean) {
  const auto at = [&](std::size_t table) { return numbers_of(rounds.all[table], node); };
  const std::vector<std::vector<Row>> groups{{at(0), at(4), at(1)}, {at(2), at(3)}, {at(5)}};
  Row joined;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const std::string name = "group" + std::to_string(group);
    Row x = convolved(model, name, groups[group]);
    for (int step = 0; step < 2; ++step)
      x = layer(model, name + "_layer" + std::to_string(step), x);
    if (!mean) joined.insert(joined.end(), x.begin(), x.end());
    joined.resize(mean ? x.size() : joined.size());
    for (std::size_t c = 0; mean && c < x.size(); ++c) joined[c] += x[c] / 3;
  }
  return linear(model, "out", layer(model, "joined0", joined));
}

}  // namespace

TEST_CASE("names of propagated tables say their round, relation and parity") {
  const auto odd = models::round_of_relation("projected-12-author-odd");
  REQUIRE(odd);
  CHECK(odd->relation == "projected-author");
  CHECK(odd->round == 12);
  CHECK(odd->parity == RoundOfRelation::Parity::kOdd);
  // A NAME of two parts, and a relation whose own name has a number in it.
  const auto even = models::round_of_relation("my-run-3-cites-2.paper-even");
  REQUIRE(even);
  CHECK(even->relation == "my-run-cites-2.paper");
  CHECK(even->round == 3);
  CHECK(even->parity == RoundOfRelation::Parity::kEven);
  for (const char* other : {"features",
                            "sign-1",
                            "metapaths-author-paper",
                            "projected-1-author",
                            "projected-author-odd",
                            "projected-01-author-odd",
                            "projected-0-author-odd",
                            "projected-1-odd",
                            "1-author-odd",
                            "-odd",
                            ""}) {
    CAPTURE(other);
    CHECK_FALSE(models::round_of_relation(other));
  }
}

TEST_CASE("rounds of a relation are a group in their order, odd and even apart") {
  const auto groups = models::group_tables(
      {"p-10-b-odd", "features", "p-2-b-odd", "p-1-b-even", "q-2-b-odd", "p-1-b-odd"});
  REQUIRE(groups.size() == 4);
  CHECK(groups[0].name == "p-b-odd");
  CHECK(groups[0].tables == std::vector<std::size_t>{5, 2, 0});
  CHECK_FALSE(groups[0].even);
  CHECK(groups[1].name == "features");
  CHECK(groups[1].tables == std::vector<std::size_t>{1});
  CHECK(groups[2].name == "p-b-even");
  CHECK(groups[2].tables == std::vector<std::size_t>{3});
  CHECK(groups[2].even);
  CHECK(groups[3].name == "q-b-odd");  // another propagation's
  CHECK(groups[3].tables == std::vector<std::size_t>{4});
}

TEST_CASE("rphgnn mixes the rounds of each relation, and joins what they become") {
  MESSAGE("seed " << kTablesSeed);
  Rounds rounds;
  for (const bool mean : {false, true}) {
    CAPTURE(mean);
    const auto model = rounds.make(std::string("model.tables = ['projected-*', 'labels-*']\n") +
                                   (mean ? "model.merge = 'mean'" : ""));
    model->eval();
    CHECK(model->num_layers() == 0);
    CHECK(model->needs().feature_groups == std::vector<std::string>{"projected-2-a-even",
                                                                    "projected-1-a-odd",
                                                                    "projected-2-a-odd",
                                                                    "projected-1-a-even",
                                                                    "labels-a",
                                                                    "features"});
    const torch::NoGradGuard no_grad;
    // Away from where they begin, so that each is seen.
    for (const auto& item : model->named_parameters())
      if (item.key().ends_with("_shifts") || item.key().ends_with("bias")) item.value().fill_(0.3f);
    const auto& groups = dynamic_cast<const models::RpHgnn&>(*model).groups();
    REQUIRE(groups.size() == 3);
    CHECK(groups[0].tables == std::vector<std::size_t>{5, 3, 0});
    CHECK(groups[1].tables == std::vector<std::size_t>{1, 2});
    CHECK(groups[2].tables == std::vector<std::size_t>{4});
    CHECK(model->named_parameters()["group0_filters"].size(0) == 2);
    CHECK(model->named_parameters()["group2_filters"].numel() == 1);
    const Tensor found = model->encode(rounds.of(*model))[0];
    REQUIRE(found.sizes() == torch::IntArrayRef({kRoundNodes, kRoundOutputs}));
    for (std::int64_t node = 0; node < kRoundNodes; ++node) {
      const Row expected = expected_row(*model, rounds, node, mean);
      for (std::int64_t c = 0; c < kRoundOutputs; ++c)
        CHECK(number(found, node, c) ==
              doctest::Approx(expected[static_cast<std::size_t>(c)]).epsilon(1e-4));
    }
  }
}

TEST_CASE("rphgnn without round zero begins with round 1, and refuses rounds of other widths") {
  Rounds rounds;
  const auto model =
      rounds.make("model.tables = ['projected-*']\nmodel.round_zero = ''\nmodel.filters = 3");
  CHECK(model->needs().feature_groups.size() == 4);
  const auto& groups = dynamic_cast<const models::RpHgnn&>(*model).groups();
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].tables == std::vector<std::size_t>{3, 0});
  CHECK(model->named_parameters()["group0_filters"].sizes() == torch::IntArrayRef({3, 2}));

  const Error widths = test::expect_error([&] {
    (void)rounds.make("model.tables = ['projected-*', 'labels-a']\nmodel.round_zero = 'labels-a'");
  });
  CHECK(widths.code() == ErrorCode::kUsage);
  CHECK(std::string(widths.message()).find("'labels-a' has 2 columns") != std::string::npos);
  const Error missing = test::expect_error(
      [&] { (void)rounds.make("model.tables = ['projected-*']\nmodel.round_zero = 'words'"); });
  CHECK(missing.code() == ErrorCode::kUsage);
  CHECK(std::string(missing.message()).find("no feature table 'words'") != std::string::npos);
  CHECK(std::string(missing.hint()).find("round_zero") != std::string::npos);
}
