// Models that remember nodes against plain loops over a small list of events.
#include "models/event_ends.h"
#include "models/memory_support.h"

#include <cmath>
#include <map>

using namespace sluice;
using namespace sluice::testing;
using torch::Tensor;

namespace {

constexpr std::uint64_t kPeople = 9;
constexpr std::int64_t kWidth = 8;

const std::vector<std::string> kMemoryModels{
    "model.type = 'tgn'\nmodel.hidden = 8\nmodel.dropout = 0.0\nmodel.time_width = 6\n",
    "model.type = 'jodie'\nmodel.hidden = 8\nmodel.dropout = 0.0\nmodel.time_width = 6\n"};

// What a node remembers, in the test.
struct Remembered {
  Tensor memory = torch::zeros({kWidth});
  std::int64_t last = 0;
  bool waits = false;
  Tensor own, other;  // of the mail
  std::int64_t mailed = 0;
};

// A cell and its inputs by the model's own weights, one node at a time.
class PlainMemory {
 public:
  explicit PlainMemory(const Model& model) {
    for (const auto& item : model.named_parameters()) weights_[item.key()] = item.value();
  }

  Remembered read(const Remembered& now) const {
    if (!now.waits) return now;
    const bool had = now.memory.ne(0).any().item<bool>();
    const double passed = had ? static_cast<double>(now.mailed - now.last) : 0;
    std::vector<float> code;
    for (int c = 0; c < 6; ++c)
      code.push_back(static_cast<float>(std::cos(passed * std::pow(10.0, -9.0 * c / 5))));
    const Tensor message = torch::cat({now.own, now.other, torch::tensor(code)});
    const Tensor in =
        weights_.at("memory.of_message.weight").mv(message) + weights_.at("memory.of_message.bias");
    const Tensor own = weights_.at("memory.of_memory.weight").mv(now.memory) +
                       weights_.at("memory.of_memory.bias");
    Remembered next = now;
    if (in.size(0) == kWidth) {
      next.memory = torch::tanh(in + own);
    } else {
      const auto part = [](const Tensor& of, int at) { return of.narrow(0, at * kWidth, kWidth); };
      const Tensor r = torch::sigmoid(part(in, 0) + part(own, 0));
      const Tensor z = torch::sigmoid(part(in, 1) + part(own, 1));
      const Tensor n = torch::tanh(part(in, 2) + r * part(own, 2));
      next.memory = (1 - z) * n + z * now.memory;
    }
    next.last = now.mailed;
    next.waits = false;
    return next;
  }

  // All of these see what was before the first of them.
  void commit(const std::vector<Meeting>& all, std::size_t first, std::size_t last) {
    const std::map<std::uint64_t, Remembered> before = nodes_;
    const auto seen = [&](std::uint64_t node) {
      const auto found = before.find(node);
      return read(found == before.end() ? Remembered() : found->second);
    };
    for (std::size_t e = first; e < last; ++e) {
      const auto leave = [&](std::uint64_t own, std::uint64_t other) {
        Remembered next = seen(own);
        next.own = next.memory;
        next.other = seen(other).memory;
        next.mailed = all[e].time;
        next.waits = true;
        nodes_[own] = next;
      };
      leave(all[e].from, all[e].to);
      leave(all[e].to, all[e].from);
    }
  }

  const std::map<std::uint64_t, Remembered>& nodes() const { return nodes_; }

 private:
  std::map<std::string, Tensor> weights_;
  std::map<std::uint64_t, Remembered> nodes_;
};

void commit(StatefulModel& model, nn::StateRows& state, const Batch& batch) {
  const torch::NoGradGuard no_grad;
  state.begin(batch);
  model.commit(batch, {});
  state.end();
}

}  // namespace

TEST_CASE("the last event of each node of a mini-batch, in the order of time and id") {
  Batch batch =
      batch_of_meetings({{4, 2, 10}, {2, 4, 10}, {4, 4, 9}, {1, 2, 10}, {0, 3, 7}}, 0, 5, 0);
  // Ids do not ascend with the queries.
  batch.queries.ids = array_of(std::vector<std::uint64_t>{8, 3, 5, 6, 1});
  batch.queries.truth = array_of(std::vector<std::uint8_t>{1, 1, 1, 1, 0});
  std::vector<std::int64_t> order;
  for (const auto& event : models::events_in_order(batch)) order.push_back(event.query);
  CHECK(order == std::vector<std::int64_t>{2, 1, 3, 0});
  const auto all = models::last_events(batch, torch::kCPU);
  REQUIRE(all.size() == 1);
  const auto equal = [](const Tensor& got, const std::vector<std::int64_t>& expected) {
    return torch::equal(got, torch::tensor(expected, torch::kInt64));
  };
  CHECK(equal(all[0].nodes, {1, 2, 4}));
  CHECK(equal(all[0].queries, {3, 0, 0}));
  CHECK(equal(all[0].times, {10, 10, 10}));
  const auto ids = batch.nodes[0].ids.as<std::uint64_t>();
  const auto node_at = [&](const Tensor& rows, int at) {
    return ids[static_cast<std::size_t>(rows[at].item<std::int64_t>())];
  };
  CHECK(node_at(all[0].own, 0) == 1);
  CHECK(node_at(all[0].others, 0) == 2);
  CHECK(node_at(all[0].own, 1) == 2);
  CHECK(node_at(all[0].others, 1) == 4);
  CHECK(node_at(all[0].others, 2) == 2);
}

