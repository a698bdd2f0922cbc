#include <sluice/tasks/link_task.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice::tasks {
namespace {

// Nodes by the rows that queries have of them.
Result<Array> nodes_at(const Array& rows, const Array& seeds) {
  auto made = Array::make(DType::kU64, {rows.numel()});
  if (!made) return made;
  const auto ids = seeds.as<std::uint64_t>();
  std::ranges::transform(rows.as<std::int64_t>(),
                         made.value().as<std::uint64_t>().begin(),
                         [&](std::int64_t row) { return ids[static_cast<std::size_t>(row)]; });
  return made;
}

}  // namespace

LinkTask::LinkTask(LinkPartsOptions options, const GraphSchema& schema, const std::string& name)
    : parts_(std::move(options), schema, Asker{fmt::format("task '{}'", name)}) {}

std::vector<std::size_t> LinkTask::target_types() const {
  if (parts_.same_type()) return {source_type()};
  return {std::min(source_type(), destination_type()), std::max(source_type(), destination_type())};
}

void LinkTask::open(const TaskData& data) {
  parts_.open(data.dataset, data.split, data.key, row_types());
}

std::uint64_t LinkTask::count(Part part, const GraphData& data) const {
  return parts_.links(part, data)->size();
}

std::unique_ptr<QuerySource> LinkTask::queries(const QueryRequest& request,
                                               const GraphData& data) const {
  if (request.sampler && request.sampler->needs_times())
    throw Error(ErrorCode::kUsage,
                "this task does not ask about links at times, which [sampler] type needs",
                "choose another sampler, neighbor for one");
  if (asks_whether()) parts_.check_reverse(data);
  auto asked = request.links ? request.links : parts_.links(request.part, data);
  LinkQueryOptions options;
  options.relation = relation();
  options.batch_size = request.batch_size;
  options.shuffle = request.shuffle ? Shuffle::kEveryEpoch : Shuffle::kOff;
  options.key = request.key;
  options.order = request.order;
  const Negatives wanted = negatives(request, data);
  // A list that has examples of none needs no others.
  if (wanted.count > 0 && !asked->have_truth() && !request.ends_alone) {
    NegativeSamplerOptions drawn;
    drawn.count = wanted.count;
    drawn.filtered = wanted.filtered;
    options.negatives = std::make_shared<UniformNegatives>(
        data.graph(), drawn, request.key.with(to_string(request.part)), request.ledger);
  }
  if (!asked->have_truth() && !request.ends_alone) {
    options.shared = wanted.shared;
    options.listed_destinations = wanted.destinations;
    options.listed_sources = wanted.sources;
  }
  options.exclude = hides_asked(request.part);
  options.reverse = parts_.reverse();
  return std::make_unique<LinkQueries>(data.schema(), std::move(asked), std::move(options));
}

PartitionedLinks LinkTask::partitioned_links(const GraphData& data) const {
  return {parts_.links(Part::kTrain, data), source_type(), destination_type()};
}

std::vector<Array> LinkTask::predicted_nodes(const Batch& batch) const {
  const Queries& queries = batch.queries;
  return {nodes_at(queries.sources, batch.seeds[queries.type]).or_throw(),
          nodes_at(queries.destinations, batch.seeds[queries.destination_type]).or_throw()};
}

}  // namespace sluice::tasks
