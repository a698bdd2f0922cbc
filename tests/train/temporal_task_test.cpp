// Temporal link prediction as whole runs: scores without parameters, their ranks counted by hand,
// and predictions of a file of events.
#include "support/expect_error.h"
#include "support/timed_events.h"
#include "train/support.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

struct ListedEvent {
  std::uint64_t source = 0, target = 0;
  std::int64_t time = 0;
};

// In the order of time, which is that of the file.
std::vector<ListedEvent> events_listed(const TimedEvents& events) {
  std::ifstream file(events.folder() / "events.csv");
  std::vector<ListedEvent> listed;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    ListedEvent event;
    char comma = 0;
    fields >> event.source >> comma >> event.target >> comma >> event.time;
    listed.push_back(event);
  }
  REQUIRE(listed.size() == TimedEvents::kEvents);
  return listed;
}

RunOptions event_options(const TimedEvents& events,
                         const std::string& model,
                         std::vector<std::string> sets) {
  return options_of(events.config(model), sets);
}

RunReport run_events(const TimedEvents& events,
                     const std::string& model,
                     std::vector<std::string> sets) {
  Quiet quiet;
  return run_training(
      event_options(events, model, std::move(sets)), RunDirectory::Mode::kReplace, quiet.context);
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Of events [first, last), each ranked among all destinations but those that its source meets at
// its time, by whether the pair met among the first seen_by(event) events.
template <class SeenBy>
double edgebank_mrr(const std::vector<ListedEvent>& events,
                    std::size_t first,
                    std::size_t last,
                    const SeenBy& seen_by) {
  std::set<std::uint64_t> candidates;
  for (const ListedEvent& event : events) candidates.insert(event.target);
  std::set<std::pair<std::uint64_t, std::uint64_t>> met;
  double sum = 0;
  std::size_t known = 0;
  for (std::size_t i = first; i < last; ++i) {
    for (const std::size_t seen = seen_by(i); known < seen; ++known)
      met.emplace(events[known].source, events[known].target);
    const bool own = met.contains({events[i].source, events[i].target});
    double higher = 0, as_high = 0;
    for (const std::uint64_t node : candidates) {
      const bool meets = std::ranges::any_of(events, [&](const ListedEvent& event) {
        return event.source == events[i].source && event.target == node &&
               event.time == events[i].time;
      });
      if (meets) continue;
      const bool other = met.contains({events[i].source, node});
      higher += other && !own ? 1 : 0;
      as_high += other || !own ? 1 : 0;
    }
    sum += 1 / (1 + (higher + as_high) / 2);
  }
  return sum / static_cast<double>(last - first);
}

// Before the mini-batch of an event: visibility "batch_lag".
auto by_batches_from(std::size_t first) {
  return [first](std::size_t event) { return event - (event - first) % 30; };
}

}  // namespace

TEST_CASE("EdgeBank is validated and tested by runs of no epochs, its ranks as counted") {
  const TimedEvents events;
  const RunReport report =
      run_events(events,
                 "type = \"edgebank\"",
                 {"train.epochs=0", "sampler.visibility=batch_lag", "task.ranked=-1"});
  const std::vector<ListedEvent> listed = events_listed(events);
  CHECK(report.epochs == 0);
  CHECK(report.visibility == "batch_lag");
  CHECK(report.metrics.at("valid.mrr") ==
        doctest::Approx(edgebank_mrr(listed, 630, 765, by_batches_from(630))).epsilon(1e-12));
  CHECK(report.metrics.at("test.mrr") ==
        doctest::Approx(edgebank_mrr(listed, 765, 900, by_batches_from(765))).epsilon(1e-12));
  CHECK(report.metrics.at("test.ap") > 0.5);
  Quiet quiet;
  const RunReport again = evaluate_run(events.run_dir().string(), {}, {}, quiet.context);
  CHECK(again.metrics.at("test.mrr") == report.metrics.at("test.mrr"));
  CHECK(again.metrics.at("test.ap") == report.metrics.at("test.ap"));
}

