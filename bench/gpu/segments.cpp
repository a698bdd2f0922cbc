#include "bench/gpu/segments.h"

#include "device/buffer.h"
#include "kernels/table.h"

#include <sluice/random.h>

#include <span>
#include <string>
#include <vector>

namespace sluice::bench {
namespace {

using kernels::Rows;

constexpr std::int64_t kHeads = 4;

// A block with lists of one length, and the rows that the kernels read and write.
class Segments {
 public:
  Segments(Gpu& gpu, const SegmentSizes& sizes, std::uint64_t dim, std::uint64_t rounds)
      : gpu_(gpu),
        rounds_(rounds),
        targets_(static_cast<std::int64_t>(sizes.targets)),
        edges_(static_cast<std::int64_t>(sizes.targets * sizes.degree)),
        dim_(static_cast<std::int64_t>(dim)) {
    std::vector<std::int64_t> offsets;
    offsets.reserve(sizes.targets + 1);
    std::vector<std::int32_t> items;
    items.reserve(sizes.targets * sizes.degree);
    const RandomKey key(1);
    for (std::uint64_t t = 0; t <= sizes.targets; ++t)
      offsets.push_back(static_cast<std::int64_t>(t * sizes.degree));
    for (std::uint64_t e = 0; e < sizes.targets * sizes.degree; ++e)
      items.push_back(static_cast<std::int32_t>(key.below(sizes.sources, e)));
    lists_ = {put(offsets), put(items), targets_};
    x_ = matrix(static_cast<std::int64_t>(sizes.sources), dim_);
    out_ = matrix(targets_, dim_);
    weights_ = matrix(edges_, kHeads);
    logits_ = matrix(edges_, kHeads);
    own_ = matrix(targets_, kHeads);
    own_logits_ = matrix(targets_, kHeads);
  }

  void sum() {
    print("segment_sum", dim_ * (edges_ + targets_), [&](const auto& on, const auto& table) {
      table.segment_sum(on, lists_, {}, x_, out_);
    });
  }
  void weighted_sum() {
    const std::int64_t floats = dim_ * (edges_ + 2 * targets_) + kHeads * (edges_ + targets_);
    print("segment_weighted_sum", floats, [&](const auto& on, const auto& table) {
      table.segment_weighted_sum(on, lists_, weights_, own_, x_, out_);
    });
  }
  void max() {
    const Rows<std::int32_t> winner{
        put(std::vector<std::int32_t>(static_cast<std::size_t>(targets_ * dim_))), targets_, dim_};
    print("segment_max", dim_ * (edges_ + 2 * targets_), [&](const auto& on, const auto& table) {
      table.segment_max(on, lists_, x_, out_, winner);
    });
  }
  void softmax() {
    print("edge_softmax", 2 * kHeads * (edges_ + targets_), [&](const auto& on, const auto& table) {
      table.edge_softmax(on, lists_, logits_, own_logits_, weights_, own_);
    });
  }

 private:
  template <class T>
  T* put(const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    auto memory = DeviceBuffer::make(gpu_.device(), bytes.size(), nullptr, "bench").or_throw();
    gpu_.device()->copy_in(Stream::kCompute, bytes, memory.data()).or_throw();
    const auto sent = gpu_.device()->make_event().or_throw();
    gpu_.device()->record(*sent, Stream::kCompute).or_throw();
    gpu_.device()->synchronize(*sent).or_throw();
    memory_.push_back(std::move(memory));
    return reinterpret_cast<T*>(memory_.back().data());
  }
  Rows<float> matrix(std::int64_t count, std::int64_t width) {
    std::vector<float> values(static_cast<std::size_t>(count * width));
    const RandomKey key(2);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(key.uniform(i));
    return {put(values), count, width};
  }

  template <class Run>
  void print(const char* name, std::int64_t floats, const Run& run) {
    const auto& device = gpu_.device();
    const kernels::Executor executor{nullptr, &device->kernels(), device->handle(Stream::kCompute)};
    Line line{.name = std::string("gpu/") + name, .work = 4.0 * static_cast<double>(floats)};
    line.seconds =
        gpu_.seconds(Stream::kCompute, rounds_, [&] { run(executor, kernels::on(executor)); });
    line.more["columns"] = dim_;
    line.more["edges_per_second"] = static_cast<double>(edges_) / line.seconds;
    bench::print(line);
  }

  Gpu& gpu_;
  std::uint64_t rounds_;
  std::int64_t targets_, edges_, dim_;
  std::vector<DeviceBuffer> memory_;
  kernels::RowLists lists_;
  Rows<float> x_, out_, weights_, logits_, own_, own_logits_;
};

}  // namespace

void add_segment_cases(Program& program,
                       Gpu& gpu,
                       const SegmentSizes& sizes,
                       const std::uint64_t& dim,
                       const std::uint64_t& rounds) {
  const auto add = [&](const char* name, const char* help, void (Segments::*run)()) {
    program.add_case(std::string("gpu/") + name, help, [&, run] {
      Segments segments(gpu, sizes, dim, rounds);
      (segments.*run)();
    });
  };
  add("segment_sum", "sums of listed rows", &Segments::sum);
  add("segment_weighted_sum", "the same, by the weights of four heads", &Segments::weighted_sum);
  add("segment_max", "maxima of listed rows, and whose they are", &Segments::max);
  add("edge_softmax", "softmax over each list, for four heads", &Segments::softmax);
}

}  // namespace sluice::bench
