// Lists of destinations that events are ranked among: by sets of all events, against what a run
// draws, and what lists are refused beside.
#include "support/expect_error.h"
#include "support/timed_events.h"
#include "train/negatives.h"
#include "train/support.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::size_t kListed = 12;
constexpr std::size_t kTrainEvents = 630, kValidEnd = 765;

struct FileEvent {
  std::uint64_t source = 0, target = 0;
  std::int64_t time = 0;
};

// In the order of time, which is that of the file.
std::vector<FileEvent> events_in_file(const TimedEvents& events) {
  std::ifstream file(events.folder() / "events.csv");
  std::vector<FileEvent> listed;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    FileEvent event;
    char comma = 0;
    fields >> event.source >> comma >> event.target >> comma >> event.time;
    listed.push_back(event);
  }
  REQUIRE(listed.size() == TimedEvents::kEvents);
  return listed;
}

std::string bytes_in(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The rows of a file of lists.
std::vector<std::vector<std::int64_t>> rows_in(const std::filesystem::path& path) {
  const std::string bytes = bytes_in(path);
  const std::size_t head =
      10 + static_cast<unsigned char>(bytes.at(8)) + 256U * static_cast<unsigned char>(bytes.at(9));
  CHECK(head % 64 == 0);
  REQUIRE((bytes.size() - head) % (kListed * sizeof(std::int64_t)) == 0);
  std::vector<std::vector<std::int64_t>> rows;
  for (std::size_t at = head; at < bytes.size(); at += kListed * sizeof(std::int64_t)) {
    std::vector<std::int64_t> row(kListed);
    std::memcpy(row.data(), bytes.data() + at, kListed * sizeof(std::int64_t));
    rows.push_back(row);
  }
  return rows;
}

NegativesReport write_lists(const TimedEvents& events,
                            const std::string& name,
                            std::vector<std::string> sets) {
  Quiet quiet;
  sets.insert(sets.begin(), {"task.ranked=12", "task.ranked_by=mixed"});
  return write_negatives(options_of(events.config("type = \"recency\""), sets),
                         "test",
                         events.folder() / name,
                         quiet.context);
}

RunReport recency_run(const TimedEvents& events, std::vector<std::string> sets) {
  Quiet quiet;
  sets.push_back("train.epochs=0");
  return run_training(options_of(events.config("type = \"recency\""), sets),
                      RunDirectory::Mode::kReplace,
                      quiet.context);
}

std::string set_of_lists(const TimedEvents& events, const std::string& name) {
  return "task.stored_negatives=" + (events.folder() / name).string();
}

// What a row may hold, by sets of all events: half from whom the source met in training, the others
// from those that it did not, none that it meets at the event's time.
void check_row(const std::vector<std::int64_t>& row,
               const std::vector<FileEvent>& events,
               const FileEvent& own) {
  std::set<std::int64_t> candidates, met, now;
  for (const FileEvent& event : events) {
    const auto target = static_cast<std::int64_t>(event.target);
    candidates.insert(target);
    if (event.source != own.source) continue;
    if (event.time < events[kTrainEvents].time) met.insert(target);
    if (event.time == own.time) now.insert(target);
  }
  std::set<std::int64_t> historical, others;
  for (const std::int64_t node : met)
    if (!now.contains(node)) historical.insert(node);
  for (const std::int64_t node : candidates)
    if (!met.contains(node) && !now.contains(node)) others.insert(node);
  const std::size_t first = std::min(kListed / 2, historical.size());
  const std::size_t end = first + std::min(kListed - first, others.size());
  std::set<std::int64_t> seen;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i >= end) {
      CHECK(row[i] == -1);
      continue;
    }
    CHECK((i < first ? historical : others).contains(row[i]));
    CHECK(seen.insert(row[i]).second);
  }
}

}  // namespace

TEST_CASE("lists hold what sets of all events say, the same bytes with any threads") {
  const TimedEvents events;
  const NegativesReport report = write_lists(events, "lists", {"train.data_threads=1"});
  CHECK(report.valid == kValidEnd - kTrainEvents);
  CHECK(report.test == TimedEvents::kEvents - kValidEnd);
  CHECK(report.columns == kListed);
  CHECK(report.bytes == bytes_in(events.folder() / "lists/valid.npy").size() +
                            bytes_in(events.folder() / "lists/test.npy").size());
  const std::vector<FileEvent> listed = events_in_file(events);
  const auto valid = rows_in(events.folder() / "lists/valid.npy");
  const auto test = rows_in(events.folder() / "lists/test.npy");
  REQUIRE(valid.size() == report.valid);
  REQUIRE(test.size() == report.test);
  for (std::size_t i = 0; i < valid.size(); ++i)
    check_row(valid[i], listed, listed[kTrainEvents + i]);
  for (std::size_t i = 0; i < test.size(); ++i) check_row(test[i], listed, listed[kValidEnd + i]);

  (void)write_lists(events, "by-four", {"train.data_threads=4"});
  (void)write_lists(events, "other", {"seed=2"});
  for (const char* file : {"valid.npy", "test.npy", "negatives.json"}) {
    CAPTURE(std::string(file));
    const std::string bytes = bytes_in(events.folder() / "lists" / file);
    CHECK(bytes == bytes_in(events.folder() / "by-four" / file));
    CHECK(bytes != bytes_in(events.folder() / "other" / file));
  }
}

