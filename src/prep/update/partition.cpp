#include "prep/update/partition.h"

#include "prep/dataset_edges.h"
#include "prep/update/generation.h"
#include "storage/format/partitions.h"

#include <zstd.h>

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace sluice {
namespace {

constexpr std::uint64_t kFrameBytes = std::uint64_t{1} << 20;  // before compression, at most
constexpr std::uint64_t kFrameEdges = kFrameBytes / sizeof(BucketEdge);

const NodeTypeSchema& type_of(const Manifest& manifest, const std::string& name) {
  if (name.empty() && manifest.schema.nodes.size() == 1) return manifest.schema.nodes.front();
  if (const NodeTypeSchema* node = manifest.schema.node_type(name)) return *node;
  throw Error(ErrorCode::kUsage,
              name.empty() ? std::string("the dataset has several node types")
                           : fmt::format("the dataset has no node type '{}'", name),
              "say one with --type; sluice-prep inspect shows them");
}

/// Collects the edges of a target part by source part, and writes them as frames.
class Buckets {
 public:
  Buckets(DatasetWriter& writer, const PartitionOptions& options, std::uint64_t nodes)
      : options_(options),
        nodes_(nodes),
        file_(writer.create(kFramesPath)),
        charge_(writer.ledger()
                    ->charge("partitions",
                             options.parts * kFrameBytes + ZSTD_compressBound(kFrameBytes))
                    .or_throw()),
        waiting_(options.parts),
        packed_(ZSTD_compressBound(kFrameBytes)) {
    for (auto& edges : waiting_) edges.reserve(kFrameEdges);
  }

  void add(std::uint32_t relation, std::uint64_t source, std::uint64_t target) {
    const std::uint64_t to = part_of(nodes_, options_.parts, target);
    if (to != target_part_) flush_all();
    target_part_ = to;
    const std::uint64_t from = part_of(nodes_, options_.parts, source);
    auto& edges = waiting_[from];
    edges.push_back({relation,
                     static_cast<std::uint32_t>(source - part_begin(nodes_, options_.parts, from)),
                     static_cast<std::uint32_t>(target - part_begin(nodes_, options_.parts, to))});
    if (edges.size() == kFrameEdges) flush(from);
  }

  void flush_all() {
    for (std::uint64_t part = 0; part < options_.parts; ++part) flush(part);
  }

  std::unique_ptr<DataFileWriter> take_file() { return std::move(file_); }
  const std::vector<BucketFrame>& frames() const { return frames_; }

 private:
  void flush(std::uint64_t part) {
    auto& edges = waiting_[part];
    if (edges.empty()) return;
    const std::size_t bytes = ZSTD_compress(packed_.data(),
                                            packed_.size(),
                                            edges.data(),
                                            edges.size() * sizeof(BucketEdge),
                                            options_.level);
    if (ZSTD_isError(bytes) != 0) {
      throw Error(ErrorCode::kInternal, fmt::format("zstd: {}", ZSTD_getErrorName(bytes)));
    }
    frames_.push_back({part, target_part_, file_->size(), bytes, edges.size()});
    file_->append(std::span<const std::byte>(packed_).first(bytes));
    edges.clear();
  }

  const PartitionOptions& options_;
  std::uint64_t nodes_;
  std::unique_ptr<DataFileWriter> file_;
  Charge charge_;
  std::vector<std::vector<BucketEdge>> waiting_;  // by source part
  std::vector<std::byte> packed_;
  std::vector<BucketFrame> frames_;
  std::uint64_t target_part_ = 0;
};

}  // namespace

UpdateReport partition_dataset(const std::filesystem::path& dataset,
                               const PartitionOptions& options,
                               const std::string& created_by,
                               PrepContext& context) {
  NextGeneration next(dataset, context);
  const Manifest& old = next.old_manifest();
  const NodeTypeSchema& node = type_of(old, options.node_type);
  if (options.parts == 0 || options.parts > node.count ||
      node.count / options.parts >= (std::uint64_t{1} << 32)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{} parts do not go with {} nodes", options.parts, node.count),
                "a part has from 1 to 2^32 nodes");
  }
  next.keep_nodes_and_splits();
  for (const RelationSchema& relation : old.schema.relations) {
    if (relation.appended != 0) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("relation '{}' has appended edges", relation.key()),
                  "run sluice-prep compact first");
    }
    next.keep_relation(relation);
    next.writer().schema().relations.push_back(relation);
  }
  UpdateReport report;
  Buckets buckets(next.writer(), options, node.count);
  for (std::size_t r = 0; r < old.schema.relations.size(); ++r) {
    const RelationSchema& relation = old.schema.relations[r];
    if (relation.source != node.name || relation.target != node.name) continue;
    DatasetEdges edges(dataset, old, relation, {}, &context.ledger);
    while (const auto view = edges.next()) {
      const auto& span = std::get<EdgeSpan<std::uint64_t>>(*view);
      for (std::size_t i = 0; i < span.count; ++i)
        buckets.add(static_cast<std::uint32_t>(r), span.source[i], span.target[i]);
    }
    buckets.flush_all();
    report.edges += relation.edges;
  }
  next.writer().add(buckets.take_file());
  auto index = next.writer().create(kFrameIndexPath);
  index->append_values(std::span<const BucketFrame>(buckets.frames()));
  next.writer().add(std::move(index));
  next.writer().schema().partitions =
      PartitionSchema{node.name, options.parts, buckets.frames().size()};
  next.commit(created_by, report);
  return report;
}

}  // namespace sluice
