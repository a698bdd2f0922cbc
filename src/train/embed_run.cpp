// sluice-train embed: the rows of every node of a type, learned ones as they are, or those that the
// model makes of full neighbourhoods.
#include "budget/dataset_disk.h"
#include "train/commands.h"
#include "train/layer_pass.h"
#include "train/layer_run.h"
#include "train/layer_work.h"
#include "train/node_row_file.h"
#include "train/opened_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace sluice {
namespace {

using EmbedClock = std::chrono::steady_clock;

void check_nothing(Parts&, Part) {}

// Among the node types that have such rows, the one that is wanted. @param what "learned rows"
std::size_t chosen_type(const Parts& parts,
                        const std::vector<std::size_t>& among,
                        const std::string& wanted,
                        const char* what) {
  const auto& types = parts.dataset.schema().nodes;
  std::vector<std::string> known;
  known.reserve(among.size());
  for (const std::size_t type : among) known.push_back(types.at(type).name);
  if (wanted.empty() && known.size() > 1)
    throw Error(
        ErrorCode::kUsage,
        fmt::format("{} node types have {}: {}", known.size(), what, fmt::join(known, ", ")),
        fmt::format("choose one: --type {}", known.front()),
        Place{parts.options.run.dir, -1, -1, -1});
  const std::string& name = wanted.empty() ? known.front() : wanted;
  if (std::ranges::count(known, name) == 0)
    throw unknown_name(fmt::format("node type with {}", what), name, known);
  return static_cast<std::size_t>(std::ranges::find(types, name, &NodeTypeSchema::name) -
                                  types.begin());
}

std::size_t type_with_learned(const Parts& parts, const std::string& wanted) {
  std::vector<std::size_t> among;
  for (std::size_t type = 0; type < parts.dataset.schema().nodes.size(); ++type)
    if (parts.rows->has(type)) among.push_back(type);
  if (among.empty())
    throw Error(ErrorCode::kUsage,
                "this run has no learned rows",
                "leave --learned out, or train some with embedding.dim above 0",
                Place{parts.options.run.dir, -1, -1, -1});
  return chosen_type(parts, among, wanted, "learned rows");
}

// Of hidden rows all types may be asked for, of the last layer's those that the task is given.
std::size_t type_with_encodings(const Parts& parts, const EmbedOptions& embed) {
  std::vector<std::size_t> among = parts.task->target_types();
  if (embed.layer >= 0 && !embed.type.empty()) {
    among.clear();
    for (std::size_t type = 0; type < parts.dataset.schema().nodes.size(); ++type)
      among.push_back(type);
  }
  return chosen_type(parts, among, embed.type, "rows of the model");
}

NodeRowSource learned_rows(const Parts& parts, std::size_t type) {
  return {type, parts.rows->dim(type), [&parts, type](std::int64_t first, std::int64_t count) {
            return parts.rows->tile(type, first, count);
          }};
}

// What the disk alone would take for the bytes of all layers, of what passed.
std::optional<double> share_of_disk(const std::vector<LayerFigures>& layers,
                                    const DiskProfile* disk) {
  double alone = 0, passed = 0;
  if (disk == nullptr || disk->rates().sequential_write <= 0) return std::nullopt;
  for (const LayerFigures& each : layers) {
    alone += static_cast<double>(each.bytes_read) / disk->rates().sequential_read +
             static_cast<double>(each.bytes_written) / disk->rates().sequential_write;
    passed += each.seconds;
  }
  if (passed <= 0) return std::nullopt;
  return alone / passed;
}

std::filesystem::path folder_of(const std::filesystem::path& out) {
  return out.has_parent_path() ? out.parent_path() : std::filesystem::path(".");
}

// Of the rows that are written.
std::int64_t columns_of(const Parts& parts, std::int64_t layer) {
  const Layerwise* const layerwise = parts.model->layerwise();
  if (layerwise == nullptr) return parts.task->output_width();
  const std::int64_t depth = layerwise->depth();
  return layerwise->columns(layer < 0 || layer > depth ? depth : layer);
}

PredictReport write_encodings(Opened& opened,
                              const EmbedOptions& embed,
                              const std::filesystem::path& out,
                              const TrainContext& context) {
  Parts& parts = *opened.run.parts;
  const std::size_t type = type_with_encodings(parts, embed);
  (void)layers_to_pass(parts);  // refuses before the disk is measured
  DatasetDisk disk = measure_dataset_disk(parts.options.dataset.path, parts.ledger.get());
  for (const std::string& warning : disk.warnings) context.log.warn("{}", warning);
  LayerPassOptions options;
  options.scratch = folder_of(out);
  options.chunk = static_cast<std::uint64_t>(opened.options.eval.batch_size);
  options.progress = context.progress;
  options.layers = embed.layer;
  options.output_bytes = least_row_file_bytes(
      parts.dataset.schema().nodes.at(type), columns_of(parts, embed.layer), out);
  std::vector<bool> wanted(parts.dataset.schema().nodes.size(), false);
  wanted[type] = true;
  PredictReport report;
  const NodeTables tables = pass_layers(parts, wanted, options, report.layers);
  const PanelTable& table = *tables.at(type);
  report.rows = write_node_rows(parts,
                                {type,
                                 static_cast<std::int64_t>(table.shape().columns),
                                 [&table](std::int64_t first, std::int64_t count) {
                                   return read_rows(table,
                                                    static_cast<std::uint64_t>(first),
                                                    static_cast<std::uint64_t>(count));
                                 }},
                                out);
  report.of_device = share_of_disk(report.layers, disk.profile.get());
  return report;
}

}  // namespace

PredictReport embed_run(const std::string& directory,
                        const std::vector<std::string>& sets,
                        const EvaluateOptions& wanted,
                        const EmbedOptions& embed,
                        const std::filesystem::path& out,
                        const TrainContext& context) {
  const auto begin = EmbedClock::now();
  check_row_file_name(out);
  RunDirectory::check_output(directory, out);
  const auto opened = open_for_layers(directory, sets, wanted, context, check_nothing);
  Parts& parts = *opened->run.parts;
  const bool learned =
      embed.rows == EmbeddedRows::kLearned || parts.model->ranked_rows() != nullptr;
  if (learned && embed.layer >= 0)
    throw Error(ErrorCode::kUsage,
                "learned rows are of no layer",
                "leave --layer out",
                Place{directory, -1, -1, -1});
  PredictReport report;
  if (learned) {
    const std::size_t type = type_with_learned(parts, embed.type);
    report.rows = write_node_rows(parts, learned_rows(parts, type), out);
  } else {
    report = write_encodings(*opened, embed, out, context);
  }
  report.out = out.string();
  report.seconds = std::chrono::duration<double>(EmbedClock::now() - begin).count();
  return report;
}

}  // namespace sluice
