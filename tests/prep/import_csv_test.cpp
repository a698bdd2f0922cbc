// CsvReader against a plain reading of the same text: line ends, quotes, blocks of any size, any
// number of threads.
#include "import_support.h"
#include "support/sanitized.h"

#include <sluice/random.h>

using namespace sluice;
using namespace sluice::test;

namespace {

struct Row {
  std::int64_t number;
  std::string text;
  friend bool operator==(const Row&, const Row&) = default;
};

struct CsvText {
  TempDir dir;
  MemoryLedger ledger;
  TableFormats formats = table_formats();

  std::unique_ptr<TableReader> open(const std::string& name,
                                    std::string_view text,
                                    ThreadArena& arena,
                                    const std::string& block = "2MiB",
                                    const std::string& delimiter = "") {
    TableOptions options;
    options["csv"] = formats.catalog().make_options("csv");
    Config::parse(fmt::format("block = '{}'\ndelimiter = '{}'", block, delimiter), "test")
        .bind_to(*options["csv"]);
    return formats.open({dir.write(name, text), &ledger, &arena}, "auto", options);
  }

  std::vector<Row> read(TableReader& reader) {
    reader.select(
        {{"text", ColumnType::kText}, {"number", ColumnType::kInteger, EmptyCell::kMissing}});
    std::vector<Row> rows;
    for (TableChunk chunk; reader.next(chunk);) {
      CHECK(chunk.first_row == rows.size());
      for (std::size_t i = 0; i < chunk.rows; ++i) {
        rows.push_back({chunk.columns[1].integers[i], std::string(chunk.columns[0].text[i])});
      }
    }
    return rows;
  }
};

}  // namespace

TEST_CASE(
    "CSV: byte-order mark, CRLF, quotes, blank lines, missing numbers, no line end at the end") {
  CsvText csv;
  ThreadArena arena(2);
  const auto reader = csv.open("a.csv",
                               "\xef\xbb\xbfnumber,other,text\r\n"
                               "1,x,plain\r\n"
                               "\r\n"
                               "-9223372036854775808,,\"a, \"\"b\"\"\"\r\n"
                               ",,\r\n"
                               " 7 ,y,\xc3\xa9",
                               arena);
  REQUIRE(reader->columns().size() == 3);
  CHECK(reader->columns()[0].name == "number");
  CHECK(csv.read(*reader) ==
        std::vector<Row>{{1, "plain"}, {INT64_MIN, "a, \"b\""}, {-1, ""}, {7, "\xc3\xa9"}});
}

TEST_CASE("CSV: tabs in .tsv, a delimiter by option") {
  CsvText csv;
  ThreadArena arena(1);
  const std::vector<Row> expected{{1, "a,b"}, {2, "c"}};
  CHECK(csv.read(*csv.open("a.tsv", "number\ttext\n1\ta,b\n2\tc\n", arena)) == expected);
  CHECK(csv.read(*csv.open("b.csv", "number;text\n1;a,b\n2;c\n", arena, "2MiB", ";")) == expected);
}

TEST_CASE("CSV: real numbers as Arrow reads them, missing ones are NaN") {
  CsvText csv;
  ThreadArena arena(1);
  const auto reader = csv.open("a.csv", "x\n0.1\n-1e-3\n\"\"\n12\n", arena);
  reader->select({{"x", ColumnType::kReal, EmptyCell::kMissing}});
  TableChunk chunk;
  REQUIRE(reader->next(chunk));
  REQUIRE(chunk.rows == 4);
  const auto reals = chunk.columns[0].reals;
  CHECK(reals[0] == 0.1);
  CHECK(reals[1] == -1e-3);
  CHECK(reals[2] != reals[2]);
  CHECK(reals[3] == 12);
  CHECK_FALSE(reader->next(chunk));
}

TEST_CASE("CSV: the same rows for every block size and number of threads") {
  const RandomKey key(7);
  std::string text = "number,text\n";
  std::vector<Row> expected;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const Row row{static_cast<std::int64_t>(key.draw(2 * i)) >> (i % 60),
                  std::string(key.below(30, 2 * i + 1), 'x')};
    text += fmt::format("{},{}{}", row.number, row.text, i % 3 == 0 ? "\r\n" : "\n");
    if (i % 17 == 0) text += "\n";
    expected.push_back(row);
  }
  for (const int threads : {1, 2, 5}) {
    for (const char* block : {"4KiB", "5000B", "64KiB", "2MiB"}) {
      CAPTURE(threads);
      CAPTURE(block);
      CsvText csv;
      ThreadArena arena(threads);
      const auto reader = csv.open("a.csv", text, arena, block);
      CHECK((csv.read(*reader) == expected));
      CHECK(csv.ledger.peak() > 0);
    }
  }
}

