// Metrics of links beside their definitions, computed the slow way.
#include "tasks/link_metrics.h"
#include "models/support.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace sluice;
using namespace sluice::testing;

namespace {

struct Drawn {
  std::vector<std::vector<float>> rows;          // the link's score, then the others'
  std::vector<std::vector<std::int64_t>> known;  // rows of others, -1: none
};

// Scores of few values, so that many are equal.
Drawn draw(std::uint64_t seed, std::size_t links, std::size_t others) {
  const RandomKey key(seed);
  Drawn drawn;
  std::uint64_t n = 0;
  for (std::size_t i = 0; i < links; ++i) {
    drawn.rows.push_back({static_cast<float>(key.below(9, n++)) - 3});
    drawn.known.emplace_back();
    for (std::size_t k = 0; k < others; ++k) {
      drawn.rows.back().push_back(static_cast<float>(key.below(9, n++)) - 5);
      drawn.known.back().push_back(key.below(10, n++) == 0 ? -1 : 1);
    }
  }
  return drawn;
}

std::map<std::string, double> measured(const Drawn& drawn, std::size_t batch_size) {
  const auto metrics = tasks::make_link_metrics();
  for (std::size_t at = 0; at < drawn.rows.size(); at += batch_size) {
    const std::size_t end = std::min(at + batch_size, drawn.rows.size());
    std::vector<float> scores;
    std::vector<std::int64_t> known;
    for (std::size_t i = at; i < end; ++i) {
      scores.insert(scores.end(), drawn.rows[i].begin(), drawn.rows[i].end());
      known.insert(known.end(), drawn.known[i].begin(), drawn.known[i].end());
    }
    const auto rows = static_cast<std::int64_t>(end - at);
    Batch batch;
    batch.queries.kind = QueryKind::kLinks;
    const auto columns = static_cast<std::int64_t>(drawn.rows[0].size());
    if (columns > 1) batch.queries.negatives = array_of(known, {rows, columns - 1});
    metrics->add(torch::tensor(scores).view({rows, columns}), batch);
  }
  return metrics->result();
}

}  // namespace

TEST_CASE("link metrics: AUC, AP, MRR and hits are what their definitions say, ties and all") {
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    const Drawn drawn = draw(seed, 60, 15);
    std::vector<float> links, others;
    double reciprocal = 0, hits = 0, hits1 = 0, hits3 = 0, sum = 0, ranked = 0;
    for (std::size_t i = 0; i < drawn.rows.size(); ++i) {
      const float score = drawn.rows[i][0];
      links.push_back(score);
      double rank = 1;
      bool any = false;
      for (std::size_t k = 0; k < drawn.known[i].size(); ++k) {
        if (drawn.known[i][k] < 0) continue;
        const float other = drawn.rows[i][k + 1];
        if (!any) others.push_back(other);
        any = true;
        rank += other > score ? 1 : other == score ? 0.5 : 0;
      }
      if (!any) continue;
      ++ranked;
      reciprocal += 1 / rank;
      hits += rank <= 10 ? 1 : 0;
      hits1 += rank <= 1 ? 1 : 0;
      hits3 += rank <= 3 ? 1 : 0;
      sum += rank;
    }
    double auc = 0;
    for (const float link : links)
      for (const float other : others) auc += link > other ? 1 : link == other ? 0.5 : 0;
    auc /= static_cast<double>(links.size() * others.size());
    // The mean over links of the precision at each one's score.
    double ap = 0;
    for (const float link : links) {
      const auto above = [link](float score) { return score >= link; };
      const auto right = static_cast<double>(std::ranges::count_if(links, above));
      const auto wrong = static_cast<double>(std::ranges::count_if(others, above));
      ap += right / (right + wrong);
    }
    ap /= static_cast<double>(links.size());
    for (const std::size_t batch_size : {60u, 7u, 1u}) {
      const auto found = measured(drawn, batch_size);
      CHECK(found.at("auc") == doctest::Approx(auc).epsilon(1e-12));
      CHECK(found.at("ap") == doctest::Approx(ap).epsilon(1e-12));
      CHECK(found.at("mrr") == doctest::Approx(reciprocal / ranked).epsilon(1e-12));
      CHECK(found.at("hits@10") == doctest::Approx(hits / ranked).epsilon(1e-12));
      CHECK(found.at("hits@1") == doctest::Approx(hits1 / ranked).epsilon(1e-12));
      CHECK(found.at("hits@3") == doctest::Approx(hits3 / ranked).epsilon(1e-12));
      CHECK(found.at("mean_rank") == doctest::Approx(sum / ranked).epsilon(1e-12));
    }
  }
}

TEST_CASE("link metrics: a list with examples of none is measured by them; no figures without") {
  const auto metrics = tasks::make_link_metrics();
  for (const auto& [name, value] : metrics->result()) CHECK(std::isnan(value));
  Batch batch;
  batch.queries.kind = QueryKind::kLinks;
  batch.queries.truth = array_of<std::uint8_t>({1, 0, 1, 0});
  metrics->add(torch::tensor({{3.f}, {1.f}, {0.f}, {-1.f}}), batch);
  const auto found = metrics->result();
  CHECK(found.at("auc") == 0.75);
  CHECK(found.at("ap") == doctest::Approx((1 + 2.0 / 3) / 2));
  CHECK(std::isnan(found.at("mrr")));
  metrics->add(torch::tensor({{1.f}, {NAN}, {0.f}, {-1.f}}), batch);
  for (const auto& [name, value] : metrics->result()) CHECK(std::isnan(value));
}

