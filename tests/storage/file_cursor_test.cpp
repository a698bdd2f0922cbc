// Files read piece by piece: ahead and one after the other alike, whatever the memory for it.
#include "storage/format/data_file_reader.h"
#include "storage/format/data_file_writer.h"
#include "storage/format/value_cursor.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>
#include <sluice/random.h>
#include <sluice/units.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>
#include <optional>
#include <utility>
#include <vector>

using namespace sluice;
using sluice::test::expect_error;
using sluice::test::TempDir;

namespace {

struct Written {
  std::vector<std::byte> content;  // of whole pages
  Manifest manifest;
  FileEntry entry;
};

Written write_file(const TempDir& dir, std::size_t bytes) {
  Written written;
  written.content.resize(round_up_to_page(bytes));
  const RandomKey key(7);
  for (std::size_t at = 0; at + 8 <= bytes; at += 8) {
    const std::uint64_t value = key.draw(at);
    std::memcpy(written.content.data() + at, &value, sizeof value);
  }
  DataFileWriter writer(dir.path(), "x.bin", nullptr);
  writer.append(std::span(written.content).first(bytes));
  written.entry = writer.finish();
  written.manifest.files.emplace("x.bin", written.entry);
  return written;
}

std::vector<std::byte> read_all(FileCursor& cursor) {
  std::vector<std::byte> all;
  for (;;) {
    CHECK(cursor.offset() == all.size());
    const auto piece = cursor.next().or_throw();
    if (piece.empty()) return all;
    CHECK(piece.size() <= kMiB);
    CHECK(reinterpret_cast<std::uintptr_t>(piece.data()) % kPageBytes == 0);
    all.insert(all.end(), piece.begin(), piece.end());
  }
}

const std::vector<std::optional<IoChoice>> kWays{std::nullopt, IoChoice::kAuto, IoChoice::kPread};

}  // namespace

TEST_CASE("a file comes piece by piece, read ahead or not, by each engine") {
  for (const std::size_t bytes : {std::size_t{0},
                                  std::size_t{5},
                                  8 * kMiB - 4096,
                                  8 * kMiB,
                                  8 * kMiB + 1,
                                  37 * kMiB + 12'345}) {
    CAPTURE(bytes);
    const TempDir dir;
    const Written written = write_file(dir, bytes);
    for (const auto& ahead : kWays) {
      for (const Verify verify : {Verify::kRead, Verify::kOff}) {
        auto cursor =
            FileCursor::open(dir.path(), written.entry, {verify, ahead}, nullptr).or_throw();
        CHECK(read_all(cursor) == written.content);
        CHECK(cursor.next().or_throw().empty());
      }
      const Array array = load_array(dir.path(),
                                     written.manifest,
                                     "x.bin",
                                     DType::kU8,
                                     {static_cast<std::int64_t>(bytes)},
                                     {},
                                     "test",
                                     ahead)
                              .or_throw();
      CHECK(std::equal(array.raw().begin(),
                       array.raw().end(),
                       written.content.begin(),
                       written.content.begin() + static_cast<std::ptrdiff_t>(bytes)));
    }
  }
}

TEST_CASE("reading ahead takes what memory there is, down to that of a piece") {
  const TempDir dir;
  const Written written = write_file(dir, 20 * kMiB);
  const std::uint64_t sums = 20 * kMiB / kPageBytes * sizeof(std::uint32_t) + 20 * 8;
  struct Case {
    std::uint64_t room, buffers;
  };
  for (const Case& c : {Case{64 * kMiB, 16 * kMiB},
                        Case{15 * kMiB, 8 * kMiB},
                        Case{5 * kMiB, 4 * kMiB},
                        Case{2 * kMiB + 64 * kKiB, 2 * kMiB},
                        Case{2 * kMiB - 4096, kMiB}}) {
    CAPTURE(c.room);
    MemoryLedger ledger(c.room + sums, "[memory] host");
    {
      auto cursor =
          FileCursor::open(dir.path(), written.entry, {Verify::kRead, IoChoice::kAuto}, &ledger)
              .or_throw();
      CHECK(ledger.used() >= c.buffers);
      CHECK(ledger.used() <= c.buffers + sums + 4096);
      CHECK(read_all(cursor) == written.content);
    }
    CHECK(ledger.used() == 0);
  }
  MemoryLedger poor(kMiB / 2, "[memory] host");
  const auto refused =
      FileCursor::open(dir.path(), written.entry, {Verify::kRead, IoChoice::kAuto}, &poor);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code() == ErrorCode::kResource);
  CHECK(poor.used() == 0);
}

