#include "train/commands.h"

#include "core/json_text.h"
#include "core/utf8.h"
#include "pipeline/trace.h"
#include "train/checks.h"
#include "train/continual.h"
#include "train/encoded_nodes.h"
#include "train/evaluation.h"
#include "train/layer_run.h"
#include "train/opened_run.h"
#include "train/predictions.h"
#include "train/trainer.h"
#include "train/weights_file.h"

#include <sluice/nn/precision.h>
#include <sluice/nn/tensor_view.h>

#include <fmt/format.h>
#include <spdlog/sinks/basic_file_sink.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

namespace sluice {
namespace {

using Clock = std::chrono::steady_clock;

// The log goes into the run directory too while this lives.
class LogFile {
 public:
  LogFile(Logger& log, const std::filesystem::path& path) : log_(log) {
    try {
      sink_ = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string());
    } catch (const spdlog::spdlog_ex& error) {
      throw Error(ErrorCode::kIo,
                  fmt::format("cannot write the log: {}", error.what()),
                  "check the run directory",
                  Place{path.string(), -1, -1, -1});
    }
    sink_->set_pattern("%Y-%m-%d %H:%M:%S %l %v");
    log_.sinks().push_back(sink_);
    log_.flush_on(spdlog::level::info);
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile() {
    auto& sinks = log_.sinks();
    sinks.erase(std::remove(sinks.begin(), sinks.end(), sink_), sinks.end());
  }

