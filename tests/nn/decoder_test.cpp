// Decoders and the losses over them beside their formulas, written out in double number by number.
#include "nn/link_loss.h"
#include "nn/support.h"

#include <sluice/nn/decoder.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::testing;
using nn::DecoderKind;
using nn::Side;

namespace {

constexpr std::int64_t kRowWidth = 10, kRelations = 4, kLinks = 7, kCandidates = 23;
constexpr double kGamma = 3;

struct DecoderCase {
  const char* name;
  DecoderKind kind;
  nn::Distance distance = nn::Distance::kL2;
};

const std::vector<DecoderCase> kCases{{"dot", DecoderKind::kDot},
                                      {"distmult", DecoderKind::kDistMult},
                                      {"complex", DecoderKind::kComplEx},
                                      {"transe l1", DecoderKind::kTransE, nn::Distance::kL1},
                                      {"transe l2", DecoderKind::kTransE, nn::Distance::kL2},
                                      {"rotate", DecoderKind::kRotatE}};

nn::DecoderOptions options_of(const DecoderCase& of) {
  nn::DecoderOptions options;
  options.kind = of.kind;
  options.distance = of.distance;
  options.width = kRowWidth;
  options.relations = kRelations;
  options.gamma = kGamma;
  options.init = 0.8;
  options.key = RandomKey(11);
  return options;
}

using Row = std::vector<double>;

Row row_of(const torch::Tensor& matrix, std::int64_t at) {
  const torch::Tensor row = matrix.detach().to(torch::kFloat64).select(0, at).contiguous();
  return {row.data_ptr<double>(), row.data_ptr<double>() + row.numel()};
}

std::complex<double> number(const Row& row, std::size_t i) {
  return {row[i], row[i + row.size() / 2]};
}

// A link's score as papers write it.
double by_formula(const DecoderCase& of, const Row& s, const Row& r, const Row& o) {
  double sum = 0;
  switch (of.kind) {
    case DecoderKind::kDot:
      for (std::size_t i = 0; i < s.size(); ++i) sum += s[i] * o[i];
      return sum;
    case DecoderKind::kDistMult:
      for (std::size_t i = 0; i < s.size(); ++i) sum += s[i] * r[i] * o[i];
      return sum;
    case DecoderKind::kComplEx:
      for (std::size_t i = 0; i < s.size() / 2; ++i)
        sum += (number(s, i) * number(r, i) * std::conj(number(o, i))).real();
      return sum;
    case DecoderKind::kTransE:
      for (std::size_t i = 0; i < s.size(); ++i) {
        const double apart = s[i] + r[i] - o[i];
        sum += of.distance == nn::Distance::kL1 ? std::abs(apart) : apart * apart;
      }
      return kGamma - (of.distance == nn::Distance::kL1 ? sum : std::sqrt(sum));
    case DecoderKind::kRotatE: {
      const double range = (kGamma + 2) / (static_cast<double>(s.size()) / 2);
      for (std::size_t i = 0; i < s.size() / 2; ++i)
        sum += std::abs(number(s, i) * std::polar(1.0, r[i] * std::numbers::pi / range) -
                        number(o, i));
      return kGamma - sum;
    }
    case DecoderKind::kMlp:
      break;
  }
  return NAN;
}

struct Rows {
  torch::Tensor sources = random_tensor({kLinks, kRowWidth}, 1).requires_grad_();
  torch::Tensor destinations = random_tensor({kLinks, kRowWidth}, 2).requires_grad_();
  torch::Tensor candidates = random_tensor({kCandidates, kRowWidth}, 3).requires_grad_();
  torch::Tensor relations = torch::tensor({0, 3, 1, 1, 2, 0, 3}, torch::kInt64);
};

torch::Tensor relations_of(const nn::Decoder& decoder) {
  for (const auto& item : decoder.named_parameters())
    if (item.key() == "relations") return item.value();
  return torch::zeros({kRelations, 1});
}

// The derivative of `value` by each element of a leaf, from both sides.
torch::Tensor by_differences(const torch::Tensor& leaf, const std::function<double()>& value) {
  constexpr float kStep = 2e-3f;
  const torch::NoGradGuard no_grad;
  torch::Tensor out = torch::zeros(leaf.sizes(), torch::kFloat64);
  float* elements = leaf.data_ptr<float>();
  for (std::int64_t i = 0; i < leaf.numel(); ++i) {
    const float kept = elements[i];
    elements[i] = kept + kStep;
    const double above = value(), higher = elements[i];
    elements[i] = kept - kStep;
    const double below = value(), lower = elements[i];
    elements[i] = kept;
    out.view(-1)[i] = (above - below) / (higher - lower);
  }
  return out;
}

void check_gradient(const torch::Tensor& got, const torch::Tensor& expected) {
  REQUIRE(got.sizes() == expected.sizes());
  const double most = expected.abs().max().item<double>();
  CHECK((got.to(torch::kFloat64) - expected).abs().max().item<double>() < 5e-3 * (1 + most));
}

}  // namespace

