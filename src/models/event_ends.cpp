#include "models/event_ends.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace sluice::models {
namespace {

// An end of an event, beside the other.
struct End {
  std::int64_t own = 0, other = 0;
  std::int64_t time = 0, query = 0;
};

using EndsOfNodes = std::map<std::uint64_t, End>;

torch::Tensor column_of(const EndsOfNodes& ends, std::int64_t End::*member, torch::Device device) {
  std::vector<std::int64_t> values;
  for (const auto& [node, end] : ends) values.push_back(end.*member);
  return torch::tensor(values, torch::kInt64).to(device);
}

LastEvents listed(const EndsOfNodes& ends,
                  std::size_t type,
                  std::size_t other_type,
                  torch::Device device) {
  std::vector<std::int64_t> nodes;
  for (const auto& [node, end] : ends) nodes.push_back(static_cast<std::int64_t>(node));
  return {type,
          torch::tensor(nodes, torch::kInt64),
          column_of(ends, &End::own, device),
          other_type,
          column_of(ends, &End::other, device),
          column_of(ends, &End::time, device),
          column_of(ends, &End::query, device)};
}

}  // namespace

std::vector<BatchEvent> events_in_order(const Batch& batch) {
  const Queries& asked = batch.on_host().queries;
  const auto sources = asked.sources.as<std::int64_t>();
  const auto destinations = asked.destinations.as<std::int64_t>();
  const auto times = asked.times.as<std::int64_t>();
  const auto ids = asked.ids.as<std::uint64_t>();
  const auto truth = asked.truth.as<std::uint8_t>();
  std::vector<BatchEvent> events;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (truth.empty() || truth[i] != 0)
      events.push_back({static_cast<std::int64_t>(i), sources[i], destinations[i], times[i]});
  }
  std::ranges::sort(events, {}, [&](const BatchEvent& event) {
    const auto query = static_cast<std::size_t>(event.query);
    return std::tuple(event.time, ids.empty() ? 0 : ids[query], event.query);
  });
  return events;
}

std::vector<LastEvents> last_events(const Batch& batch, torch::Device device) {
  const Batch& host = batch.on_host();
  const std::size_t from = host.queries.type, to = host.queries.destination_type;
  EndsOfNodes of_sources, of_destinations;
  EndsOfNodes& of_others = from == to ? of_sources : of_destinations;
  const auto node = [&](std::size_t type, std::int64_t row) {
    return host.seeds.at(type).as<std::uint64_t>()[static_cast<std::size_t>(row)];
  };
  for (const BatchEvent& event : events_in_order(batch)) {
    of_sources[node(from, event.source)] = {
        event.source, event.destination, event.time, event.query};
    of_others[node(to, event.destination)] = {
        event.destination, event.source, event.time, event.query};
  }
  std::vector<LastEvents> all{listed(of_sources, from, to, device)};
  if (from != to) all.push_back(listed(of_destinations, to, from, device));
  return all;
}

}  // namespace sluice::models
