// The trace as a reader of JSON sees it.
#include "pipeline/trace.h"
#include "support/expect_error.h"
#include "support/file_size_limit.h"
#include "support/sanitized.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <iterator>
#include <map>
#include <ratio>
#include <thread>
#include <vector>

using namespace sluice;
using nlohmann::json;
using sluice::test::expect_error;
using sluice::test::read_all;
using sluice::test::TempDir;
namespace fs = std::filesystem;

namespace {

std::vector<json> events_of(const fs::path& file) {
  const json trace = json::parse(read_all(file));
  CHECK(trace.at("displayTimeUnit") == "ms");
  return trace.at("traceEvents").get<std::vector<json>>();
}

std::vector<json> of_phase(const std::vector<json>& events, const std::string& phase) {
  std::vector<json> found;
  for (const json& event : events) {
    if (event.at("ph") == phase) found.push_back(event);
  }
  return found;
}

/// Rows of the trace by name.
std::map<std::string, int> rows_of(const std::vector<json>& events) {
  std::map<std::string, int> rows;
  for (const json& event : of_phase(events, "M")) {
    if (event.at("name") == "thread_name")
      CHECK(rows.emplace(event.at("args").at("name"), event.at("tid")).second);
  }
  return rows;
}

/// In nanoseconds, as the trace's thousandths are exact.
std::int64_t ns(const json& microseconds) {
  return std::llround(microseconds.get<double>() * 1000);
}

std::size_t entries_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("spans nest, carry their notes, and lie in the row of their thread") {
  const TempDir dir;
  const auto before = TraceWriter::Clock::now();
  TraceWriter trace(dir / "t.json", nullptr, "a run");
  trace.name_thread("fetch");
  {
    TraceSpan outer(&trace, "window");
    outer.note("rows", 123'456'789);
    outer.note("share", 0.25);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    {
      TraceSpan inner(&trace, "read");
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
  }
  trace.count("in flight", 17);
  const double most =
      std::chrono::duration<double, std::micro>(TraceWriter::Clock::now() - before).count();
  CHECK_FALSE(fs::exists(dir / "t.json"));  // not before it is whole
  trace.close();
  CHECK(entries_in(dir.path()) == 1);

  const auto events = events_of(dir / "t.json");
  const auto rows = rows_of(events);
  REQUIRE(rows.size() == 1);
  const auto spans = of_phase(events, "X");
  REQUIRE(spans.size() == 2);
  const json& inner = spans[0];  // they are written as they end
  const json& outer = spans[1];
  CHECK(inner.at("name") == "read");
  CHECK(outer.at("name") == "window");
  CHECK(outer.at("args") == json{{"rows", 123'456'789}, {"share", 0.25}});
  CHECK(inner.contains("args") == false);
  for (const json& span : spans) {
    CHECK(span.at("tid") == rows.at("fetch"));
    CHECK(span.at("pid") == outer.at("pid"));
  }
  CHECK(ns(outer.at("ts")) <= ns(inner.at("ts")));
  CHECK(ns(inner.at("ts")) + ns(inner.at("dur")) <= ns(outer.at("ts")) + ns(outer.at("dur")));
  CHECK(inner.at("dur").get<double>() >= 3000);
  CHECK(outer.at("dur").get<double>() >= 5000);
  CHECK(outer.at("ts").get<double>() + outer.at("dur").get<double>() <= most);

  const auto counters = of_phase(events, "C");
  REQUIRE(counters.size() == 1);
  CHECK(counters[0].at("name") == "in flight");
  CHECK(counters[0].at("args").at("value") == 17);
  bool named = false;
  for (const json& event : of_phase(events, "M"))
    named |= event.at("name") == "process_name" && event.at("args").at("name") == "a run";
  CHECK(named);
}

TEST_CASE("any name and any number make a file that can be read") {
  const TempDir dir;
  TraceWriter trace(dir / "t.json");
  const std::vector<std::string> names{"plain",
                                       "\"quoted\"",
                                       "back\\slash",
                                       "line\nbreak\ttab",
                                       std::string("zero\0byte", 9),
                                       "grün ∂",
                                       "",
                                       "\x7f",
                                       "{\"a\":1}",
                                       std::string(10'000, 'x')};
  const auto now = TraceWriter::Clock::now();
  for (const std::string& name : names) {
    const std::array<TraceNote, 1> note{{{name, 1}}};
    trace.span(name, now, now, note);
  }
  trace.span("not UTF-8: \xff\xc3", now, now);
  trace.count("nan", std::nan(""));
  trace.count("infinite", HUGE_VAL);
  trace.count("small", 1.25e-300);
  trace.count("large", 9007199254740991.0);
  trace.count("negative", -3);
  trace.span("before the trace began", now - std::chrono::hours(1), now);
  trace.close();

  const auto events = events_of(dir / "t.json");
  const auto spans = of_phase(events, "X");
  REQUIRE(spans.size() == names.size() + 2);
  for (std::size_t i = 0; i < names.size(); ++i) {
    CHECK(spans[i].at("name") == names[i]);
    CHECK(spans[i].at("args").at(names[i]) == 1);
  }
  CHECK(spans[names.size()].at("name") == "not UTF-8: \xef\xbf\xbd\xef\xbf\xbd");
  CHECK(spans.back().at("ts") == 0);
  std::map<std::string, json> values;
  for (const json& event : of_phase(events, "C"))
    values[event.at("name")] = event.at("args").at("value");
  CHECK(values.at("nan").is_null());
  CHECK(values.at("infinite").is_null());
  CHECK(values.at("small") == 1.25e-300);
  CHECK(values.at("large") == 9007199254740991.0);
  CHECK(values.at("negative") == -3);
}

TEST_CASE(
    "100,000 events (20,000 under a sanitizer) of four threads all arrive, in bounded memory") {
  constexpr int kThreads = 4;
  constexpr int kSpans = sluice::test::sanitized(12'500, 2'500);  // and as many inside them
  const TempDir dir;
  MemoryLedger ledger;
  {
    TraceWriter trace(dir / "t.json", &ledger);
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&trace, t] {
        if (t > 0) trace.name_thread("stage " + std::to_string(t));
        for (int i = 0; i < kSpans; ++i) {
          TraceSpan outer(&trace, "outer");
          outer.note("i", i);
          TraceSpan inner(&trace, "inner");
          inner.note("i", i);
        }
      });
    }
    threads.clear();
    CHECK(ledger.used() >= TraceWriter::kBufferBytes);
    CHECK(ledger.used() < 2 * TraceWriter::kBufferBytes);
    // Most of it is on the disk by now.
    std::uint64_t on_disk = 0;
    for (const auto& entry : fs::directory_iterator(dir.path())) on_disk += entry.file_size();
    CHECK(on_disk > 400u * kSpans);
    trace.close();
    CHECK(fs::file_size(dir / "t.json") - on_disk < 2 * TraceWriter::kBufferBytes);
  }
  CHECK(ledger.used() == 0);

  const auto events = events_of(dir / "t.json");
  const auto rows = rows_of(events);
  CHECK(rows.size() == kThreads);
  for (int t = 1; t < kThreads; ++t) CHECK(rows.count("stage " + std::to_string(t)) == 1);
  struct Open {
    json inner;
    int next = 0;
    std::int64_t last_end = 0;
  };
  std::map<int, Open> threads;
  for (const json& span : of_phase(events, "X")) {
    Open& open = threads[span.at("tid")];
    REQUIRE(span.at("args").at("i") == open.next);
    if (span.at("name") == "inner") {
      open.inner = span;
      continue;
    }
    const std::int64_t begin = ns(span.at("ts"));
    const std::int64_t end = begin + ns(span.at("dur"));
    REQUIRE(begin >= open.last_end);
    REQUIRE(ns(open.inner.at("ts")) >= begin);
    REQUIRE(ns(open.inner.at("ts")) + ns(open.inner.at("dur")) <= end);
    open.last_end = end;
    ++open.next;
  }
  REQUIRE(threads.size() == kThreads);
  for (const auto& [row, open] : threads) CHECK(open.next == kSpans);
}

TEST_CASE("threads that follow each other under a name share its row") {
  const TempDir dir;
  TraceWriter trace(dir / "t.json");
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::jthread([&trace] {
      trace.name_thread("sample");
      TraceSpan span(&trace, "epoch");
    });
  }
  trace.close();
  const auto events = events_of(dir / "t.json");
  REQUIRE(rows_of(events).size() == 1);
  CHECK(of_phase(events, "X").size() == 3);
}

