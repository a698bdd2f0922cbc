#include "train/list_rows.h"

#include "core/interrupt.h"
#include "storage/io/aligned_buffer.h"

#include <algorithm>
#include <numeric>

namespace sluice {
namespace {

constexpr std::uint64_t kMostTargets = 8192, kLeastTargets = 64;  // of a piece
constexpr std::uint64_t kSumBytes = 4 << 20;                      // of their rows, about
constexpr std::uint64_t kPositions = 65536;  // of edges that are looked up at once
constexpr std::size_t kTargetsOfTask = 64;
constexpr std::uint64_t kAhead = 16;           // sources whose rows are asked for early
constexpr std::uint64_t kPanelRead = 8 << 20;  // bytes
constexpr const char* kListRows = "rows by lists";

template <class T>
class Room {
 public:
  Room(std::uint64_t count, MemoryLedger& ledger)
      : buffer_(
            AlignedBuffer::make(std::max<std::uint64_t>(1, count) * sizeof(T), &ledger, kListRows)
                .or_throw()) {}
  std::span<T> first(std::uint64_t count) { return {reinterpret_cast<T*>(buffer_.data()), count}; }

 private:
  AlignedBuffer buffer_;
};

// The lists of some targets over a panel that is in memory.
class ListSums {
 public:
  ListSums(const ListRowsPlace& place, std::uint32_t most_columns)
      : place_(place),
        targets_(
            std::clamp(kSumBytes / (most_columns * sizeof(float)), kLeastTargets, kMostTargets)),
        nodes_(targets_, *place.ledger),
        ranges_(targets_, *place.ledger),
        begins_(targets_ + 1, *place.ledger),
        positions_(kPositions, *place.ledger),
        sources_(kPositions, *place.ledger),
        sums_(targets_ * most_columns, *place.ledger) {}

  /// The most targets of a piece.
  std::uint64_t targets() const { return targets_; }

  /// Rows of the targets from `first` on. Valid until the next call.
  std::span<const float> make(const ListedRelation& lists,
                              std::uint64_t first,
                              std::uint64_t count,
                              std::span<const float> panel,
                              std::uint32_t width) {
    const auto nodes = nodes_.first(count);
    std::iota(nodes.begin(), nodes.end(), first);
    const auto ranges = ranges_.first(count);
    lists.topology->ranges(nodes, ranges).or_throw();
    const auto begins = begins_.first(count + 1);
    begins[0] = 0;
    for (std::uint64_t i = 0; i < count; ++i) begins[i + 1] = begins[i] + ranges[i].degree();
    const auto sums = sums_.first(count * width);
    std::ranges::fill(sums, 0.0f);
    std::uint64_t target = 0;
    for (std::uint64_t edge = 0; edge < begins[count]; edge += kPositions) {
      throw_if_interrupted();
      const std::uint64_t end = std::min(begins[count], edge + kPositions);
      while (begins[target + 1] <= edge) ++target;
      look_up(lists, edge, end, target);
      add(lists, edge, end, target, count, panel, width);
      place_.went_by(end - edge);
    }
    if (lists.gathering != Gathering::kMax) divide(count, width);
    return sums;
  }

 private:
  // Sources of the edges [edge, end), numbered through the piece's lists.
  void look_up(const ListedRelation& lists,
               std::uint64_t edge,
               std::uint64_t end,
               std::uint64_t target) {
    const auto begins = begins_.first(targets_ + 1);
    const auto ranges = ranges_.first(targets_);
    const auto positions = positions_.first(end - edge);
    for (std::uint64_t at = edge; at < end; ++target) {
      const std::uint64_t stop = std::min(end, begins[target + 1]);
      for (; at < stop; ++at) positions[at - edge] = ranges[target].begin + (at - begins[target]);
    }
    lists.topology->neighbours(positions, sources_.first(end - edge)).or_throw();
  }

