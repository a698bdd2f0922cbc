#include "device/devices.h"
#include "device/fake_device.h"

namespace sluice::test {

std::vector<TestedDevice> tested_devices() {
  std::vector<TestedDevice> all;
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    FakeDevice::Options options;
    options.seed = seed;
    all.push_back({"fake " + std::to_string(seed), std::make_shared<FakeDevice>(options)});
  }
  return all;
}

}  // namespace sluice::test