TEST_CASE("decoders: a score is what its formula says, row by row and beside all candidates") {
  for (const DecoderCase& of : kCases) {
    CAPTURE(std::string(of.name));
    const auto decoder = nn::make_decoder(options_of(of));
    const Rows rows;
    const torch::Tensor relations = relations_of(*decoder);
    const torch::Tensor scores = decoder->score(rows.sources, rows.relations, rows.destinations);
    const torch::Tensor tails =
        decoder->scores_against(rows.sources, rows.relations, Side::kDestination, rows.candidates);
    const torch::Tensor heads =
        decoder->scores_against(rows.destinations, rows.relations, Side::kSource, rows.candidates);
    for (std::int64_t i = 0; i < kLinks; ++i) {
      const Row s = row_of(rows.sources, i), o = row_of(rows.destinations, i);
      const Row r = row_of(relations, rows.relations[i].item<std::int64_t>());
      const auto same = [](const torch::Tensor& got, double expected) {
        CHECK(got.item<double>() == doctest::Approx(expected).epsilon(2e-5).scale(1));
      };
      same(scores[i], by_formula(of, s, r, o));
      for (std::int64_t c = 0; c < kCandidates; ++c) {
        const Row other = row_of(rows.candidates, c);
        same(tails[i][c], by_formula(of, s, r, other));
        same(heads[i][c], by_formula(of, other, r, o));
      }
    }
    const torch::Tensor all = decoder->score_relations(rows.sources, rows.destinations);
    if (!all.defined()) continue;
    for (std::int64_t i = 0; i < kLinks; ++i)
      for (std::int64_t r = 0; r < kRelations; ++r)
        CHECK(all[i][r].item<double>() == doctest::Approx(by_formula(of,
                                                                     row_of(rows.sources, i),
                                                                     row_of(relations, r),
                                                                     row_of(rows.destinations, i)))
                                              .epsilon(2e-5)
                                              .scale(1));
  }
}

TEST_CASE("decoders: distances are the same bits in tiles of any size, and right near 0") {
  constexpr std::int64_t kRows = 40, kAll = 130;  // more than cdist takes by differences by itself
  for (const DecoderCase& of : kCases) {
    if (of.kind != DecoderKind::kTransE && of.kind != DecoderKind::kRotatE) continue;
    CAPTURE(std::string(of.name));
    nn::DecoderOptions options = options_of(of);
    options.gamma = 0;
    const auto decoder = nn::make_decoder(options);
    const torch::Tensor queries = random_tensor({kRows, kRowWidth}, 5) + 100;
    torch::Tensor candidates = random_tensor({kAll, kRowWidth}, 6) + 100;
    // Each query has a candidate that is almost it: a 64th apart in one column, which is exact.
    candidates.narrow(0, 0, kRows).copy_(queries);
    candidates.narrow(0, 0, kRows).select(1, 2).add_(1.0 / 64);
    const torch::Tensor all = decoder->combine(queries, candidates);
    for (const std::int64_t tile : {1, 7, 26, 64})
      for (std::int64_t at = 0; at < kAll; at += tile) {
        const std::int64_t here = std::min(tile, kAll - at);
        CHECK(torch::equal(decoder->combine(queries, candidates.narrow(0, at, here)),
                           all.narrow(1, at, here)));
      }
    for (std::int64_t i = 0; i < kRows; ++i)
      CHECK(all[i][i].item<double>() == doctest::Approx(-1.0 / 64).epsilon(1e-6));
  }
}

