// DrawnEdges: an edge stream whose edges are each a pure function of their number, made in parallel
// chunk by chunk.
#pragma once

#include "core/interrupt.h"
#include "prep/csc_builder.h"
#include "prep/edge_stream.h"
#include "prep/prep_context.h"

#include <sluice/graph_schema.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace sluice {

/// @tparam Draw callable: std::pair<source, target> draw(edge number), thread-safe
/// @tparam Id wide enough for the ids of both node types
template <class Id, class Draw>
class DrawnEdges final : public EdgeStream {
 public:
  DrawnEdges(std::uint64_t count, Draw draw, PrepContext& context)
      : count_(count),
        draw_(std::move(draw)),
        context_(context),
        charge_(context.ledger.charge("generator", 2 * kChunk * sizeof(Id)).or_throw()),
        progress_(context.progress, "edges", count, "edges") {}

  std::optional<EdgeView> next() override {
    constexpr std::size_t kGrain = 1 << 14;
    if (done_ == count_) return std::nullopt;
    throw_if_interrupted();
    const std::uint64_t size = std::min(kChunk, count_ - done_);
    chunk_.resize(size);
    context_.arena.for_ranges(size, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const auto [source, target] = draw_(done_ + i);
        chunk_.source[i] = static_cast<Id>(source);
        chunk_.target[i] = static_cast<Id>(target);
      }
    });
    done_ += size;
    progress_.add(size);
    return chunk_.view();
  }

  std::optional<std::uint64_t> expected() const override { return count_; }

 private:
  static constexpr std::uint64_t kChunk = std::uint64_t{1} << 20;

  std::uint64_t count_;
  Draw draw_;
  PrepContext& context_;
  Charge charge_;
  Progress progress_;
  EdgeChunk<Id> chunk_;
  std::uint64_t done_ = 0;
};

/// Writes a relation of `count` drawn edges: its files and its schema, as a stage of the writer.
/// @param finish called with the relation before it joins the schema: for files beside the CSC's
template <class Draw, class Finish>
void write_drawn_edges(DatasetWriter& writer,
                       RelationSchema relation,
                       std::uint64_t count,
                       const Draw& draw,
                       const CscOptions& options,
                       PrepContext& context,
                       const Finish& finish) {
  const std::uint64_t sources = writer.schema().node_type(relation.source)->count;
  const std::uint64_t targets = writer.schema().node_type(relation.target)->count;
  const auto build = [&](EdgeStream&& edges) {
    build_csc(writer, relation, sources, targets, edges, options, context.arena, context.progress);
  };
  writer.stage("edges-" + relation.key(), [&] {
    if (node_id_dtype(std::max(sources, targets)) == DType::kU32) {
      build(DrawnEdges<std::uint32_t, Draw>(count, draw, context));
    } else {
      build(DrawnEdges<std::uint64_t, Draw>(count, draw, context));
    }
    finish(relation);
    writer.schema().relations.push_back(relation);
  });
}

template <class Draw>
void write_drawn_edges(DatasetWriter& writer,
                       const RelationSchema& relation,
                       std::uint64_t count,
                       const Draw& draw,
                       const CscOptions& options,
                       PrepContext& context) {
  write_drawn_edges(writer, relation, count, draw, options, context, [](RelationSchema&) {});
}

}  // namespace sluice
