// XXH3 in three shapes: one-shot 64 bits, one-shot 32 bits (a page), and streaming 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace sluice {

std::uint64_t xxh3_64(std::span<const std::byte> bytes);

/// The low 32 bits of XXH3-64.
std::uint32_t xxh3_32(std::span<const std::byte> bytes);

/// 16 lower-case hexadecimal digits.
std::string hex64(std::uint64_t value);

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

/// Incremental XXH3-64; gives the same value as xxh3_64 of the concatenation.
class Hasher {
 public:
  Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;
  ~Hasher();

  void update(std::span<const std::byte> bytes);
  std::uint64_t digest() const;
  void reset();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice
