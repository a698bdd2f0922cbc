// DrawnEdges: an edge stream whose edges are each a pure function of their number, made in parallel
// chunk by chunk.
#pragma once

#include "core/interrupt.h"
#include "prep/edge_stream.h"
#include "prep/prep_context.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

namespace sluice {

/// @tparam Draw callable: std::pair<source, target> draw(edge number), thread-safe
template <class Draw>
class DrawnEdges final : public EdgeStream {
 public:
  DrawnEdges(std::uint64_t count, Draw draw, PrepContext& context)
      : count_(count),
        draw_(std::move(draw)),
        context_(context),
        progress_(context.progress, "edges", count, "edges") {}

  bool next(EdgeChunk& chunk) override {
    constexpr std::uint64_t kChunk = std::uint64_t{1} << 20;
    constexpr std::size_t kGrain = 1 << 14;
    if (done_ == count_) return false;
    throw_if_interrupted();
    const std::uint64_t size = std::min(kChunk, count_ - done_);
    chunk.source.resize(size);
    chunk.target.resize(size);
    context_.arena.for_ranges(size, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        std::tie(chunk.source[i], chunk.target[i]) = draw_(done_ + i);
    });
    done_ += size;
    progress_.add(size);
    return true;
  }

 private:
  std::uint64_t count_;
  Draw draw_;
  PrepContext& context_;
  Progress progress_;
  std::uint64_t done_ = 0;
};

}  // namespace sluice
