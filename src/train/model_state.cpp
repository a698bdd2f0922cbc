#include "train/model_state.h"

#include "storage/embedding/row_layout.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace sluice {
namespace {

// More epochs than a run has, and a whole number that a float holds.
constexpr std::uint64_t kNoEpoch = (1 << 24) - 1;

}  // namespace

std::uint64_t state_bytes(const GraphSchema& schema, std::int64_t columns) {
  if (columns == 0) return 0;
  std::uint64_t bytes = 0;
  for (const NodeTypeSchema& type : schema.nodes) {
    if (type.count != 0)
      bytes += RowLayout::make(type.count, static_cast<std::uint32_t>(columns), 0).bytes();
  }
  return bytes;
}

ModelState::ModelState(Model& model, RowTables& tables, const StateContext& context)
    : model_(stateful_model(model)),
      io_(context.options.storage.io),
      device_(context.device),
      ledger_(context.ledger),
      threads_(context.threads) {
  if (!any()) return;
  const nn::StateShape shape = model_->state_shape();
  tables.add_state(context.options,
                   context.dataset.schema(),
                   shape.columns(),
                   context.placement,
                   context.ledger,
                   context.threads);
  std::vector<nn::StateRows::Table> all;
  for (const RowTables::Table& table : tables.state()) all.push_back({table.name, table.rows});
  rows_ = std::make_unique<nn::StateRows>(std::move(all), shape, device_);
  model_->attach_state(*rows_);
  reopen(context.dataset);
}

void ModelState::reopen(const Dataset& dataset) {
  if (!any()) return;
  features_.reset();
  if (const auto relation = model_->event_features())
    features_.emplace(dataset, *relation, io_, threads_);
}

void ModelState::go_to(std::uint64_t epoch) {
  if (!any()) return;
  rows_->go_to(epoch);
  last_time_.reset();
  stands_ = StateStands::kTraining;
}

void ModelState::keep_apart() {
  if (!any()) return;
  rows_->keep_apart(ledger_);
}

std::uint64_t ModelState::apart_bytes(const GraphSchema& schema, std::uint64_t events) const {
  if (!any()) return 0;
  std::uint64_t bytes = 0;
  for (const NodeTypeSchema& type : schema.nodes)
    bytes += rows_->apart_bytes(std::min(type.count, 2 * events));
  return bytes;
}

void ModelState::go_to_none() {
  go_to(kNoEpoch);
}

void ModelState::expect(const Batch& batch) {
  if (any()) rows_->expect(batch);
}

void ModelState::forget() {
  if (any()) rows_->forget();
}

void ModelState::begin(const Batch& batch) {
  if (!any()) return;
  check_events(batch.on_host());
  rows_->begin(batch);
}

void ModelState::commit(const Batch& batch) {
  if (!any()) return;
  const torch::NoGradGuard no_grad;
  const Batch& host = batch.on_host();
  CommittedEvents events;
  if (features_) events.features = features_->of(host.queries.ids).to(device_);
  model_->commit(batch, events);
  rows_->end();
  const auto times = host.queries.times.as<std::int64_t>();
  if (!times.empty()) last_time_ = *std::ranges::max_element(times);
}

void ModelState::end() {
  if (any()) rows_->end();
}

void ModelState::check_events(const Batch& host) {
  const Queries& asked = host.queries;
  if (asked.size() == 0) return;
  if (asked.kind != QueryKind::kLinks || asked.times.empty())
    throw Error(ErrorCode::kUsage,
                "this model remembers events, and its task asks about none: about links at times",
                "choose task.type = \"temporal_link_prediction\", or a model without a memory");
  if (features_ && asked.ids.empty())
    throw Error(ErrorCode::kUsage,
                "this model remembers features of events, and the links asked about are no edges "
                "of the graph",
                "ask about edges of the graph, or choose a model without a memory");
  const std::int64_t first = std::ranges::min(asked.times.as<std::int64_t>());
  if (!last_time_ || first >= *last_time_) return;
  throw Error(ErrorCode::kUsage,
              "this model remembers events in the order of time, and its task asks about them in "
              "another",
              "choose task.type = \"temporal_link_prediction\", or a model without a memory");
}

}  // namespace sluice
