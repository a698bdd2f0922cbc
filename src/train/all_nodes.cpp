// What a run says of all nodes: which are best at an end of links, and their learned rows.
#include "storage/checkpoint/safetensors.h"
#include "train/checks.h"
#include "train/evaluation.h"
#include "train/opened_run.h"
#include "train/predictions.h"

#include <sluice/nn/tensor_view.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>

namespace sluice {
namespace {

using AllNodesClock = std::chrono::steady_clock;

double seconds_of(AllNodesClock::time_point begin) {
  return std::chrono::duration<double>(AllNodesClock::now() - begin).count();
}

// The longest id of a type as text; 0 where ids are numbers.
std::uint64_t longest_of_type(const ExternalIds& ids, std::uint64_t count) {
  if (ids.kind() != IdKind::kString) return 0;
  std::uint64_t longest = 1;
  for (std::uint64_t node = 0; node < count; ++node)
    longest = std::max<std::uint64_t>(longest, ids.text(node).size());
  return longest;
}

// A table under ids of node types: one column of ids each.
struct IdTable {
  std::vector<ExternalIds> ids;
  PredictionSchema schema;

  void add(const Parts& parts, const IdColumn& column) {
    const NodeTypeSchema& type = parts.dataset.schema().nodes.at(column.type);
    ids.push_back(parts.dataset.ids(type.name));
    schema.ids.push_back({column.name, longest_of_type(ids.back(), type.count)});
  }
};

// f32 [q * k, columns]: rank, score, and the type where links have some.
torch::Tensor values_of_best(const BestEnds& best, const Batch& host, bool typed) {
  const std::int64_t queries = best.scores.size(0), count = best.scores.size(1);
  const torch::Tensor ranks =
      torch::arange(1, count + 1, torch::kFloat32).unsqueeze(0).expand({queries, count});
  std::vector<torch::Tensor> columns{ranks, best.scores};
  if (typed)
    columns.push_back(
        nn::as_tensor(host.labels).to(torch::kFloat32).unsqueeze(1).expand({queries, count}));
  return torch::stack(columns, 2).view({queries * count, -1}).contiguous();
}

// Each node `count` times, one after the other.
Array repeated(const Array& nodes, std::int64_t count) {
  return nn::as_array(
      nn::as_tensor(nodes).view(torch::kInt64).repeat_interleave(count).view(torch::kUInt64));
}

// The names of a dataset's node types that have learned rows, and the one that is wanted.
std::size_t type_with_rows(const Parts& parts, const std::string& wanted) {
  const auto& types = parts.dataset.schema().nodes;
  std::vector<std::string> known;
  for (std::size_t type = 0; type < types.size(); ++type)
    if (parts.rows->has(type)) known.push_back(types[type].name);
  if (known.empty())
    throw Error(ErrorCode::kUsage,
                "this run has no learned rows",
                "train one with embedding.dim above 0; export writes the weights of others",
                Place{parts.options.run.dir, -1, -1, -1});
  if (wanted.empty() && known.size() > 1)
    throw Error(
        ErrorCode::kUsage,
        fmt::format("{} node types have learned rows: {}", known.size(), fmt::join(known, ", ")),
        fmt::format("choose one: --type {}", known.front()),
        Place{parts.options.run.dir, -1, -1, -1});
  const std::string& name = wanted.empty() ? known.front() : wanted;
  if (std::ranges::count(known, name) == 0)
    throw unknown_name("node type with learned rows", name, known);
  return static_cast<std::size_t>(std::ranges::find(types, name, &NodeTypeSchema::name) -
                                  types.begin());
}

/// The ids of a type's nodes as tensors: numbers, or the bytes of texts and where each begins.
std::vector<CheckpointTensor> id_tensors(const Parts& parts, const NodeTypeSchema& type) {
  const ExternalIds ids = parts.dataset.ids(type.name);
  const auto count = static_cast<std::int64_t>(type.count);
  const auto make = [&](DType dtype, std::int64_t size) {
    return Array::make(dtype, {size}, parts.ledger.get(), "external ids").or_throw();
  };
  if (ids.kind() != IdKind::kString) {
    Array numbers = make(DType::kI64, count);
    for (std::uint64_t node = 0; node < type.count; ++node)
      numbers.as<std::int64_t>()[node] = ids.integer(node);
    return {{"ids", std::move(numbers)}};
  }
  Array offsets = make(DType::kI64, count + 1);
  const auto begins = offsets.as<std::int64_t>();
  begins[0] = 0;
  for (std::uint64_t node = 0; node < type.count; ++node)
    begins[node + 1] = begins[node] + static_cast<std::int64_t>(ids.text(node).size());
  Array bytes = make(DType::kU8, begins[type.count]);
  for (std::uint64_t node = 0; node < type.count; ++node) {
    const std::string text = ids.text(node);
    std::ranges::copy(text, bytes.as<std::uint8_t>().data() + begins[node]);
  }
  return {{"ids", std::move(bytes)}, {"ids.offsets", std::move(offsets)}};
}

/// Returns how many.
std::uint64_t write_rows_as_tensors(const Parts& parts,
                                    std::size_t type,
                                    const std::filesystem::path& out) {
  const NodeTypeSchema& schema = parts.dataset.schema().nodes[type];
  const SafetensorsContent content{
      {{"format", "pt"}, {"node_type", schema.name}, {"model", parts.options.model.type}},
      id_tensors(parts, schema)};
  const auto rows = static_cast<std::uint64_t>(parts.rows->count(type));
  const auto read = [&](std::uint64_t first, std::span<float> to) {
    const auto count = static_cast<std::int64_t>(to.size()) / parts.rows->dim(type);
    const torch::Tensor tile =
        parts.rows->tile(type, static_cast<std::int64_t>(first), count).cpu().contiguous();
    std::ranges::copy_n(tile.const_data_ptr<float>(), std::ssize(to), to.data());
  };
  (void)write_safetensors(
      out, content, {{"rows", rows, static_cast<std::uint64_t>(parts.rows->dim(type)), read}});
  return rows;
}

}  // namespace

PredictReport predict_best_run(const std::string& directory,
                               const std::vector<std::string>& sets,
                               const EvaluateOptions& wanted,
                               const BestRequest& best,
                               const std::filesystem::path& out,
                               const TrainContext& context) {
  const auto begin = AllNodesClock::now();
  PredictionFile::check_name(out);
  RunDirectory::check_output(directory, out);
  const auto opened =
      open_run(directory, sets, wanted, context, check_not_empty, AskedFor::kBestEnds);
  Parts& parts = *opened->run.parts;
  const std::vector<IdColumn> columns = parts.task->prediction_ids();
  const std::size_t looked = best.end == LinkEnd::kSource ? 0 : 1;
  if (columns.size() != 2)
    throw Error(ErrorCode::kUsage,
                "this task is not about links: it has no ends to be found",
                "leave --top out");
  ask_about_file(parts, wanted, AskedTargets::kLookedFor);
  IdTable table;
  for (const IdColumn& column : columns) table.add(parts, column);
  const auto nodes =
      static_cast<std::int64_t>(parts.dataset.schema().nodes.at(columns[looked].type).count);
  const std::int64_t count = std::min(best.count, nodes);
  const std::optional<std::size_t> relation = parts.task->labels_of().relation;
  const bool typed = relation.has_value();
  table.schema.columns = {"rank", "score"};
  if (typed) {
    table.schema.columns.emplace_back("type");
    table.schema.names = parts.dataset.schema().relations.at(*relation).labels->names;
    table.schema.name_column.clear();
  }
  table.schema.dtype = DType::kF32;
  table.schema.rows = parts.count(wanted.part) * static_cast<std::uint64_t>(count);
  const auto file = PredictionFile::create(out, table.ids, table.schema);
  const auto write = [&](const Batch& batch) {
    const BestEnds found = parts.task->best_ends(*parts.model, batch, best.end, count);
    const Batch& host = batch.on_host();
    std::vector<Array> ends = parts.task->predicted_nodes(host);
    ends[1 - looked] = repeated(ends[1 - looked], count);
    ends[looked] = found.nodes;
    const torch::Tensor values = values_of_best(found, host, typed);
    const std::vector<std::uint8_t> known(static_cast<std::size_t>(values.size(0)), 1);
    file->append(ends, nn::as_array(values), known);
  };
  (void)for_each_batch(parts, wanted.part, opened->run.plan.loader, 0, context.progress, write);
  file->commit();
  return {out.string(), table.schema.rows, 0, seconds_of(begin), {}};
}

PredictReport embed_run(const std::string& directory,
                        const std::vector<std::string>& sets,
                        const EvaluateOptions& wanted,
                        const std::string& type_name,
                        const std::filesystem::path& out,
                        const TrainContext& context) {
  const auto begin = AllNodesClock::now();
  const bool safetensors = out.extension() == ".safetensors";
  if (!safetensors && out.extension() != ".csv" && out.extension() != ".npy")
    throw Error(
        ErrorCode::kUsage,
        "learned rows are written as .csv, .npy or .safetensors, and this name ends in none",
        "for example --out rows.npy",
        Place{out.string(), -1, -1, -1});
  RunDirectory::check_output(directory, out);
  const auto opened = open_run(directory, sets, wanted, context, [](Parts&, Part) {});
  const Parts& parts = *opened->run.parts;
  const std::size_t type = type_with_rows(parts, type_name);
  if (safetensors) {
    const std::uint64_t rows = write_rows_as_tensors(parts, type, out);
    return {out.string(), rows, 0, seconds_of(begin), {}};
  }
  IdTable table;
  table.add(parts, {"id", type});
  for (std::int64_t column = 0; column < parts.rows->dim(type); ++column)
    table.schema.columns.push_back(fmt::format("e{}", column));
  table.schema.dtype = DType::kF32;
  table.schema.rows = static_cast<std::uint64_t>(parts.rows->count(type));
  const auto file = PredictionFile::create(out, table.ids, table.schema);
  constexpr std::int64_t kPiece = 4096;
  for (std::int64_t at = 0; at < parts.rows->count(type); at += kPiece) {
    const std::int64_t here = std::min(kPiece, parts.rows->count(type) - at);
    const torch::Tensor rows = parts.rows->tile(type, at, here).cpu().clone();
    const torch::Tensor nodes = torch::arange(at, at + here).view(torch::kUInt64);
    const std::vector<std::uint8_t> known(static_cast<std::size_t>(here), 1);
    file->append({nn::as_array(nodes)}, nn::as_array(rows), known);
  }
  file->commit();
  return {out.string(), table.schema.rows, 0, seconds_of(begin), {}};
}

}  // namespace sluice
