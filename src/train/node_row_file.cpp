#include "train/node_row_file.h"

#include "core/interrupt.h"
#include "storage/checkpoint/safetensors.h"
#include "train/predictions.h"

#include <sluice/nn/tensor_view.h>

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sluice {
namespace {

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

void write_tensors(const Parts& parts,
                   const NodeRowSource& rows,
                   const std::filesystem::path& out) {
  const NodeTypeSchema& type = parts.dataset.schema().nodes.at(rows.type);
  const SafetensorsContent content{
      {{"format", "pt"}, {"node_type", type.name}, {"model", parts.options.model.type}},
      id_tensors(parts, type)};
  const auto read = [&](std::uint64_t first, std::span<float> to) {
    throw_if_interrupted();
    const auto count = static_cast<std::int64_t>(to.size()) / rows.columns;
    const torch::Tensor tile =
        rows.read(static_cast<std::int64_t>(first), count).cpu().contiguous();
    std::ranges::copy_n(tile.const_data_ptr<float>(), std::ssize(to), to.data());
  };
  (void)write_safetensors(
      out, content, {{"rows", type.count, static_cast<std::uint64_t>(rows.columns), read}});
}

void write_records(const Parts& parts,
                   const NodeRowSource& rows,
                   const std::filesystem::path& out) {
  const NodeTypeSchema& type = parts.dataset.schema().nodes.at(rows.type);
  std::vector<ExternalIds> ids;
  ids.push_back(parts.dataset.ids(type.name));
  PredictionSchema schema;
  schema.ids.push_back({"id", longest_id(ids.back(), type.count)});
  for (std::int64_t column = 0; column < rows.columns; ++column)
    schema.columns.push_back(fmt::format("e{}", column));
  schema.dtype = DType::kF32;
  schema.rows = type.count;
  const auto file = PredictionFile::create(out, ids, schema);
  constexpr std::int64_t kPiece = 4096;
  const auto count = static_cast<std::int64_t>(type.count);
  for (std::int64_t at = 0; at < count; at += kPiece) {
    throw_if_interrupted();
    const std::int64_t here = std::min(kPiece, count - at);
    const torch::Tensor values = rows.read(at, here).cpu().clone();
    const torch::Tensor nodes = torch::arange(at, at + here).view(torch::kUInt64);
    const std::vector<std::uint8_t> known(static_cast<std::size_t>(here), 1);
    file->append({nn::as_array(nodes)}, nn::as_array(values), known);
  }
  file->commit();
}

}  // namespace

std::uint64_t longest_id(const ExternalIds& ids, std::uint64_t count) {
  if (ids.kind() != IdKind::kString) return 0;
  std::uint64_t longest = 1;
  for (std::uint64_t node = 0; node < count; ++node)
    longest = std::max<std::uint64_t>(longest, ids.text(node).size());
  return longest;
}

void check_row_file_name(const std::filesystem::path& out) {
  for (const char* ending : {".csv", ".npy", ".safetensors"})
    if (out.extension() == ending) return;
  throw Error(ErrorCode::kUsage,
              "rows are written as .csv, .npy or .safetensors, and this name ends in none",
              "for example --out rows.npy",
              Place{out.string(), -1, -1, -1});
}

std::uint64_t least_row_file_bytes(const NodeTypeSchema& type,
                                   std::int64_t columns,
                                   const std::filesystem::path& out) {
  // A digit and what parts it from the next; an f32.
  const std::uint64_t of_value = out.extension() == ".csv" ? 2 : sizeof(float);
  return type.count * static_cast<std::uint64_t>(columns) * of_value;
}

std::uint64_t write_node_rows(const Parts& parts,
                              const NodeRowSource& rows,
                              const std::filesystem::path& out) {
  if (out.extension() == ".safetensors") {
    write_tensors(parts, rows, out);
  } else {
    write_records(parts, rows, out);
  }
  return parts.dataset.schema().nodes.at(rows.type).count;
}

}  // namespace sluice
