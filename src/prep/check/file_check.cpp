#include "prep/check/file_check.h"

#include "storage/format/sparse_row.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace sluice {

void FileCheck::report(const std::string& path, const std::string& what) {
  problems_.push_back(fmt::format("{}: {}", (root_ / path).string(), what));
}

void FileCheck::features(const std::vector<FeatureSchema>& tables,
                         std::uint64_t rows,
                         const std::string& folder) {
  for (const FeatureSchema& table : tables) {
    const std::string path = folder + table.name + ".bin";
    if (table.rows != rows) report(path, fmt::format("{} rows for {}", table.rows, rows));
    const auto entry = manifest_.files.find(path);
    if (entry == manifest_.files.end() ||
        entry->second.bytes != Manifest::layout_of(table).file_bytes()) {
      report(path, "the size does not follow from rows, dim and dtype");
    } else if (table.sparse()) {
      sparse_rows(path, entry->second, table);
    } else if (table.dtype == DType::kI8) {
      scales(path, entry->second, Manifest::layout_of(table));
    }
  }
}

void FileCheck::labels(const std::optional<LabelSchema>& labels,
                       std::uint64_t rows,
                       const std::string& path,
                       const std::string& what) {
  if (!labels || labels->kind != LabelKind::kClass) return;
  const auto classes = static_cast<std::int64_t>(labels->width);
  stream<std::int32_t>(path, rows, [&](std::uint64_t i, std::int32_t label) {
    return label >= -1 && label < classes
               ? std::string()
               : fmt::format(
                     "the label of {} {} is {}, outside -1 to {}", what, i, label, classes - 1);
  });
}

void FileCheck::parts(const std::string& split,
                      const std::vector<std::pair<const char*, std::uint64_t>>& sizes,
                      const std::string& what,
                      std::uint64_t count) {
  const Charge charge = ledger_.charge("split check", count / 8 + 8).or_throw();
  std::vector<bool> seen(count, false);
  for (const auto& [part, size] : sizes) {
    std::uint64_t last = 0;
    stream<std::uint64_t>(
        split_path(split, part), size, [&](std::uint64_t i, std::uint64_t id) -> std::string {
          if (id >= count) return fmt::format("{} {} is not below {} {}s", what, id, count, what);
          if (i != 0 && id <= last)
            return fmt::format("{} {} follows {}: ids ascend", what, id, last);
          if (seen[id]) return fmt::format("{} {} is in another part too", what, id);
          seen[id] = true;
          last = id;
          return {};
        });
  }
}

// The scale of an int8 row is finite and not negative. Scales are aligned to 4, so none is cut by
// the scan's pieces.
void FileCheck::scales(const std::string& path,
                       const FileEntry& entry,
                       const FeatureLayout& layout) {
  std::uint64_t row = 0;
  const auto take = [&](std::uint64_t offset, std::span<const std::byte> bytes) -> Result<void> {
    for (; row < layout.rows && layout.offset_of(row) < offset + bytes.size(); ++row) {
      float scale = 0;
      std::memcpy(&scale, bytes.data() + (layout.offset_of(row) - offset), sizeof scale);
      if (scale >= 0 && std::isfinite(scale)) continue;
      return Error(
          ErrorCode::kData,
          fmt::format("the scale of row {} is {}: scales are finite and not negative", row, scale));
    }
    return {};
  };
  auto scanned = scan_file(root_, entry, {Verify::kOff}, &ledger_, take);
  if (!scanned) report(path, scanned.error().message());
}

// Rows may be cut by the scan's pieces.
void FileCheck::sparse_rows(const std::string& path,
                            const FileEntry& entry,
                            const FeatureSchema& table) {
  const FeatureLayout layout = Manifest::layout_of(table);
  std::vector<std::byte> row(layout.row_bytes);
  std::uint64_t at = 0;
  std::size_t have = 0;  // bytes of row `at`
  const auto take = [&](std::uint64_t offset, std::span<const std::byte> bytes) -> Result<void> {
    while (at < layout.rows && layout.offset_of(at) + have < offset + bytes.size()) {
      const std::uint64_t from = layout.offset_of(at) + have - offset;
      const std::size_t count = std::min<std::size_t>(row.size() - have, bytes.size() - from);
      std::memcpy(row.data() + have, bytes.data() + from, count);
      have += count;
      if (have < row.size()) break;
      const char* const problem = sparse_row_problem(table.dim, table.entries, row);
      if (problem != nullptr)
        return Error(ErrorCode::kData, fmt::format("sparse row {} {}", at, problem));
      ++at;
      have = 0;
    }
    return {};
  };
  auto scanned = scan_file(root_, entry, {Verify::kOff}, &ledger_, take);
  if (!scanned) report(path, scanned.error().message());
}

std::uint64_t FileCheck::ascending(const std::string& path, std::uint64_t count) {
  std::uint64_t last = 0;
  stream<std::uint64_t>(path, count + 1, [&](std::uint64_t i, std::uint64_t offset) {
    const bool sound = i == 0 ? offset == 0 : offset >= last;
    last = offset;
    return sound ? std::string() : fmt::format("offset {} is {}: offsets ascend from 0", i, offset);
  });
  return last;
}

}  // namespace sluice
