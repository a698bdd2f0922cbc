#include "prep/check/invariants.h"

#include "storage/format/appended_edges.h"
#include "storage/format/data_file_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sluice {
namespace {

class Checker {
 public:
  Checker(const std::filesystem::path& root, const Manifest& manifest, MemoryLedger& ledger)
      : root_(root), manifest_(manifest), ledger_(ledger) {}

  std::vector<std::string> run() {
    for (const NodeTypeSchema& node : manifest_.schema.nodes) check_node_type(node);
    for (const RelationSchema& relation : manifest_.schema.relations) check_relation(relation);
    for (const SplitSchema& split : manifest_.schema.splits) check_split(split);
    return std::move(problems_);
  }

 private:
  void report(const std::string& path, const std::string& what) {
    problems_.push_back(fmt::format("{}: {}", (root_ / path).string(), what));
  }

  // Streams the first `count` values of a file through check(index, value), which returns what is
  // wrong or "".
  template <class T, class Check>
  void stream(const std::string& path, std::uint64_t count, const Check& check) {
    auto entry = find_file(root_, manifest_, path);
    if (!entry) return report(path, entry.error().message());
    if (entry.value().bytes < round_up_to_page(count * sizeof(T))) {
      return report(path,
                    fmt::format("{} bytes cannot hold {} values", entry.value().bytes, count));
    }
    const auto take = [&](std::uint64_t offset, std::span<const std::byte> bytes) -> Result<void> {
      const std::uint64_t first = offset / sizeof(T);
      const std::uint64_t values =
          std::min<std::uint64_t>(bytes.size() / sizeof(T), count - std::min(count, first));
      for (std::uint64_t i = 0; i < values; ++i) {
        T value;
        std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
        const std::string wrong = check(first + i, value);
        if (!wrong.empty()) return Error(ErrorCode::kData, wrong);
      }
      return {};
    };
    auto scanned = scan_file(root_, entry.value(), Verify::kOff, &ledger_, take);
    if (!scanned) report(path, scanned.error().message());
  }

  template <class Check>
  void stream_ids(const std::string& path, DType dtype, std::uint64_t count, const Check& check) {
    if (dtype == DType::kU32) return stream<std::uint32_t>(path, count, check);
    stream<std::uint64_t>(path, count, check);
  }

  void check_node_type(const NodeTypeSchema& node) {
    for (const FeatureSchema& table : node.features) {
      const std::string path = node_path(node.name, table.name + ".bin");
      if (table.rows != node.count)
        report(path, fmt::format("{} rows for {} nodes", table.rows, node.count));
      const auto entry = manifest_.files.find(path);
      if (entry == manifest_.files.end() ||
          entry->second.bytes != Manifest::layout_of(table).file_bytes()) {
        report(path, "the size does not follow from rows, dim and dtype");
      } else if (table.dtype == DType::kI8) {
        check_scales(path, entry->second, Manifest::layout_of(table));
      }
    }
    if (node.labels && node.labels->kind == LabelKind::kClass) {
      const auto classes = static_cast<std::int64_t>(node.labels->width);
      stream<std::int32_t>(
          node_path(node.name, "labels.bin"), node.count, [&](std::uint64_t i, std::int32_t label) {
            return label >= -1 && label < classes
                       ? std::string()
                       : fmt::format(
                             "the label of node {} is {}, outside -1 to {}", i, label, classes - 1);
          });
    }
    if (node.ids == IdKind::kString)
      check_ascending(node_path(node.name, "ids.offsets.bin"), node.count);
  }

  // The scale of an int8 row is finite and not negative. Scales are aligned to 4, so none is cut by
  // the scan's pieces.
  void check_scales(const std::string& path, const FileEntry& entry, const FeatureLayout& layout) {
    std::uint64_t row = 0;
    const auto take = [&](std::uint64_t offset, std::span<const std::byte> bytes) -> Result<void> {
      for (; row < layout.rows && layout.offset_of(row) < offset + bytes.size(); ++row) {
        float scale = 0;
        std::memcpy(&scale, bytes.data() + (layout.offset_of(row) - offset), sizeof scale);
        if (scale >= 0 && std::isfinite(scale)) continue;
        return Error(
            ErrorCode::kData,
            fmt::format(
                "the scale of row {} is {}: scales are finite and not negative", row, scale));
      }
      return {};
    };
    auto scanned = scan_file(root_, entry, Verify::kOff, &ledger_, take);
    if (!scanned) report(path, scanned.error().message());
  }

