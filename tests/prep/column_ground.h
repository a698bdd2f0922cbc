// A relation whose edges have ids in no order, and a column by edge id: what write_edge_column is
// tested on.
#pragma once

#include "core/log.h"
#include "prep/spool/edge_column.h"
#include "support/temp_dir.h"

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

struct ColumnGround {
  static constexpr std::uint64_t kValues = 1'000'000;

  /// So many edges, of which those beyond kValues have ids that others have too.
  static std::vector<std::uint64_t> mixed_ids(std::uint64_t edges) {
    std::vector<std::uint64_t> ids(edges);
    for (std::uint64_t i = 0; i < edges; ++i) ids[i] = i * 700'001 % kValues;
    return ids;
  }

  /// @param id_bound more than 2^32: ids take 8 bytes
  ColumnGround(std::uint64_t budget,
               const std::filesystem::path& out,
               std::vector<std::uint64_t> edge_ids,
               std::uint64_t id_bound = kValues)
      : ids(std::move(edge_ids)),
        ledger(budget, "--memory"),
        writer(out, Overwrite::kRefuse, &ledger) {
    relation.edges = ids.size();
    relation.edge_id_bound = id_bound;
    relation.has_edge_ids = true;
    const std::string path = relation_path(relation, "edge_ids.bin");
    if (relation.edge_id_dtype() == DType::kU64) {
      writer.write(path, std::span<const std::uint64_t>(ids));
    } else {
      const std::vector<std::uint32_t> narrow(ids.begin(), ids.end());
      writer.write(path, std::span<const std::uint32_t>(narrow));
    }
  }

  /// Values by edge id, on the disk.
  template <class T>
  ScratchBytes spool(const std::vector<T>& values) {
    ScratchBytes bytes(dir.path(), &ledger, 0);
    bytes.append_values(std::span<const T>(values));
    return bytes;
  }

  template <class T>
  EdgeColumnStats write(const ScratchBytes& values) {
    return write_edge_column(writer, relation, values, sizeof(T), path(), context);
  }

  std::string path() const { return relation_path(relation, "column.bin"); }

  /// Positions whose stored value is not that of their edge.
  template <class T>
  std::uint64_t wrong(const std::vector<T>& values) const {
    const std::string stored = read_all(writer.staging().path() / path());
    if (stored.size() < ids.size() * sizeof(T)) return ids.size();
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto bytes = std::as_bytes(std::span(&values[ids[i]], 1));
      count += std::memcmp(stored.data() + i * sizeof(T), bytes.data(), sizeof(T)) != 0;
    }
    return count;
  }

  TempDir dir;
  std::vector<std::uint64_t> ids;
  MemoryLedger ledger;
  ThreadArena arena{2};
  std::shared_ptr<Logger> log = make_silent_logger();
  PrepContext context{ledger, arena, *log, ProgressStyle::kSilent};
  RelationSchema relation{.source = "a", .name = "r", .target = "a"};
  DatasetWriter writer;
};

inline std::vector<std::int64_t> column_times() {
  std::vector<std::int64_t> times(ColumnGround::kValues);
  for (std::size_t i = 0; i < times.size(); ++i)
    times[i] = static_cast<std::int64_t>(i * i) - 5'000;
  return times;
}

inline std::vector<float> column_weights() {
  std::vector<float> weights(ColumnGround::kValues);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i) / 4;
  return weights;
}

}  // namespace sluice::test
