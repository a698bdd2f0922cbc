#include "storage/feature/row_copy.h"
#include "storage/io/aligned_buffer.h"

#include <doctest/doctest.h>
#include <sluice/random.h>

#include <cstring>
#include <thread>
#include <vector>

using namespace sluice;

namespace {

std::vector<std::byte> drawn_bytes(std::size_t count, RandomKey key) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(key.draw(i));
  return bytes;
}

}  // namespace

TEST_CASE("rows of any length are copied to their places, and nothing else is written") {
  constexpr std::size_t kPlaces = 97;
  // Whole lines, parts of them, and tables that begin within one.
  for (const std::size_t row_bytes : {1u, 16u, 64u, 100u, 132u, 192u, 512u, 520u, 2048u}) {
    for (const std::size_t begin : {0u, 4u, 64u}) {
      CAPTURE(row_bytes);
      CAPTURE(begin);
      AlignedBuffer buffer =
          AlignedBuffer::make(begin + (kPlaces + 1) * row_bytes, nullptr, "test").or_throw();
      const RandomKey key(row_bytes);
      const std::vector<std::byte> before = drawn_bytes(buffer.size(), key.with(1));
      // Where rows come from, at any byte.
      const std::vector<std::byte> from = drawn_bytes(kPlaces * row_bytes + 1, key.with(2));
      std::memcpy(buffer.data(), before.data(), before.size());
      std::vector<std::byte> wanted = before;
      {
        RowCopy rows(buffer.data() + begin, row_bytes);
        for (std::size_t i = 0; i < kPlaces; i += 2) {
          const std::size_t place = i * 31 % kPlaces;
          rows.expect(place);
          rows.copy(place, from.data() + 1 + i * row_bytes);
          std::memcpy(wanted.data() + begin + place * row_bytes,
                      from.data() + 1 + i * row_bytes,
                      row_bytes);
        }
      }
      // Another thread sees them too.
      bool same = false;
      std::thread([&] {
        same = std::memcmp(buffer.data(), wanted.data(), wanted.size()) == 0;
      }).join();
      CHECK(same);
    }
  }
}
