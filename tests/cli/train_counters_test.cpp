// What sluice-train says of a run: the trace, and the counters of the report.
#include "cli/train_support.h"
#include "support/trace_events.h"

#include <doctest/doctest.h>

#include <cmath>
#include <csignal>
#include <cstddef>
#include <set>
#include <utility>

using namespace sluice;
using namespace sluice::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;

const Words kOnDisk{"--json", "--set", "storage.features=disk", "--set", "storage.window=4"};

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::size_t count_of(const std::vector<TracedSpan>& spans, const std::string& name) {
  return static_cast<std::size_t>(std::count_if(
      spans.begin(), spans.end(), [&](const TracedSpan& span) { return span.name == name; }));
}

// Training steps by epoch and mini-batch; those of evaluations have no epoch.
std::multiset<std::pair<double, double>> steps_of(const std::vector<TracedSpan>& spans) {
  std::multiset<std::pair<double, double>> steps;
  for (const TracedSpan& span : spans) {
    if (span.name == "step" && span.notes.count("epoch") != 0)
      steps.emplace(span.notes.at("epoch"), span.notes.at("batch"));
  }
  return steps;
}

void check_shape(const std::vector<TracedSpan>& spans) {
  CHECK(crossings(spans) == 0);
  const std::map<std::string, std::set<std::string>> threads{
      {"sample", {"sample"}},
      {"plan", {"sample", "plan", "next epoch"}},
      {"repack", {"sample", "plan", "next epoch"}},
      {"fetch", {"fetch"}},
      {"assemble", {"assemble"}},
      {"step", {"train"}},
      {"evaluation", {"train"}},
      {"checkpoint", {"train"}}};
  for (const TracedSpan& span : spans) {
    CAPTURE(span.name);
    if (threads.count(span.name) != 0) CHECK(threads.at(span.name).count(span.thread) == 1);
    CHECK(span.begin >= 0);
  }
}

// The stages' busy times beyond those of `before`, against the spans.
void check_sums(const json& stages, const json& before, const std::vector<TracedSpan>& spans) {
  for (const auto& [name, times] : stages.items()) {
    CAPTURE(name);
    double busy = times.at("busy");
    if (before.contains(name)) busy -= before.at(name).at("busy").get<double>();
    CHECK(std::abs(busy - seconds_of(spans, name)) < 1e-6);
  }
}

void check_cache(const json& cache) {
  const std::uint64_t found = cache.at("hits").at("window_before").get<std::uint64_t>() +
                              cache.at("hits").at("kept").get<std::uint64_t>() +
                              cache.at("misses").at("first").get<std::uint64_t>() +
                              cache.at("misses").at("again").get<std::uint64_t>();
  CHECK(found == cache.at("wanted"));
  CHECK(cache.at("wanted") > 0);
  CHECK(cache.at("misses").at("first") > 0);
}

std::vector<json> lines_of(const fs::path& run_dir) {
  std::istringstream text(read_all(run_dir / "metrics.jsonl"));
  std::vector<json> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  return lines;
}

}  // namespace

TEST_CASE("--trace writes what every stage did, with the sums of the report") {
  for (const char* plan : {"direct", "repack"}) {
    CAPTURE(plan);
    const Sandbox box;
    const std::string file = (box.folder() / "run.trace.json").string();
    const Outcome outcome =
        box.run(with(kOnDisk, {"--trace", file, "--set", std::string("storage.plan=") + plan}));
    REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    const json report = json::parse(outcome.out);
    const auto spans = read_spans(file);
    check_shape(spans);
    check_sums(report.at("stages"), json::object(), spans);
    const auto steps = steps_of(spans);
    CHECK(steps.size() == 75);
    CHECK(std::set(steps.begin(), steps.end()).size() == 75);
    CHECK(steps.count({2, 24}) == 1);
    CHECK(count_of(spans, "evaluation") == 4);  // three epochs', and the test
    CHECK(count_of(spans, "assemble") == 75 + 4);
    CHECK(count_of(spans, "checkpoint") >= 3);
    CHECK(count_of(spans, "plan") >= 3);
    CHECK((count_of(spans, "repack") > 0) == (plan == std::string("repack")));

    // A resumed run's report goes on counting; its trace is of what it did.
    const Outcome resumed =
        train({"resume", box.dir(), "--json", "--trace", file, "--set", "train.epochs=4"});
    REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
    const auto more = read_spans(file);
    check_shape(more);
    CHECK(steps_of(more).size() == 25);
    CHECK(steps_of(more).begin()->first == 3);
    // The test at the first run's end came after its last checkpoint.
    const json stages = json::parse(resumed.out).at("stages");
    CHECK(stages.at("step").at("busy") > report.at("stages").at("step").at("busy"));

    const Outcome evaluated = train({"evaluate", box.dir(), "--json", "--trace", file});
    REQUIRE_MESSAGE(evaluated.code == 0, evaluated.err);
    const auto looked = read_spans(file);
    check_shape(looked);
    check_sums(json::parse(evaluated.out).at("stages"), json::object(), looked);
    CHECK(count_of(looked, "evaluation") == 1);
    CHECK(count_of(looked, "step") == 1);
  }
}

