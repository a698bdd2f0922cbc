#include "prep/convert/scatter.h"

#include "core/interrupt.h"

#include <algorithm>
#include <optional>

namespace sluice {
namespace {

constexpr std::size_t kPieceEdges = std::size_t{1} << 20;  // by one thread at a time, at most
constexpr std::size_t kMinPieceEdges = std::size_t{1} << 14;
constexpr std::size_t kMaxPieces = 64;  // a round: at most 2^26 edges, so that offsets fit 32 bits

// What a piece saw beside its counts.
struct PieceNotes {
  std::optional<std::size_t> bad;  // the first edge with an id that is too large
  std::uint64_t loops = 0;
};

/// Calls emit(source, target) for every record that the edge becomes.
template <bool kPlain, class Emit>
inline void expand(const ScatterRules& rules,
                   std::uint64_t source,
                   std::uint64_t target,
                   PieceNotes& notes,
                   Emit&& emit) {
  if constexpr (kPlain) {
    emit(source, target);
  } else {
    const bool loop = rules.one_type && source == target;
    if (loop && rules.drop_loops) {
      ++notes.loops;
      return;
    }
    emit(source, target);
    if (rules.both_ways && !loop) emit(target, source);
  }
}

}  // namespace

Scatter::Scatter(RangeStore& store,
                 const ScatterRules& rules,
                 std::uint64_t round_edges,
                 ThreadArena& arena,
                 MemoryLedger* ledger)
    : store_(store),
      rules_(rules),
      round_edges_(round_edges),
      arena_(arena),
      more_(store.num_ranges()) {
  if (ledger != nullptr) {
    charge_ =
        ledger->charge("edges", memory_needed(store.num_ranges(), arena.threads())).or_throw();
  }
}

std::uint64_t Scatter::memory_needed(std::uint64_t num_ranges, int threads) {
  return num_ranges * (kMaxPieces * sizeof(std::uint32_t) + sizeof(std::uint64_t) +
                       static_cast<std::uint64_t>(threads) * kLineWriterBytesARange);
}

std::optional<BadEdge> Scatter::add(const EdgeView& view, std::uint64_t first_id) {
  return std::visit([&](const auto& span) { return add_span(span, first_id); }, view);
}

template <class Id>
std::optional<BadEdge> Scatter::add_span(EdgeSpan<Id> span, std::uint64_t first_id) {
  const std::size_t round = std::min<std::size_t>(kMaxPieces * kPieceEdges, round_edges_);
  const std::size_t all = span.count;
  for (std::size_t begin = 0; begin < all; begin += round) {
    throw_if_interrupted();
    EdgeSpan<Id> part = span;
    part.source += begin * span.stride;
    part.target += begin * span.stride;
    if (span.ids != nullptr) part.ids += begin;
    part.count = std::min(round, all - begin);
    const bool plain = !rules_.both_ways && !rules_.drop_loops;
    auto bad = plain ? add_round<Id, true>(part, first_id + begin)
                     : add_round<Id, false>(part, first_id + begin);
    if (!bad) continue;
    bad->index += begin;
    return bad;
  }
  return std::nullopt;
}

template <class Id, bool kPlain>
std::optional<BadEdge> Scatter::add_round(const EdgeSpan<Id>& span, std::uint64_t first_id) {
  const std::uint64_t ranges = store_.num_ranges();
  const int shift = store_.record().local_bits;
  const auto threads = static_cast<std::size_t>(arena_.threads());
  const std::size_t piece_edges =
      std::clamp((span.count + 4 * threads - 1) / (4 * threads), kMinPieceEdges, kPieceEdges);
  const std::size_t pieces = (span.count + piece_edges - 1) / piece_edges;
  std::vector<PieceNotes> notes(pieces);
  offsets_.assign(pieces * ranges, 0);

  arena_.for_each(pieces, [&](std::size_t piece) {
    const std::size_t begin = piece * piece_edges;
    const std::size_t end = std::min(span.count, begin + piece_edges);
    std::uint32_t* const counts = offsets_.data() + piece * ranges;
    for (std::size_t i = begin; i < end; ++i) {
      const Id source = span.source[i * span.stride];
      const Id target = span.target[i * span.stride];
      if (source >= rules_.num_sources || target >= rules_.num_targets) {
        notes[piece].bad = i;
        return;
      }
      expand<kPlain>(rules_, source, target, notes[piece], [&](std::uint64_t, std::uint64_t to) {
        ++counts[to >> shift];
      });
    }
  });
  for (const PieceNotes& each : notes) {
    if (each.bad)
      return BadEdge{
          *each.bad, span.source[*each.bad * span.stride], span.target[*each.bad * span.stride]};
    loops_dropped_ += each.loops;
  }

  // Counts become where each piece begins, after the pieces before it.
  std::fill(more_.begin(), more_.end(), 0);
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    std::uint32_t* const counts = offsets_.data() + piece * ranges;
    for (std::uint64_t range = 0; range < ranges; ++range) {
      const std::uint32_t count = counts[range];
      counts[range] = static_cast<std::uint32_t>(more_[range]);
      more_[range] += count;
    }
  }
  store_.reserve(more_);

  with_record_bytes(store_.record().bytes, [&]<int kBytes>() {
    arena_.for_each(pieces, [&](std::size_t piece) {
      using Word = RecordWord<kBytes>;
      const EdgeRecord record = store_.record();
      const std::uint64_t mask = record.local_mask();
      LineWriter<kBytes> lines(store_, offsets_.data() + piece * ranges, lines_);
      const std::size_t begin = piece * piece_edges;
      const std::size_t end = std::min(span.count, begin + piece_edges);
      PieceNotes ignored;
      for (std::size_t i = begin; i < end; ++i) {
        const std::uint64_t own_id = span.ids == nullptr ? first_id + i : span.ids[i];
        const Word id = record.id_bits == 0 ? 0 : static_cast<Word>(own_id) << record.id_at();
        expand<kPlain>(rules_,
                       span.source[i * span.stride],
                       span.target[i * span.stride],
                       ignored,
                       [&](std::uint64_t from, std::uint64_t to) {
                         lines.put(to >> shift,
                                   id | static_cast<Word>(from) << record.local_bits | (to & mask));
                       });
      }
      lines.finish();
    });
  });
  store_.commit(more_);
  return std::nullopt;
}

}  // namespace sluice