TEST_CASE("off costs nothing and does nothing") {
  TraceSpan span(nullptr, "nothing");
  span.note("rows", 1);
}

TEST_CASE("a trace that is not closed leaves nothing, and the old one stands") {
  const TempDir dir;
  dir.write("t.json", "old");
  {
    TraceWriter trace(dir / "t.json");
    TraceSpan span(&trace, "never seen");
  }
  CHECK(entries_in(dir.path()) == 1);
  CHECK(read_all(dir / "t.json") == "old");
}

TEST_CASE("an error of writing ends the recording, not the run, and close says it") {
  CHECK(expect_error([] { TraceWriter trace("/nowhere/at/all/t.json"); }).code() ==
        ErrorCode::kData);
  const TempDir dir;
  TraceWriter trace(dir / "t.json");
  {
    const sluice::test::FileSizeLimit limit(1 << 20);
    for (int i = 0; i < 20'000; ++i) TraceSpan span(&trace, "one of too many to be kept");
  }
  const Error error = expect_error([&] { trace.close(); });
  CHECK(error.code() == ErrorCode::kResource);
  CHECK(error.place().file.find("t.json") != std::string::npos);
  CHECK(entries_in(dir.path()) == 0);
}

TEST_CASE("a trace is charged before it begins") {
  const TempDir dir;
  MemoryLedger ledger(1000);
  CHECK(expect_error([&] { TraceWriter trace(dir / "t.json", &ledger); }).code() ==
        ErrorCode::kResource);
  CHECK(entries_in(dir.path()) == 0);
}