TEST_CASE("link metrics: ranks of both ends, all together and by type of link") {
  const auto metrics =
      tasks::make_link_metrics(tasks::LinkOutputs::kRanks, {"likes", "owes", "is"});
  Batch batch;
  batch.queries.kind = QueryKind::kLinks;
  batch.labels = array_of<std::int32_t>({1, 0, 1});
  metrics->add(torch::tensor({{9.f, 1.f, 2.f}, {1.f, 4.f, 12.f}, {0.f, 3.5f, 1.f}}), batch);
  batch.labels = array_of<std::int32_t>({0});
  metrics->add(torch::tensor({{2.f, 1.f, 1.f}}), batch);
  const auto found = metrics->result();
  const auto is = [&](const char* name, double value) {
    CAPTURE(name);
    CHECK(found.at(name) == doctest::Approx(value).epsilon(1e-6));
  };
  is("mrr", (1 + 1 / 2.0 + 1 / 4.0 + 1 / 12.0 + 1 / 3.5 + 1 + 1 + 1) / 8);
  is("mean_rank", (1 + 2 + 4 + 12 + 3.5 + 1 + 1 + 1) / 8);
  is("hits@1", 4 / 8.0);
  is("hits@3", 5 / 8.0);
  is("hits@10", 7 / 8.0);
  is("mrr:likes", (1 / 4.0 + 1 / 12.0 + 1 + 1) / 4);
  is("mrr:owes", (1 + 1 / 2.0 + 1 / 3.5 + 1) / 4);
  is("hits@10:likes", 3 / 4.0);
  CHECK_FALSE(found.contains("mrr:is"));  // there is none
  CHECK(std::isnan(found.at("auc")));
  batch.labels = array_of<std::int32_t>({1});
  metrics->add(torch::tensor({{2.f, NAN, 1.f}}), batch);
  CHECK(std::isnan(metrics->result().at("mrr")));
  CHECK(metrics->result().at("mrr:likes") == found.at("mrr:likes"));
}

TEST_CASE("link metrics: examples of none have no rank, and make an auc by type") {
  const auto metrics = tasks::make_link_metrics(tasks::LinkOutputs::kRanks, {"likes", "owes"});
  Batch batch;
  batch.queries.kind = QueryKind::kLinks;
  batch.queries.truth = array_of<std::uint8_t>({1, 0, 1, 0});
  batch.labels = array_of<std::int32_t>({0, 0, 1, 1});
  metrics->add(
      torch::tensor({{3.f, 1.f, 2.f}, {1.f, 50.f, 60.f}, {0.f, 4.f, 2.f}, {1.f, 70.f, 80.f}}),
      batch);
  const auto found = metrics->result();
  CHECK(found.at("mean_rank") == doctest::Approx((1 + 2 + 4 + 2) / 4.0));
  CHECK(found.at("auc") == doctest::Approx(0.5));
  CHECK(found.at("auc:likes") == 1);
  CHECK(found.at("auc:owes") == 0);
}

TEST_CASE(
    "link metrics: other sources of each link give it a rank more, by its score beside them") {
  // The link, two destinations; the link by its source, three sources. Of the second link one
  // destination and all sources are missing.
  const torch::Tensor scores =
      torch::tensor({{2.f, 3.f, 1.f, 5.f, 6.f, 5.f, 4.f}, {1.f, 9.f, 0.f, 9.f, 10.f, 10.f, 10.f}});
  Batch batch;
  batch.queries.kind = QueryKind::kLinks;
  batch.queries.chunk = 1;
  batch.queries.negatives = array_of<std::int64_t>({4, 5, -1, 6}, {2, 2});
  batch.queries.shared_sources = array_of<std::int64_t>({1, 2, 3, -1, -1, -1}, {2, 3});
  batch.labels = array_of<std::int32_t>({1, 0});
  const auto metrics = tasks::make_link_metrics(tasks::LinkOutputs::kScores, {"a", "b"});
  metrics->add(scores, batch);
  const auto found = metrics->result();
  // Ranks: 2 and 2.5 of the first link, 1 of the second.
  CHECK(found.at("mrr") == doctest::Approx((1 / 2.0 + 1 / 2.5 + 1) / 3));
  CHECK(found.at("mean_rank") == doctest::Approx(5.5 / 3));
  CHECK(found.at("hits@1") == doctest::Approx(1.0 / 3));
  CHECK(found.at("mrr:b") == doctest::Approx((1 / 2.0 + 1 / 2.5) / 2));
  CHECK(found.at("mrr:a") == doctest::Approx(1));
  // Links of 2 and 1, and the first destinations that are there, of 3 and 0.
  CHECK(found.at("auc") == doctest::Approx(0.5));
}