TEST_CASE("decoders: an MLP scores the same beside all as row by row") {
  const auto decoder = nn::make_decoder(options_of({"mlp", DecoderKind::kMlp}));
  const Rows rows;
  const torch::Tensor all =
      decoder->scores_against(rows.sources, {}, Side::kDestination, rows.candidates);
  for (std::int64_t c = 0; c < kCandidates; ++c) {
    const torch::Tensor one = rows.candidates.narrow(0, c, 1).expand({kLinks, kRowWidth});
    check_close(all.select(1, c), decoder->score(rows.sources, {}, one).to(torch::kFloat64));
  }
}

TEST_CASE("decoders: gradients are the scores' differences") {
  for (const DecoderCase& of : kCases) {
    CAPTURE(std::string(of.name));
    const auto decoder = nn::make_decoder(options_of(of));
    const Rows rows;
    // On grids that lie apart, so that no step goes across the kink of an absolute value.
    {
      const torch::NoGradGuard no_grad;
      const auto on_grid = [](const torch::Tensor& values, double from) {
        values.copy_((values * 10).round() / 10 + from);
      };
      on_grid(rows.sources, 0);
      on_grid(rows.destinations, 0.03);
      on_grid(rows.candidates, 0.03);
      for (const torch::Tensor& parameter : decoder->parameters()) on_grid(parameter, 0.02);
    }
    const torch::Tensor weights = random_tensor({kLinks, kCandidates}, 4);
    const auto value = [&] {
      const torch::Tensor tails = decoder->scores_against(
          rows.sources, rows.relations, Side::kDestination, rows.candidates);
      const torch::Tensor heads = decoder->scores_against(
          rows.destinations, rows.relations, Side::kSource, rows.candidates);
      const torch::Tensor pairs = decoder->score(rows.sources, rows.relations, rows.destinations);
      return (tails * weights).sum() + 0.5 * (heads * weights).sum() + pairs.sum();
    };
    value().backward();
    const auto number = [&] { return value().to(torch::kFloat64).item<double>(); };
    check_gradient(rows.sources.grad(), by_differences(rows.sources, number));
    check_gradient(rows.destinations.grad(), by_differences(rows.destinations, number));
    check_gradient(rows.candidates.grad(), by_differences(rows.candidates, number));
    for (torch::Tensor& parameter : decoder->parameters())
      check_gradient(parameter.grad(), by_differences(parameter, number));
  }
}

TEST_CASE("decoders: rows that are the same have a distance of 0 and a finite gradient") {
  for (const DecoderCase& of : kCases) {
    if (of.kind != DecoderKind::kTransE && of.kind != DecoderKind::kRotatE) continue;
    CAPTURE(std::string(of.name));
    const auto decoder = nn::make_decoder(options_of(of));
    torch::Tensor query = random_tensor({2, kRowWidth}, 5).requires_grad_();
    torch::Tensor same = query.detach().clone().requires_grad_();
    const torch::Tensor all = decoder->combine(query, same);
    CHECK(all[1][1].item<double>() == doctest::Approx(kGamma).epsilon(1e-3));
    (all.sum() + decoder->pairwise(query, same).sum()).backward();
    CHECK(query.grad().isfinite().all().item<bool>());
    CHECK(same.grad().isfinite().all().item<bool>());
  }
}