TEST_CASE("a run is evaluated at another visibility than it was trained at, which is named") {
  const TimedEvents events;
  (void)run_events(events,
                   "type = \"edgebank\"",
                   {"train.epochs=0", "sampler.visibility=batch_lag", "task.ranked=-1"});
  const std::vector<ListedEvent> listed = events_listed(events);
  const auto by_times = [&](std::size_t event) {
    const auto before =
        std::ranges::lower_bound(listed, listed[event].time, {}, &ListedEvent::time);
    return static_cast<std::size_t>(before - listed.begin());
  };
  Quiet quiet;
  const std::string run_dir = events.run_dir().string();
  const auto at = [&](const std::string& visibility, Part part) {
    return evaluate_run(
        run_dir, {"sampler.visibility=" + visibility}, {.part = part}, quiet.context);
  };
  const RunReport strict = at("strict", Part::kTest);
  CHECK(strict.visibility == "strict");
  CHECK(strict.metrics.at("test.mrr") ==
        doctest::Approx(edgebank_mrr(listed, 765, 900, by_times)).epsilon(1e-12));
  CHECK(at("strict", Part::kValid).metrics.at("valid.mrr") ==
        doctest::Approx(edgebank_mrr(listed, 630, 765, by_times)).epsilon(1e-12));
  const RunReport in_order = at("event_order", Part::kTest);
  CHECK(in_order.visibility == "event_order");
  CHECK(in_order.metrics.at("test.mrr") ==
        doctest::Approx(edgebank_mrr(listed, 765, 900, [](std::size_t event) {
          return event;
        })).epsilon(1e-12));
  CHECK(expect_error([&] { (void)at("inclusive", Part::kTest); }).code() == ErrorCode::kUsage);
}

TEST_CASE("encoders that were trained at one visibility are evaluated at others, too") {
  for (const char* model :
       {"type = \"tgat\", layers = 1, hidden = 8, heads = 2", "type = \"tgn\", hidden = 12"}) {
    CAPTURE(std::string(model));
    const TimedEvents events;
    const RunReport trained = run_events(events, model, {"train.epochs=1"});
    CHECK(trained.visibility == "strict");
    Quiet quiet;
    const std::string run_dir = events.run_dir().string();
    const RunReport lagged =
        evaluate_run(run_dir, {"sampler.visibility=batch_lag"}, {}, quiet.context);
    CHECK(lagged.visibility == "batch_lag");
    CHECK(lagged.metrics.at("test.ap") > 0);
    CHECK(lagged.metrics.at("test.loss") != trained.metrics.at("test.loss"));  // it sees less
    const RunReport again = evaluate_run(run_dir, {}, {}, quiet.context);
    CHECK(again.metrics.at("test.loss") == trained.metrics.at("test.loss"));
  }
}

TEST_CASE("what has no parameters is not trained") {
  const TimedEvents events;
  const Error error =
      expect_error([&] { (void)run_events(events, "type = \"recency\"", {"train.epochs=1"}); });
  CHECK(error.code() == ErrorCode::kUsage);
  CHECK(error.hint().find("train.epochs = 0") != std::string::npos);
}

TEST_CASE("a visibility that shows the event asked about is refused") {
  const TimedEvents events;
  for (const auto& [model, epochs] :
       {std::pair{"type = \"edgebank\"", "train.epochs=0"},
        std::pair{"type = \"tgat\", layers = 1, hidden = 8, heads = 2", "train.epochs=1"}}) {
    CAPTURE(model);
    const Error error = expect_error([&] {
      (void)run_events(events, model, {epochs, "sampler.visibility=inclusive"});
    });
    CHECK(error.code() == ErrorCode::kUsage);
    CHECK(error.message().find("inclusive") != std::string::npos);
  }
}

TEST_CASE("a network over features of pairs learns whom nodes meet") {
  const TimedEvents events;
  const std::string model = "type = \"pair_network\", hidden = 16, clocks = [20, 200]";
  const std::vector<std::string> sets{
      "train.epochs=6", "task.loss=softmax", "task.negatives=-1", "task.ranked=-1"};
  const RunReport report = run_events(events, model, sets);
  CHECK(report.metrics.at("test.mrr") > 0.3);  // by chance: 0.08
  CHECK(run_events(events, model, sets).weights_xxh3 == report.weights_xxh3);
}

