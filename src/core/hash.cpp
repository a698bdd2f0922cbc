#include "core/hash.h"

#include <fmt/format.h>

#define XXH_STATIC_LINKING_ONLY  // the state lives by value
#include <xxhash.h>
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>  // the same values by the widest instructions of the machine
#endif

namespace sluice {

std::uint64_t xxh3_64(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint32_t xxh3_32(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(xxh3_64(bytes));
}

std::string hex64(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

struct Hasher::State {
  XXH3_state_t xxh;
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
  reset();
}
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;
Hasher::~Hasher() = default;

void Hasher::update(std::span<const std::byte> bytes) {
  (void)XXH3_64bits_update(&state_->xxh, bytes.data(), bytes.size());  // fails on a null state only
}

std::uint64_t Hasher::digest() const {
  return XXH3_64bits_digest(&state_->xxh);
}

void Hasher::reset() {
  (void)XXH3_64bits_reset(&state_->xxh);
}

}  // namespace sluice