TEST_CASE("all_softmax: value and gradients of the dense form, whatever the tile") {
  for (const DecoderCase& of : kCases) {
    const auto decoder = nn::make_decoder(options_of(of));
    for (const std::int64_t tile : {1, 7 * 5, 1 << 19}) {
      CAPTURE(std::string(of.name));
      CAPTURE(tile);
      const Rows rows, dense;
      const torch::Tensor own = torch::tensor({0, 22, 5, 5, 1, 9, 0}, torch::kInt64);
      const torch::Tensor weights = random_tensor({kLinks}, 6).abs() + 0.1;
      decoder->zero_grad();
      const torch::Tensor losses =
          nn::all_softmax({},
                          decoder,
                          decoder->query(rows.sources, rows.relations, Side::kDestination),
                          rows.candidates,
                          own,
                          tile);
      (losses * weights).sum().backward();
      std::vector<torch::Tensor> learned;
      for (const torch::Tensor& parameter : decoder->parameters())
        learned.push_back(parameter.grad().clone());
      decoder->zero_grad();
      const torch::Tensor scores = decoder->scores_against(
          dense.sources, dense.relations, Side::kDestination, dense.candidates);
      const torch::Tensor expected =
          torch::logsumexp(scores, 1) - scores.gather(1, own.unsqueeze(1)).squeeze(1);
      (expected * weights).sum().backward();
      check_close(losses, expected.to(torch::kFloat64));
      check_close(rows.sources.grad(), dense.sources.grad().to(torch::kFloat64));
      check_close(rows.candidates.grad(), dense.candidates.grad().to(torch::kFloat64));
      for (std::size_t i = 0; i < learned.size(); ++i)
        check_close(learned[i], decoder->parameters()[i].grad().to(torch::kFloat64));
    }
  }
}

TEST_CASE("all_softmax: scores far apart neither overflow nor vanish") {
  const auto decoder = nn::make_decoder(options_of({"dot", DecoderKind::kDot}));
  const torch::Tensor queries = torch::tensor({{200.f}, {-200.f}}).requires_grad_();
  const torch::Tensor candidates = torch::tensor({{-3.f}, {0.f}, {2.f}, {3.f}}).requires_grad_();
  const torch::Tensor losses =
      nn::all_softmax({}, decoder, queries, candidates, torch::tensor({3, 3}, torch::kInt64), 1);
  CHECK(losses[0].item<float>() == doctest::Approx(0));
  CHECK(losses[1].item<float>() == doctest::Approx(1200));
  losses.sum().backward();
  CHECK(queries.grad()[1][0].item<float>() == doctest::Approx(-6));
}

TEST_CASE("losses beside others are what their formulas say, and count what is there alone") {
  const torch::Tensor links = random_tensor({5}, 7), others = random_tensor({5, 3}, 8) * 2;
  torch::Tensor there = torch::ones({5, 3}, torch::kBool);
  there[0][1] = false;
  there[3].fill_(false);
  const torch::Tensor weights = random_tensor({5}, 9).abs() + 0.2;
  const auto softplus = [](double x) { return std::log1p(std::exp(x)); };
  const double margin = 0.7, temperature = 1.5;
  double own = 0, beside = 0, softmax = 0, above = 0, adversarial = 0, weight = 0;
  for (std::int64_t i = 0; i < 5; ++i) {
    const double s = links[i].item<double>(), w = weights[i].item<double>();
    double all = std::exp(s), hardest = 0, of_link = 0;
    for (std::int64_t k = 0; k < 3; ++k) {
      if (!there[i][k].item<bool>()) continue;
      const double other = others[i][k].item<double>();
      beside += softplus(other);
      above += std::max(0.0, margin + other - s);
      all += std::exp(other);
      hardest += std::exp(temperature * other);
      of_link += std::exp(temperature * other) * softplus(other);
    }
    own += softplus(-s);
    softmax += std::log(all) - s;
    weight += w;
    adversarial += w * (softplus(-s) + (hardest > 0 ? of_link / hardest : 0));
  }
  const auto loss = [&](nn::LinkLoss kind) {
    const nn::LinkLossOptions options{kind, margin, temperature};
    return nn::loss_beside_others({}, options, {links, others, there, 11, weights}).item<double>();
  };
  CHECK(loss(nn::LinkLoss::kLogistic) == doctest::Approx(own / 5 + beside / 11).epsilon(1e-5));
  CHECK(loss(nn::LinkLoss::kSoftmax) == doctest::Approx(softmax / 5).epsilon(1e-5));
  CHECK(loss(nn::LinkLoss::kMargin) == doctest::Approx(above / 11).epsilon(1e-5));
  CHECK(loss(nn::LinkLoss::kSelfAdversarial) ==
        doctest::Approx(adversarial / (2 * weight)).epsilon(1e-5));
}

