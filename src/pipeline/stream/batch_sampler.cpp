#include "pipeline/stream/batch_sampler.h"

#include "samplers/exclude_edges.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

// Of sampled blocks, by two cores, of a graph in memory.
constexpr double kSampledBytesASecond = 500e6;

std::shared_ptr<const SamplerMethod> method_of(const LoaderOptions& options) {
  if (options.sampler) return options.sampler;
  return std::make_shared<SamplerKind<NeighborSampler>>(NeighborSamplerOptions{options.fanout});
}

// That a query source of somebody's own gives what is read as numbers of nodes.
void check_dtypes(const QueryBatch& asked) {
  const auto check = [&](const Array& array, DType wanted, const char* what) {
    if (array.empty() || array.dtype() == wanted) return;
    throw Error(ErrorCode::kUsage,
                fmt::format("the query source gives {} of mini-batch {} as {}, not {}",
                            what,
                            asked.index,
                            to_string(array.dtype()),
                            to_string(wanted)),
                "make these arrays as sluice/query.h says");
  };
  for (const Array& seeds : asked.seeds) check(seeds, DType::kU64, "seeds");
  for (const Array& events : asked.seed_events) check(events, DType::kU64, "seed_events");
  for (const Array& times : asked.seed_times) check(times, DType::kI64, "seed_times");
  check(asked.queries.ids, DType::kU64, "Queries::ids");
  for (const EdgePairs& pairs : asked.excluded) {
    check(pairs.sources, DType::kU64, "excluded sources");
    check(pairs.targets, DType::kU64, "excluded targets");
  }
}

}  // namespace

BatchSampler::BatchSampler(const BatchSetting& setting)
    : BatchSampler(setting,
                   setting.data.sampling_graph(setting.options, setting.queries, setting.ledger)) {}

// Transposes follow from the rest: they are made last, so that neither windows nor scratch files
// hold them.
BatchSampler::BatchSampler(const BatchSetting& setting, SamplerGraph graph)
    : setting_(setting),
      arena_(setting.options.data_threads),
      sampler_(std::move(graph),
               method_of(setting.options),
               {.transpose = false,
                .edge_ids = setting.options.edge_ids || setting.data.looks_up_edges(),
                .degrees = setting.options.degrees,
                .relation_degrees = setting.options.relation_degrees},
               RandomKey(setting.options.seed),
               arena_) {}

// As many are sampled together as there was room for by the first: where later ones are larger,
// and there is none, fewer.
std::vector<Batch> BatchSampler::sample(std::uint64_t epoch,
                                        std::uint64_t first,
                                        std::size_t count) {
  while (paged() && count > GroupSampler::kGroup) {
    try {
      return sample_together(epoch, first, count);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kResource) throw;
    }
    count = std::max(count / 2, GroupSampler::kGroup);
    sampler_.set_group(count);
  }
  return sample_together(epoch, first, count);
}

std::vector<Batch> BatchSampler::sample_together(std::uint64_t epoch,
                                                 std::uint64_t first,
                                                 std::size_t count) {
  MemoryLedger* const ledger = &setting_.ledger;
  std::vector<QueryBatch> asked(count);
  std::vector<SampleRequest> requests(count);
  arena_.for_each(count, [&](std::size_t i) {
    asked[i] = setting_.queries.batch(epoch, first + i, ledger).or_throw();
    check_dtypes(asked[i]);
    requests[i] = {epoch, asked[i].round, first + i, SeedLists(asked[i]), asked[i].cut};
  });
  std::vector<Batch> batches = sampler_.sample(requests, ledger).or_throw();
  arena_.for_each(count, [&](std::size_t i) {
    exclude_edges(batches[i], asked[i].excluded, ledger).or_throw();
    batches[i].queries = std::move(asked[i].queries);
  });
  return batches;
}

Batch BatchSampler::sample_one(std::uint64_t index) {
  Batch batch = std::move(sample(0, index, 1).front());
  measured_workspace_ = bytes_a_workspace();
  return batch;
}

bool BatchSampler::worth_keeping() const {
  if (paged()) return true;
  const DiskRates& rates = setting_.data.disk->rates();
  if (rates.sequential_write == 0) return false;
  return 1 / rates.sequential_read + 1 / rates.sequential_write < 1 / kSampledBytesASecond;
}

std::uint64_t BatchSampler::bytes_a_workspace() const {
  const std::uint64_t made = std::max<std::size_t>(sampler_.workspaces(), 1);
  return std::max(measured_workspace_, sampler_.workspace_bytes() / made);
}

std::uint64_t BatchSampler::release_workspaces() {
  const std::uint64_t before = sampler_.workspace_bytes();
  sampler_.release();
  return before - sampler_.workspace_bytes();
}

}  // namespace sluice
