// The kernels of a device beside the CPU's: the same bits, but for the exponential of the softmax.
// On the fakes this checks the checks.
#include "device/parity_bench.h"

#include <cmath>
#include <vector>

using namespace sluice;
using namespace sluice::test;
using namespace sluice::testing;
using kernels::Executor;
using kernels::RowLists;
using kernels::Rows;

namespace {

Block test_block(std::int64_t width) {
  return random_block(700, 300, 40, static_cast<std::uint64_t>(width));
}

}  // namespace

TEST_CASE("kernel parity: sums of listed rows, plain, scaled, weighted and of edges") {
  for (const std::int64_t width : kWidths) {
    CAPTURE(width);
    const Block block = test_block(width);
    compare(
        [&](Bench& bench) {
          const Rows<float> x = bench.matrix(block.num_sources, width, 1);
          const Rows<float> grad = bench.matrix(block.num_targets, width, 2);
          const Rows<float> edges = bench.matrix(block.num_edges(), width, 3);
          const float* item = bench.matrix(block.num_sources, 1, 4).data;
          const float* list = bench.matrix(block.num_targets, 1, 5).data;
          const RowLists lists = bench.lists(block), back = bench.transposed(block);
          const auto& table = bench.table();
          Outputs outputs;
          for (const kernels::SegmentScales& scales : {kernels::SegmentScales{},
                                                       {item, nullptr},
                                                       {nullptr, list},
                                                       {item, list},
                                                       {item, list, item, block.num_targets}}) {
            const Rows<float> out = bench.room<float>(block.num_targets, width);
            table.segment_sum(bench.executor(), lists, scales, x, out);
            outputs.push_back(bench.get(out));
          }
          const Rows<float> grad_x = bench.room<float>(block.num_sources, width);
          table.segment_sum(
              bench.executor(), back, {list, item, list, block.num_targets}, grad, grad_x);
          outputs.push_back(bench.get(grad_x));
          for (const RowLists& which : {lists, back}) {
            const Rows<float> out = bench.room<float>(which.count, width);
            table.segment_edge_sum(bench.executor(), which, edges, out);
            outputs.push_back(bench.get(out));
          }
          return outputs;
        },
        same_bits<float>);
  }
}

TEST_CASE("kernel parity: attention's products over edges, by heads") {
  for (const std::int64_t heads : {1, 4, 5}) {
    for (const std::int64_t head_width : {1, 7, 16, 40}) {
      CAPTURE(heads);
      CAPTURE(head_width);
      const Block block = test_block(heads * head_width);
      compare(
          [&](Bench& bench) {
            const RowLists lists = bench.lists(block), back = bench.transposed(block);
            const std::int64_t width = heads * head_width;
            const Rows<float> weights = bench.matrix(block.num_edges(), heads, 1);
            const Rows<float> own = bench.matrix(block.num_targets, heads, 6);
            const Rows<float> x = bench.matrix(block.num_sources, width, 2);
            const Rows<float> grad = bench.matrix(block.num_targets, width, 3);
            const auto& table = bench.table();
            const Rows<float> out = bench.room<float>(block.num_targets, width);
            table.segment_weighted_sum(bench.executor(), lists, weights, own, x, out);
            const Rows<float> grad_x = bench.room<float>(block.num_sources, width);
            table.segment_weighted_sum(bench.executor(), back, weights, own, grad, grad_x);
            const Rows<float> dots = bench.room<float>(block.num_edges(), heads);
            table.edge_dot(bench.executor(), lists, grad, x, dots);
            // Columns that all heads share: there, back and the gradient of the weights.
            const Rows<float> narrow = bench.matrix(block.num_sources, head_width, 7);
            const Rows<float> shared = bench.room<float>(block.num_targets, width);
            table.segment_weighted_sum(bench.executor(), lists, weights, own, narrow, shared);
            const Rows<float> added_up = bench.room<float>(block.num_sources, head_width);
            table.segment_weighted_sum(bench.executor(), back, weights, own, grad, added_up);
            const Rows<float> shared_dots = bench.room<float>(block.num_edges(), heads);
            table.edge_dot(bench.executor(), lists, grad, narrow, shared_dots);
            const Rows<float> sums = bench.room<float>(block.num_edges(), heads);
            table.edge_add(bench.executor(),
                           lists,
                           bench.matrix(block.num_targets, heads, 4),
                           bench.matrix(block.num_sources, heads, 5),
                           sums);
            return Outputs{bench.get(out),
                           bench.get(grad_x),
                           bench.get(dots),
                           bench.get(shared),
                           bench.get(added_up),
                           bench.get(shared_dots),
                           bench.get(sums)};
          },
          same_bits<float>);
    }
  }
}

