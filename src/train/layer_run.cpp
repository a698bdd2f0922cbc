#include "train/layer_run.h"

#include "train/encoded_nodes.h"
#include "train/layer_pass.h"
#include "train/model_wants.h"

#include <sluice/error.h>

#include <optional>
#include <utility>
#include <vector>

namespace sluice {
namespace {

// Where data may be for passes over layers. What these take beside it is not measured: relations
// are in memory only as far as they are named, or cannot be read from disk, as in the last
// placement, which keeps the least.
std::vector<PlaceChoice> choices_for_layers(const RunOptions& options) {
  const GraphSchema schema = Dataset::open(options.dataset.path).schema();
  std::vector<PlaceChoice> all = place_choices(options.storage,
                                               schema,
                                               wants_of_model(options, schema).features,
                                               options.memory.host.bytes,
                                               Turns::kNever,
                                               options.storage.embeddings,
                                               learned_bytes(options, schema));
  const RelationPlaces least = all.back().places.relations;
  std::erase_if(all, [&](const PlaceChoice& choice) {
    return !choice.places.relations.empty() && choice.places.relations != least;
  });
  return all;
}

PlannedRun open_parts(const RunOptions& options, Work work) {
  const std::uint64_t budget = options.memory.host.bytes;
  const std::vector<PlaceChoice> all = choices_for_layers(options);
  for (std::size_t at = 0;; ++at) {
    const bool last = at + 1 >= all.size();
    const PlaceChoice& choice = all.at(at);
    try {
      auto ledger = std::make_shared<MemoryLedger>(budget, "[memory] host");
      PartsPlacement placement;
      placement.features = choice.places.features.where;
      placement.topology = choice.places.topology.where;
      placement.embeddings = choice.places.embeddings.where;
      placement.phases = choice.phases;
      placement.relations = choice.places.relations;
      placement.asked = work.asked;
      auto parts = std::make_unique<Parts>(options, RunDevice{}, ledger, placement);
      if (!last && ledger->available() < budget / 2) continue;
      return {std::move(parts), choice.places, {}, work};
    } catch (const Error& error) {
      if (last || error.code() != ErrorCode::kResource) throw;
    }
  }
}

}  // namespace

std::unique_ptr<Opened> open_for_layers(const std::string& directory,
                                        const std::vector<std::string>& sets,
                                        const EvaluateOptions& wanted,
                                        const TrainContext& context,
                                        void (*check)(Parts&, Part),
                                        AskedFor asked) {
  auto opened =
      std::make_unique<Opened>(Opened{kept_options(directory, sets, context.registry), {}, {}});
  RunOptions& options = opened->options;
  options.train.device = DeviceChoice::kCpu;
  check_granted(options.memory.host.bytes);
  const std::filesystem::path checkpoint = stored_checkpoint(directory, wanted.checkpoint);
  opened->run =
      open_parts(options, {Work::Kind::kEvaluate, wanted.part, trace_bytes(context), asked});
  Parts& parts = *opened->run.parts;
  check(parts, wanted.part);
  size_learned_caches(parts);
  opened->state = restore_checkpoint(checkpoint, CheckpointKind::kBest, parts);
  context.log.info("weights of {}, after epoch {}", checkpoint.string(), opened->state.epoch);
  return opened;
}

Evaluation evaluate_by_layer(
    Parts& parts, Part part, std::uint64_t batches_xxh3, ProgressStyle progress, Logger& log) {
  std::optional<EncodedNodes> encoded;
  if (layers_to_pass(parts) != 0 || ranks_encoded(parts)) encoded.emplace(parts, progress, log);
  Evaluation found = evaluate(parts, part, memory_over(parts, part), batches_xxh3, progress, log);
  if (encoded) {
    found.seconds += encoded->seconds();
    found.stats.bytes_read += encoded->bytes_read();
    found.stats.bytes_written += encoded->bytes_written();
  }
  return found;
}

}  // namespace sluice
