#include "train/layer_run.h"

#include "train/layer_pass.h"
#include "train/model_wants.h"
#include "train/node_sweep.h"
#include "train/stored_encodings.h"

#include <sluice/error.h>

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

PlannedRun open_parts(const RunOptions& options, Work work) {
  const std::uint64_t budget = options.memory.host.bytes;
  const GraphSchema schema = Dataset::open(options.dataset.path).schema();
  const std::vector<PlaceChoice> all = place_choices(options.storage,
                                                     schema,
                                                     wants_of_model(options, schema).features,
                                                     budget,
                                                     Turns::kNever,
                                                     options.storage.embeddings,
                                                     learned_bytes(options, schema));
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
      auto parts = std::make_unique<Parts>(options, RunDevice{}, ledger, placement);
      if (!last && ledger->available() < budget / 2) continue;
      return {std::move(parts), choice.places, {}, std::move(work)};
    } catch (const Error& error) {
      if (last || error.code() != ErrorCode::kResource) throw;
    }
  }
}

// While this lives the run has another model, which needs no learned rows.
class ModelInPlace {
 public:
  /// @param model null: the run's own stays
  ModelInPlace(Parts& parts, std::shared_ptr<Model> model) : parts_(parts) {
    if (!model) return;
    own_ = std::exchange(parts.model, std::move(model));
    rows_ = std::exchange(parts.rows, std::make_unique<nn::LearnedRows>());
  }
  ModelInPlace(const ModelInPlace&) = delete;
  ModelInPlace& operator=(const ModelInPlace&) = delete;
  ~ModelInPlace() {
    if (!own_) return;
    parts_.model = std::move(own_);
    parts_.rows = std::move(rows_);
  }

 private:
  Parts& parts_;
  std::shared_ptr<Model> own_;
  std::unique_ptr<nn::LearnedRows> rows_;
};

// Learned rows on disk get a cache for mini-batches of nodes that follow each other.
void size_learned_caches(Parts& parts, std::uint64_t chunk) {
  constexpr std::uint64_t kShare = 8;  // of the budget that is left
  if (!parts.tables.any()) return;
  Batch first;
  for (const NodeTypeSchema& type : parts.dataset.schema().nodes) {
    const auto count = static_cast<std::int64_t>(std::min(type.count, chunk));
    BatchNodes& nodes = first.nodes.emplace_back();
    nodes.ids = Array::make(DType::kU64, {count}, parts.ledger.get(), "batches").or_throw();
    const auto ids = nodes.ids.as<std::uint64_t>();
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
  }
  parts.rows->begin(first, nn::Gradients::kNone);
  parts.rows->end();
  const LearnedNeeds needs = parts.tables.needs();
  const std::uint64_t bytes = std::max(needs.least, parts.ledger->available() / kShare);
  parts.tables.share_cache(std::min(bytes, std::max(needs.least, needs.most)), 1);
}

}  // namespace

std::unique_ptr<Opened> open_for_layers(const std::string& directory,
                                        const std::vector<std::string>& sets,
                                        const EvaluateOptions& wanted,
                                        const TrainContext& context,
                                        void (*check)(Parts&, Part)) {
  auto opened =
      std::make_unique<Opened>(Opened{kept_options(directory, sets, context.registry), {}, {}});
  RunOptions& options = opened->options;
  options.train.device = DeviceChoice::kCpu;
  check_granted(options.memory.host.bytes);
  const std::filesystem::path checkpoint = stored_checkpoint(directory, wanted.checkpoint);
  opened->run = open_parts(options, {Work::Kind::kEvaluate, wanted.part, trace_bytes(context), {}});
  Parts& parts = *opened->run.parts;
  check(parts, wanted.part);
  size_learned_caches(parts, static_cast<std::uint64_t>(options.eval.batch_size));
  opened->state = restore_checkpoint(checkpoint, CheckpointKind::kBest, parts);
  context.log.info("weights of {}, after epoch {}", checkpoint.string(), opened->state.epoch);
  return opened;
}

Evaluation evaluate_by_layer(Opened& opened, Part part, const TrainContext& context) {
  Parts& parts = *opened.run.parts;
  std::shared_ptr<Model> made;
  std::vector<LayerFigures> figures;
  if (layers_to_pass(parts) != 0) {
    LayerPassOptions options;
    options.scratch = opened.options.run.dir;
    options.chunk = static_cast<std::uint64_t>(opened.options.eval.batch_size);
    options.progress = context.progress;
    std::vector<bool> wanted(parts.dataset.schema().nodes.size(), false);
    for (const std::size_t type : parts.task->target_types()) wanted[type] = true;
    NodeTables tables = pass_layers(parts, wanted, options, figures);
    for (const LayerFigures& each : figures)
      context.log.info("layer {}: {} rows, read {:.2f} times, {:.2f} s",
                       each.layer,
                       each.rows,
                       each.times(),
                       each.seconds);
    made = std::make_shared<StoredEncodings>(std::move(tables), *parts.ledger);
  }
  const ModelInPlace in_place(parts, std::move(made));
  LoaderMemory memory;
  if (parts.count(part) != 0)
    memory = loader_memory(*parts.evaluation_loader(part, {}), *parts.ledger);
  Evaluation found = evaluate(parts, part, memory, 0, context.progress, context.log);
  for (const LayerFigures& each : figures) found.seconds += each.seconds;
  return found;
}

}  // namespace sluice