TEST_CASE("kernel parity: rows of bf16, by every kernel that reads them") {
  constexpr std::int64_t kHeads = 5;
  for (const std::int64_t head_width : {1, 7, 16, 40}) {
    CAPTURE(head_width);
    const std::int64_t width = kHeads * head_width;
    const Block block = test_block(width);
    const std::int64_t sources = block.num_sources, targets = block.num_targets;
    compare(
        [&](Bench& bench) {
          const Rows<kernels::BFloat16> x = bench.halves(sources, width, 1);
          const RowLists lists = bench.lists(block);
          const float* scale = bench.matrix(sources, 1, 2).data;
          const Rows<float> weights = bench.matrix(block.num_edges(), kHeads, 3);
          const Rows<float> own = bench.matrix(targets, kHeads, 4);
          const Rows<float> grad = bench.matrix(targets, width, 5);
          const std::vector<std::int64_t> index{3, 0, 3, 699};
          const auto& table = bench.table();
          const auto sums = bench.room<float>(targets, width);
          table.segment_sum(bench.executor(), lists, {scale, nullptr, scale, targets}, x, sums);
          const auto weighted = bench.room<float>(targets, width);
          table.segment_weighted_sum(bench.executor(), lists, weights, own, x, weighted);
          const auto dots = bench.room<float>(block.num_edges(), kHeads);
          table.edge_dot(bench.executor(), lists, grad, x, dots);
          const auto best = bench.room<float>(targets, width);
          const auto winner = bench.room<std::int32_t>(targets, width);
          table.segment_max(bench.executor(), lists, x, best, winner);
          const auto gathered = bench.room<float>(4, width);
          table.gather_rows(bench.executor(), x, bench.put(index), gathered);
          std::vector<float> winners;
          for (const std::int32_t edge : bench.get(winner))
            winners.push_back(static_cast<float>(edge));
          return Outputs{bench.get(sums),
                         bench.get(weighted),
                         bench.get(dots),
                         bench.get(best),
                         winners,
                         bench.get(gathered)};
        },
        same_bits<float>);
  }
}

TEST_CASE("kernel parity: maxima, their winners and what follows them back") {
  for (const std::int64_t width : kWidths) {
    CAPTURE(width);
    const Block block = test_block(width);
    compare(
        [&](Bench& bench) {
          const auto& table = bench.table();
          const Rows<float> out = bench.room<float>(block.num_targets, width);
          const Rows<std::int32_t> winner = bench.room<std::int32_t>(block.num_targets, width);
          const RowLists lists = bench.lists(block);
          table.segment_max(
              bench.executor(), lists, bench.matrix(block.num_sources, width, 1), out, winner);
          const Rows<float> grad_x = bench.room<float>(block.num_sources, width);
          table.segment_max_backward(bench.executor(),
                                     lists,
                                     bench.transposed(block),
                                     winner,
                                     bench.matrix(block.num_targets, width, 2),
                                     grad_x);
          std::vector<float> winners;
          for (const std::int32_t edge : bench.get(winner))
            winners.push_back(static_cast<float>(edge));
          return Outputs{bench.get(out), winners, bench.get(grad_x)};
        },
        same_bits<float>);
  }
}

TEST_CASE("kernel parity: softmax over edges to a few units in the last place") {
  for (const std::int64_t heads : {1, 4}) {
    CAPTURE(heads);
    const Block block = test_block(heads);
    compare(
        [&](Bench& bench) {
          const auto& table = bench.table();
          const RowLists lists = bench.lists(block);
          const std::int64_t edges = block.num_edges(), targets = block.num_targets;
          const Rows<float> weights = bench.room<float>(edges, heads);
          const Rows<float> own = bench.room<float>(targets, heads);
          table.edge_softmax(bench.executor(),
                             lists,
                             bench.matrix(edges, heads, 1),
                             bench.matrix(targets, heads, 2),
                             weights,
                             own);
          const Rows<float> grad = bench.room<float>(edges, heads);
          const Rows<float> grad_own = bench.room<float>(targets, heads);
          table.edge_softmax_backward(bench.executor(),
                                      lists,
                                      weights,
                                      own,
                                      bench.matrix(edges, heads, 3),
                                      bench.matrix(targets, heads, 4),
                                      grad,
                                      grad_own);
          return Outputs{bench.get(weights), bench.get(own), bench.get(grad), bench.get(grad_own)};
        },
        near);
  }
}

TEST_CASE("kernel parity: softmax over rows of scores to a few units in the last place") {
  for (const std::int64_t width : {1, 31, 1000}) {
    for (const bool flagged : {false, true}) {
      CAPTURE(width);
      CAPTURE(flagged);
      constexpr std::int64_t kRows = 37;
      compare(
          [&](Bench& bench) {
            const auto& table = bench.table();
            std::vector<std::uint8_t> bytes(static_cast<std::size_t>(kRows * width));
            for (std::size_t at = 0; at < bytes.size(); ++at) bytes[at] = at % 5 < 3;
            const kernels::Flags counted{flagged ? bench.put(bytes) : nullptr, kRows, width};
            const Rows<float> highest{bench.put(std::vector<float>(kRows, -0.5f)), 1, kRows};
            const Rows<float> sum{bench.put(std::vector<float>(kRows, 1)), 1, kRows};
            const Rows<float> log_sums{bench.put(std::vector<float>(kRows, 7)), 1, kRows};
            const auto scores = bench.matrix(kRows, width, 1);
            table.softmax_sums(bench.executor(), scores, counted, {highest.data, sum.data});
            const Rows<float> shares = bench.room<float>(kRows, width);
            table.softmax_shares(
                bench.executor(), scores, counted, log_sums.data, sum.data, shares);
            return Outputs{bench.get(highest), bench.get(sum), bench.get(shares)};
          },
          near);
    }
  }
}
