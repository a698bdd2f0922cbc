// What the tests of storage/io share: a file of known bytes, and the list of
// engines that one conformance suite runs on. A new engine joins by one line in `engine_factories`.
#pragma once

#include "core/hash.h"
#include "storage/io/fault_engine.h"
#include "support/sanitized.h"

#include <sluice/random.h>

#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace sluice::test {

inline constexpr std::uint64_t kRandomReadSets = sanitized(10'000, 500);

/// A file of random bytes, a copy of them in memory, and its page checksums.
struct KnownFile {
  std::filesystem::path path;
  std::vector<std::byte> bytes;
  std::vector<std::uint32_t> page_sums;

  KnownFile(std::filesystem::path at, std::size_t size) : path(std::move(at)), bytes(size) {
    const RandomKey key(size);
    for (std::size_t i = 0; i < size; ++i)
      bytes[i] = static_cast<std::byte>(key.draw(i / 8) >> (i % 8 * 8));
    for (std::size_t i = 0; i + kPageBytes <= size; i += kPageBytes) {
      page_sums.push_back(xxh3_32(std::span(bytes).subspan(i, kPageBytes)));
    }
    File file = File::create(path).or_throw();
    file.write_at(0, bytes).or_throw();
    file.sync().or_throw();
    file.close().or_throw();
  }

  std::shared_ptr<const File> open(Direct direct = Direct::kAuto) const {
    return std::make_shared<const File>(File::open_read(path, direct).or_throw());
  }
};

inline std::shared_ptr<AlignedBuffer> make_buffer(std::size_t bytes) {
  return std::make_shared<AlignedBuffer>(AlignedBuffer::make(bytes, nullptr, "test").or_throw());
}

struct EngineFactory {
  std::string name;
  std::function<std::unique_ptr<IoEngine>()> make;
  std::uint64_t random_read_sets = kRandomReadSets;
};

inline IoEngineOptions engine_options(IoEngineKind kind, std::size_t depth = 32) {
  IoEngineOptions options;
  options.kind = kind;
  options.depth = depth;
  options.pread_threads = 4;
  return options;
}

/// Every engine that this machine offers, without faults of its own.
inline std::vector<EngineFactory> plain_factories() {
  const auto factory = [](std::string name, const IoEngineOptions& options) {
    return EngineFactory{std::move(name),
                         [options] { return make_io_engine(options).or_throw().engine; }};
  };
  std::vector<EngineFactory> factories;
  IoEngineOptions uring = engine_options(IoEngineKind::kIoUring);
  if (auto probe = make_io_engine(uring); !probe) {
    MESSAGE("io_uring is not tested: ", probe.error().what());
  } else {
    factories.push_back(factory("io_uring", uring));
    uring.register_resources = false;
    factories.push_back(factory("io_uring, nothing registered", uring));
    factories.back().random_read_sets /= 10;  // differs from the above in a flag a request only
  }
  factories.push_back(factory("pread", engine_options(IoEngineKind::kPread)));
  factories.push_back(factory("memory", engine_options(IoEngineKind::kMemory)));
  return factories;
}

/// Those, and each under the fault engine with nothing to break.
inline std::vector<EngineFactory> engine_factories() {
  std::vector<EngineFactory> factories = plain_factories();
  for (const EngineFactory& plain : plain_factories()) {
    factories.push_back({"fault over " + plain.name,
                         [plain] { return make_fault_engine(plain.make(), FaultPlan{}); }});
  }
  return factories;
}

}  // namespace sluice::test
