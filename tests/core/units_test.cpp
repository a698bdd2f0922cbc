#include <doctest/doctest.h>
#include <sluice/units.h>

using namespace sluice;
using namespace std::chrono_literals;

TEST_CASE("sizes are read with their units") {
  struct Row {
    const char* text;
    std::uint64_t bytes;
  };
  for (const Row& row : {Row{"0", 0},
                         Row{"512", 512},
                         Row{"4KiB", 4096},
                         Row{"1.5 GiB", 1610612736},
                         Row{"2GB", 2000000000},
                         Row{" 3 mib ", 3 * kMiB},
                         Row{"1t", 1024 * kGiB},
                         Row{"9007199254740993B", 9007199254740993ull}}) {
    CAPTURE(row.text);
    auto parsed = parse_bytes(row.text);
    REQUIRE(parsed.ok());
    CHECK(parsed.value().bytes == row.bytes);
  }
  for (const char* text : {"", "GiB", "-1", "1 parsec", "1e3", "99999999999TiB", "1.2.3", "nan"}) {
    CAPTURE(text);
    auto parsed = parse_bytes(text);
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.error().code() == ErrorCode::kUsage);
    CHECK(parsed.error().hint() == "write a number and a unit, such as \"512MiB\" or \"2GiB\"");
  }
}

TEST_CASE("the exact form of a size and a duration reads back to the same value") {
  for (const std::uint64_t bytes : {0ull, 1ull, 1023ull, 4096ull, 5ull * kMiB + 1, 7ull * kGiB}) {
    CHECK(parse_bytes(format_bytes_exact(bytes)).value().bytes == bytes);
  }
  for (const Duration duration :
       {Duration(0ns), Duration(1ns), Duration(1500ms), Duration(90s), Duration(3h)}) {
    CHECK(parse_duration(format_duration_exact(duration)).value() == duration);
  }
}

TEST_CASE("durations carry their unit") {
  CHECK(parse_duration("250ms").value() == 250ms);
  CHECK(parse_duration("1.5 h").value() == 90min);
  CHECK_FALSE(parse_duration("30").ok());
  CHECK_FALSE(parse_duration("soon").ok());
}

TEST_CASE("figures are written for people") {
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(1536) == "1.5 KiB");
  CHECK(format_bytes(2 * kGiB) == "2 GiB");
  CHECK(format_count(0) == "0");
  CHECK(format_count(999) == "999");
  CHECK(format_count(4194304) == "4,194,304");
  CHECK(format_duration(1500ms) == "1.5 s");
  CHECK(format_duration(200s) == "3 min 20 s");
}
