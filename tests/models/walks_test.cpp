// Walks in time as random projections, and TPNet over them.
#include "models/memory_support.h"
#include "models/walk_projections.h"

#include <sluice/models/pair_encoder.h>

#include <cmath>

using namespace sluice;
using namespace sluice::testing;
using torch::Tensor;

namespace {

constexpr std::uint64_t kGuests = 9;

// All nodes in their order, asked about at a time.
Batch all_guests(std::int64_t time) {
  return batch_of_meetings(
      {{0, 1, time}, {2, 3, time}, {4, 5, time}, {6, 7, time}, {8, 8, time}}, 0, 5, 0);
}

Tensor walks_at(const models::WalkProjections& walks, nn::StateRows& state, std::int64_t time) {
  const Batch guests = all_guests(time);
  state.begin(guests);
  const Tensor rows = walks.rows(guests);
  state.end();
  return rows;
}

template <class Committed>
void commit_to(Committed& committed, nn::StateRows& state, const Batch& batch) {
  const torch::NoGradGuard no_grad;
  state.begin(batch);
  if constexpr (requires { committed.commit(batch, CommittedEvents{}); }) {
    committed.commit(batch, CommittedEvents{});
  } else {
    committed.commit(batch);
  }
  state.end();
}

}  // namespace

TEST_CASE("projections that decay as they are touched are those that all decay at once") {
  const GraphSchema schema = meeting_schema(kGuests);
  const std::vector<Meeting> all = some_meetings(kGuests, 60);
  constexpr std::int64_t kWalks = 3, kColumns = 11;
  constexpr double kDecay = 0.05;
  models::WalkProjections walks({kWalks, kColumns, kDecay}, RandomKey(2));
  const auto state = empty_state(walks.shape(), schema);
  walks.attach(*state);

  const Tensor begin = walks_at(walks, *state, all.front().time);
  REQUIRE(begin.sizes() == torch::IntArrayRef({kGuests, kWalks + 1, kColumns}));
  CHECK(begin.narrow(1, 1, kWalks).abs().max().item<float>() == 0.0f);
  // Of 99 numbers of variance 1 / 11.
  CHECK(begin.select(1, 0).square().mean().item<double>() * kColumns > 0.5);
  CHECK(begin.select(1, 0).square().mean().item<double>() * kColumns < 2.0);

  std::vector<Tensor> levels{begin.select(1, 0).to(torch::kFloat64)};
  for (std::int64_t l = 1; l <= kWalks; ++l) levels.push_back(torch::zeros_like(levels[0]));
  std::int64_t now = all.front().time;
  for (std::size_t first = 0; first < all.size(); first += 7) {
    const std::size_t last = std::min(first + 7, all.size());
    commit_to(walks, *state, batch_of_meetings(all, first, last, 0));
    const std::int64_t then = all[last - 1].time;
    for (std::int64_t l = 1; l <= kWalks; ++l)
      levels[static_cast<std::size_t>(l)] *=
          std::exp(-kDecay * static_cast<double>(l * (then - now)));
    for (std::size_t l = kWalks; l >= 1; --l) {
      for (std::size_t e = first; e < last; ++e) {
        const auto u = static_cast<std::int64_t>(all[e].from);
        const auto v = static_cast<std::int64_t>(all[e].to);
        const double weight = std::exp(-kDecay * static_cast<double>(then - all[e].time));
        levels[l][u] += weight * levels[l - 1][v];
        levels[l][v] += weight * levels[l - 1][u];
      }
    }
    now = then;
  }
  const std::int64_t later = now + 4;
  const Tensor got = walks_at(walks, *state, later);
  for (std::int64_t l = 0; l <= kWalks; ++l) {
    CAPTURE(l);
    const Tensor expected = levels[static_cast<std::size_t>(l)] *
                            std::exp(-kDecay * static_cast<double>(l * (later - now)));
    const double most = expected.abs().max().item<double>();
    CHECK((got.select(1, l) - expected).abs().max().item<double>() < 1e-5 * (1 + most));
    CHECK(most > 0.01);
  }
  state->go_to(2);
  const Tensor next = walks_at(walks, *state, later);
  CHECK(next.narrow(1, 1, kWalks).abs().max().item<float>() == 0.0f);
  CHECK_FALSE(torch::equal(next.select(1, 0), begin.select(1, 0)));
}

TEST_CASE("TPNet: a row depends on the other end and on walks, and not on other pairs") {
  const GraphSchema schema = meeting_schema(kGuests);
  const std::vector<Meeting> all = some_meetings(kGuests, 60);
  const auto model = model_of(
      "model.type = 'tpnet'\nmodel.hidden = 12\nmodel.events = 4\nmodel.walks = 2\n"
      "model.walk_width = 16\nmodel.walk_decay = 0.01\nmodel.time_width = 6\n",
      schema);
  model->eval();
  StatefulModel& stateful = *stateful_model(*model);
  const auto state = state_for(stateful, schema);
  PairEncoder* const pairs = pair_encoder(*model);
  REQUIRE(pairs != nullptr);
  const torch::NoGradGuard no_grad;
  const Batch batch = batch_of_meetings(all, 40, 50, 4);
  const auto rows_of = [](const std::vector<std::int64_t>& rows) {
    return torch::tensor(rows, torch::kInt64);
  };
  const auto encoded = [&](const std::vector<std::int64_t>& from,
                           const std::vector<std::int64_t>& to) {
    state->begin(batch);
    const PairEncoding rows = pairs->encode_pairs(batch, {0, 0, rows_of(from), rows_of(to)});
    state->end();
    return rows;
  };
  const Tensor before = encoded({0, 0, 1}, {1, 2, 3}).sources;
  REQUIRE(before.sizes() == torch::IntArrayRef({3, 5}));
  for (std::size_t first = 0; first < 40; first += 10)
    commit_to(stateful, *state, batch_of_meetings(all, first, first + 10, 0));
  const PairEncoding rows = encoded({0, 0, 1}, {1, 2, 3});
  CHECK_FALSE(torch::equal(before, rows.sources));
  CHECK_FALSE(torch::equal(rows.sources[0], rows.sources[1]));
  check_near(encoded({0}, {2}).sources[0], rows.sources[1]);
  check_near(encoded({2}, {0}).sources[0], rows.destinations[1]);
  CHECK(rows.sources.isfinite().all().item<bool>());
  CHECK(encoded({}, {}).sources.sizes() == torch::IntArrayRef({0, 5}));
}
