// Times as dates, as datetimes of Parquet, and as numbers of another unit: what they become, what
// is said of it, and where they are refused.
#include "prep/table/dates.h"
#include "roles_folder.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Times = std::vector<std::int64_t>;

const std::string kDated = "[[edges]]\nfile = 'e.csv'\ntime_column = 't'\n";

/// Edge i enters node i, so that times stand in the order of the file.
std::string dated_csv(const std::vector<std::string>& cells) {
  std::string text = "src,dst,t\n";
  for (std::size_t i = 0; i < cells.size(); ++i) text += fmt::format("0,{},{}\n", i, cells[i]);
  return text;
}

Times edge_times_of(const RolesFolder& folder) {
  return as_vector<std::int64_t>(folder.opened().edge_times("node__edge__node"));
}

std::optional<std::int64_t> ticks(std::string_view text, TickUnit unit) {
  const auto moment = parse_moment(text);
  if (!moment) return std::nullopt;
  const auto made = ticks_of(*moment, unit);
  return made ? std::optional(made->value) : std::nullopt;
}

}  // namespace

TEST_CASE("dates: every day of eight centuries is one more than the day before") {
  std::int64_t days = -135'140;  // 1600-01-01
  for (int year = 1600; year <= 2400; ++year) {
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    const int months[] = {31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    for (int month = 0; month < 12; ++month) {
      for (int day = 1; day <= months[month]; ++day, ++days)
        REQUIRE(ticks(fmt::format("{}-{:02}-{:02}", year, month + 1, day), TickUnit::kDays) ==
                days);
      CHECK(!parse_moment(fmt::format("{}-{:02}-{:02}", year, month + 1, months[month] + 1)));
    }
  }
  CHECK(days == 157'420);  // 2401-01-01
}

TEST_CASE("dates: times of day, fractions and zones") {
  constexpr TickUnit kS = TickUnit::kSeconds, kMs = TickUnit::kMilliseconds;
  CHECK(ticks("1970-01-01", kS) == 0);
  CHECK(ticks("2000-03-01T00:00", kS) == 951'868'800);
  CHECK(ticks("2024-05-31 10:30:05", kS) == 1'717'151'405);
  for (const char* same : {"2024-05-31T10:30:05.25Z",
                           "2024-05-31 12:30:05.25+02:00",
                           "2024-05-31T12:30:05.250000+0200",
                           "2024-05-31t12:30:05,25+02",
                           "2024-05-31T00:00:05.25-10:30"})
    CHECK(ticks(same, kMs) == 1'717'151'405'250);
  CHECK(ticks("2024-05-31T10:30:05.123456789", TickUnit::kNanoseconds) ==
        1'717'151'405'123'456'789);
  CHECK(ticks("2024-05-31T10:30:05.123456789", TickUnit::kMicroseconds) == 1'717'151'405'123'456);
  // Down, before 1970 too.
  CHECK(ticks("1969-12-31T23:59:59.5", kS) == -1);
  CHECK(ticks("1969-12-31T23:59:59.5", kMs) == -500);
  CHECK(ticks("1969-12-31T23:59:59.5", TickUnit::kDays) == -1);
  CHECK(ticks_of(*parse_moment("2024-05-31T10:30:05.1234567891"), TickUnit::kNanoseconds)->exact ==
        false);
  CHECK(ticks_of(*parse_moment("2024-05-31T10:30:05.1234567890"), TickUnit::kNanoseconds)->exact);
  CHECK(parse_moment("2024-05-31T10:30Z")->zoned);
  CHECK(!parse_moment("2024-05-31T10:30")->zoned);
  // Nanoseconds end in 2262.
  CHECK(!ticks("2300-01-01", TickUnit::kNanoseconds));
  CHECK(ticks("2300-01-01", TickUnit::kMicroseconds).has_value());
  for (const char* no : {"",
                         "2024",
                         "2024-5-31",
                         "2024-13-01",
                         "2023-02-29",
                         "20240531",
                         "2024/05/31",
                         "2024-05-31T",
                         "2024-05-31T24:00",
                         "2024-05-31T10",
                         "2024-05-31T10:60",
                         "2024-05-31T10:30:60",
                         "2024-05-31T10:30:05.",
                         "2024-05-31T10:30:05x",
                         "2024-05-31T10:30+2",
                         "2024-05-31T10:30+02:",
                         "2024-05-31Z",
                         "2024-05-31T10:30Z ",
                         "12-05-2024"}) {
    CAPTURE(no);
    CHECK(!parse_moment(no));
  }
}

TEST_CASE("dates: a column of texts is counted in the unit that is said") {
  RolesFolder folder;
  folder.write("e.csv",
               dated_csv({"2024-05-31", "2024-05-31T12:30:05+02:00", " 1969-12-31 23:59:59.5 "}));
  const std::string said = folder.listen(kDated + "time_unit = 's'\n");
  CHECK(edge_times_of(folder) == Times{1'717'113'600, 1'717'151'405, -1});
  CHECK(says(said, "e.csv: 2 of 3 dates say no zone, and are taken as UTC"));
  CHECK(says(said, "e.csv: 1 of 3 times are no whole number of seconds, and are rounded down"));
  folder.check_sound();
  folder.write("n.csv", "id,born\n0,2024-05-31Z\n1,2024-05-31\n2,1970-01-02\n");
  const std::string refused = as_text(
      expect_error([&] {
        folder.listen("[[nodes]]\ntimes = { file = 'n.csv', column = 'born', unit = 'days' }\n" +
                      kDated + "time_unit = 's'\n");
      }),
      folder);
  CHECK(says(refused, "n.csv:2: column 'born': '2024-05-31Z' is no date"));
  CHECK(says(refused, "leave times.unit out"));
  folder.write("n.csv", "id,born\n0,2024-05-31T00:00Z\n1,2024-05-31T01:00+02:00\n2,1970-01-02\n");
  folder.listen("[[nodes]]\ntimes = { file = 'n.csv', column = 'born', unit = 'days' }\n" + kDated +
                "time_unit = 'ms'\n");
  CHECK(as_vector<std::int64_t>(folder.opened().node_times("node")) == Times{19'874, 19'873, 1});
  CHECK(edge_times_of(folder) == Times{1'717'113'600'000, 1'717'151'405'000, -500});
}

TEST_CASE("dates: what is none is told with file, line and column") {
  const std::string days = kDated + "time_unit = 'days'\n";
  struct Refused {
    std::string cell, toml, place, hint;
  };
  for (const Refused& one :
       {Refused{"2024-02-30", days, "e.csv:3: column 't': '2024-02-30' is no date", "ISO 8601"},
        Refused{
            "1717113600", days, "e.csv:3: column 't': '1717113600' is no date", "leave time_unit"},
        Refused{"2300-01-01",
                kDated + "time_unit = 'ns'\n",
                "e.csv:3: column 't': '2300-01-01' is beyond 64 bits, counted in nanoseconds",
                "coarser time_unit"},
        Refused{"2024-02-29", kDated, "e.csv:2: column 't'", "time_unit = \"s\""},
        Refused{"2024-02-29",
                days + "time_scale = 10\n",
                "time_scale and time_unit exclude each other",
                "time_unit for dates"}}) {
    CAPTURE(one.cell);
    RolesFolder folder;
    folder.write("e.csv", dated_csv({"2024-05-31", one.cell}));
    const std::string text = folder.refusal(one.toml);
    CHECK(says(text, one.place));
    CHECK(says(text, one.hint));
  }
}

TEST_CASE("dates: datetimes of Parquet keep their unit, or take the one that is said") {
  const auto write = [](const RolesFolder& folder,
                        const std::shared_ptr<arrow::DataType>& type,
                        const std::string& json) {
    folder.write("e.parquet",
                 parquet_of(*table_of({{"src", array_of(arrow::int64(), "[0,0,0]")},
                                       {"dst", array_of(arrow::int64(), "[0,1,2]")},
                                       {"t", array_of(type, json)}})));
  };
  const std::string toml = "[[edges]]\nfile = 'e.parquet'\ntime_column = 't'\n";
  RolesFolder folder;
  write(folder, arrow::timestamp(arrow::TimeUnit::MILLI), "[1717151405250, -500, 0]");
  CHECK(says(folder.listen(toml), "times are counted in milliseconds since 1970"));
  CHECK(edge_times_of(folder) == Times{1'717'151'405'250, -500, 0});
  const std::string said = folder.listen(toml + "time_unit = 's'\n");
  CHECK(says(said, "2 of 3 times are no whole number of seconds, and are rounded down"));
  CHECK(edge_times_of(folder) == Times{1'717'151'405, -1, 0});
  folder.listen(toml + "time_unit = 'us'\n");
  CHECK(edge_times_of(folder) == Times{1'717'151'405'250'000, -500'000, 0});

  write(folder, arrow::date32(), "[19874, -1, 1]");
  folder.listen(toml + "time_unit = 's'\n");
  CHECK(edge_times_of(folder) == Times{1'717'113'600, -86'400, 86'400});

  write(folder, arrow::utf8(), R"(["2024-05-31", "1970-01-01T00:00:01Z", "1970-01-02"])");
  folder.listen(toml + "time_unit = 's'\n");
  CHECK(edge_times_of(folder) == Times{1'717'113'600, 1, 86'400});

  write(folder, arrow::int64(), "[1, 2, 3]");
  const std::string text =
      as_text(expect_error([&] { folder.listen(toml + "time_unit = 's'\n"); }), folder);
  CHECK(says(text, "column 't' holds numbers, and time_unit is for dates"));
}

TEST_CASE("dates: what scaling rounds is said") {
  RolesFolder folder;
  folder.write("e.csv", dated_csv({"1.1", "2.0004", "3"}));
  const std::string said = folder.listen(kDated + "time_scale = 1000\n");
  CHECK(edge_times_of(folder) == Times{1100, 2000, 3000});
  CHECK(says(said, "1 of 3 times are no whole number after time_scale = 1000"));
  folder.write("e.csv", dated_csv({"1.5", "2.25", "1700000000.5"}));
  CHECK(folder.listen(kDated + "time_scale = 1000\n").find("rounded") == std::string::npos);
  CHECK(says(folder.listen(kDated + "time_scale = 1e9\n"), "1 of 3 times are beyond 2^53"));
}
