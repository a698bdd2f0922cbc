// The kernels of a device beside the CPU's: the same bits, but for the exponential of the softmax.
// On the fakes this checks the checks.
#include "core/half.h"
#include "device/buffer.h"
#include "device/devices.h"
#include "kernels/table.h"
#include "storage/io/aligned_buffer.h"
#include "support/blocks.h"
#include "support/sparse_rows.h"
#include "support/stored_rows.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

using namespace sluice;
using namespace sluice::test;
using namespace sluice::testing;
using kernels::Executor;
using kernels::RowLists;
using kernels::Rows;

namespace {

// Memory that a kernel on a device may use, or on the CPU where there is none; copied there and
// back by the streams themselves.
class Bench {
 public:
  explicit Bench(std::shared_ptr<ComputeDevice> device) : device_(std::move(device)) {}

  Executor executor() const {
    if (!device_) return {};
    return {nullptr, &device_->kernels(), device_->handle(Stream::kCompute)};
  }
  const kernels::KernelTable& table() const { return kernels::on(executor()); }

  template <class T>
  T* put(const std::vector<T>& values) {
    const std::size_t bytes = std::max<std::size_t>(values.size() * sizeof(T), 1);
    auto host = std::make_shared<AlignedBuffer>(
        AlignedBuffer::make(bytes, nullptr, "test", device_).or_throw());
    std::memcpy(host->data(), values.data(), values.size() * sizeof(T));
    host_.push_back(host);
    if (!device_) return reinterpret_cast<T*>(host->data());
    auto memory = DeviceBuffer::make(device_, bytes, nullptr, "test").or_throw();
    device_->copy_in(Stream::kCompute, host->bytes().first(bytes), memory.data()).or_throw();
    auto* at = reinterpret_cast<T*>(memory.data());
    memory_.push_back(std::move(memory));
    return at;
  }

  // On the device, of a value that no kernel gives, so that what is not written shows.
  template <class T>
  Rows<T> room(std::int64_t count, std::int64_t width) {
    return {put(std::vector<T>(static_cast<std::size_t>(count * width), T(-77))), count, width};
  }

  template <class T>
  std::vector<T> get(const Rows<T>& rows) {
    const auto size = static_cast<std::size_t>(rows.count * rows.width);
    std::vector<T> values(size);
    if (size == 0) return values;
    if (!device_) {
      std::memcpy(values.data(), rows.data, size * sizeof(T));
      return values;
    }
    device_
        ->copy_out(Stream::kCompute,
                   reinterpret_cast<const std::byte*>(rows.data),
                   std::as_writable_bytes(std::span(values)))
        .or_throw();
    finish();
    return values;
  }

  void finish() {
    if (!device_) return;
    const auto event = device_->make_event().or_throw();
    device_->record(*event, Stream::kCompute).or_throw();
    device_->synchronize(*event).or_throw();
  }
  ~Bench() { finish(); }

  RowLists lists(const Block& block) {
    return {put(vector_of<std::int64_t>(block.offsets)),
            put(vector_of<std::int32_t>(block.neighbours)),
            block.num_targets};
  }
  RowLists transposed(const Block& block) {
    return {put(vector_of<std::int64_t>(block.transposed_offsets)),
            put(vector_of<std::int32_t>(block.transposed_targets)),
            block.num_sources,
            put(vector_of<std::int32_t>(block.transposed_edges))};
  }
  Rows<float> matrix(std::int64_t count, std::int64_t width, std::uint64_t seed) {
    return {put(random_floats(count * width, seed)), count, width};
  }
  Rows<kernels::BFloat16> halves(std::int64_t count, std::int64_t width, std::uint64_t seed) {
    std::vector<kernels::BFloat16> values;
    for (const float value : random_floats(count * width, seed))
      values.push_back({narrow_bf16(static_cast<double>(value))});
    return {put(values), count, width};
  }

 private:
  template <class T>
  static std::vector<T> vector_of(const Array& array) {
    const auto values = array.as<T>();
    return {values.begin(), values.end()};
  }

