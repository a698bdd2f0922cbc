#include "pipeline/assembler.h"

#include "kernels/widen_rows.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace sluice {
namespace {

void normalize(std::span<float> row) {
  double sum = 0;
  for (const float value : row) sum += std::abs(static_cast<double>(value));
  if (sum == 0) return;
  for (float& value : row) value = static_cast<float>(static_cast<double>(value) / sum);
}

}  // namespace

Assembler::Assembler(GraphData::State& data, const LoaderOptions& options, MemoryLedger& ledger)
    : data_(data), options_(options), ledger_(ledger), arena_(options.data_threads) {
  for (const auto& store : data.features) {
    if (!store) continue;
    const DType dtype = store->schema().dtype;
    if (!kernels::can_widen(dtype)) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("features of dtype {} cannot be trained on", to_string(dtype)),
                  "prepare them as f32, f16, bf16 or int8");
    }
  }
}

void Assembler::assemble(Batch& batch, const Window& window, std::size_t index) {
  for (std::size_t type = 0; type < batch.nodes.size(); ++type) {
    if (!data_.features[type]) continue;
    batch.nodes[type].features =
        gather_features(type, batch.nodes[type].ids, window.rows[type].get(), index);
  }
  if (!data_.labels.shape().empty()) batch.labels = gather_labels(batch.seeds);
}

std::uint64_t Assembler::assembled_bytes(const Batch& batch) const {
  std::uint64_t bytes = 0;
  for (std::size_t type = 0; type < batch.nodes.size(); ++type) {
    if (!data_.features[type]) continue;
    bytes += static_cast<std::uint64_t>(batch.nodes[type].ids.numel()) *
             data_.features[type]->schema().dim * sizeof(float);
  }
  return bytes;
}

Array Assembler::gather_features(std::size_t type,
                                 const Array& ids,
                                 const WindowRows* rows,
                                 std::size_t index) {
  FeatureStore& store = *data_.features[type];
  const auto dim = static_cast<std::size_t>(store.schema().dim);
  const std::span<const std::uint64_t> wanted = ids.as<std::uint64_t>();
  Array features =
      Array::make(
          DType::kF32, {ids.numel(), static_cast<std::int64_t>(dim)}, &ledger_, "batch features")
          .or_throw();
  const std::span<float> out = features.as<float>();
  const RowCache* const cache = rows == nullptr ? nullptr : data_.caches[type].get();
  std::span<const std::uint32_t> numbers, places;
  if (rows != nullptr) {
    numbers = rows->numbers[index].as<std::uint32_t>();
    places = std::as_const(rows->places).as<std::uint32_t>();
  }
  constexpr std::size_t kGrain = 256;  // rows a task
  arena_.for_ranges(wanted.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::byte* row =
          cache != nullptr ? cache->row(places[numbers[i]]) : store.resident_row(wanted[i]);
      const std::span<float> to = out.subspan(i * dim, dim);
      kernels::widen_rows({}, store.schema().dtype, &row, {to.data(), 1, store.schema().dim});
      if (options_.normalize_rows) normalize(to);
    }
  });
  return features;
}

Array Assembler::gather_labels(const Array& seeds) const {
  const Array& labels = data_.labels;
  Array::Shape shape = labels.shape();
  const std::size_t row_bytes =
      shape[0] == 0 ? 0 : labels.bytes() / static_cast<std::size_t>(shape[0]);
  shape[0] = seeds.numel();
  Array out = Array::make(labels.dtype(), shape, &ledger_, "batch labels").or_throw();
  const std::span<const std::uint64_t> nodes = seeds.as<std::uint64_t>();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::memcpy(
        out.raw().data() + i * row_bytes, labels.raw().data() + nodes[i] * row_bytes, row_bytes);
  }
  return out;
}

}  // namespace sluice
