// The fake device as a device library, for tests of processes: SLUICE_CUDA_LIBRARY names it.
// $SLUICE_FAKE_SEED orders its work; $SLUICE_FAKE_FORGET (compute, copy, host) plants a bug;
// $SLUICE_FAKE_UNPINNED refuses to pin memory.
#include "device/fake_device.h"
#include "device/library.h"

#include <cstdlib>
#include <string_view>

namespace {

using sluice::test::FakeDevice;
using sluice::test::Forget;

sluice::Result<std::shared_ptr<sluice::ComputeDevice>> open_fake() {
  FakeDevice::Options options;
  if (const char* seed = std::getenv("SLUICE_FAKE_SEED"); seed != nullptr)
    options.seed = std::strtoull(seed, nullptr, 10);
  options.refuse_pinning = std::getenv("SLUICE_FAKE_UNPINNED") != nullptr;
  const char* forget = std::getenv("SLUICE_FAKE_FORGET");
  const std::string_view what = forget == nullptr ? "" : forget;
  if (what == "compute") options.forget = Forget::kComputeWaits;
  if (what == "copy") options.forget = Forget::kCopyWaits;
  if (what == "host") options.forget = Forget::kHostWaits;
  return std::shared_ptr<sluice::ComputeDevice>(std::make_shared<FakeDevice>(options));
}

}  // namespace

extern "C" const sluice::DeviceLibrary* sluice_device_library() {
  static const sluice::DeviceLibrary library{
      sluice::DeviceLibrary::kAbi, sluice::device_build(), &open_fake};
  return &library;
}
