#include "bench/gpu/gpu.h"

#include "bench/support/program.h"
#include "device/library.h"

#include <vector>

namespace sluice::bench {

const std::shared_ptr<ComputeDevice>& Gpu::device() {
  if (!device_) device_ = find_device().or_throw();
  return device_;
}

double Gpu::seconds(Stream stream, std::uint64_t rounds, const std::function<void()>& queue) {
  constexpr std::uint64_t kWarm = 2;
  const auto begin = device()->make_event().or_throw();
  const auto end = device()->make_event().or_throw();
  std::vector<double> all;
  for (std::uint64_t round = 0; round < rounds + kWarm; ++round) {
    device()->record(*begin, stream).or_throw();
    queue();
    device()->record(*end, stream).or_throw();
    device()->synchronize(*end).or_throw();
    if (round >= kWarm) all.push_back(device()->seconds_between(*begin, *end).or_throw());
  }
  return median(all);
}

}  // namespace sluice::bench
