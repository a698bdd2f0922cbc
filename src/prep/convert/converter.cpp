#include "prep/convert/converter.h"

#include "core/interrupt.h"
#include "core/side_thread.h"
#include "prep/convert/lone_range.h"
#include "prep/convert/range_sort.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 40;   // without a ledger
constexpr std::uint64_t kWaveBytes = std::uint64_t{64} << 20;  // converted at a time, at most
constexpr std::uint64_t kReserve = std::uint64_t{6} << 20;     // the output files' own buffers

std::uint64_t memory_for(const ConvertOptions& options, const MemoryLedger* ledger) {
  std::uint64_t all = ledger == nullptr ? kUnlimited : ledger->available();
  if (options.memory_bytes != 0) all = std::min(all, options.memory_bytes);
  return all > 4 * kReserve ? all - kReserve : all / 4 * 3;
}

RangeStoreOptions store_options(const ConvertPlan& plan, const ConvertOptions& options) {
  return {plan.num_ranges, plan.record, plan.segment_bytes, plan.store_bytes, options.spill_folder};
}

}  // namespace

Converter::Converter(const ConvertOptions& options, ThreadArena& arena, MemoryLedger* ledger)
    : options_(options),
      arena_(arena),
      ledger_(ledger),
      memory_bytes_(memory_for(options, ledger)),
      plan_(ConvertPlan::make(options, memory_bytes_)),
      store_(store_options(plan_, options), ledger) {
  scatter_.emplace(store_, options_.rules, plan_.round_edges, arena_, ledger_);
}

std::optional<BadEdge> Converter::add(const EdgeView& view, std::uint64_t first_id) {
  const std::uint64_t count = std::visit([](const auto& span) { return span.count; }, view);
  if (!options_.id_bound && plan_.record.id_bits != 0 &&
      (first_id + count - 1) >> plan_.record.id_bits != 0 && count != 0) {
    throw Error(ErrorCode::kData,
                fmt::format("{} has more edges than the {} that it was said to have",
                            options_.what,
                            format_count(std::uint64_t{1} << plan_.record.id_bits)),
                "did a file change meanwhile?");
  }
  return scatter_->add(view, first_id);
}

std::uint64_t Converter::max_edges() const {
  return store_.total() + (options_.add_loops ? options_.rules.num_targets : 0);
}

std::uint64_t Converter::first_target(std::uint64_t range) const {
  return std::min(options_.rules.num_targets, range << plan_.record.local_bits);
}

std::uint64_t Converter::edges_of(std::uint64_t range) const {
  const std::uint64_t targets = first_target(range + 1) - first_target(range);
  return store_.count(range) + (options_.add_loops ? targets : 0);
}

// What a range takes while it is converted: what is read, and what it becomes.
std::uint64_t Converter::range_cost(std::uint64_t range, const CscSink& sink) const {
  const std::uint64_t targets = first_target(range + 1) - first_target(range);
  const std::uint64_t an_edge =
      sink.edge_bytes() + (options_.duplicates == Duplicates::kKeep ? 0 : kDuplicateBytesAnEdge);
  return store_.spilled_bytes(range) + targets * 12 + edges_of(range) * an_edge;
}

Converter::Wave Converter::next_wave(std::uint64_t first, const CscSink& sink) const {
  Wave wave{first, first, false, nullptr};
  std::uint64_t cost = 0;
  while (wave.last < plan_.num_ranges) {
    const std::uint64_t more = range_cost(wave.last, sink);
    const bool too_large =
        more > wave_bytes_ || store_.count(wave.last) >= (std::uint64_t{1} << 32);
    if (too_large && wave.first == wave.last) {
      wave.alone = true;
      ++wave.last;
      break;
    }
    if (too_large || cost + more > wave_bytes_) break;
    cost += more;
    ++wave.last;
  }
  return wave;
}

std::uint64_t Converter::spilled_bytes(const Wave& wave) const {
  std::uint64_t bytes = 0;
  for (std::uint64_t range = wave.first; range < wave.last && !wave.alone; ++range)
    bytes += store_.spilled_bytes(range);
  return bytes;
}

// Of the wave of which most was spilled.
std::uint64_t Converter::most_spilled(const CscSink& sink) const {
  std::uint64_t most = 0;
  for (Wave wave = next_wave(0, sink); wave.first < plan_.num_ranges;
       wave = next_wave(wave.last, sink))
    most = std::max(most, spilled_bytes(wave));
  return most;
}

// Reads what was spilled of a wave.
void Converter::load(Wave& wave, std::shared_ptr<AlignedBuffer> buffer) {
  if (spilled_bytes(wave) == 0) return;
  if (!buffer)
    buffer = std::make_shared<AlignedBuffer>(
        AlignedBuffer::make(load_bytes_, ledger_, "edges").or_throw());
  store_.load(wave.first, wave.last, buffer);
  wave.loaded = std::move(buffer);
}

