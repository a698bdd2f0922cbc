// The alias table against the weights it was made from.
#include "chi_square.h"

#include "support/sanitized.h"

#include <sluice/samplers/alias_table.h>

#include <doctest/doctest.h>

namespace sluice {
namespace {

using test::fit;
using test::sanitized;

TEST_CASE("an alias table draws by weight, zeros never, huge and tiny ones alike") {
  std::vector<double> weights = {0, 1e-6, 5, 0, 0.25, 1000, 3, 0};
  auto scratch = weights;
  const AliasTable table = AliasTable::make(scratch, nullptr, "test").or_throw();
  CHECK(table.size() == 8);
  std::vector<double> counts(8);
  constexpr std::uint64_t kDraws = sanitized(2000000, 200000);
  for (std::uint64_t i = 0; i < kDraws; ++i) counts[table.draw(RandomKey(45), i)] += 1;
  counts[1] = weights[1] = 0;  // too rare to judge
  INFO("seed 45");
  CHECK(fit(counts, weights, kDraws) < 1);
  std::vector<double> zeros(5);
  CHECK(AliasTable::make(zeros, nullptr, "test").or_throw().empty());
  std::vector<double> equal(7, 0.1);
  const AliasTable fair = AliasTable::make(equal, nullptr, "test").or_throw();
  std::vector<double> fair_counts(7);
  for (std::uint64_t i = 0; i < kDraws; ++i) fair_counts[fair.draw(RandomKey(46), i)] += 1;
  CHECK(fit(fair_counts, std::vector<double>(7, 1), kDraws) < 1);
}

}  // namespace
}  // namespace sluice
