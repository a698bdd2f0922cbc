#include "prep/convert/lone_range.h"

#include "core/interrupt.h"
#include "prep/convert/range_sort.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace sluice {
namespace {

class LoneConversion {
 public:
  LoneConversion(const LoneRange& range,
                 std::uint64_t memory_bytes,
                 CscSink& sink,
                 MemoryLedger* ledger,
                 const OnDuplicate& on_duplicate,
                 const std::function<void(std::span<const std::uint64_t>)>& on_ends)
      : range_(range),
        memory_bytes_(memory_bytes),
        sink_(sink),
        ledger_(ledger),
        on_duplicate_(on_duplicate),
        on_ends_(on_ends),
        loops_(range.options.add_loops ? 1 : 0) {}

  LoneRangeOutput run() {
    const std::uint64_t segment = range_.store.spilled_segments(range_.range) == 0
                                      ? 0
                                      : range_.store.spilled_bytes(range_.range) /
                                            range_.store.spilled_segments(range_.range);
    block_segments_ = segment == 0 ? 1 : std::max<std::uint64_t>(1, memory_bytes_ / 4 / segment);
    if (segment != 0) {
      buffer_ = std::make_shared<AlignedBuffer>(
          AlignedBuffer::make(block_segments_ * segment, ledger_, "edges").or_throw());
    }
    if (ledger_ != nullptr)
      charge_ = ledger_->charge("edges", range_.targets * sizeof(std::uint64_t)).or_throw();
    degrees_.assign(range_.targets, loops_);
    for_each_block([&](std::span<const RecordRun> runs) {
      count_targets(runs, range_.store.record(), degrees_);
    });
    const std::uint64_t an_edge =
        sink_.edge_bytes() + sizeof(std::uint64_t) +
        (range_.options.duplicates == Duplicates::kKeep ? 0 : kDuplicateBytesAnEdge);
    const std::uint64_t most = std::max<std::uint64_t>(1, memory_bytes_ / 2 / an_edge);
    for (std::uint64_t first = 0; first < range_.targets;) {
      std::uint64_t last = first;
      std::uint64_t cost = 0;
      while (last < range_.targets && cost + degrees_[last] + 1 <= most)
        cost += degrees_[last++] + 1;
      if (last == first) {
        convert_hub(first, most);
        ++first;
        continue;
      }
      convert_group(first, last);
      first = last;
    }
    return out_;
  }

 private:
  // The range's records in order, as many at a time as the buffer holds.
  template <class Take>
  void for_each_block(const Take& take) {
    RangeStore& store = range_.store;
    const std::uint64_t segments = store.spilled_segments(range_.range);
    std::vector<RecordRun> runs;
    for (std::uint64_t at = 0; at < segments; at += block_segments_) {
      throw_if_interrupted();
      const std::uint64_t count = std::min(block_segments_, segments - at);
      store.load_segments(range_.range, at, count, buffer_);
      runs.clear();
      store.loaded_runs(buffer_->data(), count, runs);
      take(std::span<const RecordRun>(runs));
    }
    runs.clear();
    store.memory_runs(range_.range, runs);
    take(std::span<const RecordRun>(runs));
  }

  std::uint64_t edges_out() const { return range_.edges_before + out_.edges; }

  void add_loop(const CscRoom& room, std::uint64_t at, std::uint64_t target) const {
    const std::uint64_t node = range_.first_target + target;
    set_edge(sink_, room, at, node, range_.edges_read + node);
  }

