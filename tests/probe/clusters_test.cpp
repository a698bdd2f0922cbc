// k-means on planted clusters, and agreement of clusters with classes: by hand, and by brute force.
#include "probe/clusters.h"
#include "probe/support.h"
#include "support/expect_error.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <utility>
#include <vector>

using namespace sluice;
using namespace sluice::test;
using probe::ClusterScores;
using torch::Tensor;

namespace {

Tensor list(std::vector<std::int64_t> values) {
  return torch::tensor(values, torch::kInt64);
}

// By definition: over all pairs of rows, and over all cells of the table of both.
ClusterScores slow_agreement(const Tensor& a, const Tensor& b) {
  const std::int64_t n = a.size(0);
  double both = 0, first = 0, second = 0, none = 0;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = i + 1; j < n; ++j) {
      const bool in_a = a[i].item<std::int64_t>() == a[j].item<std::int64_t>();
      const bool in_b = b[i].item<std::int64_t>() == b[j].item<std::int64_t>();
      (in_a ? (in_b ? both : first) : in_b ? second : none) += 1;
    }
  std::map<std::int64_t, double> of_a, of_b;
  std::map<std::pair<std::int64_t, std::int64_t>, double> of_both;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto x = a[i].item<std::int64_t>(), y = b[i].item<std::int64_t>();
    of_a[x] += 1 / static_cast<double>(n);
    of_b[y] += 1 / static_cast<double>(n);
    of_both[{x, y}] += 1 / static_cast<double>(n);
  }
  double information = 0, entropies = 0;
  for (const auto& [pair, p] : of_both)
    information += p * std::log(p / (of_a[pair.first] * of_b[pair.second]));
  for (const auto& [value, p] : of_a) entropies -= p * std::log(p);
  for (const auto& [value, p] : of_b) entropies -= p * std::log(p);
  return {2 * information / entropies,
          2 * (both * none - first * second) /
              ((both + first) * (first + none) + (both + second) * (second + none))};
}

void check_scores(const ClusterScores& found, double nmi, double ari) {
  CHECK(std::abs(found.nmi - nmi) < 1e-9);
  CHECK(std::abs(found.ari - ari) < 1e-9);
}

// Rows around three places, far apart.
Tensor planted(const Tensor& labels, RandomKey key) {
  return normal_rows(labels.size(0), 5, key) + 30 * torch::one_hot(labels, 5).to(torch::kFloat32);
}

}  // namespace

TEST_CASE("agreement by hand: the same up to names, unrelated, finer, and all in one") {
  check_scores(probe::agreement(list({1, 1, 0, 0}), list({0, 0, 1, 1})), 1, 1);
  check_scores(probe::agreement(list({0, 1, 0, 1}), list({0, 0, 1, 1})), 0, -0.5);
  // H(U) = ln 2, all of it shared, H(V) = 1.5 ln 2; one pair together, of 2 and 1.
  check_scores(probe::agreement(list({0, 0, 1, 1}), list({0, 0, 1, 2})), 0.8, 4.0 / 7);
  check_scores(probe::agreement(list({0, 0, 0}), list({0, 0, 0})), 1, 1);
  check_scores(probe::agreement(list({0, 0, 0, 0}), list({0, 0, 1, 1})), 0, 0);
}

TEST_CASE("agreement is what its definitions say of drawn clusters and classes") {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    MESSAGE("seed " << seed);
    const Tensor a = drawn_labels(70, 4, RandomKey(seed).with("a"));
    const Tensor noise = drawn_labels(70, 3, RandomKey(seed).with("b"));
    const Tensor b = torch::where(noise.gt(0), a, noise);
    const ClusterScores slow = slow_agreement(a, b);
    check_scores(probe::agreement(a, b), slow.nmi, slow.ari);
  }
}

TEST_CASE("k-means finds planted clusters, each row nearest to its own mean") {
  const Tensor labels = torch::arange(150).remainder(3);
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    MESSAGE("seed " << seed);
    const Tensor rows = planted(labels, RandomKey(seed));
    check_scores(probe::cluster_scores(rows, labels, 3, RandomKey(seed)), 1, 1);
    const probe::Clusters found = probe::k_means(rows, 6, RandomKey(seed));
    Tensor means = torch::zeros({6, 5}, torch::kFloat64);
    for (std::int64_t c = 0; c < 6; ++c)
      means[c].copy_(
          rows.index_select(0, found.of_row.eq(c).nonzero().flatten()).to(torch::kFloat64).mean(0));
    const Tensor apart =
        (rows.to(torch::kFloat64).unsqueeze(1) - means.unsqueeze(0)).square().sum(2);
    const Tensor own = apart.gather(1, found.of_row.unsqueeze(1)).squeeze(1);
    CHECK(own.sum().item<double>() == doctest::Approx(found.inertia).epsilon(1e-3));
    CHECK((own - std::get<0>(apart.min(1))).max().item<double>() < 1e-2);
  }
}

TEST_CASE("k-means finds each of many clusters, where ten starts without candidates do not") {
  constexpr std::int64_t kClusters = 24;
  const Tensor labels = torch::arange(kClusters * 8).remainder(kClusters);
  const Tensor places = 12 * torch::one_hot(labels, kClusters).to(torch::kFloat32);
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    MESSAGE("seed " << seed);
    const Tensor rows = normal_rows(labels.size(0), kClusters, RandomKey(seed)) + places;
    check_scores(probe::cluster_scores(rows, labels, kClusters, RandomKey(seed)), 1, 1);
  }
}

TEST_CASE("clusters are the same with any threads, and of equal rows") {
  const Tensor rows = normal_rows(3000, 12, RandomKey(5));
  const probe::Clusters found = probe::k_means(rows, 7, RandomKey(9));
  CHECK(std::get<0>(torch::_unique(found.of_row)).size(0) == 7);
  const int threads = at::get_num_threads();
  for (const int other : {1, 4}) {
    at::set_num_threads(other);
    const probe::Clusters again = probe::k_means(rows, 7, RandomKey(9));
    CHECK(again.of_row.equal(found.of_row));
    CHECK(again.inertia == found.inertia);
  }
  at::set_num_threads(threads);
  CHECK(probe::k_means(torch::ones({5, 2}), 3, RandomKey(1)).inertia == 0);
}

TEST_CASE("rows without a class are left out; more clusters than rows are refused") {
  const Tensor labels = torch::arange(30).remainder(3);
  const Tensor rows = planted(labels, RandomKey(3));
  const Tensor more = torch::cat({rows, 1000 * torch::ones({2, 5})});
  const Tensor unlabelled = torch::cat({labels, torch::full({2}, -1, torch::kInt64)});
  check_scores(probe::cluster_scores(more, unlabelled, 3, RandomKey(1)), 1, 1);
  const auto code = [&](std::int64_t clusters) {
    return expect_error(
               [&] { (void)probe::cluster_scores(more, unlabelled, clusters, RandomKey(1)); })
        .code();
  };
  CHECK(code(31) == ErrorCode::kData);
  CHECK(code(0) == ErrorCode::kData);
}
