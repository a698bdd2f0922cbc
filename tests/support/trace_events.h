// A trace as a reader of JSON sees it: the rows of threads, and what they did.
#pragma once

#include "support/temp_dir.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

struct TracedSpan {
  std::string name;
  std::string thread;
  std::int64_t begin = 0;  ///< nanoseconds: a trace's thousandths of microseconds are exact
  std::int64_t end = 0;
  std::map<std::string, double> notes;
};

inline std::vector<TracedSpan> read_spans(const std::filesystem::path& file) {
  const nlohmann::json trace = nlohmann::json::parse(read_all(file));
  const auto ns = [](const nlohmann::json& microseconds) {
    return static_cast<std::int64_t>(std::llround(microseconds.get<double>() * 1000));
  };
  std::map<int, std::string> threads;
  std::vector<TracedSpan> spans;
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    const int row = event.at("tid");
    if (event.at("name") == "thread_name")
      threads[row] = event.at("args").at("name").get<std::string>();
    if (event.at("ph") != "X") continue;
    TracedSpan span;
    span.name = event.at("name").get<std::string>();
    span.thread = threads.at(row);
    span.begin = ns(event.at("ts"));
    span.end = span.begin + ns(event.at("dur"));
    if (event.contains("args")) span.notes = event.at("args").get<std::map<std::string, double>>();
    spans.push_back(std::move(span));
  }
  return spans;
}

/// How many spans of a thread begin within another and end beyond it.
inline std::size_t crossings(std::vector<TracedSpan> spans) {
  std::sort(spans.begin(), spans.end(), [](const TracedSpan& a, const TracedSpan& b) {
    if (a.thread != b.thread) return a.thread < b.thread;
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  std::size_t crossed = 0;
  std::vector<const TracedSpan*> open;
  for (const TracedSpan& span : spans) {
    while (!open.empty() && (open.back()->thread != span.thread || open.back()->end <= span.begin))
      open.pop_back();
    crossed += !open.empty() && span.end > open.back()->end ? 1u : 0u;
    open.push_back(&span);
  }
  return crossed;
}

/// Seconds of all spans of a name.
inline double seconds_of(const std::vector<TracedSpan>& spans, const std::string& name) {
  double sum = 0;
  for (const TracedSpan& span : spans) {
    if (span.name == name) sum += 1e-9 * static_cast<double>(span.end - span.begin);
  }
  return sum;
}

}  // namespace sluice::test
