// Ranks among all rows where scores are near 0: what rounding tells apart is equal, what is more is
// not.
#include "tasks/link_ranks.h"
#include "nn/support.h"
#include "storage/embedding/table_rows.h"

#include <sluice/registry.h>

#include <algorithm>
#include <numeric>
#include <vector>

using namespace sluice;
using namespace sluice::testing;

namespace {

// Rows as they are given, in a table in memory.
class RankedRows {
 public:
  explicit RankedRows(const std::vector<std::vector<float>>& values)
      : table_(table_of(values)), rows_({{"node", table_}}, torch::kCPU) {}

  const nn::LearnedRows& rows() const { return rows_; }

  float rank(const nn::Decoder& decoder,
             const std::vector<float>& query,
             std::uint64_t own,
             std::int64_t tile = 0) const {
    const std::vector<std::uint64_t> asked{own};
    const tasks::RankQueries queries{torch::tensor(query).unsqueeze(0), asked, {{}}};
    return tasks::ranks_among_all(decoder, rows_, 0, queries, tile).item<float>();
  }

 private:
  static std::shared_ptr<TableRows> table_of(const std::vector<std::vector<float>>& values) {
    TableRowsOptions options;
    options.rows = values.size();
    options.dim = static_cast<std::uint32_t>(values[0].size());
    options.optimizer = builtin_sparse_optimizers().make("sgd", "");
    options.placement = Placement::kMemory;
    auto table = std::make_shared<TableRows>(options);
    const RowsInPlace all = table->in_place();
    for (std::size_t row = 0; row < values.size(); ++row)
      std::ranges::copy(values[row], all.data + row * all.stride);
    return table;
  }

  std::shared_ptr<TableRows> table_;
  nn::LearnedRows rows_;
};

nn::DecoderOptions distance_options(nn::DecoderKind kind, nn::Distance distance, double gamma) {
  nn::DecoderOptions options;
  options.kind = kind;
  options.distance = distance;
  options.width = 32;
  options.gamma = gamma;
  return options;
}

std::vector<float> random_row(std::size_t width, std::uint64_t seed) {
  return random_floats(static_cast<std::int64_t>(width), seed);
}

}  // namespace

TEST_CASE("ranks: sums that cancel out are equal in any order of their terms") {
  constexpr std::size_t kWidth = 64;
  nn::DecoderOptions options;
  options.width = kWidth;
  const auto decoder = nn::make_decoder(options);
  // Terms that add up to 0 but for rounding, and the same ones shuffled.
  std::vector<float> terms = random_row(kWidth, 3);
  const double sum = std::accumulate(terms.begin(), terms.end() - 1, 0.0);
  terms.back() = static_cast<float>(-sum);
  std::vector<std::vector<float>> rows{terms};
  const RandomKey key(5);
  for (std::uint64_t turn = 0; turn < 8; ++turn) {
    const auto by = static_cast<std::ptrdiff_t>(1 + key.below(kWidth - 1, turn));
    rows.push_back(terms);
    std::rotate(rows.back().begin(), rows.back().begin() + by, rows.back().end());
    if (turn % 2 == 1) std::ranges::reverse(rows.back());
  }
  rows.push_back(terms);
  rows.back()[7] += 0.01f;  // more than rounding
  rows.push_back(terms);
  rows.back()[7] -= 0.01f;
  const RankedRows ranked(rows);
  const std::vector<float> query(kWidth, 1);
  for (std::uint64_t own = 0; own < 9; ++own) CHECK(ranked.rank(*decoder, query, own) == 2 + 4);
  CHECK(ranked.rank(*decoder, query, 9) == 1);
  CHECK(ranked.rank(*decoder, query, 10) == 11);
}

TEST_CASE("ranks: distances of 0, and as large as gamma, are equal to their like") {
  struct Case {
    nn::DecoderKind kind;
    nn::Distance distance;
  };
  for (const auto& [kind, distance] : {Case{nn::DecoderKind::kTransE, nn::Distance::kL1},
                                       Case{nn::DecoderKind::kTransE, nn::Distance::kL2},
                                       Case{nn::DecoderKind::kRotatE, nn::Distance::kL2}}) {
    CAPTURE(static_cast<int>(kind));
    CAPTURE(static_cast<int>(distance));
    const std::vector<float> query = random_row(32, 7), far = random_row(32, 8);
    // Itself twice, another one twice, and one between.
    std::vector<float> between = query;
    between[3] += 0.05f;
    const RankedRows ranked({query, far, query, far, between});
    const auto near = nn::make_decoder(distance_options(kind, distance, 0));
    for (const std::int64_t tile : {0, 2}) {
      CHECK(ranked.rank(*near, query, 0, tile) == 1.5f);
      CHECK(ranked.rank(*near, query, 2, tile) == 1.5f);
      CHECK(ranked.rank(*near, query, 4, tile) == 3);
    }
    // The score of the far ones is 0 within rounding.
    const torch::Tensor one = torch::tensor(query).unsqueeze(0),
                        other = torch::tensor(far).unsqueeze(0);
    const double gamma = -near->pairwise(one, other).item<double>();
    const auto even = nn::make_decoder(distance_options(kind, distance, gamma));
    CHECK(ranked.rank(*even, query, 1) == 4.5f);
    CHECK(ranked.rank(*even, query, 3) == 4.5f);
  }
}
