#include "storage/feature/gather_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace sluice {

Result<void> check_gather(const FeatureSchema& table,
                          std::size_t row_bytes,
                          const GatherRequest& request) {
  if (request.rows.empty()) return {};
  const std::uint64_t row = std::ranges::max(request.rows);
  if (row >= table.rows)
    return Error(
        ErrorCode::kUsage,
        fmt::format("row {} is asked for, and '{}' has {} rows", row, table.name, table.rows),
        "rows are numbered from 0");
  if (!request.places.empty() && request.places.size() != request.rows.size())
    return Error(ErrorCode::kUsage,
                 fmt::format("{} rows are asked for, and {} places given",
                             request.rows.size(),
                             request.places.size()),
                 "give a place a row, or none at all");
  const std::uint64_t end = request.places.empty()
                                ? request.rows.size()
                                : std::uint64_t{std::ranges::max(request.places)} + 1;
  if (end * row_bytes > request.out.size())
    return Error(ErrorCode::kUsage,
                 fmt::format("rows of '{}' go to {} bytes, and there are {}",
                             table.name,
                             end * row_bytes,
                             request.out.size()),
                 "give row_bytes() for each row");
  return {};
}

}  // namespace sluice