TEST_CASE("a damaged page and a file cut short are the same errors in every way") {
  const TempDir dir;
  const Written written = write_file(dir, 12 * kMiB);
  const std::filesystem::path path = dir / "x.bin";
  const auto damage = [&](std::uint64_t at, std::byte value) {
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary)
        .seekp(static_cast<std::streamoff>(at))
        .put(static_cast<char>(value));
  };
  constexpr std::uint64_t kAt = 9 * kMiB + 5 * kPageBytes + 77;
  damage(kAt, ~written.content[kAt]);
  for (const auto& ahead : kWays) {
    auto cursor =
        FileCursor::open(dir.path(), written.entry, {Verify::kRead, ahead}, nullptr).or_throw();
    const Error error = expect_error([&] { (void)read_all(cursor); });
    CHECK(error.code() == ErrorCode::kData);
    CHECK(std::string(error.what()) == path.string() + " at byte " +
                                           std::to_string(kAt / kPageBytes * kPageBytes) +
                                           ": the page does not match its checksum");
    CHECK_FALSE(cursor.next().ok());  // and stays so
    auto careless =
        FileCursor::open(dir.path(), written.entry, {Verify::kOff, ahead}, nullptr).or_throw();
    CHECK(read_all(careless).size() == written.content.size());
  }
  std::filesystem::resize_file(path, 8 * kMiB);
  for (const auto& ahead : kWays) {
    const auto opened =
        FileCursor::open(dir.path(), written.entry, {Verify::kRead, ahead}, nullptr);
    REQUIRE_FALSE(opened.ok());
    CHECK(opened.error().code() == ErrorCode::kData);
    CHECK(std::string(opened.error().what()) ==
          path.string() +
              ": the file is truncated: it has 8388608 bytes, the manifest says 12582912");
  }
}

TEST_CASE("a cursor that is let go of in the middle ends at once") {
  const TempDir dir;
  const Written written = write_file(dir, 40 * kMiB);
  for (const auto& ahead : kWays) {
    for (const int pieces : {0, 1, 20}) {
      auto cursor =
          FileCursor::open(dir.path(), written.entry, {Verify::kRead, ahead}, nullptr).or_throw();
      for (int i = 0; i < pieces; ++i) {
        const std::uint64_t at = cursor.offset();
        const auto piece = cursor.next().or_throw();
        CHECK(std::equal(
            piece.begin(), piece.end(), written.content.begin() + static_cast<std::ptrdiff_t>(at)));
      }
    }
  }
}

TEST_CASE("more values than the file has are refused, also where their bytes wrap around") {
  const TempDir dir;
  const Written written = write_file(dir, 2 * kPageBytes);
  constexpr std::uint64_t kThere = 2 * kPageBytes / 8;
  // Of 8 bytes: 2^61 are 2^64 bytes, which look like none. Of 4: 2^62 + 1 look like one.
  for (const auto& [dtype, count] : {std::pair{DType::kU64, kThere + 1},
                                     std::pair{DType::kU64, std::uint64_t{1} << 61},
                                     std::pair{DType::kU32, (std::uint64_t{1} << 62) + 1},
                                     std::pair{DType::kU64, ~std::uint64_t{0}}}) {
    CAPTURE(count);
    const Error error =
        expect_error([&] { ValueCursor(dir.path(), written.entry, dtype, count, nullptr); });
    CHECK(error.code() == ErrorCode::kData);
    CHECK(error.message() == "the file is shorter than the manifest's counts need");
    CHECK(error.place().file == (dir / "x.bin").string());
  }
  ValueCursor all(dir.path(), written.entry, DType::kU64, kThere, nullptr);
  for (std::uint64_t at = 0; at < kThere; ++at) CHECK(all.next() == RandomKey(7).draw(8 * at));
  CHECK_FALSE(all.next().has_value());
}
