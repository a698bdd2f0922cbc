#include "storage/topology/merged_order.h"

#include "storage/format/appended_edges.h"
#include "storage/format/data_file_reader.h"
#include "storage/format/layout.h"
#include "storage/topology/relation_offsets.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace sluice {
namespace {

Result<Array> make_u64(std::size_t count, MemoryLedger* ledger) {
  return Array::make(DType::kU64, {static_cast<std::int64_t>(count)}, ledger, "topology");
}

// Before which of the CSC's edges a row goes.
std::uint64_t place_among(const MergedOrder::Source& source,
                          std::uint64_t target,
                          std::uint64_t row) {
  const auto [begin, end] = source.range(target);
  if (source.log_times.empty()) return end;
  const auto list = source.times.subspan(begin, end - begin);
  const auto above = std::ranges::upper_bound(list, source.log_times[row]);
  return begin + static_cast<std::uint64_t>(above - list.begin());
}

}  // namespace

Result<MergedOrder> MergedOrder::make(const Source& source, MemoryLedger* ledger) {
  const std::size_t count = source.log.size() / 3;
  MergedOrder order;
  auto rows = make_u64(count, ledger);
  if (!rows) return std::move(rows).error();
  order.rows_ = std::move(rows).value();
  auto positions = make_u64(count, ledger);
  if (!positions) return std::move(positions).error();
  order.positions_ = std::move(positions).value();

  const auto sorted = order.rows_.as<std::uint64_t>();
  std::iota(sorted.begin(), sorted.end(), std::uint64_t{0});
  const bool timed = !source.log_times.empty();
  // Rows of a log stand in the order of their ids, so the row is the last key.
  std::ranges::sort(sorted, {}, [&](std::uint64_t row) {
    return std::tuple(
        appended_edge(source.log, row).target, timed ? source.log_times[row] : 0, row);
  });
  const auto places = order.positions_.as<std::uint64_t>();
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint64_t target = appended_edge(source.log, sorted[k]).target;
    places[k] = place_among(source, target, sorted[k]) + k;
  }
  return order;
}

void MergedOrder::merge_offsets(const Source& source, std::span<std::uint64_t> out) const {
  std::size_t before = 0;  // rows of the targets so far
  out[0] = 0;
  for (std::size_t target = 0; target + 1 < source.offsets.size(); ++target) {
    while (before < size() && appended_edge(source.log, row(before)).target == target) ++before;
    out[target + 1] = source.offsets[target + 1] + before;
  }
}

Result<RelationLog> RelationLog::load(const std::filesystem::path& root,
                                      const Manifest& manifest,
                                      const RelationSchema& relation,
                                      const DatasetOptions& options) {
  RelationLog loaded;
  auto rows = load_appended(root, manifest, relation, options);
  if (!rows) return std::move(rows).error();
  loaded.rows = std::move(rows).value();
  if (!relation.has_times) return loaded;
  auto row_times = load_appended_times(root, manifest, relation, options);
  if (!row_times) return std::move(row_times).error();
  loaded.row_times = std::move(row_times).value();
  auto times = load_array(root,
                          manifest,
                          relation_path(relation, "times.bin"),
                          DType::kI64,
                          {static_cast<std::int64_t>(relation.edges)},
                          options,
                          "times");
  if (!times) return std::move(times).error();
  loaded.times = std::move(times).value();
  return loaded;
}

MergedOrder::Source RelationLog::source(std::span<const std::uint64_t> offsets,
                                        const ListedNodes& listed) const {
  MergedOrder::Source all{.offsets = offsets, .log = rows.as<std::uint64_t>(), .listed = listed};
  if (row_times.shape().empty()) return all;
  all.times = times.as<std::int64_t>();
  all.log_times = row_times.as<std::int64_t>();
  return all;
}

Result<Array> load_merged_times(const std::filesystem::path& root,
                                const Manifest& manifest,
                                const RelationSchema& relation,
                                const DatasetOptions& options) {
  auto log = RelationLog::load(root, manifest, relation, options);
  if (!log) return std::move(log).error();
  const auto loaded = RelationOffsets::load(root, manifest, relation, options);
  if (!loaded) return loaded.error();
  const MergedOrder::Source source =
      log.value().source(loaded.value().values(), loaded.value().listed.view());
  auto order = MergedOrder::make(source, options.ledger);
  if (!order) return std::move(order).error();
  auto merged = Array::make(DType::kI64,
                            {static_cast<std::int64_t>(relation.edges + relation.appended)},
                            options.ledger,
                            "times");
  if (!merged) return merged;
  order.value().merge_column(source.times,
                             merged.value().as<std::int64_t>(),
                             [&](std::uint64_t row) { return source.log_times[row]; });
  return merged;
}

}  // namespace sluice
