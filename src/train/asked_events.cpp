#include "train/asked_events.h"

#include "core/csv_line.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <ios>
#include <limits>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

namespace sluice {
namespace {

constexpr const char* kForm = "write it as CSV with the header source,target,time";

[[noreturn]] void refuse_line(const std::string& path,
                              std::int64_t line,
                              const std::string& message,
                              const std::string& hint) {
  throw Error(ErrorCode::kData, message, hint, Place{path, line, -1, -1});
}

struct AskedEvent {
  std::string source, target;
  std::int64_t time = 0;
  std::int64_t line = 0;
};

// A file that is read line by line.
class EventFile {
 public:
  EventFile(const std::string& path, AskedTargets targets)
      : path_(path), file_(path, std::ios::binary), targets_(targets) {
    if (!file_)
      throw Error(ErrorCode::kIo,
                  "cannot read the events that are asked about",
                  "check the path behind --events",
                  Place{path, -1, -1, -1});
    std::vector<std::string> header;
    if (!next_fields(header)) refuse_line(path_, 1, "the file is empty", kForm);
    source_ = place_of(header, "source");
    time_ = place_of(header, "time");
    if (targets_ == AskedTargets::kGiven) target_ = place_of(header, "target");
    width_ = header.size();
  }

  bool next(AskedEvent& event) {
    std::vector<std::string> fields;
    if (!next_fields(fields)) return false;
    if (fields.size() != width_)
      refuse_line(path_,
                  line_,
                  fmt::format("{} fields, and the header has {}", fields.size(), width_),
                  kForm);
    event.source = std::move(fields[source_]);
    if (targets_ == AskedTargets::kGiven) event.target = std::move(fields[target_]);
    const std::string& time = fields[time_];
    const char* const end = time.data() + time.size();
    const auto read = std::from_chars(time.data(), end, event.time);
    if (read.ec != std::errc() || read.ptr != end)
      refuse_line(path_,
                  line_,
                  fmt::format("the time '{}' is no whole number", time),
                  "give times in ticks of the dataset, as it was imported");
    event.line = line_;
    return true;
  }

 private:
  bool next_fields(std::vector<std::string>& fields) {
    std::string line;
    while (std::getline(file_, line)) {
      // Spreadsheets begin a CSV with a byte order mark.
      if (++line_ == 1 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (line.empty()) continue;
      fields = csv_fields(line);
      if (fields.empty())
        refuse_line(path_,
                    line_,
                    "a quoted field does not end on its line",
                    "close the quote, or double a quote inside it");
      return true;
    }
    if (file_.bad())
      throw Error(ErrorCode::kIo,
                  "cannot read the events that are asked about",
                  "check the disk",
                  Place{path_, -1, -1, -1});
    return false;
  }

  std::size_t place_of(const std::vector<std::string>& header, const std::string& name) const {
    const auto found = std::ranges::find(header, name);
    if (found == header.end())
      refuse_line(path_, line_, fmt::format("there is no column '{}'", name), kForm);
    return static_cast<std::size_t>(found - header.begin());
  }

  std::string path_;
  std::ifstream file_;
  AskedTargets targets_;
  std::int64_t line_ = 0;
  std::size_t source_ = 0, target_ = 0, time_ = 0, width_ = 0;
};

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

// Dense ids by the user's, of those that are asked for.
using KnownIds = std::map<std::string, std::uint64_t, std::less<>>;

void find_nodes(KnownIds& wanted, const Dataset& dataset, std::size_t type) {
  const NodeTypeSchema& schema = dataset.schema().nodes.at(type);
  const ExternalIds ids = dataset.ids(schema.name);
  for (std::uint64_t node = 0; node < schema.count; ++node) {
    const auto found = wanted.find(ids.text(node));
    if (found != wanted.end()) found->second = node;
  }
}

std::uint64_t node_called(const KnownIds& known,
                          const std::string& id,
                          const std::string& path,
                          std::int64_t line,
                          const std::string& type) {
  const std::uint64_t node = known.at(id);
  if (node == kUnknown)
    refuse_line(path,
                line,
                fmt::format("there is no '{}' called '{}'", type, id),
                "name nodes by the ids that they were imported with");
  return node;
}

}  // namespace

std::shared_ptr<const Links> read_asked_events(const std::string& path,
                                               const Dataset& dataset,
                                               AskedEnds ends,
                                               AskedTargets targets,
                                               MemoryLedger* ledger) {
  constexpr const char* kName = "events asked about";
  EventFile file(path, targets);
  std::vector<AskedEvent> events;
  KnownIds sources, destinations;
  std::vector<Charge> charges;  // of texts and maps, roughly
  constexpr std::size_t kPiece = 4096, kAnEvent = 256;
  for (AskedEvent event; file.next(event);) {
    if (events.size() % kPiece == 0 && ledger != nullptr)
      charges.push_back(ledger->charge(kName, kPiece * kAnEvent).or_throw());
    sources.try_emplace(event.source, kUnknown);
    if (targets == AskedTargets::kGiven) destinations.try_emplace(event.target, kUnknown);
    events.push_back(event);
  }
  if (events.empty()) refuse_line(path, 1, "the file asks about no events", kForm);
  find_nodes(sources, dataset, ends.source_type);
  find_nodes(destinations, dataset, ends.destination_type);
  std::ranges::stable_sort(events, {}, &AskedEvent::time);

  const auto make = [&](DType dtype) {
    return Array::make(dtype, {static_cast<std::int64_t>(events.size())}, ledger, kName).or_throw();
  };
  LinkArrays links{make(DType::kU64), make(DType::kU64), make(DType::kU64), {}, make(DType::kI64)};
  const auto& types = dataset.schema().nodes;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const AskedEvent& event = events[i];
    links.sources.as<std::uint64_t>()[i] =
        node_called(sources, event.source, path, event.line, types[ends.source_type].name);
    links.targets.as<std::uint64_t>()[i] =
        targets == AskedTargets::kLookedFor
            ? 0
            : node_called(
                  destinations, event.target, path, event.line, types[ends.destination_type].name);
    links.ids.as<std::uint64_t>()[i] = 0;
    links.times.as<std::int64_t>()[i] = event.time;
  }
  return std::make_shared<ListedLinks>(std::move(links));
}

}  // namespace sluice
