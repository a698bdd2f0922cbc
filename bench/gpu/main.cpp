// bench/gpu: what a GPU does with mini-batches on their way to it: copies from pinned and from
// other memory, and stored rows gathered and widened straight from pinned host memory; and the
// kernels over their lists.
#include "bench/gpu/gpu.h"
#include "bench/gpu/segments.h"
#include "bench/support/program.h"
#include "device/buffer.h"
#include "kernels/table.h"
#include "storage/io/aligned_buffer.h"

#include <sluice/graph_schema.h>
#include <sluice/random.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace sluice::bench {
namespace {

class Bench {
 public:
  Gpu gpu;
  std::uint64_t rows = 200'000;  // a mini-batch of a deep fanout
  std::uint64_t table = 4'000'000;
  std::uint64_t dim = 128;
  std::uint64_t rounds = 21;

  void copy() {
    open();
    const std::uint64_t bytes = rows * dim * sizeof(float);
    const AlignedBuffer plain = filled(bytes, nullptr);
    Line line{.name = "gpu/copy_pinned",
              .work = static_cast<double>(bytes),
              .seconds = static_cast<double>(bytes) / pinned_rate(bytes)};
    const auto memory = DeviceBuffer::make(device_, bytes, nullptr, "bench").or_throw();
    line.peer = "memory that is not pinned";
    line.peer_rate =
        static_cast<double>(bytes) / seconds([&] {
          device_->copy_in(Stream::kCopy, plain.bytes().first(bytes), memory.data()).or_throw();
        });
    print(line);
  }

  // Bytes as they are stored, of rows in random order; beside a plain copy of as many.
  void gather(DType dtype) {
    open();
    const std::uint64_t row_bytes = feature_row_bytes(dtype, static_cast<std::uint32_t>(dim));
    const AlignedBuffer stored = filled(table * row_bytes, device_);
    if (!stored.pinned()) throw Error(ErrorCode::kResource, "this machine does not pin memory");
    std::vector<const std::byte*> addresses;
    addresses.reserve(rows);
    const RandomKey key(1);
    for (std::uint64_t i = 0; i < rows; ++i)
      addresses.push_back(stored.data() + key.below(table, i) * row_bytes);
    const auto list =
        DeviceBuffer::make(device_, rows * sizeof(addresses[0]), nullptr, "bench").or_throw();
    const auto out =
        DeviceBuffer::make(device_, rows * dim * sizeof(float), nullptr, "bench").or_throw();
    device_->copy_in(Stream::kCopy, std::as_bytes(std::span(addresses)), list.data()).or_throw();
    const kernels::Executor executor{nullptr, &device_->kernels(), device_->handle(Stream::kCopy)};
    Line line{.name = "gpu/gather_" + std::string(feature_dtype_name(dtype)),
              .work = static_cast<double>(rows * row_bytes)};
    line.seconds = seconds([&] {
      kernels::on(executor).widen_rows(executor,
                                       dtype,
                                       reinterpret_cast<const std::byte* const*>(list.data()),
                                       {reinterpret_cast<float*>(out.data()),
                                        static_cast<std::int64_t>(rows),
                                        static_cast<std::int64_t>(dim)});
    });
    line.disk_rate = pinned_rate(rows * row_bytes);
    line.more["rows_per_second"] = static_cast<double>(rows) / line.seconds;
    line.more["row_bytes"] = row_bytes;
    print(line);
  }

 private:
  void open() { device_ = gpu.device(); }

  static AlignedBuffer filled(std::uint64_t bytes, std::shared_ptr<HostPinning> device) {
    auto buffer = AlignedBuffer::make(bytes, nullptr, "bench", std::move(device)).or_throw();
    const RandomKey key(2);
    for (std::uint64_t i = 0; i + 8 <= buffer.size(); i += 8) {
      const std::uint64_t bits = key.draw(i) & 0x3b3b3b3b3b3b3b3bull;  // finite in every dtype
      std::memcpy(buffer.data() + i, &bits, sizeof bits);
    }
    return buffer;
  }

  double pinned_rate(std::uint64_t bytes) {
    const AlignedBuffer slab = filled(bytes, device_);
    const auto memory = DeviceBuffer::make(device_, bytes, nullptr, "bench").or_throw();
    return static_cast<double>(bytes) / seconds([&] {
             device_->copy_in(Stream::kCopy, slab.bytes().first(bytes), memory.data()).or_throw();
           });
  }

  double seconds(const std::function<void()>& queue) {
    return gpu.seconds(Stream::kCopy, rounds, queue);
  }

  std::shared_ptr<ComputeDevice> device_;
};

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  using namespace sluice;
  bench::Program program("gpu", "Mini-batches on their way to a GPU, and kernels over them there.");
  bench::Bench bench;
  program.option("--rows", bench.rows, "rows of a mini-batch");
  program.option("--table", bench.table, "rows they are gathered from, in pinned host memory");
  program.option("--dim", bench.dim, "elements a row");
  program.option("--rounds", bench.rounds, "times each is measured; the median counts");
  program.add_case("gpu/copy_pinned", "one copy of a packed mini-batch", [&] { bench.copy(); });
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8}) {
    program.add_case("gpu/gather_" + std::string(feature_dtype_name(dtype)),
                     "rows of this dtype, gathered and widened by the GPU",
                     [&bench, dtype] { bench.gather(dtype); });
  }
  bench::SegmentSizes sizes;
  program.option("--targets", sizes.targets, "lists of a block");
  program.option("--sources", sizes.sources, "rows that they name");
  program.option("--degree", sizes.degree, "rows a list names");
  bench::add_segment_cases(program, bench.gpu, sizes, bench.dim, bench.rounds);
  return program.run(argc, argv);
}
