// That the fake device finds what it is there to find: each bug planted by hand, and its absence.
#include "device/fake_device.h"

#include "storage/io/aligned_buffer.h"

#include <doctest/doctest.h>

#include <cstring>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::size_t kBytes = 4096;

// A copy from a slab to the device, and what a test may forget around it.
struct Scene {
  explicit Scene(std::uint64_t seed) {
    FakeDevice::Options options;
    options.seed = seed;
    device = std::make_shared<FakeDevice>(options);
    slab = AlignedBuffer::make(kBytes, nullptr, "slab", device).or_throw();
    memory = device->allocate(kBytes).or_throw();
    sent = device->make_event().or_throw();
    used = device->make_event().or_throw();
    std::memset(slab.data(), 1, kBytes);
  }
  void copy() { (void)device->copy_in(Stream::kCopy, slab.bytes(), memory); }
  void mark_sent() { (void)device->record(*sent, Stream::kCopy); }
  void compute() { device->declare(Stream::kCompute, {memory, kBytes}, Access::kRead); }
  std::string found() {
    (void)device->synchronize(*sent);
    const auto all = device->violations();
    return all.empty() ? "" : all.front();
  }

  std::shared_ptr<FakeDevice> device;
  AlignedBuffer slab;
  std::byte* memory = nullptr;
  std::unique_ptr<DeviceEvent> sent, used;
};

const std::uint64_t kSeeds[] = {1, 2, 3, 4, 5, 6, 7, 8};

}  // namespace

TEST_CASE("fake device: the right order is not complained of") {
  for (const std::uint64_t seed : kSeeds) {
    CAPTURE(seed);
    Scene scene(seed);
    for (int turn = 0; turn < 5; ++turn) {
      (void)scene.device->synchronize(*scene.sent);
      std::memset(scene.slab.data(), turn, kBytes);
      (void)scene.device->wait(Stream::kCopy, *scene.used);
      scene.copy();
      scene.mark_sent();
      (void)scene.device->wait(Stream::kCompute, *scene.sent);
      scene.compute();
      CHECK(scene.memory[7] == static_cast<std::byte>(turn));
      (void)scene.device->record(*scene.used, Stream::kCompute);
    }
    (void)scene.device->synchronize(*scene.used);
    scene.device->free(scene.memory);
    CHECK(scene.found() == "");
    CHECK(scene.device->queued() == 0);
  }
}

TEST_CASE("fake device: a copy that nobody waited for shows rubbish, and is found") {
  bool rubbish = false;
  for (const std::uint64_t seed : kSeeds) {
    CAPTURE(seed);
    Scene scene(seed);
    scene.copy();
    scene.mark_sent();
    scene.compute();
    rubbish = rubbish || scene.memory[7] == std::byte{0xff};
    CHECK(scene.found() == "the compute stream reads memory that the copy stream may still write");
  }
  CHECK(rubbish);
}

TEST_CASE("fake device: a slab filled anew before its copy ran is found") {
  int found = 0;
  for (const std::uint64_t seed : kSeeds) {
    Scene scene(seed);
    scene.copy();
    scene.mark_sent();
    std::memset(scene.slab.data(), 2, kBytes);
    found += scene.found() == "the source of a copy changed before it ran" ? 1 : 0;
  }
  CHECK(found >= 2);  // the seeds for which nothing runs by itself, at least
}

TEST_CASE("fake device: memory copied over while the model may read it is found") {
  for (const std::uint64_t seed : kSeeds) {
    CAPTURE(seed);
    Scene scene(seed);
    scene.copy();
    scene.mark_sent();
    (void)scene.device->wait(Stream::kCompute, *scene.sent);
    scene.compute();
    (void)scene.device->synchronize(*scene.sent);
    scene.copy();
    CHECK(scene.found() == "the copy stream writes memory that the compute stream may still read");
  }
}

TEST_CASE("fake device: memory given back while a stream may use it is found") {
  Scene scene(1);
  scene.copy();
  scene.device->free(scene.memory);
  CHECK(scene.found().find("device memory is freed") == 0);
  Scene other(1);
  other.copy();
  other.slab = {};
  CHECK(other.device->violations().at(0).find("host memory is unpinned") == 0);
}

TEST_CASE("fake device: rows that change before the GPU has read them are found") {
  int found = 0;
  for (const std::uint64_t seed : kSeeds) {
    CAPTURE(seed);
    Scene scene(seed);
    AlignedBuffer rows = AlignedBuffer::make(kBytes, nullptr, "rows", scene.device).or_throw();
    const std::byte* const address = rows.data();
    std::memcpy(scene.slab.data(), &address, sizeof address);
    scene.copy();
    kernels::Executor executor{
        nullptr, &scene.device->kernels(), scene.device->handle(Stream::kCopy)};
    kernels::on(executor).widen_rows(executor,
                                     DType::kF32,
                                     reinterpret_cast<const std::byte* const*>(scene.memory),
                                     {reinterpret_cast<float*>(scene.memory + 1024), 1, 4});
    scene.mark_sent();
    std::memset(rows.data(), 3, kBytes);
    found += scene.found() == "rows changed before the GPU had read them" ? 1 : 0;
    (void)scene.device->synchronize(*scene.sent);
  }
  CHECK(found >= 2);
}

TEST_CASE("fake device: the call that meets a bug fails") {
  Scene scene(4);
  scene.copy();
  scene.compute();
  const auto failed = scene.device->record(*scene.sent, Stream::kCopy);
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().code() == ErrorCode::kInternal);
}
