#include "models/node_memory.h"

#include "models/event_ends.h"

#include <sluice/error.h>
#include <sluice/nn/tensor_view.h>

#include <fmt/format.h>

#include <vector>

namespace sluice::models {
namespace {

using torch::Tensor;

// Times of a row of state.
constexpr std::int64_t kLastTime = 0, kMailTime = 1, kTimes = 2;

std::int64_t gates_of(MemoryCell cell) {
  return cell == MemoryCell::kGru ? 3 : 1;
}

nn::NodeStates chosen(const nn::NodeStates& states, const Tensor& rows) {
  return {states.known.index_select(0, rows),
          states.values.index_select(0, rows),
          states.times.index_select(0, rows)};
}

}  // namespace

NodeMemory::NodeMemory(const NodeMemoryOptions& options, const GraphSchema& schema, RandomKey key)
    : options_(options) {
  for (std::size_t r = 0; r < schema.relations.size() && !relation_; ++r) {
    if (schema.relations[r].features.empty()) continue;
    relation_ = r;
    features_ = schema.relations[r].features[0].dim;
  }
  const std::int64_t width = options.width, out = gates_of(options.cell) * width;
  time_ = register_module("time", std::make_shared<nn::TimeEncoding>(options.time));
  of_message_ = register_module(
      "of_message",
      std::make_shared<nn::Linear>(
          2 * width + time_->width() + features_, out, nn::Bias::kZero, key.with("of_message")));
  of_memory_ = register_module(
      "of_memory",
      std::make_shared<nn::Linear>(width, out, nn::Bias::kZero, key.with("of_memory")));
}

// Values: the memory, the mail (both memories, the event's features), whether there is a mail.
nn::StateShape NodeMemory::shape() const {
  return {3 * options_.width + features_ + 1, kTimes};
}

nn::StateRows& NodeMemory::state() const {
  if (state_ != nullptr) return *state_;
  throw Error(ErrorCode::kUsage,
              "a model that remembers nodes was asked before it had rows to do so",
              "give it some: StatefulModel::attach_state()");
}

Tensor NodeMemory::cell(const Tensor& message, const Tensor& memory) const {
  const Tensor in = of_message_->forward(message), own = of_memory_->forward(memory);
  if (options_.cell == MemoryCell::kRnn) return torch::tanh(in + own);
  const auto x = in.chunk(3, 1), h = own.chunk(3, 1);
  const Tensor reset = torch::sigmoid(x[0] + h[0]), keep = torch::sigmoid(x[1] + h[1]);
  const Tensor next = torch::tanh(x[2] + reset * h[2]);
  return next + keep * (memory - next);
}

ReadMemory NodeMemory::read(const nn::NodeStates& states) const {
  const std::int64_t width = options_.width;
  const Tensor memory = states.values.narrow(1, 0, width);
  const Tensor mails = states.values.narrow(1, width, 2 * width);
  const Tensor features = states.values.narrow(1, 3 * width, features_);
  const Tensor waits = states.values.select(1, 3 * width + features_).gt(0.5);
  const Tensor last = states.times.select(1, kLastTime), mailed = states.times.select(1, kMailTime);
  // Of a node's first event there is none before it: no time has passed.
  const Tensor had = memory.ne(0).any(1);
  const Tensor passed = torch::where(had, mailed - last, torch::zeros_like(last)).clamp_min(0);
  const Tensor message = torch::cat({mails, time_->forward(passed), features}, 1);
  return {torch::where(waits.unsqueeze(1), cell(message, memory), memory),
          torch::where(waits, mailed, last),
          states.known};
}

ReadMemory NodeMemory::of(const Batch& batch, std::size_t type, std::int64_t count) const {
  const Tensor nodes =
      nn::as_tensor(batch.nodes.at(type).ids).view(torch::kInt64).narrow(0, 0, count);
  const auto [distinct, place, counts] =
      at::_unique2(nodes, /*sorted=*/true, /*return_inverse=*/true, /*return_counts=*/false);
  // Any row of a node has its state.
  const Tensor rows =
      torch::empty_like(distinct).scatter_(0, place, torch::arange(count, nodes.options()));
  const ReadMemory each = read(chosen(state().of(type), rows));
  // An embedding's backward adds in the order of the rows, whatever the number of threads.
  return {torch::embedding(each.rows, place),
          each.last.index_select(0, place),
          each.any.index_select(0, place)};
}

void NodeMemory::commit(const Batch& batch, const CommittedEvents& events) const {
  const std::size_t asked = batch.on_host().queries.relation;
  if (relation_ && *relation_ != asked)
    throw Error(ErrorCode::kUsage,
                fmt::format("events are asked about of relation {} (counted from 0), and the first "
                            "relation with features is {}",
                            asked,
                            *relation_),
                "ask about events of the relation that has features");
  const torch::Device device = nn::device_of(batch.nodes.at(0).ids.space());
  for (const LastEvents& last : last_events(batch, device)) {
    if (last.nodes.numel() == 0) continue;
    const ReadMemory own = read(chosen(state().of(last.type), last.own));
    const ReadMemory other = read(chosen(state().of(last.other_type), last.others));
    std::vector<Tensor> values{own.rows, own.rows, other.rows};
    if (relation_) values.push_back(events.features.index_select(0, last.queries));
    values.push_back(torch::ones({last.nodes.size(0), 1}, own.rows.options()));
    state().write(last.type,
                  last.nodes,
                  {own.any, torch::cat(values, 1), torch::stack({own.last, last.times}, 1)});
  }
}

}  // namespace sluice::models
