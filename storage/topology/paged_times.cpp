#include "storage/topology/paged_times.h"

#include "storage/format/data_file.h"
#include "storage/format/file_cursor.h"
#include "storage/format/layout.h"
#include "storage/topology/topology_errors.h"

#include <sluice/no_node.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sluice {
namespace {

// The elements of a file, one after the other, as u64.
class ElementScan {
 public:
  static Result<ElementScan> open(const std::filesystem::path& root,
                                  const Manifest& manifest,
                                  const std::string& path,
                                  DType dtype,
                                  std::uint64_t count,
                                  const DatasetOptions& options,
                                  IoChoice io) {
    auto entry = find_file(root, manifest, path);
    if (!entry) return std::move(entry).error();
    const std::uint64_t needed = count * size_of(dtype);
    if (round_up_to_page(needed) != entry.value().bytes)
      return size_error(root / path, entry.value().bytes, needed);
    auto cursor = FileCursor::open(root, entry.value(), {options.verify, io}, options.ledger);
    if (!cursor) return std::move(cursor).error();
    return ElementScan(std::move(cursor).value(), size_of(dtype));
  }

  /// @pre it is not called more often than the file has elements
  Result<std::uint64_t> next() {
    if (at_ == piece_.size()) {
      auto piece = cursor_.next();
      if (!piece) return std::move(piece).error();
      piece_ = piece.value();
      at_ = 0;
    }
    std::uint64_t value = 0;
    std::memcpy(&value, piece_.data() + at_, width_);
    at_ += width_;
    return value;
  }

 private:
  ElementScan(FileCursor cursor, std::size_t width) : cursor_(std::move(cursor)), width_(width) {}

  FileCursor cursor_;
  std::size_t width_;  // 4 or 8; numbers are little-endian
  std::span<const std::byte> piece_;
  std::size_t at_ = 0;
};

// Where lists end, target after target.
class ListEnds {
 public:
  explicit ListEnds(Topology& topology) : topology_(topology) {}

  /// Whether a list begins at `position`, which goes up by one from call to call.
  Result<bool> begins(std::uint64_t position) {
    bool is_first = position == 0;
    while (position >= end_) {
      if (at_ == ranges_.size()) {
        if (auto filled = refill(); !filled) return std::move(filled).error();
      }
      end_ = ranges_[at_++].end;
      is_first = true;
    }
    return is_first;
  }

 private:
  Result<void> refill() {
    constexpr std::uint64_t kAtOnce = 4096;
    const std::uint64_t count = std::min(kAtOnce, topology_.num_targets() - next_);
    targets_.resize(count);
    for (std::uint64_t i = 0; i < count; ++i) targets_[i] = next_ + i;
    next_ += count;
    ranges_.resize(count);
    at_ = 0;
    return topology_.ranges(targets_, ranges_);
  }

  Topology& topology_;
  std::vector<std::uint64_t> targets_;
  std::vector<EdgeRange> ranges_;
  std::size_t at_ = 0;
  std::uint64_t next_ = 0;  // target
  std::uint64_t end_ = 0;
};

Result<Array> make_fence(DType dtype, std::uint64_t pages, MemoryLedger* ledger) {
  return Array::make(dtype, {static_cast<std::int64_t>(pages)}, ledger, "topology");
}

}  // namespace

// Fills the fence, and checks the order of every list.
class PagedTimes::Scan {
 public:
  Scan(ElementScan times, std::optional<ElementScan> ids, Topology& topology)
      : times_(std::move(times)), ids_(std::move(ids)), ends_(topology) {}

  Result<void> run(std::uint64_t edges,
                   Array& fence_times,
                   Array& fence_ids,
                   const std::filesystem::path& file) {
    std::pair<std::int64_t, std::uint64_t> last;
    for (std::uint64_t at = 0; at < edges; ++at) {
      auto time = times_.next();
      if (!time) return std::move(time).error();
      std::uint64_t id = at;
      if (ids_) {
        auto stored = ids_->next();
        if (!stored) return std::move(stored).error();
        id = stored.value();
      }
      auto begins = ends_.begins(at);
      if (!begins) return std::move(begins).error();
      const std::pair event{static_cast<std::int64_t>(time.value()), id};
      if (!begins.value() && event < last) {
        return damaged_file(
            file,
            fmt::format("position {} comes before the one ahead of it in (time, edge id)", at));
      }
      last = event;
      if (at % kPerPage != 0) continue;
      fence_times.as<std::int64_t>()[at / kPerPage] = event.first;
      if (ids_) fence_ids.as<std::uint64_t>()[at / kPerPage] = id;
    }
    return {};
  }

 private:
  ElementScan times_;
  std::optional<ElementScan> ids_;
  ListEnds ends_;
};