  void add(const ListedRelation& lists,
           std::uint64_t edge,
           std::uint64_t end,
           std::uint64_t first_target,
           std::uint64_t count,
           std::span<const float> panel,
           std::uint32_t width) {
    const auto begins = begins_.first(count + 1);
    const auto sources = sources_.first(end - edge);
    const auto sums = sums_.first(count * width);
    const auto past = static_cast<std::uint64_t>(
        std::lower_bound(
            begins.begin() + static_cast<std::ptrdiff_t>(first_target), begins.end() - 1, end) -
        begins.begin());
    place_.threads->for_ranges(
        past - first_target, kTargetsOfTask, [&](std::size_t from, std::size_t to) {
          for (std::uint64_t t = first_target + from; t < first_target + to; ++t) {
            float* const sum = sums.data() + t * width;
            const std::uint64_t stop = std::min(end, begins[t + 1]);
            for (std::uint64_t at = std::max(edge, begins[t]); at < stop; ++at) {
              if (at + kAhead < end) {  // of the lists behind this one too
                const std::uint64_t soon = sources[at - edge + kAhead];
                prefetch(panel.data() + soon * width, width);
                if (!lists.scales.empty()) __builtin_prefetch(lists.scales.data() + soon);
              }
              const std::uint64_t source = sources[at - edge];
              const float* const row = panel.data() + source * width;
              if (lists.gathering == Gathering::kMax) {
                take_larger(row, width, at == begins[t], sum);
              } else if (lists.gathering == Gathering::kScaledMean) {
                add_scaled(row, width, lists.scales[source], sum);
              } else {
                for (std::uint32_t c = 0; c < width; ++c) sum[c] += row[c];
              }
            }
          }
        });
  }

  // A row may lie across two lines of the processor's cache; a longer one's middle follows by
  // itself.
  static void prefetch(const float* row, std::uint32_t width) {
    __builtin_prefetch(row);
    __builtin_prefetch(row + width - 1);
  }

  static void take_larger(const float* row, std::uint32_t width, bool first, float* to) {
    for (std::uint32_t c = 0; c < width; ++c)
      if (first || row[c] > to[c]) to[c] = row[c];
  }

  static void add_scaled(const float* row, std::uint32_t width, float scale, float* to) {
    for (std::uint32_t c = 0; c < width; ++c) to[c] += scale * row[c];
  }

  void divide(std::uint64_t count, std::uint32_t width) {
    const auto begins = begins_.first(count + 1);
    const auto sums = sums_.first(count * width);
    for (std::uint64_t t = 0; t < count; ++t) {
      const std::uint64_t degree = begins[t + 1] - begins[t];
      if (degree < 2) continue;
      const float share = 1.0f / static_cast<float>(degree);
      for (std::uint32_t c = 0; c < width; ++c) sums[t * width + c] *= share;
    }
  }

  const ListRowsPlace& place_;
  std::uint64_t targets_;
  Room<std::uint64_t> nodes_;
  Room<EdgeRange> ranges_;
  Room<std::uint64_t> begins_, positions_, sources_;
  Room<float> sums_;
};

void load_panel(const PanelTable& table, std::uint32_t panel, std::span<float> out) {
  const std::uint32_t width = table.shape().width(panel);
  const std::uint64_t rows = table.shape().rows;
  const std::uint64_t piece = std::max<std::uint64_t>(1, kPanelRead / (width * sizeof(float)));
  for (std::uint64_t first = 0; first < rows; first += piece) {
    throw_if_interrupted();
    const std::uint64_t count = std::min(piece, rows - first);
    table.read_panel_rows(
        panel, first, std::as_writable_bytes(out.subspan(first * width, count * width)));
  }
}

}  // namespace

std::vector<std::unique_ptr<PanelTable>> make_list_rows(const PanelTable& sources,
                                                        std::span<const ListedRelation> relations,
                                                        const ListRowsPlace& place) {
  const PanelShape& shape = sources.shape();
  std::vector<std::unique_ptr<PanelTable>> made;
  for (const ListedRelation& lists : relations)
    made.push_back(std::make_unique<PanelTable>(
        place.scratch,
        PanelShape{lists.topology->num_targets(), shape.columns, shape.panel},
        DType::kF32));
  const std::uint32_t most = std::max<std::uint32_t>(1, std::min(shape.panel, shape.columns));
  Room<float> panel_room(shape.rows * most, *place.ledger);
  ListSums sums(place, most);
  for (std::uint32_t panel = 0; panel < shape.panels(); ++panel) {
    const std::uint32_t width = shape.width(panel);
    const auto rows = panel_room.first(shape.rows * width);
    load_panel(sources, panel, rows);
    for (std::size_t relation = 0; relation < relations.size(); ++relation) {
      const std::uint64_t targets = relations[relation].topology->num_targets();
      for (std::uint64_t first = 0; first < targets; first += sums.targets()) {
        throw_if_interrupted();
        const std::uint64_t count = std::min(sums.targets(), targets - first);
        const auto piece = sums.make(relations[relation], first, count, rows, width);
        made[relation]->write_rows(panel, first, std::as_bytes(piece));
      }
    }
  }
  return made;
}

}  // namespace sluice
