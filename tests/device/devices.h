// The devices that the conformance tests of this program run over: fakes, or the GPU.
#pragma once

#include "device/device.h"

#include <memory>
#include <string>
#include <vector>

namespace sluice::test {

struct TestedDevice {
  std::string name;
  std::shared_ptr<ComputeDevice> device;
};

/// Defined by each program that links the conformance tests.
std::vector<TestedDevice> tested_devices();

}  // namespace sluice::test