TEST_CASE("a softmax beside others has the gradients of the dense form") {
  torch::Tensor there = torch::ones({9, 37}, torch::kBool);
  there[2].fill_(false);
  for (std::int64_t i = 0; i < 9; ++i) there[i][(i * 5) % 37] = false;
  const torch::Tensor links = (random_tensor({9}, 17) * 3).requires_grad_();
  const torch::Tensor others = (random_tensor({9, 37}, 18) * 3).requires_grad_();
  const nn::LinkLossOptions options{nn::LinkLoss::kSoftmax, 1, 1};
  (nn::loss_beside_others({}, options, {links, others, there}) * 0.5).backward();
  const torch::Tensor links64 = in_double(links), others64 = in_double(others);
  const torch::Tensor all =
      torch::cat({links64.unsqueeze(1),
                  others64.masked_fill(~there, -std::numeric_limits<double>::infinity())},
                 1);
  ((torch::logsumexp(all, 1) - links64).mean() * 0.5).backward();
  check_close(links.grad(), links64.grad());
  check_close(others.grad(), others64.grad());
}

TEST_CASE("dropout of relation rows: in training alone, anew for each query, and by the step") {
  for (const DecoderCase& of : kCases) {
    CAPTURE(of.name);
    if (!nn::reads_relations(of.kind)) continue;
    nn::DecoderOptions options = options_of(of);
    const auto plain = nn::make_decoder(options);
    options.relation_dropout = 0.4;
    const auto dropping = nn::make_decoder(options);
    const torch::Tensor rows = random_tensor({kLinks, kRowWidth}, 51);
    const torch::Tensor relations = torch::arange(kLinks) % kRelations;
    const auto query = [&] { return dropping->query(rows, relations, Side::kDestination); };
    dropping->eval();
    CHECK(torch::equal(query(), plain->query(rows, relations, Side::kDestination)));
    dropping->train();
    dropping->set_step_key(RandomKey(1));
    const torch::Tensor first = query(), second = query();
    CHECK_FALSE(torch::equal(first, second));
    dropping->set_step_key(RandomKey(1));
    CHECK(torch::equal(query(), first));
    CHECK(torch::equal(query(), second));
    dropping->set_step_key(RandomKey(2));
    CHECK_FALSE(torch::equal(query(), first));
    // What regularizers read is whole.
    CHECK(torch::equal(dropping->relation_rows(relations), plain->relation_rows(relations)));
  }
}

TEST_CASE(
    "dropout of relation rows: an element is there with 1 / (1 - rate), and so is its gradient") {
  nn::DecoderOptions options = options_of({"distmult", DecoderKind::kDistMult});
  options.width = 200;
  options.relation_dropout = 0.25;
  const auto decoder = nn::make_decoder(options);
  decoder->set_step_key(RandomKey(3));
  const torch::Tensor relations = torch::arange(kRelations);
  const torch::Tensor kept =
      decoder->query(torch::ones({kRelations, 200}), relations, Side::kDestination);
  const torch::Tensor whole = decoder->relation_rows(relations);
  const torch::Tensor there = kept.ne(0).to(torch::kFloat32);
  CHECK(there.mean().item<double>() == doctest::Approx(0.75).epsilon(0.1));
  CHECK(torch::allclose(kept, whole * there / 0.75));
  kept.sum().backward();
  const torch::Tensor gradient = decoder->named_parameters()["relations"].grad();
  CHECK(torch::allclose(gradient, there / 0.75));
}
