#include "tasks/known_links.h"

#include <sluice/error.h>

#include <algorithm>
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

Key key_of(const Entry& entry) {
  return {entry.known, entry.type};
}

bool before(const Entry& a, const Entry& b) {
  return std::tie(a.known, a.type, a.answer, a.train) <
         std::tie(b.known, b.type, b.answer, b.train);
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
  std::array<std::vector<Key>, 2> asked{};  // ascending, of Keep::kAsked

  void find_asked() {
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
  Gathering gathering{source, keep};
  if (keep == Keep::kAsked) gathering.find_asked();
  std::array<std::size_t, 2> counts{};
  gathering.for_each([&](std::size_t looked, const Entry&) { ++counts[looked]; });
  if (ledger != nullptr)
    charge_ = ledger->charge("known links", (counts[0] + counts[1]) * sizeof(Entry)).or_throw();
  entries_[0].reserve(counts[0]);
  entries_[1].reserve(counts[1]);
  gathering.for_each(
      [&](std::size_t looked, const Entry& entry) { entries_[looked].push_back(entry); });
  for (std::vector<Entry>& entries : entries_) std::ranges::sort(entries, before);

  count_odd(source);
}

// What nobody would expect of valid and test links.
void KnownLinks::count_odd(const Source& source) {
  std::array<std::vector<bool>, 2> seen;  // of sources and of destinations
  const auto mark = [](std::vector<bool>& flags, std::uint64_t node) {
    if (node >= flags.size()) flags.resize(node + 1);
    flags[node] = true;
  };
  for_each_link(source, *source.parts[0], [&](auto from, auto, auto to) {
    mark(seen[0], from);
    mark(seen[source.same_type ? 0 : 1], to);
  });
  const auto has = [](const std::vector<bool>& flags, std::uint64_t node) {
    return node < flags.size() && flags[node];
  };
  for (const std::size_t part : {std::size_t{1}, std::size_t{2}})
    for_each_link(source, *source.parts[part], [&](auto from, auto type, auto to) {
      ++asked_;
      if (!has(seen[0], from) || !has(seen[source.same_type ? 0 : 1], to)) ++unseen_;
      const auto known = answers(Looked::kDestination, from, type);
      const bool trained = std::ranges::any_of(
          known, [&](const Entry& entry) { return entry.train != 0 && entry.answer == to; });
      if (trained) ++repeated_;
    });
}

std::span<const Entry> KnownLinks::answers(Looked looked,
                                           std::uint64_t known,
                                           std::uint32_t type) const {
  const std::vector<Entry>& entries = entries_[static_cast<std::size_t>(looked)];
  const auto found = std::ranges::equal_range(entries, Key{known, type}, {}, key_of);
  return {found.begin(), found.end()};
}

std::int64_t KnownLinks::count_training(Looked looked,
                                        std::uint64_t known,
                                        std::uint32_t type) const {
  return std::ranges::count_if(answers(looked, known, type),
                               [](const Entry& entry) { return entry.train != 0; });
}

}  // namespace sluice::tasks
