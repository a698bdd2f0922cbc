#include "models/walk_projections.h"

#include "models/event_ends.h"
#include "nn/add_rows.h"

#include <sluice/error.h>
#include <sluice/nn/tensor_view.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>

namespace sluice::models {
namespace {

using torch::Tensor;

// Normal numbers of variance 1 / width (Box and Muller), element i of a row by draws of its pair.
void fill_normal(RandomKey key, std::int64_t width, float* row) {
  const double scale = 1 / std::sqrt(static_cast<double>(width));
  for (std::int64_t at = 0; at < width; at += 2) {
    const auto draw = static_cast<std::uint64_t>(at);
    const double radius = scale * std::sqrt(-2 * std::log(1 - key.uniform(draw)));
    const double angle = 2 * std::numbers::pi * key.uniform(draw + 1);
    row[at] = static_cast<float>(radius * std::cos(angle));
    if (at + 1 < width) row[at + 1] = static_cast<float>(radius * std::sin(angle));
  }
}

std::vector<std::uint64_t> numbers_of(const Array& ids) {
  const Array host = ids.space() == MemorySpace::kHost ? ids : nn::as_array(nn::as_tensor(ids));
  const auto all = host.as<std::uint64_t>();
  return {all.begin(), all.end()};
}

Tensor indices(const std::vector<std::int64_t>& values, torch::Device device) {
  return torch::tensor(values, torch::kInt64).to(device);
}

}  // namespace

nn::StateRows& WalkProjections::state() const {
  if (state_ != nullptr) return *state_;
  throw Error(ErrorCode::kUsage,
              "a model that remembers nodes was asked before it had rows to do so",
              "give it some: StatefulModel::attach_state()");
}

Tensor WalkProjections::first_level(std::size_t type,
                                    const std::vector<std::uint64_t>& nodes) const {
  const RandomKey key = key_.with(state().epoch()).with(type);
  Tensor rows = torch::empty({static_cast<std::int64_t>(nodes.size()), options_.width});
  float* row = rows.data_ptr<float>();
  std::map<std::uint64_t, const float*> drawn;  // a node may be there at several times
  for (const std::uint64_t node : nodes) {
    const auto [found, added] = drawn.try_emplace(node, row);
    if (added) {
      fill_normal(key.with(node), options_.width, row);
    } else {
      std::copy_n(found->second, options_.width, row);
    }
    row += options_.width;
  }
  return rows;
}

std::vector<Tensor> WalkProjections::levels(const Chosen& chosen, std::int64_t time) const {
  const nn::NodeStates& states = state().of(chosen.type);
  const Tensor known = states.known.index_select(0, chosen.rows);
  const Tensor last = states.times.select(1, 0).index_select(0, chosen.rows);
  const Tensor values = states.values.index_select(0, chosen.rows);
  const Tensor passed =
      torch::where(known, time - last, torch::zeros_like(last)).to(torch::kFloat64).unsqueeze(1);
  std::vector<Tensor> levels{first_level(chosen.type, chosen.nodes).to(values.device())};
  for (std::int64_t l = 1; l <= options_.walks; ++l) {
    const Tensor factor =
        torch::exp(passed * (-options_.decay * static_cast<double>(l))).to(torch::kFloat32);
    levels.push_back(values.narrow(1, (l - 1) * options_.width, options_.width) * factor);
  }
  return levels;
}

std::vector<std::int64_t> WalkProjections::offsets(const Batch& batch) {
  std::vector<std::int64_t> offsets;
  std::int64_t sum = 0;
  for (const BatchNodes& nodes : batch.nodes) {
    offsets.push_back(sum);
    sum += nodes.ids.numel();
  }
  return offsets;
}

Tensor WalkProjections::rows(const Batch& batch) const {
  const torch::NoGradGuard no_grad;
  const auto times = batch.on_host().queries.times.as<std::int64_t>();
  const std::int64_t time = times.empty() ? 0 : *std::ranges::min_element(times);
  std::vector<Tensor> all;
  for (std::size_t type = 0; type < batch.nodes.size(); ++type) {
    const Array& ids = batch.nodes[type].ids;
    if (ids.numel() == 0) continue;
    const Tensor whole = torch::arange(
        ids.numel(), torch::TensorOptions(torch::kInt64).device(nn::device_of(ids.space())));
    all.push_back(torch::stack(levels({type, numbers_of(ids), whole}, time), 1));
  }
  return torch::cat(all);
}

void WalkProjections::commit(const Batch& batch) const {
  const torch::NoGradGuard no_grad;
  const std::vector<BatchEvent> events = events_in_order(batch);
  if (events.empty()) return;
  const Batch& host = batch.on_host();
  const torch::Device device = nn::device_of(batch.nodes.at(0).ids.space());
  const std::int64_t now = events.back().time;

  // The distinct ends, type by type, and each event's ends among them.
  std::map<std::pair<std::size_t, std::uint64_t>, std::int64_t> row_of_end;
  const auto end_of = [&](std::size_t type, std::int64_t row) {
    return std::pair(type, host.seeds.at(type).as<std::uint64_t>()[static_cast<std::size_t>(row)]);
  };
  const std::size_t from = host.queries.type, to = host.queries.destination_type;
  for (const BatchEvent& event : events) {
    row_of_end.try_emplace(end_of(from, event.source), event.source);
    row_of_end.try_emplace(end_of(to, event.destination), event.destination);
  }
  std::map<std::pair<std::size_t, std::uint64_t>, std::int64_t> place;
  std::map<std::size_t, std::pair<std::vector<std::uint64_t>, std::vector<std::int64_t>>> by_type;
  for (const auto& [end, row] : row_of_end) {
    place.emplace(end, static_cast<std::int64_t>(place.size()));
    by_type[end.first].first.push_back(end.second);
    by_type[end.first].second.push_back(row);
  }
  std::vector<Tensor> all(static_cast<std::size_t>(options_.walks) + 1);
  for (const auto& [type, ends] : by_type) {
    const std::vector<Tensor> own = levels({type, ends.first, indices(ends.second, device)}, now);
    for (std::size_t l = 0; l < own.size(); ++l)
      all[l] = all[l].defined() ? torch::cat({all[l], own[l]}) : own[l];
  }

  std::vector<std::int64_t> into, out_of;
  std::vector<float> weights;
  for (const BatchEvent& event : events) {
    const std::int64_t u = place.at(end_of(from, event.source));
    const std::int64_t v = place.at(end_of(to, event.destination));
    into.insert(into.end(), {u, v});
    out_of.insert(out_of.end(), {v, u});
    const double passed = static_cast<double>(now - event.time);
    weights.insert(weights.end(), 2, static_cast<float>(std::exp(-options_.decay * passed)));
  }
  const Tensor to_rows = indices(into, device), from_rows = indices(out_of, device);
  const Tensor weight = torch::tensor(weights).to(device).unsqueeze(1);
  // From the longest on, so that each adds what the shorter ones were before.
  for (std::size_t l = all.size(); l-- > 1;) {
    all[l] = all[l].contiguous().clone();
    nn::add_rows(all[l], to_rows, all[l - 1].index_select(0, from_rows) * weight);
  }
  const Tensor values = torch::cat(std::vector<Tensor>(all.begin() + 1, all.end()), 1);
  std::int64_t first = 0;
  for (const auto& [type, ends] : by_type) {
    const auto count = static_cast<std::int64_t>(ends.first.size());
    std::vector<std::int64_t> nodes(ends.first.begin(), ends.first.end());
    state().write(
        type,
        indices(nodes, torch::kCPU),
        {{}, values.narrow(0, first, count), torch::full({count, 1}, now, torch::kInt64)});
    first += count;
  }
}

Tensor pair_products(const Tensor& a, const Tensor& b) {
  const Tensor both = torch::cat({a, b}, 1);
  return torch::log1p(torch::relu(torch::bmm(both, both.transpose(1, 2)))).flatten(1);
}

}  // namespace sluice::models