 private:
  Logger& log_;
  spdlog::sink_ptr sink_;
};

void say_plan(const PlannedRun& run, Logger& log) {
  Parts& parts = *run.parts;
  warn_of_run(parts, log);
  say_continual(parts, log);
  if (parts.options.train.products == MatrixProducts::kBFloat16 && !parts.device.device &&
      !nn::has_bf16_products()) {
    log.warn("this processor has no products of bf16: train.products = \"f32\" is faster here");
  }
  log.info("{} seeds to train on, {} to validate, {} to test; engine {}",
           format_count(parts.count(Part::kTrain)),
           format_count(parts.count(Part::kValid)),
           format_count(parts.count(Part::kTest)),
           parts.data.engine());
  log.debug("memory\n{}", run.plan.table());
  if (run.plan.device.budget != 0) log.debug("on the GPU\n{}", run.plan.device.table());
}

Work training_work(const RunOptions& options, const TrainContext& context) {
  const Dataset dataset = Dataset::open(options.dataset.path);
  const auto task = options.registry->tasks.create(options.task, {dataset.schema()});
  const bool valid = task->expected(Part::kValid, dataset.schema(), options.dataset.split) > 0;
  return {Work::Kind::kTrain, valid ? Part::kValid : Part::kTest, trace_bytes(context)};
}

// Does the work, and writes a trace of it where one is wanted: whole, also of work that failed or
// was interrupted. Whatever records ends with the work.
template <class Action>
RunReport traced(PlannedRun& run, const TrainContext& context, Action work) {
  if (context.trace.empty()) return work();
  TraceWriter trace(context.trace, run.parts->ledger.get(), "sluice-train");
  trace.name_thread("train");
  run.parts->trace = &trace;
  std::optional<RunReport> report;
  try {
    report = work();
  } catch (const Error&) {
    run.parts->trace = nullptr;
    try {
      trace.close();
    } catch (const Error& error) {
      context.log.warn("the trace is lost: {}", error.what());
    }
    throw;
  }
  run.parts->trace = nullptr;
  try {
    trace.close();
  } catch (const Error& error) {
    throw Error(error.code(),
                "the run is done, its trace is lost: " + error.message(),
                error.hint(),
                error.place());
  }
  return *std::move(report);
}

// The config text that a run directory keeps: paths that hold from any working directory. Throws
// Error(kUsage) where no such text can hold the dataset's path: before any work is done.
std::string kept_config(RunOptions options) {
  options.dataset.path =
      std::filesystem::absolute(options.dataset.path).lexically_normal().string();
  if (!valid_utf8(options.dataset.path)) {
    throw Error(ErrorCode::kUsage,
                "the dataset's path is not valid UTF-8, which a config must be",
                "make a link to it under another name (ln -s), and say dataset.path with that",
                Place{options.dataset.path, -1, -1, -1});
  }
  // Whoever goes on names the directory anew, so it need not be right to the byte.
  options.run.dir = as_utf8(std::filesystem::absolute(options.run.dir).lexically_normal().string());
  std::string& exact = options.embedding.exact_run;
  if (!exact.empty()) exact = as_utf8(std::filesystem::absolute(exact).lexically_normal().string());
  return options.text();
}

// @param exact the run that this one is set beside, where one is named
RunReport finish(PlannedRun& run,
                 Trainer& trainer,
                 RunDirectory& directory,
                 const std::optional<ExactRun>& exact,
                 const TrainContext& context) {
  trainer.train();
  const std::uint64_t weights = run.parts->learned_xxh3();  // those that training ended with
  std::vector<TableCache> trained_with = table_caches(*run.parts);
  const Metrics tested = trainer.test();
  auto continual = trainer.test_old();
  RunReport report = begin_report(run, context.peak, weights);
  // A test layer by layer has let go of them, and has sized those of learned rows for itself.
  if (ranks_encoded(*run.parts)) report.caches = std::move(trained_with);
  add_state(report, trainer.state());
  add_device_times(report, trainer.device_times());
  report.continual = std::move(continual);
  if (!tested.empty()) report.ranked_among = ranked_among(*run.parts, trainer.tested_by_layer());
  report.exact = exact;
  if (report.exact && leave_out_unlike(*report.exact, report.ranked_among))
    context.log.warn(
        "embedding.exact_run: that run's test is left out, which was ranked among other nodes than "
        "this one's (ranked_among in both reports); sluice-train evaluate ranks both among all");
  report.beside = trainer.beside();
  report.metrics.insert(tested.begin(), tested.end());
  report.metrics.insert(trainer.untrained().begin(), trainer.untrained().end());
  // Where there is no best epoch though there are nodes to validate by, their figures are none.
  if (report.epochs != 0 && !report.best_epoch && run.parts->count(Part::kValid) != 0)
    report.metrics.merge(part_metrics(Part::kValid, *metrics_of(*run.parts, Part::kValid)));
  save_weights(directory.weights_path(), *run.parts, trainer.state());
  directory.write_report(json_text(to_json(report), 2) + "\n");
  return report;
}

// The longest id of the nodes that predictions of a part are about, by column: 0 where ids are
// numbers.
std::vector<std::uint64_t> longest_ids(const Parts& parts,
                                       const std::vector<ExternalIds>& ids,
                                       Part part) {
  std::vector<std::uint64_t> longest;
  longest.reserve(ids.size());
  for (const ExternalIds& of_column : ids)
    longest.push_back(of_column.kind() == IdKind::kString ? 1 : 0);
  if (std::ranges::count(longest, 0) == std::ssize(longest)) return longest;
  QueryRequest request{part, parts.options.eval.batch_size, false, parts.key()};
  request.ends_alone = true;
  request.links = parts.asked_events;
  const auto queries = parts.task->queries(request, parts.data);
  for (std::uint64_t index = 0; index < queries->num_batches(); ++index) {
    Batch batch;
    QueryBatch asked = queries->batch(0, index, parts.ledger.get()).or_throw();
    batch.seeds = std::move(asked.seeds);
    batch.queries = std::move(asked.queries);
    const std::vector<Array> nodes = parts.task->predicted_nodes(batch);
    for (std::size_t column = 0; column < ids.size(); ++column) {
      if (longest[column] == 0) continue;
      for (const std::uint64_t node : nodes[column].as<std::uint64_t>())
        longest[column] = std::max<std::uint64_t>(longest[column], ids[column].text(node).size());
    }
  }
  return longest;
}

/// @param outputs of the task, any
PredictionSchema prediction_schema(const Parts& parts,
                                   const std::vector<ExternalIds>& ids,
                                   Part part) {
  PredictionSchema schema;
  schema.columns = parts.task->prediction_columns();
  schema.names = parts.task->prediction_names();
  schema.rows = parts.count(part);
  const torch::Tensor sample = parts.task->predict(torch::zeros({1, parts.task->output_width()}));
  schema.dtype = nn::dtype_of_tensor(sample);
  const std::vector<std::uint64_t> longest = longest_ids(parts, ids, part);
  const std::vector<IdColumn> columns = parts.task->prediction_ids();
  for (std::size_t column = 0; column < columns.size(); ++column)
    schema.ids.push_back({columns[column].name, longest[column]});
  return schema;
}

void check_measurable_by_layer(Parts& parts, Part part) {
  check_measurable(parts, part);
  check_ranks_encoded(parts);
}

// Rows of all nodes are made once, over a graph with all training links in it.
[[noreturn]] void refuse_known_answers(const std::string& directory, Part part) {
  throw Error(
      ErrorCode::kUsage,
      fmt::format("part {} of links is in the graph that rows of all nodes are made over: an "
                  "encoder's ranks among all of them would know the answers",
                  to_string(part)),
      "choose --part valid or --part test, or rank beside negatives of training: --set "
      "task.ranking=sampled --set task.share=false; --exact measures with these links in the graph",
      Place{directory, -1, -1, -1});
}

// For layers too where the task wants ranks among all nodes that the model does not give.
std::unique_ptr<Opened> open_to_measure(const std::string& directory,
                                        const std::vector<std::string>& sets,
                                        const EvaluateOptions& wanted,
                                        const TrainContext& context) {
  const bool of_training = wanted.part == Part::kTrain || wanted.part == Part::kAll;
  const AskedFor asked = of_training ? AskedFor::kTrainOutputs : AskedFor::kOutputs;
  if (wanted.inference != Inference::kByLayer) {
    if (!ranks_encoded(kept_options(directory, sets, context.registry), asked))
      return open_run(directory, sets, wanted, context, check_measurable, asked);
    if (of_training) refuse_known_answers(directory, wanted.part);
  }
  return open_for_layers(directory, sets, wanted, context, check_measurable_by_layer, asked);
}

}  // namespace

RunReport run_training(const RunOptions& options,
                       RunDirectory::Mode mode,
                       const TrainContext& context) {
  RunDirectory::check(options.run.dir, mode);
  const std::string config = kept_config(options);
  const std::optional<ExactRun> exact = read_exact_run(options);
  PlannedRun run = plan_run(options, training_work(options, context), context.log);
  check_trainable(*run.parts);
  check_space_to_rank(*run.parts);
  check_continual(*run.parts);
  return traced(run, context, [&] {
    RunDirectory directory(options.run.dir, mode);
    const LogFile log_file(context.log, directory.log_path());
    directory.write_config(config);
    say_plan(run, context.log);
    plan_epochs(run, directory.path(), context.log);
    sort_links(run, directory.path(), context.log);
    Trainer trainer(run, directory, config, context.log, context.progress);
    trainer.begin();
    return finish(run, trainer, directory, exact, context);
  });
}

RunReport resume_training(const std::string& path,
                          const std::vector<std::string>& sets,
                          const TrainContext& context) {
  const RunOptions options = kept_options(path, sets, context.registry);
  const std::string config = kept_config(options);
  const std::optional<ExactRun> exact = read_exact_run(options);
  PlannedRun run = plan_run(options, training_work(options, context), context.log);
  check_trainable(*run.parts);
  return traced(run, context, [&] {
    RunDirectory directory(path, RunDirectory::Mode::kGoOn);
    const LogFile log_file(context.log, directory.log_path());
    plan_epochs(run, directory.path(), context.log);
    sort_links(run, directory.path(), context.log);
    Trainer trainer(run, directory, config, context.log, context.progress);
    if (directory.has_checkpoint(CheckpointKind::kLast)) {
      trainer.restore();
      context.log.info("resumed in epoch {} after {} mini-batches",
                       trainer.state().epoch + 1,
                       trainer.state().next_batch);
    } else {
      trainer.begin();
      (void)directory.keep_metrics(0);
      context.log.info("no checkpoint yet: the run begins anew");
    }
    directory.write_config(config);
    say_plan(run, context.log);
    return finish(run, trainer, directory, exact, context);
  });
}

RunReport evaluate_run(const std::string& directory,
                       const std::vector<std::string>& sets,
                       const EvaluateOptions& wanted,
                       const TrainContext& context) {
  const auto opened = open_to_measure(directory, sets, wanted, context);
  Parts& parts = *opened->run.parts;
  const bool by_layer = wanted.inference == Inference::kByLayer || ranks_encoded(parts);
  if (!by_layer) warn_of_hidden_links(parts, wanted.part, context.log);
  return traced(opened->run, context, [&] {
    Evaluation evaluation =
        by_layer
            ? evaluate_by_layer(parts, wanted.part, 0, context.progress, context.log)
            : evaluate(
                  parts, wanted.part, opened->run.plan.loader, 0, context.progress, context.log);
    RunReport report = begin_report(opened->run, context.peak, opened->run.parts->learned_xxh3());
    report.epochs = opened->state.epoch;
    report.metrics = evaluation.metrics;
    report.ranked_among = ranked_among(parts, by_layer);
    report.beside = std::move(evaluation.beside);
    report.seconds = evaluation.seconds;
    report.bytes_read = evaluation.stats.bytes_read;
    report.bytes_written = evaluation.stats.bytes_written;
    report.bytes_useful = evaluation.stats.bytes_useful;
    report.counters += evaluation.stats;
    report.plan = plan_name(evaluation.stats);
    if (report.batches_xxh3) report.batches_xxh3 = evaluation.stats.batches_xxh3;
    return report;
  });
}

PredictReport predict_run(const std::string& directory,
                          const std::vector<std::string>& sets,
                          const EvaluateOptions& wanted,
                          const std::filesystem::path& out,
                          const TrainContext& context) {
  const auto begin = Clock::now();
  PredictionFile::check_name(out);
  RunDirectory::check_output(directory, out);
  const auto opened = open_run(directory, sets, wanted, context, check_not_empty);
  Parts& parts = *opened->run.parts;
  ask_about_file(parts, wanted, AskedTargets::kGiven);
  warn_of_hidden_links(parts, wanted.part, context.log);
  std::vector<ExternalIds> ids;
  for (const IdColumn& column : parts.task->prediction_ids())
    ids.push_back(parts.dataset.ids(parts.dataset.schema().nodes.at(column.type).name));
  const PredictionSchema schema = prediction_schema(parts, ids, wanted.part);
  const auto file = PredictionFile::create(out, ids, schema);
  const auto append = [&](const torch::Tensor& outputs, const Array& finite, const Batch& batch) {
    file->append(parts.task->predicted_nodes(batch),
                 nn::as_array(parts.task->predict(outputs)),
                 finite.as<std::uint8_t>());
  };
  const Forwarded all =
      for_each_output(parts, wanted.part, opened->run.plan.loader, 0, context.progress, append);
  file->commit();
  if (all.not_finite.rows != 0) {
    context.log.warn(
        "{}: they have no prediction ({}); {}",
        all.not_finite.text(parts, wanted.part),
        out.extension() == ".csv" ? "empty fields" : "-1 for a class, NaN for a target",
        kMendNotFinite);
  }
  return {out.string(),
          schema.rows,
          all.not_finite.rows,
          std::chrono::duration<double>(Clock::now() - begin).count(),
          parts.task->class_names()};
}

WeightsReport export_run(const std::string& directory,
                         CheckpointKind checkpoint,
                         const std::filesystem::path& out) {
  check_weights_name(out);
  RunDirectory::check(directory, RunDirectory::Mode::kGoOn);
  return export_weights(stored_checkpoint(directory, checkpoint), out);
}

namespace {

// What learned rows on disk are priced by: the dataset's disk, as the run directory may not be
// there yet. Null where none are, or it could not be measured.
std::shared_ptr<const DiskProfile> rows_disk(PlannedRun& run, Logger& log) {
  const bool memory = run.places.embeddings.where == Placement::kMemory;
  return memory || !run.parts->tables.any() ? nullptr : disk_of(run, log);
}

}  // namespace

DryRun dry_run(const RunOptions& options, const TrainContext& context) {
  constexpr double kSeconds = 20;  // of sampling, at most
  PlannedRun run = plan_run(options, training_work(options, context), context.log);
  check_trainable(*run.parts);
  check_space_to_rank(*run.parts);
  warn_of_run(*run.parts, context.log);
  const BatchTimes timed = time_batches(*run.parts);
  // A forecast writes nothing: that epochs would be planned is all it is told.
  plan_epochs(run, options.run.dir, context.log);
  LoaderForecast forecast = run.parts->training_loader(run.plan.loader)->forecast(kSeconds);
  const EpochEstimate estimate =
      estimate_epoch(*run.parts, timed, forecast, rows_disk(run, context.log).get());
  return {kept_config(options),
          run.places,
          run.plan,
          run.parts->data.engine(),
          std::move(forecast),
          run.parts->tables.needs(),
          estimate,
          places_by_key(run.parts->dataset.schema(), run.places.relations)};
}

}  // namespace sluice
