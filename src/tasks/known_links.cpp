#include "tasks/known_links.h"

#include <sluice/error.h>

#include <algorithm>
#include <iterator>
#include <tuple>

namespace sluice::tasks {
namespace {

using Entry = KnownLinks::Entry;
using Looked = KnownLinks::Looked;

struct Key {
  std::uint64_t known;
  std::uint32_t type;
  friend auto operator<=>(const Key&, const Key&) = default;
};

// Training links of an end and a type first, the others behind them.
auto place_of(const Entry& entry) {
  return std::tuple(entry.known, entry.type, 1 - entry.train, entry.answer);
}

bool before(const Entry& a, const Entry& b) {
  return place_of(a) < place_of(b);
}

constexpr const char* kKnownLedger = "known links";

Charge charge_of(MemoryLedger* ledger, std::uint64_t bytes) {
  return ledger == nullptr ? Charge() : ledger->charge(kKnownLedger, bytes).or_throw();
}

// Links of a part, some at a time.
struct Piece {
  std::vector<std::uint64_t> numbers, sources, targets, ids;
  std::vector<std::uint8_t> truth;
  std::vector<std::uint32_t> types;
};

void read_piece(const KnownLinks::Source& from,
                const Links& links,
                std::uint64_t first,
                std::size_t count,
                Piece& piece) {
  piece.numbers.resize(count);
  for (std::size_t i = 0; i < count; ++i) piece.numbers[i] = first + i;
  piece.sources.resize(count);
  piece.targets.resize(count);
  piece.truth.assign(count, 1);
  const bool typed = from.typed && links.have_ids();
  piece.ids.resize(typed ? count : 0);
  Links::Ends ends{piece.sources, piece.targets, piece.ids, {}, {}};
  if (links.have_truth()) ends.truth = piece.truth;
  links.find(piece.numbers, ends).or_throw();
  piece.types = types_of(typed ? from.data.labels(piece.ids) : Array(), count);
}

// Calls see(source, type, target) of each link of a part that is one.
template <class See>
void for_each_link(const KnownLinks::Source& from, const Links& links, const See& see) {
  constexpr std::uint64_t kPiece = 1 << 16;
  Piece piece;
  for (std::uint64_t first = 0; first < links.size(); first += kPiece) {
    const std::size_t count = std::min<std::uint64_t>(kPiece, links.size() - first);
    read_piece(from, links, first, count, piece);
    for (std::size_t i = 0; i < count; ++i)
      if (piece.truth[i] != 0) see(piece.sources[i], piece.types[i], piece.targets[i]);
  }
}

}  // namespace

std::vector<std::uint32_t> types_of(const Array& labels, std::size_t count) {
  std::vector<std::uint32_t> types(count, 0);
  if (labels.empty()) return types;
  const auto all = labels.as<std::int32_t>();
  for (std::size_t i = 0; i < count; ++i) {
    if (all[i] < 0)
      throw Error(ErrorCode::kData,
                  "a link has no type, and the task's decoder reads types of links",
                  "import the edges with a type each, or choose task.decoder = \"dot\"");
    types[i] = static_cast<std::uint32_t>(all[i]);
  }
  return types;
}

// Goes through all links once or twice.
struct KnownLinks::Gathering {
  const Source& from;
  Keep keep;
  MemoryLedger* ledger;
  Charge charge{};
  std::array<std::vector<Key>, 2> asked{};  // ascending, of Keep::kAsked

  void find_asked() {
    const std::uint64_t most = from.parts[1]->size() + from.parts[2]->size();
    charge = charge_of(ledger, asked.size() * most * sizeof(Key));
    for (std::vector<Key>& keys : asked) keys.reserve(most);
    for (const std::size_t part : {std::size_t{1}, std::size_t{2}})
      for_each_link(from, *from.parts[part], [&](auto source, auto type, auto target) {
        asked[0].push_back({source, type});
        asked[1].push_back({target, type});
      });
    for (std::vector<Key>& keys : asked) {
      std::ranges::sort(keys);
      keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    }
  }

  bool wants(std::size_t looked, const Key& key) const {
    return keep == Keep::kAll || std::ranges::binary_search(asked[looked], key);
  }

  /// Calls take(looked, entry) of each entry that is kept.
  template <class Take>
  void for_each(const Take& take) const {
    for (std::uint32_t part = 0; part < 3; ++part)
      for_each_link(from, *from.parts[part], [&](auto source, auto type, auto target) {
        const std::uint32_t train = part == 0 ? 1 : 0;
        if (wants(0, {source, type})) take(0, Entry{source, type, train, target});
        if (wants(1, {target, type})) take(1, Entry{target, type, train, source});
      });
  }
};

KnownLinks::KnownLinks(const Source& source, Keep keep, MemoryLedger* ledger) {
  Gathering gathering{source, keep, ledger};
  if (keep == Keep::kAsked) gathering.find_asked();
  std::array<std::size_t, 2> counts{};
  gathering.for_each([&](std::size_t looked, const Entry&) { ++counts[looked]; });
  charge_ = charge_of(ledger, (counts[0] + counts[1]) * sizeof(Entry));
  entries_[0].reserve(counts[0]);
  entries_[1].reserve(counts[1]);
  gathering.for_each(
      [&](std::size_t looked, const Entry& entry) { entries_[looked].push_back(entry); });
  for (std::vector<Entry>& entries : entries_) std::ranges::sort(entries, before);

  count_odd(source, ledger);
}

// What nobody would expect of valid and test links.
void KnownLinks::count_odd(const Source& source, MemoryLedger* ledger) {
  const std::size_t sources = 0, destinations = source.same_type ? 0 : 1;
  const std::uint64_t of_sources = source.nodes[0];
  const std::uint64_t of_destinations = source.same_type ? 0 : source.nodes[1];
  const Charge charge = charge_of(ledger, (of_sources + of_destinations) / 8);
  std::array<std::vector<bool>, 2> seen{std::vector<bool>(of_sources),
                                        std::vector<bool>(of_destinations)};
  for_each_link(source, *source.parts[0], [&](auto from, auto, auto to) {
    seen[sources].at(from) = true;
    seen[destinations].at(to) = true;
  });
  for (const std::size_t part : {std::size_t{1}, std::size_t{2}})
    for_each_link(source, *source.parts[part], [&](auto from, auto type, auto to) {
      ++asked_;
      if (!seen[sources].at(from) || !seen[destinations].at(to)) ++unseen_;
      if (std::ranges::binary_search(entries_[0], Entry{from, type, 1, to}, before)) ++repeated_;
    });
}

std::span<const Entry> KnownLinks::listed(Looked looked,
                                          std::uint64_t known,
                                          std::uint32_t type,
                                          std::uint32_t train) const {
  const std::vector<Entry>& entries = entries_[static_cast<std::size_t>(looked)];
  const auto list_of = [](const Entry& entry) {
    return std::tuple(entry.known, entry.type, 1 - entry.train);
  };
  const auto found =
      std::ranges::equal_range(entries, list_of(Entry{known, type, train, 0}), {}, list_of);
  return {found.begin(), found.end()};
}

KnownLinks::Answers KnownLinks::answers(Looked looked,
                                        std::uint64_t known,
                                        std::uint32_t type) const {
  return {listed(looked, known, type, 1), listed(looked, known, type, 0)};
}

std::int64_t KnownLinks::count_training(Looked looked,
                                        std::uint64_t known,
                                        std::uint32_t type) const {
  return std::ssize(listed(looked, known, type, 1));
}

}  // namespace sluice::tasks