Result<std::unique_ptr<PagedTimes>> PagedTimes::open(const std::filesystem::path& root,
                                                     const Manifest& manifest,
                                                     const RelationSchema& relation,
                                                     Topology& topology,
                                                     const DatasetOptions& options,
                                                     const TopologyOptions& topology_options) {
  const std::string path = relation_path(relation, "times.bin");
  auto times = ElementScan::open(
      root, manifest, path, DType::kI64, relation.edges, options, topology_options.io);
  if (!times) return std::move(times).error();
  std::optional<ElementScan> ids;
  Array fence_ids;
  const std::uint64_t pages = (relation.edges + kPerPage - 1) / kPerPage;
  if (relation.has_edge_ids) {
    auto opened = ElementScan::open(root,
                                    manifest,
                                    relation_path(relation, "edge_ids.bin"),
                                    relation.edge_id_dtype(),
                                    relation.edges,
                                    options,
                                    topology_options.io);
    if (!opened) return std::move(opened).error();
    ids.emplace(std::move(opened).value());
    auto made = make_fence(DType::kU64, pages, options.ledger);
    if (!made) return std::move(made).error();
    fence_ids = std::move(made).value();
  }
  auto fence_times = make_fence(DType::kI64, pages, options.ledger);
  if (!fence_times) return std::move(fence_times).error();
  {
    Scan scan(std::move(times).value(), std::move(ids), topology);
    auto done = scan.run(relation.edges, fence_times.value(), fence_ids, root / path);
    if (!done) return std::move(done).error();
  }
  auto entry = find_file(root, manifest, path);
  if (!entry) return std::move(entry).error();
  auto opened = TimePages::open(root, entry.value(), options, topology_options);
  if (!opened) return std::move(opened).error();
  return std::unique_ptr<PagedTimes>(new PagedTimes(
      std::move(opened).value(), std::move(fence_times).value(), std::move(fence_ids)));
}

bool PagedTimes::fence_is_before(std::uint64_t page, const Ask& ask) const {
  const std::int64_t time = fence_times_.as<std::int64_t>()[page];
  const std::uint64_t id =
      fence_ids_.shape().empty() ? page * kPerPage : fence_ids_.as<std::uint64_t>()[page];
  return std::tuple(time, id) < std::tuple(ask.time, ask.id);
}

// The last page of the list whose first event is before the place, or the list's first page: the
// place is on it, or at its end. Pages that begin within the list ascend.
std::uint64_t PagedTimes::page_of(const Ask& ask) const {
  const std::uint64_t first = ask.begin / kPerPage;
  std::uint64_t low = first + 1, high = (ask.end - 1) / kPerPage + 1;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (fence_is_before(middle, ask)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - 1;
}

// Calls take(index, times of the page) for each of what is wanted.
template <class Take>
Result<void> PagedTimes::look(std::span<Wanted> wanted, const Take& take) {
  std::ranges::sort(wanted, {}, [](const Wanted& one) { return std::tuple(one.page, one.index); });
  std::vector<std::uint64_t> pages;
  std::vector<std::size_t> begins;  // by page: in `wanted`
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!pages.empty() && pages.back() == wanted[i].page) continue;
    pages.push_back(wanted[i].page);
    begins.push_back(i);
  }
  begins.push_back(wanted.size());
  const MutexLock lock(mutex_);
  return pages_.visit(pages, [&](std::size_t page, const std::byte* bytes) {
    const auto* const times = reinterpret_cast<const std::int64_t*>(bytes);
    for (std::size_t i = begins[page]; i < begins[page + 1]; ++i) take(wanted[i].index, times);
  });
}

Result<void> PagedTimes::search(std::span<const Ask> asks, std::span<Found> found) {
  std::vector<Wanted> wanted;
  for (std::size_t i = 0; i < asks.size(); ++i) {
    found[i] = {asks[i].begin, asks[i].begin};
    if (asks[i].begin < asks[i].end) wanted.push_back({page_of(asks[i]), i});
  }
  std::vector<std::uint64_t> first_of(asks.size());  // of the page, among all events
  for (const Wanted& one : wanted) first_of[one.index] = one.page * kPerPage;
  return look(wanted, [&](std::size_t index, const std::int64_t* times) {
    const Ask& ask = asks[index];
    const std::uint64_t page_begin = first_of[index];
    const std::uint64_t begin = std::max(ask.begin, page_begin);
    const std::uint64_t end = std::min(ask.end, page_begin + kPerPage);
    const std::span<const std::int64_t> list(times + (begin - page_begin), end - begin);
    const auto equal = std::ranges::equal_range(list, ask.time);
    const auto place = [&](auto at) {
      return begin + static_cast<std::uint64_t>(at - list.begin());
    };
    found[index] = {place(equal.begin()), place(equal.end())};
    if (ask.id == 0) found[index].last = found[index].first;
    if (ask.id == kNoEdge) found[index].first = found[index].last;
  });
}

Result<void> PagedTimes::times(std::span<const std::uint64_t> positions,
                               std::span<std::int64_t> out) {
  constexpr std::size_t kAtOnce = std::size_t{1} << 16;
  std::vector<Wanted> wanted;
  for (std::size_t first = 0; first < positions.size(); first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, positions.size() - first);
    wanted.resize(count);
    for (std::size_t i = 0; i < count; ++i)
      wanted[i] = {positions[first + i] / kPerPage, first + i};
    auto looked = look(wanted, [&](std::size_t index, const std::int64_t* times) {
      out[index] = times[positions[index] % kPerPage];
    });
    if (!looked) return looked;
  }
  return {};
}

std::uint64_t PagedTimes::bytes_read() const {
  const MutexLock lock(mutex_);
  return pages_.bytes_read();
}

}  // namespace sluice