TEST_CASE("CSV: a fault names its line whatever the block size and the threads") {
  std::string text = "number,text\n";
  for (int i = 0; i < 30'000; ++i) text += i == 25'000 ? "\n12x,bad\n" : fmt::format("{},row\n", i);
  for (const int threads : {1, 4}) {
    for (const char* block : {"4KiB", "1MiB"}) {
      CsvText csv;
      ThreadArena arena(threads);
      const auto reader = csv.open("a.csv", text, arena, block);
      const Error error = expect_error([&] { csv.read(*reader); });
      CHECK(error.code() == ErrorCode::kData);
      CHECK(error.place().line == 25'003);
      CHECK(error.message() == "column 'number': '12x' is not an integer");
    }
  }
}

TEST_CASE("CSV: the line of a value that only the importer finds wrong") {
  std::string text = "number,text\r\n";
  for (int i = 0; i < 5'000; ++i) text += fmt::format("{},\"a\"\n{}", i, i % 2 == 0 ? "\n" : "");
  CsvText csv;
  ThreadArena arena(3);
  const auto reader = csv.open("a.csv", text, arena, "4KiB");
  reader->select({{"number", ColumnType::kInteger}});
  bool seen = false;
  for (TableChunk chunk; reader->next(chunk);) {
    if (chunk.first_row > 4'321 || chunk.first_row + chunk.rows <= 4'321) continue;
    seen = true;
    CHECK(chunk.columns[0].integers[4'321 - chunk.first_row] == 4'321);
    const Error error = reader->value_error(4'321, "number", "is odd", "");
    CHECK(error.place().line == 2 + 4'321 + 4'322 / 2);
  }
  CHECK(seen);
}

TEST_CASE("CSV: memory is charged, bounded, given back, and refused by name") {
  CsvText csv;
  ThreadArena arena(2);
  std::string text = "number,text\n";
  for (int i = 0; i < 500'000; ++i) text += "123456,\"abcdef\"\n";  // the quotes call for Arrow
  {
    const auto reader = csv.open("a.csv", text, arena, "64KiB");
    CHECK(csv.read(*reader).size() == 500'000);
    CHECK(csv.ledger.peak() < 2 * kMiB);
  }
  CHECK(csv.ledger.used() == 0);
  for (std::uint64_t budget = 64 * kKiB; budget < kMiB;
       budget += test::sanitized(20u, 100u) * kKiB) {  // no budget makes Arrow abort
    CAPTURE(budget);
    MemoryLedger small(budget, "--memory");
    TableOptions options;
    options["csv"] = csv.formats.catalog().make_options("csv");
    Config::parse("block = '64KiB'", "test").bind_to(*options["csv"]);
    try {
      const auto rows =
          csv.read(*csv.formats.open({csv.dir / "a.csv", &small, &arena}, "auto", options));
      CHECK(rows.size() == 500'000);
      CHECK(budget > 300 * kKiB);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kResource);
      CHECK(error.message().find(budget < 192 * kKiB ? "'text blocks'" : "'arrow'") !=
            std::string::npos);
    }
    CHECK(small.used() == 0);
  }
}

namespace {

/// All values of the columns a and b, and the error that ended the reading.
struct Numbers {
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  std::string error;
};

Numbers read_numbers(CsvText& csv, const std::string& text, ThreadArena& arena, EmptyCell empty) {
  Numbers all;
  const auto reader = csv.open("a.csv", text, arena, "4KiB");
  reader->select({{"b", ColumnType::kReal, empty}, {"a", ColumnType::kInteger, empty}});
  try {
    for (TableChunk chunk; reader->next(chunk);) {
      const auto [reals, integers] = std::pair(chunk.columns[0].reals, chunk.columns[1].integers);
      all.reals.insert(all.reals.end(), reals.begin(), reals.end());
      all.integers.insert(all.integers.end(), integers.begin(), integers.end());
    }
  } catch (const Error& error) {
    all.error = fmt::format("{}|{}", error.what(), error.hint());
  }
  return all;
}

/// Lines of numbers as CSV files hold them, mostly plain ones. `third` ends each row.
std::string number_lines(std::uint64_t seed, std::uint64_t odd_ones, const std::string& third) {
  static const std::vector<std::string> kOdd{"+1",
                                             "0x1f",
                                             " 7",
                                             "7 ",
                                             "\t7",
                                             "0007",
                                             "-0",
                                             "1e3",
                                             "1.",
                                             ".5",
                                             "-.5",
                                             "1e400",
                                             "-1e400",
                                             "1e-400",
                                             "inf",
                                             "-nan",
                                             "nan",
                                             "",
                                             " ",
                                             "9223372036854775807",
                                             "9223372036854775808",
                                             "-9223372036854775808",
                                             "000000000000000000000000012",
                                             "1_0",
                                             "--1",
                                             "-",
                                             "1e",
                                             "0.1.2",
                                             "x"};
  const RandomKey key(seed);
  std::uint64_t at = 0;
  const auto field = [&](bool real) {
    if (odd_ones != 0 && key.below(odd_ones, at++) == 0) return kOdd[key.below(kOdd.size(), at++)];
    const auto drawn = static_cast<std::int64_t>(key.draw(at++));
    const std::int64_t number = drawn >> key.below(64, at++);
    return real ? fmt::format("{}", static_cast<double>(number) / 1024) : std::to_string(number);
  };
  std::string text = "a,b,c\n";
  for (int row = 0; row < 1'500; ++row) {
    const std::string a = field(false), b = field(true);
    text += fmt::format("{},{},{}{}", a, b, third, key.below(3, at++) == 0 ? "\r\n" : "\n");
    if (key.below(20, at++) == 0) text += key.below(2, at++) == 0 ? "\r\n" : "\n";
    if (odd_ones != 0 && key.below(20 * odd_ones, at++) == 0) text += " \n";
  }
  return text;
}

}  // namespace

TEST_CASE("CSV: numbers read the same by our parser and by Arrow, which a quote calls for") {
  for (std::uint64_t seed = 300; seed < sanitized<std::uint64_t>(500, 330); ++seed) {
    CAPTURE(seed);
    const std::uint64_t odd_ones = seed % 4 == 0 ? 0 : seed % 4 == 1 ? 20'000 : 500;
    const EmptyCell empty = seed % 2 == 0 ? EmptyCell::kRefuse : EmptyCell::kMissing;
    CsvText csv;
    ThreadArena arena(1 + static_cast<int>(seed % 3));
    const Numbers ours = read_numbers(csv, number_lines(seed, odd_ones, "xyz"), arena, empty);
    const Numbers arrows = read_numbers(csv, number_lines(seed, odd_ones, "\"x\""), arena, empty);
    CHECK(ours.error == arrows.error);
    if (!ours.error.empty()) continue;  // how much came before depends on the blocks
    CHECK((ours.integers == arrows.integers));
    REQUIRE(ours.reals.size() == arrows.reals.size());
    CHECK(std::memcmp(ours.reals.data(), arrows.reals.data(), 8 * ours.reals.size()) == 0);
  }
}

namespace {

/// All texts of the columns a and b, or the error that ended the reading.
std::vector<std::string> read_texts(CsvText& csv, const std::string& text, ThreadArena& arena) {
  std::vector<std::string> all;
  const auto reader = csv.open("a.csv", text, arena, "4KiB");
  reader->select({{"b", ColumnType::kText}, {"a", ColumnType::kText}});
  try {
    for (TableChunk chunk; reader->next(chunk);)
      for (std::size_t row = 0; row < chunk.rows; ++row)
        for (const ColumnValues& column : chunk.columns) all.emplace_back(column.text[row]);
  } catch (const Error& error) {
    all = {fmt::format("{}|{}", error.what(), error.hint())};
  }
  return all;
}

std::string text_lines(std::uint64_t seed, bool faults, const std::string& third) {
  static const std::vector<std::string> kTexts{
      "", " ", "a b", " x ", "\t", "#no comment", "\u00e9\u4e2d", "'quoted'", "0", "NULL", "nan"};
  static const std::vector<std::string> kFaults{"\xff", std::string(1, '\0'), "a\rb", "a,b"};
  const RandomKey key(seed);
  std::uint64_t at = 0;
  const auto field = [&] {
    if (faults && key.below(1'000, at++) == 0) return kFaults[key.below(kFaults.size(), at++)];
    return kTexts[key.below(kTexts.size(), at++)];
  };
  std::string text = "a,b,c\n";
  for (int row = 0; row < 1'000; ++row) {
    const std::string a = field(), b = field();
    text += fmt::format("{},{},{}{}", a, b, third, key.below(3, at++) == 0 ? "\r\n" : "\n");
    if (key.below(20, at++) == 0) text += "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("CSV: texts read the same by our parser and by Arrow, which a quote calls for") {
  for (std::uint64_t seed = 500; seed < sanitized<std::uint64_t>(600, 520); ++seed) {
    CAPTURE(seed);
    CsvText csv;
    ThreadArena arena(1 + static_cast<int>(seed % 3));
    const bool faults = seed % 2 == 0;
    const auto ours = read_texts(csv, text_lines(seed, faults, "xyz"), arena);
    const auto arrows = read_texts(csv, text_lines(seed, faults, "\"x\""), arena);
    CHECK(ours.size() > 0);
    CHECK((ours == arrows));
  }
}
