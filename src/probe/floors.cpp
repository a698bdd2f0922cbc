#include "probe/floors.h"

#include "core/interrupt.h"
#include "nn/one_thread.h"
#include "probe/logistic.h"

#include <sluice/error.h>
#include <sluice/nn/init.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace sluice::probe {
namespace {

using torch::Tensor;

constexpr std::size_t kNodesAtOnce = 256;

// One hop: a node's row is summed by one thread, itself first, then its neighbours by number.
Tensor propagated(const Tensor& rows, const PlainGraph& graph, ThreadArena& threads) {
  throw_if_interrupted();
  const Tensor from = rows.contiguous();
  Tensor to = torch::empty_like(from);
  const float* const x = from.const_data_ptr<float>();
  float* const y = to.data_ptr<float>();
  const auto width = static_cast<std::size_t>(rows.size(1));
  const auto scale = [&graph](std::size_t node) {
    return static_cast<float>(1 / std::sqrt(1 + static_cast<double>(graph.degree(node))));
  };
  threads.for_ranges(graph.nodes(), kNodesAtOnce, [&](std::size_t first, std::size_t last) {
    for (std::size_t node = first; node < last; ++node) {
      float* const out = y + node * width;
      const float own = scale(node);
      std::fill_n(out, width, 0.0f);
      const auto add = [&](std::size_t other, float weight) {
        const float* const in = x + other * width;
        for (std::size_t c = 0; c < width; ++c) out[c] += weight * in[c];
      };
      add(node, own * own);
      for (const std::uint32_t other : graph.neighbours(node)) add(other, own * scale(other));
    }
  });
  return to;
}

void check_fits(const Tensor& features, const PlainGraph& graph) {
  check_rows(features);
  if (static_cast<std::uint64_t>(features.size(0)) == graph.nodes()) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("{} rows of a graph of {} nodes", features.size(0), graph.nodes()),
              "give a row for each node");
}

}  // namespace

Tensor sgc_rows(const Tensor& features,
                const PlainGraph& graph,
                std::int64_t hops,
                ThreadArena& threads) {
  check_fits(features, graph);
  Tensor rows = features.detach();
  for (std::int64_t hop = 0; hop < hops; ++hop) rows = propagated(rows, graph, threads);
  return rows;
}

Tensor random_encoder_rows(const Tensor& features,
                           const PlainGraph& graph,
                           const RandomEncoderOptions& options,
                           RandomKey key,
                           ThreadArena& threads) {
  constexpr double kSlope = 0.25;
  check_fits(features, graph);
  const nn::OneThread one_thread;
  const torch::NoGradGuard no_gradients;
  Tensor rows = features.detach();
  for (std::int64_t layer = 0; layer < options.layers; ++layer) {
    const RandomKey drawn = key.with("random encoder").with(static_cast<std::uint64_t>(layer));
    const std::int64_t width = rows.size(1);
    const Tensor weight = nn::glorot(drawn, {width, options.width}, width, options.width);
    rows = torch::leaky_relu(propagated(rows.matmul(weight), graph, threads), kSlope);
  }
  return rows;
}

}  // namespace sluice::probe
