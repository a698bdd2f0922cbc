// What holds the kernels of a device against the CPU's: memory on either, and what is equal.
#pragma once

#include "core/half.h"
#include "device/buffer.h"
#include "device/devices.h"
#include "kernels/table.h"
#include "storage/io/aligned_buffer.h"
#include "support/blocks.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace sluice::testing {

// Memory that a kernel on a device may use, or on the CPU where there is none; copied there and
// back by the streams themselves.
class Bench {
 public:
  explicit Bench(std::shared_ptr<ComputeDevice> device) : device_(std::move(device)) {}

  kernels::Executor executor() const {
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
  kernels::Rows<T> room(std::int64_t count, std::int64_t width) {
    return {put(std::vector<T>(static_cast<std::size_t>(count * width), T(-77))), count, width};
  }

  template <class T>
  std::vector<T> get(const kernels::Rows<T>& rows) {
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

  kernels::RowLists lists(const Block& block) {
    return {put(vector_of<std::int64_t>(block.offsets)),
            put(vector_of<std::int32_t>(block.neighbours)),
            block.num_targets};
  }
  kernels::RowLists transposed(const Block& block) {
    return {put(vector_of<std::int64_t>(block.transposed_offsets)),
            put(vector_of<std::int32_t>(block.transposed_targets)),
            block.num_sources,
            put(vector_of<std::int32_t>(block.transposed_edges))};
  }
  kernels::Rows<float> matrix(std::int64_t count, std::int64_t width, std::uint64_t seed) {
    return {put(random_floats(count * width, seed)), count, width};
  }
  kernels::Rows<kernels::BFloat16> halves(std::int64_t count,
                                          std::int64_t width,
                                          std::uint64_t seed) {
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
inline void compare(
    const std::function<Outputs(Bench&)>& work,
    const std::function<bool(const std::vector<float>&, const std::vector<float>&)>& equal) {
  Bench cpu(nullptr);
  const Outputs expected = work(cpu);
  for (const auto& [name, device] : test::tested_devices()) {
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

// Where a GPU's exponential is its own.
inline bool near(const std::vector<float>& a, const std::vector<float>& b) {
  bool all = a.size() == b.size();
  for (std::size_t i = 0; all && i < a.size(); ++i)
    all = std::abs(a[i] - b[i]) <= 1e-6f + 4e-6f * std::abs(b[i]);
  return all;
}

inline constexpr std::array<std::int64_t, 7> kWidths{1, 3, 16, 33, 64, 100, 256};

}  // namespace sluice::testing