ConvertStats Converter::drain(CscSink& sink, std::uint64_t edges_read) {
  edges_read_ = edges_read;
  stats_.loops_dropped = scatter_->loops_dropped();
  scatter_.reset();
  store_.finish();
  stats_.spilled_bytes = store_.spilled_bytes();
  // Two waves are read or converted and two are written, at a time.
  const std::uint64_t left = ledger_ == nullptr ? kUnlimited : ledger_->available();
  wave_bytes_ = std::min(kWaveBytes, std::min(left, memory_bytes_ / 16 * 7) / 5);

  load_bytes_ = most_spilled(sink);

  Progress progress(options_.progress, options_.what + ", sorted", store_.total(), "edges");
  Wave wave = next_wave(0, sink), next;
  load(wave, nullptr);
  std::shared_ptr<AlignedBuffer> spare;
  SideThread loading;  // behind what it uses: it is waited for first, whatever is thrown
  while (wave.first < plan_.num_ranges) {
    throw_if_interrupted();
    next = next_wave(wave.last, sink);
    loading.begin([&] { load(next, std::exchange(spare, nullptr)); });
    if (wave.alone) {
      loading.wait();
      convert_alone(wave, sink);
    } else {
      convert_wave(wave, sink);
      loading.wait();
    }
    std::uint64_t sorted = 0;
    for (std::uint64_t range = wave.first; range < wave.last; ++range) {
      sorted += store_.count(range);
      store_.release(range);
    }
    progress.add(sorted);
    spare = std::move(wave.loaded);
    wave = std::move(next);
  }
  sink.finish();
  stats_.edges_written = edges_out_;
  return stats_;
}

OnDuplicate Converter::on_duplicate(std::uint64_t first) const {
  if (options_.duplicates != Duplicates::kError) return [](std::uint64_t, std::uint64_t) {};
  return [this, first](std::uint64_t source, std::uint64_t target) {
    throw Error(
        ErrorCode::kData,
        fmt::format(
            "{} has the edge {} -> {} more than once", options_.what, source, first + target),
        "set duplicates = \"drop\" to keep the first of each, or \"keep\" to keep all");
  };
}

void Converter::convert_wave(const Wave& wave, CscSink& sink) {
  const std::uint64_t count = wave.last - wave.first;
  std::vector<RangeTask> tasks(count);
  const std::byte* loaded = wave.loaded ? wave.loaded->data() : nullptr;
  std::uint64_t edges = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t range = wave.first + i;
    RangeTask& task = tasks[i];
    task.first_target = first_target(range);
    task.targets = first_target(range + 1) - task.first_target;
    task.first_edge = edges;
    task.edges_before = edges_out_;
    task.add_loops = options_.add_loops;
    task.loop_ids = edges_read_;
    store_.runs(range, loaded, task.runs);
    loaded += store_.spilled_bytes(range);
    edges += edges_of(range);
  }
  const std::uint64_t first = first_target(wave.first);
  const std::uint64_t targets = first_target(wave.last) - first;
  const CscRoom room = sink.room(targets, edges);
  std::vector<std::uint64_t> dropped(count, 0);
  arena_.for_each(count, [&](std::size_t i) {
    const RangeTask& task = tasks[i];
    sort_range(task, store_.record(), sink, room, first);
    if (options_.duplicates == Duplicates::kKeep) return;
    const std::span ends(room.ends + (task.first_target - first), task.targets);
    dropped[i] = drop_duplicates(
        ends, task.first_edge, task.edges_before, sink, room, on_duplicate(task.first_target));
  });
  // What stays of each range closes up behind the one before.
  std::uint64_t gone = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const RangeTask& task = tasks[i];
    const std::uint64_t kept = edges_of(wave.first + i) - dropped[i];
    if (gone != 0) {
      move_edges(sink, room, task.first_edge, task.first_edge - gone, kept);
      for (std::uint64_t t = 0; t < task.targets; ++t)
        room.ends[task.first_target - first + t] -= gone;
    }
    gone += dropped[i];
  }
  stats_.duplicates_dropped += gone;
  count_degrees({room.ends, targets});
  sink.commit(targets, edges - gone);
  edges_out_ += edges - gone;
}

void Converter::convert_alone(const Wave& wave, CscSink& sink) {
  LoneRange range{
      options_, store_, wave.first, first_target(wave.first), 0, edges_read_, edges_out_};
  range.targets = first_target(wave.last) - range.first_target;
  const auto on_ends = [this](std::span<const std::uint64_t> ends) { count_degrees(ends); };
  const LoneRangeOutput out = convert_lone_range(
      range, wave_bytes_, sink, ledger_, on_duplicate(range.first_target), on_ends);
  edges_out_ += out.edges;
  stats_.duplicates_dropped += out.duplicates_dropped;
}

// Degrees of the next targets, whose in-edges end there.
void Converter::count_degrees(std::span<const std::uint64_t> ends) {
  for (const std::uint64_t end : ends) {
    const std::uint64_t degree = end - last_end_;
    last_end_ = end;
    stats_.max_degree = std::max(stats_.max_degree, degree);
    stats_.isolated += degree == 0 ? 1 : 0;
  }
}

}  // namespace sluice
