// Temporal link prediction: writing the destinations that events are ranked among, so that others
// rank by the same.
#include "core/interrupt.h"
#include "samplers/listed_negatives.h"
#include "samplers/stored_ends.h"
#include "samplers/stored_ends_writer.h"
#include "tasks/temporal_link_prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace sluice::tasks {
namespace {

constexpr std::uint64_t kMostEventsListed = 4096;  // together
constexpr std::uint64_t kMostEndsListed = std::uint64_t{1} << 20;
constexpr std::size_t kEventsAThread = 64;

[[noreturn]] void refuse_lists(const std::string& message, const std::string& hint) {
  throw Error(ErrorCode::kUsage, "task 'temporal_link_prediction': " + message, hint);
}

// What no run would read is not written.
void check_columns(std::uint64_t columns) {
  if (columns <= StoredEnds::kMostColumns) return;
  refuse_lists(fmt::format("a list would have {} columns, more than {}, the most that "
                           "task.stored_negatives takes",
                           columns,
                           StoredEnds::kMostColumns),
               "set task.ranked to 100, say, or let runs rank among all themselves: they need no "
               "lists for that");
}

const char* name_of_ranked(EventNegativeKind kind) {
  if (kind == EventNegativeKind::kMixed) return "mixed";
  return kind == EventNegativeKind::kAll ? "all" : "random";
}

// Some events of a part, with room for what stands beside them.
class ListedEvents {
 public:
  ListedEvents(std::uint64_t most, std::uint64_t columns, MemoryLedger* ledger)
      : columns_(columns),
        events_(Array::make(DType::kU64, {4, static_cast<std::int64_t>(most)}, ledger, "negatives")
                    .or_throw()),
        times_(Array::make(DType::kI64, {static_cast<std::int64_t>(most)}, ledger, "negatives")
                   .or_throw()),
        ends_(Array::make(DType::kU64,
                          {static_cast<std::int64_t>(most), static_cast<std::int64_t>(columns)},
                          ledger,
                          "negatives")
                  .or_throw()) {}

  void find(const Links& links, std::uint64_t first, std::size_t count) {
    count_ = count;
    std::iota(column(0).begin(), column(0).end(), first);
    links
        .find(column(0),
              {.sources = column(1), .targets = column(2), .ids = column(3), .times = times()})
        .or_throw();
  }
  // Rows beside the events [begin, end) of these; any number of threads.
  void draw(const EventNegatives& negatives, std::size_t begin, std::size_t end) {
    const std::size_t count = end - begin;
    negatives
        .draw(0,
              {.numbers = column(0).subspan(begin, count),
               .sources = column(1).subspan(begin, count),
               .destinations = column(2).subspan(begin, count),
               .times = times().subspan(begin, count),
               .ids = column(3).subspan(begin, count)},
              ends().subspan(begin * columns_, count * columns_))
        .or_throw();
  }
  std::span<std::uint64_t> ends() {
    return ends_.as<std::uint64_t>().first(count_ * static_cast<std::size_t>(columns_));
  }

 private:
  std::span<std::uint64_t> column(std::size_t which) {
    const auto most = static_cast<std::size_t>(times_.numel());
    return events_.as<std::uint64_t>().subspan(which * most, count_);
  }
  std::span<std::int64_t> times() { return times_.as<std::int64_t>().first(count_); }

  std::uint64_t columns_;
  Array events_;  // u64 [4, most]: numbers, sources, destinations, edge ids
  Array times_;
  Array ends_;
  std::size_t count_ = 0;
};

}  // namespace

TemporalLinkPrediction::WrittenList TemporalLinkPrediction::write_list(
    const std::filesystem::path& path,
    const Links& events,
    const EventNegatives& negatives,
    ThreadArena& arena) const {
  const std::uint64_t columns = negatives.count();
  const std::uint64_t most = std::clamp<std::uint64_t>(
      kMostEndsListed / std::max<std::uint64_t>(columns, 1), 1, kMostEventsListed);
  ListedEvents some(most, columns, ledger_);
  StoredEndsWriter file(path, events.size(), columns);
  for (std::uint64_t first = 0; first < events.size(); first += most) {
    throw_if_interrupted();
    const auto count = static_cast<std::size_t>(std::min(most, events.size() - first));
    some.find(events, first, count);
    arena.for_ranges(count, kEventsAThread, [&](std::size_t begin, std::size_t end) {
      some.draw(negatives, begin, end);
    });
    file.append(some.ends());
  }
  const std::uint64_t hash = file.commit();
  return {hash, file.bytes()};
}

TemporalLinkPrediction::Lists TemporalLinkPrediction::write_lists(
    const std::filesystem::path& folder,
    const std::string& created_by,
    ThreadArena& arena,
    MemoryLedger* ledger) {
  if (!options_.stored_negatives.empty())
    refuse_lists("'stored_negatives' names lists that are there already",
                 "leave task.stored_negatives out, and set task.ranked");
  if (options_.ranked == 0)
    refuse_lists("'ranked' is 0: there is nothing to list",
                 "set task.ranked = 100 and task.ranked_by = \"mixed\"");
  const GraphSchema& schema = dataset_->schema();
  const RelationSchema& relation = schema.relations[relation_];
  ledger_ = ledger;
  num_sources_ = schema.nodes[source_type_].count;
  graph_ = std::make_shared<const TemporalGraph>(
      TemporalGraph::load(*dataset_, relation.key()).or_throw());
  const EventLinks all = EventLinks::make(graph_, arena, ledger).or_throw();
  const EventParts parts(all, options_.split, stored_split_ ? &*stored_split_ : nullptr, ledger);
  const EventColumns ranked = options_.evaluation_columns().back();
  const auto negatives = make_negatives(parts, {ranked}, key_.with("evaluation"), {});
  check_columns(negatives->count());

  const ListedNegatives listed{
      relation.key(),
      name_of_ranked(ranked.kind),
      options_.candidates == EventCandidates::kNodes ? "nodes" : "destinations",
      created_by,
      negatives->count()};
  std::vector<ListedPart> listed_parts{{Part::kTrain, parts.links(Part::kTrain)}};
  Lists written{parts.count(Part::kValid), parts.count(Part::kTest), listed.columns, 0};
  for (const Part part : {Part::kValid, Part::kTest}) {
    const std::filesystem::path path = folder / (to_string(part) + ".npy");
    const auto events = parts.links(part);
    const WrittenList list = write_list(path, *events, *negatives, arena);
    listed_parts.push_back({part, events, list.hash});
    written.bytes += list.bytes;
  }
  note_listed(folder, listed, listed_parts);
  return written;
}

}  // namespace sluice::tasks
