#include "pipeline/stage/assembler.h"

#include "pipeline/stage/deferred_rows.h"

#include <sluice/samplers/transpose_block.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace sluice {

Assembler::Assembler(GraphData::State& data, const LoaderOptions& options, MemoryLedger& ledger)
    : data_(data),
      options_(options),
      ledger_(ledger),
      arena_(std::make_shared<ThreadArena>(options.data_threads)) {
  for (const FeatureTable& table : data.tables) {
    const DType dtype = table.store->schema().dtype;
    if (!kernels::can_widen(dtype)) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("features of dtype {} cannot be trained on", to_string(dtype)),
                  "prepare them as f32, f16, bf16 or int8");
    }
  }
}

void Assembler::assemble(Batch& batch, const Window& window, std::size_t index) {
  add_derived(batch);
  add_labels(batch);
  add_features(batch, window, index);
}

void Assembler::assemble_blank(Batch& batch) {
  add_derived(batch);
  add_labels(batch);
  const std::vector<FeatureList> lists = lists_of(batch);
  if (options_.deferred_features) batch.deferred = defer(lists, batch, nullptr, 0);
  for (const FeatureList& list : lists) {
    if (deferred(data_.tables[list.table])) continue;
    Array& features = *list.features;
    features = Array::make(DType::kF32, shape_of(list), &ledger_, "batch features").or_throw();
    std::ranges::fill(features.as<float>(), 0.0f);
  }
}

void Assembler::add_derived(Batch& batch) {
  std::vector<Block*> blocks;
  for (auto& layer : batch.layers) {
    for (Block& block : layer) blocks.push_back(&block);
  }
  arena_->for_each(blocks.size(), [&](std::size_t i) {
    Block& block = *blocks[i];
    if (options_.transpose) transpose_block(block, &ledger_).or_throw();
    if (block.relation >= data_.edge_labels.size()) return;
    const LabelTable& labels = data_.edge_labels[block.relation];
    if (!labels.empty() && block.num_edges() != 0)
      block.labels = labels.gather(block.edge_ids.as<std::uint64_t>(), ledger_);
  });
}

void Assembler::add_labels(Batch& batch) {
  if (!data_.labels.empty() && !batch.queries.ids.shape().empty())
    batch.labels = data_.labels.gather(batch.queries.ids.as<std::uint64_t>(), ledger_);
}

std::uint64_t Assembler::feature_bytes(const Batch& batch) const {
  std::uint64_t bytes = 0;
  for (const FeatureTable& table : data_.tables)
    bytes += count_rows(batch, table) * table.store->schema().dim * sizeof(float);
  return bytes;
}

std::uint64_t Assembler::assembled_bytes(const Batch& batch) const {
  std::uint64_t bytes = 0;
  for (const FeatureTable& table : data_.tables) {
    const std::uint64_t rows = count_rows(batch, table);
    if (!deferred(table)) bytes += rows * table.store->schema().dim * sizeof(float);
    if (deferred(table) && table.on_disk()) bytes += rows * table.store->row_bytes();
  }
  return bytes;
}

RowScale Assembler::scale_of(const FeatureTable& table) const {
  const bool normalized = options_.normalize_rows && table.of == FeatureTable::Of::kNodes;
  return normalized ? RowScale::kByAbsoluteSum : RowScale::kAsStored;
}

Array::Shape Assembler::shape_of(const FeatureList& list) const {
  return {static_cast<std::int64_t>(list.rows.size()),
          static_cast<std::int64_t>(store_of(list).schema().dim)};
}

template <class See>
void Assembler::for_rows(const FeatureList& list,
                         const Window& window,
                         std::size_t index,
                         const See& see) {
  const FeatureStore& store = store_of(list);
  const std::span<const std::uint64_t> wanted = list.rows;
  const WindowRows* const cached = window.rows[list.table].get();
  const SlotTable* const slots = cached == nullptr ? nullptr : &data_.caches[list.table]->table;
  std::span<const std::uint32_t> numbers, places;
  if (cached != nullptr) {
    numbers = std::as_const(cached->numbers[index])
                  .as<std::uint32_t>()
                  .subspan(list.first, wanted.size());
    places = std::as_const(cached->places).as<std::uint32_t>();
  }
  const auto row_at = [&](std::size_t i) {
    return slots != nullptr ? slots->row(places[numbers[i]]) : store.resident_row(wanted[i]);
  };
  for_stored_rows(*arena_, wanted.size(), row_at, see);
}

// @param window null: all rows are zeros
std::shared_ptr<const DeferredFeatures> Assembler::defer(const std::vector<FeatureList>& lists,
                                                         const Batch& batch,
                                                         const Window* window,
                                                         std::size_t index) {
  std::vector<DeferredRows::Source> sources;
  for (const FeatureList& list : lists) {
    const FeatureTable& table = data_.tables[list.table];
    if (!deferred(table)) continue;
    DeferredRows::Source& source = sources.emplace_back();
    source.type = table.owner;
    source.group = table.group;
    source.store = table.store.get();
    if (window == nullptr) continue;
    if (!table.on_disk()) {
      source.ids = batch.nodes[table.owner].ids;
      continue;
    }
    const std::size_t bytes = table.store->row_bytes();
    const auto count = static_cast<std::int64_t>(list.rows.size());
    source.stored =
        Array::make(
            DType::kU8, {count, static_cast<std::int64_t>(bytes)}, &ledger_, "batch features")
            .or_throw();
    std::byte* const out = source.stored.raw().data();
    for_rows(list, *window, index, [&](std::size_t at, std::span<const std::byte* const> rows) {
      for (std::size_t i = 0; i < rows.size(); ++i)
        std::memcpy(out + (at + i) * bytes, rows[i], bytes);
    });
  }
  const RowScale scale = options_.normalize_rows ? RowScale::kByAbsoluteSum : RowScale::kAsStored;
  return std::make_shared<DeferredRows>(std::move(sources), scale, arena_);
}

void Assembler::add_features(Batch& batch, const Window& window, std::size_t index) {
  const std::vector<FeatureList> lists = lists_of(batch);
  if (options_.deferred_features) batch.deferred = defer(lists, batch, &window, index);
  for (const FeatureList& list : lists) {
    const FeatureTable& table = data_.tables[list.table];
    if (deferred(table)) continue;
    Array& features = *list.features;
    if (features.shape().empty())
      features = Array::make(DType::kF32, shape_of(list), &ledger_, "batch features").or_throw();
    const FeatureSchema& schema = store_of(list).schema();
    const auto dim = static_cast<std::size_t>(schema.dim);
    const std::span<float> out = features.as<float>();
    const auto widen = [&](std::size_t first, std::span<const std::byte* const> rows) {
      widen_stored_rows(schema, scale_of(table), rows, out.subspan(first * dim, rows.size() * dim));
    };
    for_rows(list, window, index, widen);
  }
}

bool Assembler::gpu_may_gather() const {
  if (options_.normalize_rows) return false;
  for (std::size_t table = 0; table < data_.tables.size(); ++table) {
    const FeatureTable& of = data_.tables[table];
    if (of.rows() == 0) continue;
    if (!(of.on_disk() ? data_.caches[table]->table.pinned() : of.store->pinned())) return false;
  }
  return true;
}

void Assembler::add_addresses(const FeatureList& list,
                              const Window& window,
                              std::size_t index,
                              std::span<std::uint64_t> addresses) {
  const auto take = [&](std::size_t first, std::span<const std::byte* const> rows) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      addresses[first + i] = reinterpret_cast<std::uintptr_t>(rows[i]);
  };
  for_rows(list, window, index, take);
}

}  // namespace sluice
