// Compressed text: gzip and zstd read as what was compressed, whatever the name, in bounded memory;
// damage is told with its place.
#include "compress.h"
#include "table_support.h"

#include <sluice/random.h>

using namespace sluice;
using namespace sluice::test;

namespace {

std::string random_csv(std::size_t rows, std::uint64_t seed) {
  const RandomKey key(seed);
  std::string text = "src,dst\n";
  for (std::size_t i = 0; i < rows; ++i)
    text += fmt::format("{},{}\n", key.draw(2 * i) >> 40, key.draw(2 * i + 1) >> 50);
  return text;
}

/// As `compress` makes each piece of the text a member or frame of its own.
template <class Compress>
std::string in_pieces(const std::string& text, std::size_t piece, Compress compress) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += piece)
    out += compress(std::string_view(text).substr(at, piece));
  return out;
}

}  // namespace

TEST_CASE("compressed text: the same rows as plain, by gzip and zstd, one piece or many") {
  const std::string text = random_csv(60'000, 11);
  TextTable table;
  ThreadArena one(1);
  const auto expected = read_cells(*table.open("plain.csv", text, one), ColumnType::kInteger);
  REQUIRE(expected.size() == 60'000);
  const auto to_gzip = [](std::string_view part) { return gzip(part); };
  const auto to_zstd = [](std::string_view part) { return zstd(part); };
  const std::vector<std::pair<std::string, std::string>> files{
      {"a.csv.gz", gzip(text)},
      {"b.csv.zst", zstd(text)},
      {"c.CSV.GZ", gzip(text, 0)},
      {"named-plain.csv", gzip(text, 9)},  // the bytes say what it is
      {"named-gzip.csv.gz", text},
      {"named-gzip-too.csv.gz", zstd(text, 19)},
      {"members.csv.gz", in_pieces(text, 1'000, to_gzip)},
      {"frames.csv.zst", in_pieces(text, 777, to_zstd)},
      {"empty-members.csv.gz", gzip("") + gzip(text) + gzip("")},
      {"empty-frames.csv.zst", zstd("") + zstd(text) + zstd("")},
      {"padded.csv.gz", gzip(text) + std::string(1'000, '\0')},
      {"skippable.csv.zst", std::string("\x5a\x2a\x4d\x18\x03\0\0\0abc", 11) + zstd(text)},
  };
  for (const auto& [name, bytes] : files) {
    for (const int threads : {1, 4}) {
      CAPTURE(name);
      CAPTURE(threads);
      ThreadArena arena(threads);
      const auto reader = table.open(name, bytes, arena, "[csv]\nblock = '5000B'");
      CHECK((read_cells(*reader, ColumnType::kInteger) == expected));
    }
  }
  CHECK(table.ledger.used() == 0);
}

TEST_CASE("compressed text: names of every text format, a tab in .tsv.zst") {
  TextTable table;
  ThreadArena arena(2);
  CHECK(read_cells(*table.open("a.tsv.zst", zstd("a\tb\n1,2\t3\n"), arena)) == Cells{{"1,2", "3"}});
  CHECK(read_cells(*table.open("a.txt.gz", gzip("# x\n1 2\n"), arena)) == Cells{{"1", "2"}});
  CHECK(read_cells(*table.open("a.triples.gz", gzip("a\tb\tc\n"), arena)) ==
        Cells{{"a", "b", "c"}});
  CHECK(read_cells(*table.open("a.graph.zst", zstd("2 1\n2\n1\n"), arena)) ==
        Cells{{"1", "2"}, {"2", "1"}});
  CHECK(read_cells(*table.open("a.gz", gzip("1\n0 0\n"), arena, "", "graphs", "graphs")) ==
        Cells{{"0", "0"}});
}

TEST_CASE("compressed text: memory is charged and bounded, and given back in the middle") {
  TextTable table;
  ThreadArena arena(2);
  std::string text = "src,dst\n";
  text.resize(text.size() + 50'000'000, '\n');
  for (const std::string& bytes : {gzip(text), zstd(text)}) {
    const std::string end = bytes[0] == '\x1f' ? gzip("1,2\n") : zstd("1,2\n");
    const auto reader = table.open("a.csv", bytes + end, arena, "[csv]\nblock = '256KiB'");
    CHECK((read_cells(*reader, ColumnType::kInteger) == Cells{{"1", "2"}}));
  }
  CHECK(table.ledger.peak() < 20 * kMiB);
  const std::string rows = random_csv(500'000, 12);
  for (const std::string& bytes : {gzip(rows, 1), zstd(rows)}) {
    const auto reader = table.open("b.csv", bytes, arena, "[csv]\nblock = '4KiB'");
    reader->select({{"src", ColumnType::kInteger}});
    TableChunk chunk;
    CHECK(reader->next(chunk));  // and no further: the thread ends all the same
  }
  CHECK(table.ledger.used() == 0);
  MemoryLedger small(600 * kKiB, "--memory");
  const Error error = expect_error([&] {
    table.formats.open({table.dir / "b.csv", &small, &arena}, "auto", {});
  });
  CHECK(error.code() == ErrorCode::kResource);
  CHECK(small.used() == 0);
}

TEST_CASE("compressed text: cut short anywhere, it is told, and never rows that are not there") {
  const std::string text = random_csv(3'000, 13);
  TextTable table;
  ThreadArena arena(2);
  const auto whole = read_cells(*table.open("a.csv", text, arena), ColumnType::kInteger);
  for (const bool is_gzip : {true, false}) {
    const std::string bytes = is_gzip ? gzip(text) : zstd(text);
    for (std::size_t size = 4; size < bytes.size(); size += 97) {
      CAPTURE(size);
      Error error = expect_error([&] {
        read_cells(*table.open("a.csv", bytes.substr(0, size), arena), ColumnType::kInteger);
      });
      CHECK(error.code() == ErrorCode::kData);
      CHECK(error.message() == fmt::format("the {} data is cut short", is_gzip ? "gzip" : "zstd"));
      CHECK(error.place().offset == static_cast<std::int64_t>(size));
    }
  }
}

TEST_CASE("compressed text: a fault before the damage comes first, for any number of threads") {
  std::string text = "src,dst\n";
  for (int i = 0; i < 20'000; ++i) text += i == 9'000 ? "x,1\n" : "1,2\n";
  const std::string bytes = gzip(text, 0);  // stored, so that nearly all of it is before the cut
  for (const int threads : {1, 4}) {
    for (const char* block : {"4KiB", "2MiB"}) {
      TextTable table;
      ThreadArena arena(threads);
      const Error error = expect_error([&] {
        read_cells(*table.open("a.csv",
                               bytes.substr(0, bytes.size() - 100),
                               arena,
                               fmt::format("[csv]\nblock = '{}'", block)),
                   ColumnType::kInteger);
      });
      CHECK(error.message() == "column 'src': 'x' is not an integer");
      CHECK(error.place().line == 9'002);
    }
  }
}

TEST_CASE("compressed text: bytes turned over never pass, nor crash") {
  const std::string text = random_csv(2'000, 14);
  const RandomKey key(15);
  MESSAGE("seed 15");
  TextTable table;
  ThreadArena arena(1);
  const auto expected = read_cells(*table.open("a.csv", text, arena), ColumnType::kInteger);
  for (std::uint64_t i = 0; i < 300; ++i) {
    CAPTURE(i);
    std::string bytes = gzip(text);  // zstd has no checksum unless asked
    const auto at = static_cast<std::size_t>(key.below(bytes.size() - 10, 2 * i)) + 10;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << key.below(8, 2 * i + 1)));
    const Error error =
        expect_error([&] { read_cells(*table.open("a.csv", bytes, arena), ColumnType::kInteger); });
    CHECK(error.code() == ErrorCode::kData);
    std::string other = zstd(text);
    other[at % other.size()] = static_cast<char>(i);
    try {
      read_cells(*table.open("a.csv", other, arena), ColumnType::kInteger);
    } catch (const Error& told) {
      CHECK((told.code() == ErrorCode::kData || told.code() == ErrorCode::kResource));
    }
  }
}

TEST_CASE("bad input: compressed text") {
  const std::string good = "src,dst\n0,1\n1,2\n";
  const std::string damaged = [&] {
    std::string bytes = gzip(good);
    bytes[bytes.size() - 8] = static_cast<char>(bytes[bytes.size() - 8] ^ 1);  // its CRC
    return bytes;
  }();
  check_all({
      edges("gzip, its first bytes only",
            "\x1f\x8b\x08",
            "data|ROOT/raw/e.csv at byte 3: the gzip data is cut short|fetch the file or compress "
            "it again"),
      edges("zstd, its first bytes only",
            "\x28\xb5\x2f\xfd",
            "data|ROOT/raw/e.csv at byte 4: the zstd data is cut short|fetch the file or compress "
            "it again"),
      edges("a checksum that is wrong",
            damaged,
            fmt::format("data|ROOT/raw/e.csv at byte {}: the gzip data is damaged (incorrect data "
                        "check)|fetch the file or compress it again",
                        damaged.size() - 4)),
      edges(
          "text behind gzip",
          gzip(good) + "0,1\n",
          fmt::format("data|ROOT/raw/e.csv at byte {}: the gzip data is damaged (incorrect header "
                      "check)|fetch the file or compress it again",
                      gzip(good).size() + 2)),
      edges("text behind padding",
            gzip(good) + std::string(3, '\0') + "0,1\n",
            fmt::format("data|ROOT/raw/e.csv at byte {}: the gzip data is damaged (no gzip "
                        "data)|fetch the file or compress it again",
                        gzip(good).size() + 3)),
      edges("text behind zstd",
            zstd(good) + "0,1\n2,3\n",
            fmt::format("data|ROOT/raw/e.csv at byte {}: the zstd data is damaged (Unknown frame "
                        "descriptor)|fetch the file or compress it again",
                        zstd(good).size())),
      edges("nothing was compressed",
            gzip(""),
            "data|ROOT/raw/e.csv: the file is empty|the first line must name the columns"),
      edges("compressed twice over",
            gzip(gzip(good)),
            "data|ROOT/raw/e.csv: is compressed twice over|decompress the file once first"),
      edges("UTF-16 in zstd",
            zstd(std::string_view("\xff\xfes\0r\0c\0", 8)),
            "data|ROOT/raw/e.csv: is UTF-16 text|save the file as UTF-8"),
      edges("xz",
            std::string("\xfd"
                        "7zXZ\0\0",
                        7),
            "data|ROOT/raw/e.csv: is compressed with xz, which is not read|decompress the file "
            "first, or compress it with gzip or zstd"),
      edges("zip",
            "PK\x03\x04",
            "data|ROOT/raw/e.csv: is compressed with zip, which is not read|decompress the file "
            "first, or compress it with gzip or zstd"),
      edges("bzip2",
            "BZh91AY&SY.",
            "data|ROOT/raw/e.csv: is compressed with bzip2, which is not read|decompress the file "
            "first, or compress it with gzip or zstd"),
      edges("no more than bzip2's letters",
            "BZh",
            "data|ROOT/raw/e.csv: 2 columns are needed, the file has 1|its columns: BZh"),
      edges("or what follows them",
            "1AY&SY",
            "data|ROOT/raw/e.csv: 2 columns are needed, the file has 1|its columns: 1AY&SY"),
      {"an array compressed",
       {kGoodEdges, {"x.npy.gz", gzip(floats(1))}},
       "[[nodes]]\nfeatures.file = 'x.npy.gz'\n" + kEdges,
       "usage|ROOT/raw/x.npy.gz: '.npy' files are not read compressed|decompress the file first"},
      {"the line of a fault in gzip",
       {{"e.csv.gz", gzip(good + "3,x\n")}},
       "[[edges]]\nfile = 'e.csv.gz'\n",
       "data|ROOT/raw/e.csv.gz:4: column 'dst': 'x' is not an integer|for ids that are text say "
       "ids = \"string\""},
  });
}