  std::uint64_t check_ascending(const std::string& path, std::uint64_t count) {
    std::uint64_t last = 0;
    stream<std::uint64_t>(path, count + 1, [&](std::uint64_t i, std::uint64_t offset) {
      const bool sound = i == 0 ? offset == 0 : offset >= last;
      last = offset;
      return sound ? std::string()
                   : fmt::format("offset {} is {}: offsets ascend from 0", i, offset);
    });
    return last;
  }

  void check_relation(const RelationSchema& relation) {
    const std::uint64_t sources = manifest_.schema.node_type(relation.source)->count;
    const std::uint64_t targets = manifest_.schema.node_type(relation.target)->count;
    check_direction(relation, "", sources, targets);
    if (relation.has_out_edges) check_direction(relation, "out_", targets, sources);
    if (relation.has_times) {
      stream<std::int64_t>(relation_path(relation, "times.bin"),
                           relation.edges,
                           [](std::uint64_t, std::int64_t) { return std::string(); });
    }
    if (relation.appended == 0) return;
    auto log = load_appended(root_, manifest_, relation, {&ledger_, Verify::kOff});
    if (!log) report(relation_path(relation, kAppendedName), log.error().message());
  }

  // Lists of `nodes` nodes, of neighbours below `neighbours`.
  void check_direction(const RelationSchema& relation,
                       const std::string& prefix,
                       std::uint64_t neighbours,
                       std::uint64_t nodes) {
    const std::string offsets = relation_path(relation, prefix + "offsets.bin");
    const std::uint64_t end = check_ascending(offsets, nodes);
    if (end != relation.edges)
      report(offsets, fmt::format("they end at {}, not at {} edges", end, relation.edges));
    const auto below = [](const char* what, std::uint64_t bound, const char* of) {
      return [=](std::uint64_t i, std::uint64_t id) {
        return id < bound ? std::string()
                          : fmt::format("{} {} is {}, not below {}{}", what, i, id, bound, of);
      };
    };
    stream_ids(relation_path(relation, prefix + "neighbours.bin"),
               node_id_dtype(neighbours),
               relation.edges,
               below("neighbour", neighbours, " nodes"));
    if (!relation.has_edge_ids) return;
    stream_ids(relation_path(relation, prefix + "edge_ids.bin"),
               relation.edge_id_dtype(),
               relation.edges,
               below("edge id", relation.edge_id_bound, ""));
  }

  void check_split(const SplitSchema& split) {
    const NodeTypeSchema* node = manifest_.schema.node_type(split.node_type);
    if (node == nullptr) return report("splits/" + split.name, "it names an unknown node type");
    const Charge charge = ledger_.charge("split check", node->count / 8 + 8).or_throw();
    std::vector<bool> seen(node->count, false);
    for (const auto& [part, count] :
         {std::pair{"train", split.train}, {"valid", split.valid}, {"test", split.test}}) {
      std::uint64_t last = 0;
      stream<std::uint64_t>(split_path(split.name, part),
                            count,
                            [&](std::uint64_t i, std::uint64_t id) -> std::string {
                              if (id >= node->count)
                                return fmt::format(
                                    "node {} is not below {} nodes", id, node->count);
                              if (i != 0 && id <= last)
                                return fmt::format("node {} follows {}: ids ascend", id, last);
                              if (seen[id])
                                return fmt::format("node {} is in another part too", id);
                              seen[id] = true;
                              last = id;
                              return {};
                            });
    }
  }

  const std::filesystem::path& root_;
  const Manifest& manifest_;
  MemoryLedger& ledger_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> check_invariants(const std::filesystem::path& root,
                                          const Manifest& manifest,
                                          MemoryLedger& ledger) {
  return Checker(root, manifest, ledger).run();
}

}  // namespace sluice
