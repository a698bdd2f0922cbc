#include "device/cuda/tensor_pool.h"

#include <ATen/Context.h>
#include <c10/cuda/CUDACachingAllocator.h>

#include <algorithm>
#include <exception>
#include <string>

namespace sluice {
namespace {

namespace pool = c10::cuda::CUDACachingAllocator;
constexpr c10::DeviceIndex kGpu = 0;

template <class Call>
Result<void> guarded(const Call& call) {
  try {
    call();
    return {};
  } catch (const std::exception& error) {
    const std::string text = error.what();
    return Error(ErrorCode::kResource,
                 "LibTorch cannot use the GPU: " + text.substr(0, text.find('\n')));
  }
}

}  // namespace

Result<void> start_tensor_pool() {
  return guarded([] { at::globalContext().lazyInitDevice(c10::DeviceType::CUDA); });
}

Result<void> limit_tensor_pool(std::uint64_t bytes, std::uint64_t total) {
  return guarded([&] {
    const double share =
        static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(total, 1));
    pool::setMemoryFraction(std::min(share, 1.0), kGpu);
  });
}

TensorPool read_tensor_pool() {
  const auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const auto reserved = pool::getDeviceStats(kGpu).reserved_bytes[all];
  return {static_cast<std::uint64_t>(reserved.current), static_cast<std::uint64_t>(reserved.peak)};
}

// What nobody uses goes back first: it is not of what is measured from here on.
void reset_tensor_pool_peak() {
  pool::emptyCache();
  pool::resetPeakStats(kGpu);
}

}  // namespace sluice