  // Targets [first, last), whose in-edges fit.
  void convert_group(std::uint64_t first, std::uint64_t last) {
    std::uint64_t edges = 0;
    std::vector<std::uint64_t> next(last - first);
    for (std::uint64_t target = first; target < last; ++target) {
      next[target - first] = edges;
      edges += degrees_[target];
    }
    const CscRoom room = sink_.room(last - first, edges);
    for_each_block([&](std::span<const RecordRun> runs) {
      place_some(runs, range_.store.record(), first, last, next, sink_, room);
    });
    for (std::uint64_t target = first; target < last; ++target) {
      if (loops_ != 0) add_loop(room, next[target - first]++, target);
      room.ends[target - first] = edges_out() + next[target - first];
    }
    std::uint64_t dropped = 0;
    if (range_.options.duplicates != Duplicates::kKeep) {
      dropped = drop_duplicates({room.ends, last - first},
                                0,
                                edges_out(),
                                sink_,
                                room,
                                [&](std::uint64_t source, std::uint64_t target) {
                                  on_duplicate_(source, first + target);
                                });
    }
    finish({room.ends, last - first}, edges - dropped, dropped);
  }

  // One target with more in-edges than fit: block by block, repeated sources by a bit each.
  void convert_hub(std::uint64_t target, std::uint64_t most) {
    const bool once = range_.options.duplicates != Duplicates::kKeep;
    Charge seen_charge;
    if (once && ledger_ != nullptr) {
      seen_charge = ledger_->charge("edges", range_.options.rules.num_sources / 8 + 8).or_throw();
    }
    std::vector<bool> seen(once ? range_.options.rules.num_sources : 0, false);
    for_each_block([&](std::span<const RecordRun> runs) {
      for (const RecordRun& run : runs) {
        for (std::uint64_t at = 0; at < run.count; at += most)
          hub_part(target, part_of(run, at, most), seen);
      }
    });
    const CscRoom room = sink_.room(1, 1);
    if (loops_ != 0) {
      add_loop(room, 0, target);
    }
    room.ends[0] = edges_out() + loops_;
    finish({room.ends, 1}, loops_, 0);
  }

  RecordRun part_of(const RecordRun& run, std::uint64_t at, std::uint64_t most) const {
    const auto bytes = static_cast<std::uint64_t>(range_.store.record().bytes);
    return {run.data + at * bytes, std::min(most, run.count - at)};
  }

  void hub_part(std::uint64_t target, const RecordRun& run, std::vector<bool>& seen) {
    const CscRoom room = sink_.room(0, run.count);
    std::uint64_t next = 0;
    place_some({&run, 1}, range_.store.record(), target, target + 1, {&next, 1}, sink_, room);
    std::uint64_t kept = seen.empty() ? next : 0;
    for (std::uint64_t i = 0; i < next && !seen.empty(); ++i) {
      const std::uint64_t source = source_of_edge(sink_, room, i);
      if (seen[source]) {
        on_duplicate_(source, target);
        continue;
      }
      seen[source] = true;
      move_edges(sink_, room, i, kept++, 1);
    }
    sink_.commit(0, kept);
    out_.edges += kept;
    out_.duplicates_dropped += next - kept;
  }

  void finish(std::span<const std::uint64_t> ends, std::uint64_t edges, std::uint64_t dropped) {
    on_ends_(ends);
    sink_.commit(ends.size(), edges);
    out_.edges += edges;
    out_.duplicates_dropped += dropped;
  }

  const LoneRange& range_;
  std::uint64_t memory_bytes_;
  CscSink& sink_;
  MemoryLedger* ledger_;
  const OnDuplicate& on_duplicate_;
  const std::function<void(std::span<const std::uint64_t>)>& on_ends_;
  std::uint64_t loops_;
  std::uint64_t block_segments_ = 1;
  std::shared_ptr<AlignedBuffer> buffer_;
  Charge charge_;
  std::vector<std::uint64_t> degrees_;
  LoneRangeOutput out_;
};

}  // namespace

LoneRangeOutput convert_lone_range(
    const LoneRange& range,
    std::uint64_t memory_bytes,
    CscSink& sink,
    MemoryLedger* ledger,
    const OnDuplicate& on_duplicate,
    const std::function<void(std::span<const std::uint64_t>)>& on_ends) {
  return LoneConversion(range, memory_bytes, sink, ledger, on_duplicate, on_ends).run();
}

}  // namespace sluice
