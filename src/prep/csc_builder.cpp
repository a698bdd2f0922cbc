#include "prep/csc_builder.h"

#include "prep/convert/converter.h"
#include "prep/convert/edge_batches.h"
#include "storage/io/disk_space.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

namespace sluice {
namespace {

/// One direction of the relation on its way into its files.
class Side {
 public:
  Side(const ConvertOptions& options, ThreadArena& arena, MemoryLedger* ledger)
      : converter_(options, arena, ledger),
        ids_(options.edge_ids),
        sources_(options.rules.num_sources),
        nodes_(options.rules.num_targets),
        both_ways_(options.rules.both_ways),
        loops_(options.add_loops) {}

  Converter& converter() { return converter_; }
  const Converter& converter() const { return converter_; }

  /// The layout of so many edges' offsets. By a bound of how many nodes have some, which is known
  /// before the first is written; so offsets take at most 12 bytes an edge that came, or 16.
  OffsetLayout layout_of(std::uint64_t edges_read) const {
    return choose_offset_layout(nodes_, most_edges(edges_read));
  }

  /// What is written of so many edges at most, but for padding.
  std::uint64_t most_bytes(std::uint64_t edges_read) const {
    RelationLists lists;
    lists.nodes = nodes_;
    lists.layout = layout_of(edges_read);
    lists.lists = lists.are_listed() ? most_edges(edges_read) : nodes_;
    const std::uint64_t an_edge =
        size_of(node_id_dtype(sources_)) + (ids_ ? sizeof(std::uint32_t) : 0);
    return lists.offset_bytes() + edges_read * (both_ways_ ? 2 : 1) * an_edge;
  }

  /// Sets how many nodes the relation lists. @param id dtype of edge ids
  ConvertStats write(DatasetWriter& writer,
                     RelationSchema& relation,
                     ListsOf side,
                     DType id,
                     std::uint64_t edges_read) {
    const bool in_edges = side == ListsOf::kTargets;
    const std::string prefix = in_edges ? "" : "out_";
    const DType neighbour = node_id_dtype(sources_);
    ListWriter lists(writer, relation, side, nodes_, layout_of(edges_read));
    auto neighbours = writer.create(relation_path(relation, prefix + "neighbours.bin"));
    std::unique_ptr<DataFileWriter> ids;
    if (ids_) ids = writer.create(relation_path(relation, prefix + "edge_ids.bin"));
    ConvertStats stats;
    {
      FileCsc sink(neighbour,
                   ids_ ? std::optional(id) : std::nullopt,
                   lists,
                   *neighbours,
                   ids.get(),
                   writer.ledger());
      stats = converter_.drain(sink, edges_read);
    }
    (in_edges ? relation.listed_targets : relation.listed_sources) = lists.finish(writer);
    writer.add(std::move(neighbours));
    if (ids) writer.add(std::move(ids));
    return stats;
  }

 private:
  std::uint64_t most_edges(std::uint64_t edges_read) const {
    return edges_read * (both_ways_ ? 2 : 1) + (loops_ ? nodes_ : 0);
  }

  Converter converter_;
  bool ids_;
  std::uint64_t sources_, nodes_;  // of this direction: nodes have the lists
  bool both_ways_, loops_;
};

class Builder {
 public:
  Builder(DatasetWriter& writer,
          RelationSchema& relation,
          std::uint64_t num_sources,
          std::uint64_t num_targets,
          const CscOptions& options,
          ThreadArena& arena,
          ProgressStyle progress)
      : writer_(writer),
        relation_(relation),
        num_sources_(num_sources),
        num_targets_(num_targets),
        options_(options),
        arena_(arena),
        progress_(progress) {}

  CscStats run(EdgeStream& stream) {
    // The first edges come before the conversion plans its memory: readers take theirs by then.
    EdgeBatches batches(stream, writer_.ledger());
    std::optional<EdgeView> view = batches.next();
    make_sides(stream);
    check_space(stream.expected());
    for (; view; view = batches.next()) add(*view);
    const std::uint64_t bound = stream.id_bound().value_or(edges_read_) +
                                (options_.self_loops == SelfLoops::kAdd ? num_targets_ : 0);
    relation_.has_edge_ids = options_.edge_ids;
    relation_.edge_id_bound = options_.edge_ids ? bound : 0;
    relation_.has_out_edges = out_.has_value();
    const DType id = bound <= (std::uint64_t{1} << 32) ? DType::kU32 : DType::kU64;
    relation_.listed_sources = std::nullopt;
    const ConvertStats in = in_->write(writer_, relation_, ListsOf::kTargets, id, edges_read_);
    in_.reset();
    std::uint64_t spilled = in.spilled_bytes;
    if (out_) {
      spilled += out_->write(writer_, relation_, ListsOf::kSources, id, edges_read_).spilled_bytes;
    }
    relation_.edges = in.edges_written;
    return {edges_read_,
            in.edges_written,
            in.loops_dropped,
            in.duplicates_dropped,
            in.max_degree,
            in.isolated,
            spilled};
  }