  std::shared_ptr<ComputeDevice> device_;
  std::vector<std::shared_ptr<AlignedBuffer>> host_;
  std::vector<DeviceBuffer> memory_;
};

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

using Outputs = std::vector<std::vector<float>>;

// `work` on the CPU and on every tested device gives outputs that are equal by `equal`.
void compare(
    const std::function<Outputs(Bench&)>& work,
    const std::function<bool(const std::vector<float>&, const std::vector<float>&)>& equal) {
  Bench cpu(nullptr);
  const Outputs expected = work(cpu);
  for (const auto& [name, device] : tested_devices()) {
    CAPTURE(name);
    Bench bench(device);
    const Outputs got = work(bench);
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      CAPTURE(i);
      CHECK(equal(got[i], expected[i]));
    }
  }
}

const std::int64_t kWidths[] = {1, 3, 16, 33, 64, 100, 256};

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
    const auto near = [](const std::vector<float>& a, const std::vector<float>& b) {
      bool all = a.size() == b.size();
      for (std::size_t i = 0; all && i < a.size(); ++i)
        all = std::abs(a[i] - b[i]) <= 1e-6f + 4e-6f * std::abs(b[i]);
      return all;
    };
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

TEST_CASE("kernel parity: dropout draws the same mask; rows are gathered by index") {
  for (const std::int64_t count : {1, 2, 255, 100'001}) {
    for (const double rate : {0.0, 0.3, 0.9}) {
      CAPTURE(count);
      CAPTURE(rate);
      compare(
          [&](Bench& bench) {
            const Rows<float> out = bench.room<float>(1, count);
            bench.table().dropout(bench.executor(),
                                  RandomKey(9).with("test"),
                                  rate,
                                  bench.matrix(1, count, 1).data,
                                  out.data,
                                  count);
            return Outputs{bench.get(out)};
          },
          same_bits<float>);
    }
  }
  compare(
      [&](Bench& bench) {
        std::vector<std::int64_t> index;
        for (std::uint64_t i = 0; i < 999; ++i)
          index.push_back(static_cast<std::int64_t>(RandomKey(3).below(500, i)));
        const Rows<float> out = bench.room<float>(999, 37);
        bench.table().gather_rows(
            bench.executor(), bench.matrix(500, 37, 1), bench.put(index), out);
        return Outputs{bench.get(out)};
      },
      same_bits<float>);
}

TEST_CASE("kernel parity: sparse optimizers, step after step over the same rows") {
  constexpr std::int64_t kRows = 300;
  for (const std::int64_t width : kWidths) {
    CAPTURE(width);
    const std::int64_t stride = 3 * width + 1;  // room for the state of each
    compare(
        [&](Bench& bench) {
          const auto& table = bench.table();
          const auto steps = [&](const auto& step) {
            std::vector<float> values = random_floats(kRows * stride, 1);
            for (std::int64_t i = 0; i < kRows; ++i)
              std::fill_n(values.begin() + i * stride + width, stride - width, 0.0f);
            const Rows<float> rows{bench.put(values), kRows, stride};
            std::vector<float*> begins;
            for (std::int64_t i = kRows; i > 0; --i) begins.push_back(rows.row(i - 1));
            float* const* at = bench.put(begins);
            for (std::uint64_t s = 0; s < 5; ++s) step(at, bench.matrix(kRows, width, 10 + s));
            return bench.get(rows);
          };
          const auto& on = bench.executor();
          return Outputs{steps([&](auto at, auto g) { table.sgd_rows(on, at, g, 0.1f); }),
                         steps([&](auto at, auto g) {
                           table.adagrad_rows(on, at, g, {0.1f, 1e-10f});
                         }),
                         steps([&](auto at, auto g) {
                           table.adagrad_mean_rows(on, at, g, {0.1f, 1e-10f});
                         }),
                         steps([&](auto at, auto g) {
                           table.adam_rows(on, at, g, {0.1, 0.9, 0.999, 1e-8f});
                         })};
        },
        same_bits<float>);
  }
}

TEST_CASE("kernel parity: sparse rows are spread, from pinned host memory, at any address") {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const std::uint32_t dim : {1u, 31u, 300u, 65'537u}) {
      for (const std::size_t shift : {0u, 1u, 2u, 4u}) {
        CAPTURE(to_string(dtype));
        CAPTURE(dim);
        CAPTURE(shift);
        const std::uint32_t entries = std::min(dim, 80u);
        const std::size_t count = dim > 1000 ? 5 : 500;
        const SparseTable table(dtype, dim, entries, count, shift, RandomKey(7).with(dim));
        for (const auto& [name, device] : tested_devices()) {
          CAPTURE(name);
          AlignedBuffer pinned =
              AlignedBuffer::make(table.bytes.size(), nullptr, "rows", device).or_throw();
          REQUIRE(pinned.pinned());
          std::memcpy(pinned.data(), table.bytes.data(), table.bytes.size());
          std::vector<const std::byte*> wanted;
          for (const std::byte* row : table.rows)
            wanted.push_back(pinned.data() + (row - table.bytes.data()));
          const auto rows = static_cast<std::int64_t>(count);
          std::vector<float> expected(count * dim);
          kernels::spread_rows(
              {}, dtype, entries, wanted.data(), {expected.data(), rows, std::int64_t{dim}});
          Bench bench(device);
          const Rows<float> out = bench.room<float>(rows, std::int64_t{dim});
          bench.table().spread_rows(bench.executor(), dtype, entries, bench.put(wanted), out);
          CHECK(same_bits(bench.get(out), expected));
        }
      }
    }
  }
}

