// Bytes through a scratch file past the page cache: what was placed comes back, piece by piece, and
// a full disk is an error of whoever placed it.
#include "storage/io/scratch_pages.h"
#include "support/expect_error.h"
#include "support/file_size_limit.h"
#include "support/temp_dir.h"

#include <sluice/random.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::uint64_t kMostPlaced = 40'000;  // bytes

// Places pieces of lengths by `key`, four bytes at least each, and returns all bytes.
std::string fill(ScratchPages& pages, RandomKey key, std::uint64_t count) {
  std::string all;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t bytes = 4 * (key.draw(i) % (kMostPlaced / 4 + 1));
    CHECK(pages.size() == all.size());
    const std::span<std::byte> place = pages.place(bytes);
    REQUIRE(place.size() == bytes);
    std::string piece(bytes, '\0');
    for (std::size_t at = 0; at < bytes; ++at)
      piece[at] = static_cast<char>(key.with(i).draw(at / 8) >> (at % 8 * 8));
    std::memcpy(place.data(), piece.data(), bytes);
    all += piece;
  }
  return all;
}

// Random pieces, from nothing to all of a buffer, as many as the buffer holds.
std::vector<ScratchPieces::Piece> some_pieces(RandomKey key,
                                              std::uint64_t all,
                                              std::uint64_t buffer) {
  std::vector<ScratchPieces::Piece> pieces;
  for (std::uint64_t i = 0; buffer >= ScratchPieces::room_for(0); ++i) {
    const std::uint64_t most = (buffer - ScratchPieces::room_for(0)) / kPageBytes * kPageBytes;
    const std::uint64_t offset = key.draw(2 * i) % (all + 1);
    const std::uint64_t bytes = key.draw(2 * i + 1) % (std::min(most, all - offset) + 1);
    pieces.push_back({offset, bytes});
    buffer -= ScratchPieces::room_for(bytes);
  }
  return pieces;
}

}  // namespace

TEST_CASE("scratch pages: what was placed comes back in any pieces, two lots at a time") {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    CAPTURE(seed);
    const TempDir dir;
    const RandomKey key(seed);
    std::string all;
    std::optional<ScratchPieces> reader;
    constexpr std::uint64_t kBuffer = 3 << 20;
    {
      ScratchPages pages(dir.path(), kMostPlaced);
      all = fill(pages, key.with("fill"), 300);
      CHECK(pages.size() == all.size());
      pages.finish();
      reader.emplace(pages, kBuffer);
    }
    std::vector<ScratchPieces::Piece> wanted = some_pieces(key.with("wanted"), all.size(), kBuffer);
    reader->begin(wanted);
    for (std::uint64_t lot = 0; lot < 20; ++lot) {
      const auto& pieces = reader->next();
      const std::vector<ScratchPieces::Piece> asked = wanted;
      wanted = some_pieces(key.with(lot), all.size(), kBuffer);
      reader->begin(wanted);  // the pieces stay meanwhile
      REQUIRE(pieces.size() == asked.size());
      std::uint64_t wrong = 0;
      for (std::size_t i = 0; i < asked.size(); ++i) {
        REQUIRE(pieces[i].size() == asked[i].bytes);
        wrong += std::memcmp(pieces[i].data(), all.data() + asked[i].offset, asked[i].bytes) != 0;
      }
      CHECK(wrong == 0);
    }
    (void)reader->next();
    CHECK(reader->read().pages % kPageBytes == 0);
    CHECK(reader->read().pages >= reader->read().bytes);
  }
}

TEST_CASE("scratch pages: nothing placed is nothing to read") {
  const TempDir dir;
  ScratchPages pages(dir.path(), 0);
  pages.finish();
  ScratchPieces reader(pages, ScratchPieces::room_for(0));
  const ScratchPieces::Piece nothing{0, 0};
  reader.begin(std::span(&nothing, 1));
  CHECK(reader.next().front().empty());
  CHECK(reader.read().pages == 0);
}

TEST_CASE("scratch pages: a full disk is told by a later call, or by the last") {
  for (const std::uint64_t limit : {0u, 16'384u, 1'000'000u}) {
    CAPTURE(limit);
    const TempDir dir;
    const Error error = expect_error([&] {
      const FileSizeLimit full(limit);
      ScratchPages pages(dir.path(), kMostPlaced);
      (void)fill(pages, RandomKey(4), 60);
      pages.finish();
    });
    CHECK(error.code() == ErrorCode::kResource);
    CHECK(error.place().file == dir.path().string());
  }
}
