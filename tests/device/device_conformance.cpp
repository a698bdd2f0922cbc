// What every ComputeDevice promises: copies keep bytes and order, events order streams and the
// host, memory is given back.
#include "device/buffer.h"
#include "device/devices.h"
#include "storage/io/aligned_buffer.h"

#include <sluice/random.h>

#include <doctest/doctest.h>

#include <cstring>

using namespace sluice;
using namespace sluice::test;

namespace {

AlignedBuffer random_bytes(const std::shared_ptr<ComputeDevice>& device,
                           std::size_t bytes,
                           std::uint64_t seed) {
  AlignedBuffer buffer = AlignedBuffer::make(bytes, nullptr, "test", device).or_throw();
  const RandomKey key(seed);
  for (std::size_t i = 0; i + 8 <= buffer.size(); i += 8) {
    const std::uint64_t bits = key.draw(i);
    std::memcpy(buffer.data() + i, &bits, sizeof bits);
  }
  return buffer;
}

bool equal(const AlignedBuffer& a, const AlignedBuffer& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

TEST_CASE("bytes go to a device and come back, whatever their number") {
  for (const auto& [name, device] : tested_devices()) {
    CAPTURE(name);
    CHECK_FALSE(device->info().name.empty());
    CHECK(device->info().total_bytes >= device->info().free_bytes);
    for (const std::size_t bytes : {1u, 4096u, 100'000u, 5'000'000u}) {
      CAPTURE(bytes);
      MemoryLedger ledger(64 << 20, "[memory] gpu");
      const AlignedBuffer sent = random_bytes(device, bytes, bytes);
      AlignedBuffer back = random_bytes(device, bytes, 99);
      const auto memory = DeviceBuffer::make(device, sent.size(), &ledger, "test").or_throw();
      CHECK(ledger.used() == sent.size());
      CHECK(reinterpret_cast<std::uintptr_t>(memory.data()) % 256 == 0);
      const auto event = device->make_event().or_throw();
      device->copy_in(Stream::kCopy, sent.bytes(), memory.data()).or_throw();
      device->copy_out(Stream::kCopy, memory.data(), back.bytes()).or_throw();
      device->record(*event, Stream::kCopy).or_throw();
      device->synchronize(*event).or_throw();
      CHECK(equal(sent, back));
    }
  }
}

TEST_CASE("what one stream writes another reads once it has waited, through many turns of a slot") {
  for (const auto& [name, device] : tested_devices()) {
    CAPTURE(name);
    constexpr std::size_t kBytes = 1 << 20;
    MemoryLedger ledger;
    const auto memory = DeviceBuffer::make(device, kBytes, &ledger, "test").or_throw();
    const auto written = device->make_event().or_throw();
    const auto read = device->make_event().or_throw();
    for (std::uint64_t turn = 0; turn < 8; ++turn) {
      const AlignedBuffer sent = random_bytes(device, kBytes, turn);
      AlignedBuffer back = random_bytes(device, kBytes, ~turn);
      device->wait(Stream::kCopy, *read).or_throw();
      device->copy_in(Stream::kCopy, sent.bytes(), memory.data()).or_throw();
      device->record(*written, Stream::kCopy).or_throw();
      device->wait(Stream::kCompute, *written).or_throw();
      device->copy_out(Stream::kCompute, memory.data(), back.bytes()).or_throw();
      device->record(*read, Stream::kCompute).or_throw();
      device->synchronize(*read).or_throw();
      CHECK(equal(sent, back));
      CHECK(device->seconds_between(*written, *read).or_throw() >= 0);
    }
  }
}

TEST_CASE("an event that was never recorded holds up nobody") {
  for (const auto& [name, device] : tested_devices()) {
    CAPTURE(name);
    const auto event = device->make_event().or_throw();
    device->wait(Stream::kCompute, *event).or_throw();
    device->wait(Stream::kCopy, *event).or_throw();
    device->synchronize(*event).or_throw();
  }
}

TEST_CASE("more memory than there is is refused, by the ledger and by the device") {
  for (const auto& [name, device] : tested_devices()) {
    CAPTURE(name);
    MemoryLedger ledger(1 << 20, "[memory] gpu");
    const auto over = DeviceBuffer::make(device, 2 << 20, &ledger, "too much");
    REQUIRE_FALSE(over.ok());
    CHECK(over.error().code() == ErrorCode::kResource);
    CHECK(over.error().hint().find("[memory] gpu") != std::string::npos);
    const auto beyond =
        DeviceBuffer::make(device, 2 * device->info().total_bytes, nullptr, "too much");
    REQUIRE_FALSE(beyond.ok());
    CHECK(beyond.error().code() == ErrorCode::kResource);
    CHECK(ledger.used() == 0);
    // And the device goes on.
    CHECK(DeviceBuffer::make(device, 1 << 20, &ledger, "enough").ok());
  }
}
