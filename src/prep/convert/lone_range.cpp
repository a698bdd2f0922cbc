#include "prep/convert/lone_range.h"

#include "core/interrupt.h"
#include "prep/convert/range_sort.h"
#include "prep/convert/seen_sources.h"

#include <algorithm>
#include <vector>

namespace sluice {
namespace {

// Calls f(source) for the records of `target`, which counts within the range, in order.
template <class F>
void for_each_source(std::span<const RecordRun> runs,
                     const EdgeRecord& record,
                     std::uint64_t target,
                     const F& f) {
  const std::uint64_t local = record.local_mask();
  const std::uint64_t sources = record.source_mask();
  with_record_bytes(record.bytes, [&]<int kBytes>() {
    for (const RecordRun& run : runs) {
      const std::byte* at = run.data;
      for (std::uint64_t i = 0; i < run.count; ++i, at += kBytes) {
        const RecordWord<kBytes> word = load_record<kBytes>(at);
        if ((static_cast<std::uint64_t>(word) & local) != target) continue;
        f(static_cast<std::uint64_t>(word >> record.local_bits) & sources);
      }
    }
  });
}

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

  // One target with more in-edges than fit, block by block.
  void convert_hub(std::uint64_t target, std::uint64_t most) {
    std::vector<bool> repeated;
    Charge charge;
    if (range_.options.duplicates != Duplicates::kKeep) {
      const std::uint64_t edges = degrees_[target] - loops_;
      if (ledger_ != nullptr) charge = ledger_->charge("edges", edges / 8 + 8).or_throw();
      repeated.assign(edges, false);
      find_repeated(target, repeated);
    }
    std::uint64_t at = 0;
    for_each_block([&](std::span<const RecordRun> runs) {
      for (const RecordRun& run : runs) {
        for (std::uint64_t i = 0; i < run.count; i += most)
          at += hub_part(target, part_of(run, i, most), repeated, at);
      }
    });
    const CscRoom room = sink_.room(1, 1);
    // An added loop repeats none: loops that came with the stream are dropped before.
    if (loops_ != 0) add_loop(room, 0, target);
    room.ends[0] = edges_out() + loops_;
    finish({room.ends, 1}, loops_, 0);
  }

  // Marks in-edges of a hub whose source came before. Sources are looked at in slices, a pass over
  // the hub for each: as many as it takes for the sources of one to be told apart in memory.
  void find_repeated(std::uint64_t target, std::vector<bool>& repeated) {
    SeenSources seen(range_.options.rules.num_sources, repeated.size(), memory_bytes_, ledger_);
    for (std::uint64_t slice = 0; slice < seen.slices(); ++slice) {
      seen.begin(slice);
      std::uint64_t at = 0;
      for_each_block([&](std::span<const RecordRun> runs) {
        for_each_source(runs, range_.store.record(), target, [&](std::uint64_t source) {
          if (!seen.first_time(source)) {
            on_duplicate_(source, target);
            repeated[at] = true;
          }
          ++at;
        });
      });
    }
  }

  RecordRun part_of(const RecordRun& run, std::uint64_t at, std::uint64_t most) const {
    const auto bytes = static_cast<std::uint64_t>(range_.store.record().bytes);
    return {run.data + at * bytes, std::min(most, run.count - at)};
  }

  // `run`'s in-edges of the hub, the first of which is its in-edge `at`. @return how many
  std::uint64_t hub_part(std::uint64_t target,
                         const RecordRun& run,
                         const std::vector<bool>& repeated,
                         std::uint64_t at) {
    const CscRoom room = sink_.room(0, run.count);
    std::uint64_t next = 0;
    place_some({&run, 1}, range_.store.record(), target, target + 1, {&next, 1}, sink_, room);
    std::uint64_t kept = repeated.empty() ? next : 0;
    for (std::uint64_t i = 0; i < next && !repeated.empty(); ++i)
      if (!repeated[at + i]) move_edges(sink_, room, i, kept++, 1);
    sink_.commit(0, kept);
    out_.edges += kept;
    out_.duplicates_dropped += next - kept;
    return next;
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