TEST_CASE("a file of events is asked about by the user's ids, and for the best at its times") {
  const TimedEvents events;
  (void)run_events(events, "type = \"edgebank\"", {"train.epochs=0"});
  const std::vector<ListedEvent> listed = events_listed(events);
  const ListedEvent& first = listed.front();
  std::uint64_t stranger = 0;  // whom its source never meets
  while (std::ranges::any_of(listed, [&](const ListedEvent& event) {
    return event.source == first.source && event.target == stranger;
  }))
    ++stranger;
  const std::string later = std::to_string(listed.back().time + 1);
  const auto file = events.folder() / "asked.csv";
  std::ofstream(file) << "time,source,target\n"
                      << later << ',' << first.source << ',' << first.target << '\n'
                      << first.time << ',' << first.source << ',' << first.target << '\n'
                      << later << ',' << first.source << ',' << stranger << '\n';
  Quiet quiet;
  EvaluateOptions wanted;
  wanted.events = file.string();
  const auto out = events.folder() / "scores.csv";
  const std::string run_dir = events.run_dir().string();
  CHECK(predict_run(run_dir, {}, wanted, out, quiet.context).rows == 3);
  const std::string source = std::to_string(first.source);
  const std::string pair = source + ',' + std::to_string(first.target);
  CHECK(text_of(out) == "source,target,score\n" + pair + ",0\n" + pair + ",1\n" + source + ',' +
                            std::to_string(stranger) + ",0\n");

  std::ofstream(file) << "source,time\n" << source << ',' << later << '\n';
  CHECK(
      predict_best_run(run_dir, {}, wanted, {LinkEnd::kDestination, 1}, out, quiet.context).rows ==
      1);
  std::set<std::uint64_t> met;
  for (const ListedEvent& event : listed)
    if (event.source == first.source) met.insert(event.target);
  CHECK(text_of(out) ==
        "source,target,rank,score\n" + source + ',' + std::to_string(*met.begin()) + ",1,1\n");

  // As a spreadsheet writes it.
  std::ofstream(file) << "\xef\xbb\xbfsource,time\r\n" << source << ',' << later << "\r\n";
  CHECK(
      predict_best_run(run_dir, {}, wanted, {LinkEnd::kDestination, 1}, out, quiet.context).rows ==
      1);

  struct Bad {
    std::string text, words;
    std::int64_t line;
  };
  for (const Bad& bad : {Bad{"source,target,time\n1,99,5\n", "called '99'", 2},
                         Bad{"source,target,time\n1,2,5.5\n", "'5.5'", 2},
                         Bad{"source,target,time\n1,2,5\n\n1,2\n", "2 fields", 4},
                         Bad{"source,target,time\n1,2,\"5\n", "quoted field", 2},
                         Bad{"source,target\n1,2\n", "'time'", 1},
                         Bad{"source,target,time\n", "no events", 1}}) {
    CAPTURE(bad.text);
    std::ofstream(file) << bad.text;
    const Error error =
        expect_error([&] { (void)predict_run(run_dir, {}, wanted, out, quiet.context); });
    CHECK(error.code() == ErrorCode::kData);
    CHECK(error.message().find(bad.words) != std::string::npos);
    CHECK(error.place().line == bad.line);
  }
}

TEST_CASE("predicted scores of pairs that met tell their times apart") {
  const TimedEvents events;
  (void)run_events(events, "type = \"recency\", by = \"pair_then_node\"", {"train.epochs=0"});
  Quiet quiet;
  const auto out = events.folder() / "scores.csv";
  (void)predict_run(events.run_dir().string(), {}, {}, out, quiet.context);
  std::istringstream lines(text_of(out));
  std::set<double> of_met;
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    const double score = std::stod(line.substr(line.rfind(',') + 1));
    if (score > 0) of_met.insert(score);
  }
  CHECK(of_met.size() > 20);  // one in f32
}

TEST_CASE("a share of what is ranked is of something, and not nothing") {
  const TimedEvents events;
  for (const auto& sets : {std::vector<std::string>{"task.ranked_share=0.5"},
                           std::vector<std::string>{"task.ranked=5", "task.ranked_share=0.0"}}) {
    std::vector<std::string> all{"train.epochs=0"};
    all.insert(all.end(), sets.begin(), sets.end());
    const Error error = expect_error([&] { (void)run_events(events, "type = \"recency\"", all); });
    CHECK(error.code() == ErrorCode::kUsage);
    CHECK(error.message().find("ranked_share") != std::string::npos);
  }
}