TEST_CASE("a trace is whole or not there, and charged; its errors name it") {
  const Sandbox box;
  const fs::path file = box.folder() / "trace.json";
  const Outcome nowhere = box.run(with(kOnDisk, {"--trace", box.folder() / "no/trace.json"}));
  CHECK(nowhere.code == 3);
  CHECK(nowhere.err.find("no/trace.json") != std::string::npos);
  CHECK_FALSE(fs::exists(box.dir()));

  Process process(box.command(with(kOnDisk, {"--trace", file, "--set", "train.epochs=500"})));
  box.wait_for_lines(3);
  CHECK_FALSE(fs::exists(file));
  process.signal(SIGINT);
  const Outcome stopped = process.finish();
  CHECK(stopped.code == 130);
  const auto spans = read_spans(file);
  check_shape(spans);
  CHECK(steps_of(spans).size() >= 75);

  fs::remove_all(box.dir());
  fs::remove(file);
  Process killed(box.command(with(kOnDisk, {"--trace", file, "--set", "train.epochs=500"})));
  box.wait_for_lines(3);
  killed.signal(SIGKILL);
  CHECK(killed.finish().code == -SIGKILL);
  CHECK_FALSE(fs::exists(file));

  const json split =
      json::parse(box.run({"--json", "--dry-run", "--trace", file}).out).at("memory").at("split");
  CHECK(split.at("trace") > 200'000);
  CHECK_FALSE(fs::exists(file));
  for (const char* command : {"run", "resume", "evaluate"})
    CHECK(train({command, "--help"}).out.find("--trace FILE") != std::string::npos);
}

TEST_CASE("report and metrics hold stages, requests and cache hits by cause, and they add up") {
  const Sandbox box;
  const Outcome outcome = box.run(kOnDisk);
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  const json report = json::parse(outcome.out);
  check_cache(report.at("cache"));
  CHECK(report.at("requests").at("count") > 0);
  CHECK(report.at("requests").at("mean_seconds") > 0);
  CHECK(report.at("requests").at("p99_seconds") > 0);
  const std::set<std::string> names{"sample", "plan", "repack", "fetch", "assemble", "step"};
  std::uint64_t wanted = 0;
  double busy = 0;
  for (const json& line : lines_of(box.dir())) {
    check_cache(line.at("cache"));
    wanted += line.at("cache").at("wanted").get<std::uint64_t>();
    busy += line.at("stages").at("step").at("busy").get<double>();
    CHECK(line.at("requests").at("count") > 0);
    CHECK(line.at("bytes").at("written") > 0);
    std::set<std::string> found;
    double sampling = 0, planning = 0;
    for (const auto& [name, times] : line.at("stages").items()) {
      found.insert(name);
      for (const char* kind : {"busy", "starved", "blocked"}) CHECK(times.at(kind) >= 0);
      const double spent = times.at("busy").get<double>() + times.at("blocked").get<double>();
      if (name == "sample") sampling += spent;
      if (name == "plan" || name == "repack") planning += spent;
    }
    CHECK(found == names);
    // By the thread that samples, and one beside it.
    CHECK(sampling <= line.at("seconds"));
    CHECK(sampling + planning <= 2 * line.at("seconds").get<double>());
    const json& step = line.at("stages").at("step");
    CHECK(step.at("busy").get<double>() + step.at("starved").get<double>() <=
          line.at("seconds").get<double>());
  }
  CHECK(wanted < report.at("cache").at("wanted"));  // which has the evaluations' too
  CHECK(busy < report.at("stages").at("step").at("busy"));

  const Outcome text = box.run({"--overwrite", "--set", "storage.features=disk"});
  for (const char* part : {"  step              busy ",
                           "  fetch             busy ",
                           " ms each on average, 99 % within ",
                           " there from the window before, ",
                           " kept for longer, ",
                           " read for the first time, "}) {
    CAPTURE(part);
    CHECK(text.out.find(part) != std::string::npos);
  }
  // From memory there is nothing to read, and it says so.
  const json memory =
      json::parse(box.run({"--overwrite", "--json", "--set", "storage.features=memory"}).out);
  CHECK(memory.at("cache").at("wanted") == 0);
  CHECK(memory.at("requests").at("count") == 0);
}
