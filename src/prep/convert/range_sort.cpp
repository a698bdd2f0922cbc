#include "prep/convert/range_sort.h"

#include <type_traits>

namespace sluice {
namespace {

struct NoIds {};

// The room's arrays under their types.
template <class Neighbour, class EdgeId>
struct Columns {
  Neighbour* neighbours;
  EdgeId* ids;

  void set(std::uint64_t at, std::uint64_t source, [[maybe_unused]] std::uint64_t id) const {
    neighbours[at] = static_cast<Neighbour>(source);
    if constexpr (!std::is_same_v<EdgeId, NoIds>) ids[at] = static_cast<EdgeId>(id);
  }
};

template <class F>
void with_columns(const CscSink& sink, const CscRoom& room, F&& f) {
  const auto with_neighbours = [&]<class Neighbour>(Neighbour* neighbours) {
    if (!sink.id_dtype()) return f(Columns<Neighbour, NoIds>{neighbours, nullptr});
    if (*sink.id_dtype() == DType::kU32)
      return f(Columns<Neighbour, std::uint32_t>{neighbours,
                                                 reinterpret_cast<std::uint32_t*>(room.ids)});
    f(Columns<Neighbour, std::uint64_t>{neighbours, reinterpret_cast<std::uint64_t*>(room.ids)});
  };
  if (sink.neighbour_dtype() == DType::kU32)
    return with_neighbours(reinterpret_cast<std::uint32_t*>(room.neighbours));
  with_neighbours(reinterpret_cast<std::uint64_t*>(room.neighbours));
}

// Calls f(word) for the records of all runs, in order.
template <int kBytes, class F>
inline void for_each_record(std::span<const RecordRun> runs, F&& f) {
  for (const RecordRun& run : runs) {
    const std::byte* at = run.data;
    for (std::uint64_t i = 0; i < run.count; ++i, at += kBytes) f(load_record<kBytes>(at));
  }
}

template <int kBytes, class Out>
void sort_into(const RangeTask& task,
               const EdgeRecord& record,
               std::uint64_t* ends,
               const Out& out) {
  const std::uint64_t local_mask = record.local_mask();
  const std::uint64_t source_mask = record.source_mask();
  const int source_at = record.local_bits;
  const int id_at = record.id_at();
  std::vector<std::uint32_t> next(task.targets, 0);
  for_each_record<kBytes>(task.runs, [&](RecordWord<kBytes> word) {
    ++next[static_cast<std::uint64_t>(word) & local_mask];
  });
  std::uint32_t sum = 0;
  for (std::uint64_t target = 0; target < task.targets; ++target) {
    const std::uint32_t count = next[target] + (task.add_loops ? 1 : 0);
    next[target] = sum;
    sum += count;
    ends[target] = task.edges_before + task.first_edge + sum;
  }
  const Out range{out.neighbours + task.first_edge,
                  out.ids == nullptr ? nullptr : out.ids + task.first_edge};
  for_each_record<kBytes>(task.runs, [&](RecordWord<kBytes> word) {
    const std::uint64_t local = static_cast<std::uint64_t>(word) & local_mask;
    range.set(next[local]++,
              static_cast<std::uint64_t>(word >> source_at) & source_mask,
              static_cast<std::uint64_t>(word >> id_at));
  });
  if (!task.add_loops) return;
  for (std::uint64_t target = 0; target < task.targets; ++target) {
    const std::uint64_t node = task.first_target + target;
    range.set(next[target], node, task.loop_ids + node);
  }
}

}  // namespace

void sort_range(const RangeTask& task,
                const EdgeRecord& record,
                const CscSink& sink,
                const CscRoom& room,
                std::uint64_t first_target_of_room) {
  std::uint64_t* const ends = room.ends + (task.first_target - first_target_of_room);
  with_columns(sink, room, [&](const auto& out) {
    with_record_bytes(record.bytes,
                      [&]<int kBytes>() { sort_into<kBytes>(task, record, ends, out); });
  });
}

void count_targets(std::span<const RecordRun> runs,
                   const EdgeRecord& record,
                   std::span<std::uint64_t> counts) {
  const std::uint64_t mask = record.local_mask();
  with_record_bytes(record.bytes, [&]<int kBytes>() {
    for_each_record<kBytes>(
        runs, [&](RecordWord<kBytes> word) { ++counts[static_cast<std::uint64_t>(word) & mask]; });
  });
}

void place_some(std::span<const RecordRun> runs,
                const EdgeRecord& record,
                std::uint64_t first,
                std::uint64_t last,
                std::span<std::uint64_t> next,
                const CscSink& sink,
                const CscRoom& room) {
  const std::uint64_t local_mask = record.local_mask();
  const std::uint64_t source_mask = record.source_mask();
  with_columns(sink, room, [&](const auto& out) {
    with_record_bytes(record.bytes, [&]<int kBytes>() {
      for_each_record<kBytes>(runs, [&](RecordWord<kBytes> word) {
        const std::uint64_t local = static_cast<std::uint64_t>(word) & local_mask;
        if (local < first || local >= last) return;
        out.set(next[local - first]++,
                static_cast<std::uint64_t>(word >> record.local_bits) & source_mask,
                static_cast<std::uint64_t>(word >> record.id_at()));
      });
    });
  });
}

}  // namespace sluice
