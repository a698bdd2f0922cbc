#include "prep/spool/sorted_edges.h"

#include "core/interrupt.h"
#include "core/radix_sort.h"

#include <algorithm>
#include <queue>
#include <utility>
#include <vector>

namespace sluice {
namespace {

struct Row {
  std::int64_t key;
  std::uint64_t id;
  std::uint64_t source;
  std::uint64_t target;
};

constexpr std::uint64_t kLeastRunRows = std::uint64_t{1} << 18;
constexpr std::size_t kOutRows = std::size_t{1} << 15;

/// Order of signed numbers as that of unsigned ones.
std::uint64_t biased(std::int64_t key) {
  return static_cast<std::uint64_t>(key) ^ (std::uint64_t{1} << 63);
}

/// Rows on their way into a spool.
class RowSink {
 public:
  explicit RowSink(EdgeSpool& spool) : spool_(spool) {}
  void put(const Row& row) {
    sources_.push_back(row.source);
    targets_.push_back(row.target);
    ids_.push_back(row.id);
    if (ids_.size() == kOutRows) flush();
  }
  void flush() {
    spool_.append(sources_, targets_, ids_);
    sources_.clear();
    targets_.clear();
    ids_.clear();
  }

 private:
  EdgeSpool& spool_;
  std::vector<std::uint64_t> sources_, targets_, ids_;
};

/// The edges of a spool with their keys.
class KeyedEdges {
 public:
  KeyedEdges(const EdgeSpool& spool, const ScratchBytes& keys)
      : edges_(spool, keys.size() / sizeof(std::int64_t)), keys_(keys) {}

  /// Adds a chunk's rows to `rows`; false at the end.
  bool next(std::vector<Row>& rows) {
    const auto view = edges_.next();
    if (!view) return false;
    std::visit([&](const auto& span) { add(span, rows); }, *view);
    return true;
  }

 private:
  template <class Id>
  void add(const EdgeSpan<Id>& span, std::vector<Row>& rows) {
    const auto id_of = [&](std::size_t i) { return span.ids == nullptr ? next_ + i : span.ids[i]; };
    const std::uint64_t first = id_of(0), last = id_of(span.count - 1);
    // In input order ids ascend, so a chunk's keys stand together.
    const bool together =
        (span.ids == nullptr || std::is_sorted(span.ids, span.ids + span.count)) &&
        last - first < 4 * span.count;
    if (together) {
      key_chunk_.resize(last - first + 1);
      keys_.read_values(first, std::span(key_chunk_));
    }
    for (std::size_t i = 0; i < span.count; ++i) {
      const std::uint64_t id = id_of(i);
      std::int64_t key = 0;
      together ? void(key = key_chunk_[id - first]) : keys_.read_values(id, std::span(&key, 1));
      rows.push_back({key, id, span.source[i], span.target[i]});
    }
    next_ += span.count;
  }

  SpooledEdges edges_;
  const ScratchBytes& keys_;
  std::vector<std::int64_t> key_chunk_;
  std::uint64_t next_ = 0;
};

/// One sorted run on its way back.
class RunReader {
 public:
  RunReader(const ScratchBytes& rows, std::uint64_t first, std::uint64_t last, std::size_t at_once)
      : rows_(rows), next_(first), last_(last), at_once_(at_once) {
    refill();
  }
  bool done() const { return at_ == piece_.size(); }
  const Row& front() const { return piece_[at_]; }
  void pop() {
    if (++at_ == piece_.size()) refill();
  }

 private:
  void refill() {
    piece_.resize(std::min<std::uint64_t>(at_once_, last_ - next_));
    rows_.read_values(next_, std::span(piece_));
    next_ += piece_.size();
    at_ = 0;
  }
  const ScratchBytes& rows_;
  std::uint64_t next_, last_;
  std::size_t at_once_;
  std::vector<Row> piece_;
  std::size_t at_ = 0;
};

void merge(const ScratchBytes& rows,
           const std::vector<std::uint64_t>& ends,
           std::uint64_t rows_in_memory,
           RowSink& sink) {
  const std::size_t at_once = std::max<std::uint64_t>(64, rows_in_memory / (ends.size() + 1));
  std::vector<RunReader> runs;
  std::uint64_t first = 0;
  runs.reserve(ends.size());
  for (const std::uint64_t end : ends)
    runs.emplace_back(rows, std::exchange(first, end), end, at_once);
  const auto later = [&](std::size_t a, std::size_t b) {
    // Earlier runs hold earlier edges, so among equal keys theirs come first.
    return std::pair(runs[a].front().key, a) > std::pair(runs[b].front().key, b);
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> heads(later);
  for (std::size_t run = 0; run < runs.size(); ++run) heads.push(run);
  for (std::uint64_t merged = 0; !heads.empty(); ++merged) {
    if (merged % kOutRows == 0) throw_if_interrupted();
    const std::size_t run = heads.top();
    heads.pop();
    sink.put(runs[run].front());
    runs[run].pop();
    if (!runs[run].done()) heads.push(run);
  }
}

}  // namespace

EdgeSpool sort_edges(const EdgeSpool& spool,
                     const ScratchBytes& keys,
                     const std::filesystem::path& folder,
                     std::uint64_t memory_bytes,
                     PrepContext& context) {
  // Rows, as much again to sort them by digits, and a quarter for the spools on both sides.
  const std::uint64_t run_rows =
      std::min(spool.size() + kLeastRunRows,
               std::max(kLeastRunRows, memory_bytes * 3 / 4 / (2 * sizeof(Row))));
  const Charge charge =
      context.ledger.charge("sorting edges", 2 * run_rows * sizeof(Row)).or_throw();
  EdgeSpool sorted(folder, &context.ledger, memory_bytes / 8);
  RowSink sink(sorted);
  ScratchBytes runs(folder, &context.ledger, 0);
  std::vector<std::uint64_t> ends;
  std::vector<Row> rows, scratch;
  KeyedEdges edges(spool, keys);
  bool more = true;
  while (more) {
    throw_if_interrupted();
    more = edges.next(rows);
    if (more && rows.size() + kLeastRunRows / 2 <= run_rows) continue;
    radix_sort(rows, scratch, [](const Row& row) { return biased(row.key); });
    if (!more && ends.empty()) break;  // all of them in memory
    if (rows.empty()) break;
    runs.append_values(std::span<const Row>(rows));
    ends.push_back(runs.size() / sizeof(Row));
    rows.clear();
  }
  if (ends.empty()) {
    for (const Row& row : rows) sink.put(row);
  } else {
    rows = {};
    scratch = {};
    merge(runs, ends, run_rows, sink);
  }
  sink.flush();
  return sorted;
}

}  // namespace sluice