 private:
  ConvertOptions convert_options(std::uint64_t sources, std::uint64_t targets) const {
    ConvertOptions options;
    options.rules.num_sources = sources;
    options.rules.num_targets = targets;
    options.rules.both_ways = options_.undirected;
    options.rules.drop_loops = options_.self_loops != SelfLoops::kKeep;
    options.rules.one_type = relation_.source == relation_.target;
    options.add_loops = options_.self_loops == SelfLoops::kAdd;
    options.duplicates = options_.duplicates;
    options.edge_ids = options_.edge_ids;
    options.spill_folder = writer_.staging().path();
    options.progress = progress_;
    options.what = fmt::format("relation '{}'", relation_.key());
    return options;
  }

  void make_sides(const EdgeStream& stream) {
    ConvertOptions in = convert_options(num_sources_, num_targets_);
    in.expected_edges = stream.expected();
    in.id_bound = stream.id_bound();
    // Out-edges of an undirected relation are its in-edges.
    const bool both = options_.out_edges && !options_.undirected;
    if (both && writer_.ledger() != nullptr) in.memory_bytes = writer_.ledger()->available() / 2;
    in_.emplace(in, arena_, writer_.ledger());
    if (!both) return;
    ConvertOptions out = convert_options(num_targets_, num_sources_);
    out.expected_edges = in.expected_edges;
    out.id_bound = in.id_bound;
    out.memory_bytes = in.memory_bytes;
    out_.emplace(out, arena_, writer_.ledger());
  }

  // What both directions will write, and what goes through the disk meanwhile: asked for before the
  // first edge comes, where their number is known.
  void check_space(std::optional<std::uint64_t> expected) const {
    if (!expected) return;
    std::uint64_t bytes = in_->most_bytes(*expected) + in_->converter().plan().spill_bytes;
    if (out_) bytes += out_->most_bytes(*expected) + out_->converter().plan().spill_bytes;
    require_space(writer_.staging().path(),
                  bytes,
                  fmt::format("the edges of relation '{}'", relation_.key()));
  }

  void add(const EdgeView& view) {
    if (const auto bad = in_->converter().add(view, edges_read_)) fail(*bad);
    if (out_) (void)out_->converter().add(reversed(view), edges_read_);
    edges_read_ += count_of(view);
  }

  [[noreturn]] void fail(const BadEdge& bad) const {
    const bool source = bad.source >= num_sources_;
    throw Error(
        ErrorCode::kData,
        fmt::format("edge {} of relation '{}': {} {} is not below the count of '{}' nodes, {}",
                    edges_read_ + bad.index,
                    relation_.key(),
                    source ? "source" : "target",
                    source ? bad.source : bad.target,
                    source ? relation_.source : relation_.target,
                    source ? num_sources_ : num_targets_),
        "ids run from 0 to count - 1; raise the count or mend the edge");
  }

  DatasetWriter& writer_;
  RelationSchema& relation_;
  std::uint64_t num_sources_;
  std::uint64_t num_targets_;
  CscOptions options_;
  ThreadArena& arena_;
  ProgressStyle progress_;
  std::optional<Side> in_, out_;
  std::uint64_t edges_read_ = 0;
};

}  // namespace

CscStats build_csc(DatasetWriter& writer,
                   RelationSchema& relation,
                   std::uint64_t num_sources,
                   std::uint64_t num_targets,
                   EdgeStream& edges,
                   const CscOptions& options,
                   ThreadArena& arena,
                   ProgressStyle progress) {
  const bool one_type = relation.source == relation.target;
  if (!one_type && (options.undirected || options.self_loops == SelfLoops::kAdd)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("relation '{}' joins two node types: {} does not apply",
                            relation.key(),
                            options.undirected ? "undirected" : "self_loops = \"add\""),
                "add the reverse as a relation of its own");
  }
  return Builder(writer, relation, num_sources, num_targets, options, arena, progress).run(edges);
}

}  // namespace sluice