TEST_CASE("a run ranks by lists as it does by what they were drawn from") {
  const TimedEvents events;
  (void)write_lists(events, "lists", {});
  const RunReport drawn = recency_run(events, {"task.ranked=12", "task.ranked_by=mixed"});
  const RunReport read = recency_run(events, {set_of_lists(events, "lists")});
  for (const char* metric : {"valid.mrr", "test.mrr", "test.hits@10", "test.ap"}) {
    CAPTURE(std::string(metric));
    CHECK(read.metrics.at(metric) == drawn.metrics.at(metric));
  }
  // Random ones are listed as well.
  (void)write_lists(events, "random", {"task.ranked_by=random"});
  CHECK(recency_run(events, {set_of_lists(events, "random")}).metrics.at("test.mrr") ==
        recency_run(events, {"task.ranked=12"}).metrics.at("test.mrr"));
}

TEST_CASE("lists are refused beside other events, and with other rows than were written") {
  const TimedEvents events;
  const std::vector<FileEvent> listed = events_in_file(events);
  const auto time = [&](std::size_t event) { return std::to_string(listed[event].time); };
  const std::string ends = time(kTrainEvents) + ", " + time(kValidEnd) + "]";
  const std::vector<std::string> by_time{"task.split_by=time", "task.split_times=[" + ends};
  (void)write_lists(events, "lists", by_time);
  const auto run_with = [&](const std::vector<std::string>& split) {
    std::vector<std::string> sets = split;
    sets.push_back(set_of_lists(events, "lists"));
    return recency_run(events, sets);
  };
  CHECK(run_with(by_time).metrics.contains("test.mrr"));
  const auto refused = [&](const std::vector<std::string>& split, const std::string& words) {
    const Error error = expect_error([&] { (void)run_with(split); });
    CHECK(error.code() == ErrorCode::kData);
    CHECK_MESSAGE(error.message().find(words) != std::string::npos, error.message());
  };
  // As many events to validate and to test by, and a training that begins later.
  refused({"task.split_by=time", "task.split_times=[" + time(100) + ", " + ends}, "train events");

  // One destination fewer in valid.npy: the first that is there becomes -1.
  const auto path = events.folder() / "lists/valid.npy";
  std::vector<std::int64_t> numbers;
  for (const auto& row : rows_in(path)) numbers.insert(numbers.end(), row.begin(), row.end());
  const auto there =
      std::ranges::find_if(numbers, [](std::int64_t node) { return node != -1; }) - numbers.begin();
  REQUIRE(there < std::ssize(numbers));
  std::string changed = bytes_in(path);
  const std::size_t head = changed.size() - numbers.size() * sizeof(std::int64_t);
  std::memset(changed.data() + head + static_cast<std::size_t>(there) * sizeof(std::int64_t),
              0xff,
              sizeof(std::int64_t));
  std::ofstream(path, std::ios::binary) << changed;
  refused(by_time, "other rows");
  // Without the note they are anybody's lists.
  std::filesystem::remove(events.folder() / "lists/negatives.json");
  CHECK(run_with(by_time).metrics.contains("test.mrr"));
  std::ofstream(events.folder() / "lists/negatives.json") << "{}";
  refused(by_time, "not what sluice-train negatives writes");
}

TEST_CASE("the tool writes lists by a config, and says what it wrote") {
  const TimedEvents events;
  const auto config = events.folder() / "run.toml";
  std::ofstream(config) << events.config("type = \"recency\"");
  const auto out = events.folder() / "by-tool";
  const std::vector<std::string> command{tool("sluice-train"),
                                         "negatives",
                                         config.string(),
                                         "--set",
                                         "task.ranked=12",
                                         "--set",
                                         "task.ranked_by=mixed",
                                         "--out",
                                         out.string()};
  const Outcome text = sluice::test::run(command);
  REQUIRE_MESSAGE(text.code == 0, text.err);
  CHECK(text.out.find(
            "12 destinations beside each of 135 events to validate by and 135 to test by") !=
        std::string::npos);
  (void)write_lists(events, "lists", {});
  for (const char* file : {"valid.npy", "test.npy"})
    CHECK(bytes_in(out / file) == bytes_in(events.folder() / "lists" / file));
  CHECK(bytes_in(out / "negatives.json").find(" negatives, seed 1\"") != std::string::npos);
  const Outcome again = sluice::test::run(command);
  CHECK(again.code == 2);
  CHECK(again.err.find("already exists") != std::string::npos);
}

TEST_CASE("nothing to list, and a folder that is there, are refused") {
  const TimedEvents events;
  Quiet quiet;
  const auto out = events.folder() / "lists";
  const auto refused = [&](const std::vector<std::string>& sets) {
    const Error error = expect_error([&] {
      (void)write_negatives(
          options_of(events.config("type = \"recency\""), sets), "test", out, quiet.context);
    });
    CHECK(error.code() == ErrorCode::kUsage);
    return error.message();
  };
  CHECK(refused({}).find("nothing to list") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(out));
  CHECK(refused({"task.stored_negatives=x"}).find("already") != std::string::npos);
  std::filesystem::create_directory(out);
  CHECK(refused({"task.ranked=5"}).find("already exists") != std::string::npos);
}

TEST_CASE("lists of more columns than a run reads are refused before any is written") {
  const TimedEvents events((1 << 20) + 2);
  Quiet quiet;
  const auto out = events.folder() / "lists";
  const std::vector<std::string> sets{"task.ranked=-1", "task.candidates=nodes"};
  const Error error = expect_error([&] {
    (void)write_negatives(
        options_of(events.config("type = \"recency\""), sets), "test", out, quiet.context);
  });
  CHECK(error.code() == ErrorCode::kUsage);
  CHECK_MESSAGE(error.message().find("more than 1048576") != std::string::npos, error.message());
  CHECK_FALSE(std::filesystem::exists(out));
}
