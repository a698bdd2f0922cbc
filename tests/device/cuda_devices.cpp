// The conformance and parity tests over the GPU. Skipped (exit code 77) where there is none; with
// SLUICE_REQUIRE_GPU set that is a failure.
#define DOCTEST_CONFIG_IMPLEMENT
#include "device/devices.h"
#include "device/library.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>

namespace {

std::shared_ptr<sluice::ComputeDevice>& gpu() {
  static std::shared_ptr<sluice::ComputeDevice> opened;
  return opened;
}

}  // namespace

std::vector<sluice::test::TestedDevice> sluice::test::tested_devices() {
  return {{"the GPU", gpu()}};
}

int main(int argc, char** argv) {
  auto found = sluice::find_device();
  if (!found) {
    std::printf("skipped: %s\n", found.error().what());
    return std::getenv("SLUICE_REQUIRE_GPU") == nullptr ? 77 : 1;
  }
  gpu() = std::move(found).value();
  std::printf("%s: %s\n", gpu()->info().name.c_str(), gpu()->info().version.c_str());
  const int code = doctest::Context(argc, argv).run();
  gpu().reset();
  return code;
}