TEST_CASE("kernel parity: stored rows of every dtype are widened, from pinned host memory") {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8}) {
    // 65,536 columns: every 16-bit pattern once.
    for (const std::size_t dim : {1u, 4u, 7u, 32u, 100u, 128u, 65'536u}) {
      for (const std::size_t shift : {0u, 1u, 4u}) {
        CAPTURE(to_string(dtype));
        CAPTURE(dim);
        CAPTURE(shift);
        const std::size_t count = dim > 1000 ? 2 : 500;
        const std::size_t row_bytes = stored_row_bytes(dtype, dim);
        for (const auto& [name, device] : tested_devices()) {
          CAPTURE(name);
          AlignedBuffer rows =
              AlignedBuffer::make(shift + count * row_bytes, nullptr, "rows", device).or_throw();
          REQUIRE(rows.pinned());
          const RandomKey key = RandomKey(5).with(dim);
          for (std::size_t i = 0; i < rows.size(); ++i)
            rows.data()[i] = static_cast<std::byte>(key.draw(i));
          std::vector<const std::byte*> wanted;
          for (std::size_t i = 0; i < count; ++i) {
            std::byte* row = rows.data() + shift + key.with("order").below(count, i) * row_bytes;
            const auto scale = static_cast<float>(key.uniform(i));
            if (dtype == DType::kI8) std::memcpy(row, &scale, sizeof scale);
            for (std::size_t c = 0; dim > 1000 && dtype != DType::kF32 && c < dim; ++c) {
              const auto bits = static_cast<std::uint16_t>(c);
              if (dtype != DType::kI8) std::memcpy(row + 2 * c, &bits, sizeof bits);
            }
            wanted.push_back(row);
          }
          const auto width = static_cast<std::int64_t>(dim);
          std::vector<float> expected(count * dim);
          kernels::widen_rows(
              {}, dtype, wanted.data(), {expected.data(), static_cast<std::int64_t>(count), width});
          Bench bench(device);
          const Rows<float> out = bench.room<float>(static_cast<std::int64_t>(count), width);
          bench.table().widen_rows(bench.executor(), dtype, bench.put(wanted), out);
          CHECK(same_bits(bench.get(out), expected));
        }
      }
    }
  }
}