TEST_CASE("memories and mails are those of a plain loop over the events") {
  const GraphSchema schema = meeting_schema(kPeople);
  const std::vector<Meeting> all = some_meetings(kPeople, 60);
  for (const std::string& toml : kMemoryModels) {
    CAPTURE(toml);
    const auto model = model_of(toml, schema);
    StatefulModel* const stateful = stateful_model(*model);
    REQUIRE(stateful != nullptr);
    const auto state = state_for(*stateful, schema);
    PlainMemory plain(*model);
    for (std::size_t first = 0; first < all.size(); first += 7) {
      const std::size_t last = std::min(first + 7, all.size());
      commit(*stateful, *state, batch_of_meetings(all, first, last, 3));
      const torch::NoGradGuard no_grad;
      plain.commit(all, first, last);
    }
    const Batch everybody =
        batch_of_meetings({{0, 1, 9}, {2, 3, 9}, {4, 5, 9}, {6, 7, 9}, {8, 8, 9}}, 0, 5, 0);
    state->begin(everybody);
    const nn::NodeStates& states = state->of(0);
    const auto ids = everybody.nodes[0].ids.as<std::uint64_t>();
    REQUIRE(ids.size() == kPeople);
    for (std::size_t row = 0; row < ids.size(); ++row) {
      const auto at = static_cast<std::int64_t>(row);
      const auto found = plain.nodes().find(ids[row]);
      REQUIRE(states.known[at].item<bool>() == (found != plain.nodes().end()));
      if (found == plain.nodes().end()) continue;
      const Remembered& expected = found->second;
      const Tensor values = states.values[at];
      check_near(values.narrow(0, 0, kWidth), expected.memory);
      check_near(values.narrow(0, kWidth, kWidth), expected.own);
      check_near(values.narrow(0, 2 * kWidth, kWidth), expected.other);
      CHECK(values[3 * kWidth].item<float>() == 1.0f);
      CHECK(states.times[at][0].item<std::int64_t>() == expected.last);
      CHECK(states.times[at][1].item<std::int64_t>() == expected.mailed);
    }
    state->end();
  }
}

TEST_CASE("the loss reaches the cell, and mates in a mini-batch do not show") {
  const GraphSchema schema = meeting_schema(kPeople);
  const std::vector<Meeting> all = some_meetings(kPeople, 60);
  for (const std::string& toml : kMemoryModels) {
    CAPTURE(toml);
    const auto model = model_of(toml, schema);
    StatefulModel& stateful = *stateful_model(*model);
    const auto state = state_for(stateful, schema);
    commit(stateful, *state, batch_of_meetings(all, 0, 20, 3));
    commit(stateful, *state, batch_of_meetings(all, 20, 40, 3));

    const Batch batch = batch_of_meetings(all, 40, 48, 3);
    state->begin(batch);
    const Tensor rows = model->encode(batch)[0];
    REQUIRE(rows.sizes() == torch::IntArrayRef({batch.num_seeds(0), 5}));
    rows.square().sum().backward();
    bool reached = false;
    for (const auto& item : model->named_parameters()) {
      if (item.key().find("of_message.weight") == std::string::npos) continue;
      REQUIRE(item.value().grad().defined());
      reached = item.value().grad().abs().max().item<float>() > 0;
    }
    CHECK(reached);
    state->end();

    const Batch fewer = batch_of_meetings(all, 40, 42, 3);
    state->begin(fewer);
    const torch::NoGradGuard no_grad;
    check_near(model->encode(fewer)[0], rows.detach().narrow(0, 0, fewer.num_seeds(0)));
    state->end();
  }
}

TEST_CASE("what a node remembers changes its row, and an epoch begins without") {
  const GraphSchema schema = meeting_schema(kPeople);
  const std::vector<Meeting> all = some_meetings(kPeople, 60);
  for (const std::string& toml : kMemoryModels) {
    CAPTURE(toml);
    const auto model = model_of(toml, schema);
    StatefulModel& stateful = *stateful_model(*model);
    const auto state = state_for(stateful, schema);
    const torch::NoGradGuard no_grad;
    model->eval();
    const Batch batch = batch_of_meetings(all, 40, 48, 3);
    const auto rows = [&] {
      state->begin(batch);
      const Tensor encoded = model->encode(batch)[0];
      state->end();
      return encoded;
    };
    const Tensor empty = rows();
    commit(stateful, *state, batch_of_meetings(all, 0, 20, 3));
    commit(stateful, *state, batch_of_meetings(all, 20, 40, 3));
    const Tensor full = rows();
    CHECK_FALSE(torch::equal(empty, full));
    CHECK(torch::equal(full, rows()));
    state->go_to(2);
    CHECK(torch::equal(empty, rows()));
  }
}
