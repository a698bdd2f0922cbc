#include "pipeline/stage/deferred_rows.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace sluice {

const DeferredRows::Source* DeferredRows::find(std::size_t type, std::size_t group) const {
  const auto found = std::ranges::find_if(
      sources_, [&](const Source& source) { return source.type == type && source.group == group; });
  return found == sources_.end() ? nullptr : &*found;
}

std::int64_t DeferredRows::columns(std::size_t type, std::size_t group) const {
  const Source* const source = find(type, group);
  return source == nullptr ? 0 : std::int64_t{source->store->schema().dim};
}

void DeferredRows::gather(std::size_t type,
                          std::size_t group,
                          std::int64_t first,
                          std::span<float> out) const {
  const Source* const source = find(type, group);
  if (source == nullptr)
    throw Error(ErrorCode::kInternal,
                fmt::format("a mini-batch has no features of group {} of type {}", group, type));
  const FeatureSchema& table = source->store->schema();
  const auto dim = static_cast<std::size_t>(table.dim);
  const auto begin = static_cast<std::size_t>(first);
  const std::size_t count = out.size() / dim;
  const auto widen = [&](std::size_t at, std::span<const std::byte* const> rows) {
    widen_stored_rows(table, scale_, rows, out.subspan(at * dim, rows.size() * dim));
  };
  const bool resident = !source->ids.shape().empty();
  const bool stored = !source->stored.shape().empty();
  const auto rows_there = static_cast<std::size_t>(
      resident ? source->ids.numel() : (stored ? source->stored.size(0) : 0));
  if ((resident || stored) && (first < 0 || begin > rows_there || count > rows_there - begin))
    throw Error(
        ErrorCode::kUsage,
        fmt::format("{} rows from {} on are asked for, and the mini-batch has {} of type {}",
                    count,
                    first,
                    rows_there,
                    type),
        "ask for rows of BatchNodes::ids");
  if (resident) {
    const auto ids = source->ids.as<std::uint64_t>().subspan(begin, count);
    const auto row_at = [&](std::size_t i) { return source->store->resident_row(ids[i]); };
    for_stored_rows(*arena_, count, row_at, widen);
  } else if (stored) {
    const std::size_t row_bytes = source->store->row_bytes();
    const std::byte* const rows = source->stored.raw().data() + begin * row_bytes;
    const auto row_at = [&](std::size_t i) { return rows + i * row_bytes; };
    for_stored_rows(*arena_, count, row_at, widen);
  } else {
    std::ranges::fill(out, 0.0f);
  }
}

}  // namespace sluice
