#include "bench/embedding/bare_table.h"
#include "bench/embedding/cases.h"
#include "bench/support/folder.h"
#include "bench/support/program.h"
#include "bench/support/seconds.h"
#include "storage/embedding/group_sweep.h"
#include "storage/embedding/row_layout.h"
#include "storage/embedding/row_windows.h"
#include "storage/embedding/window_cache.h"

#include <sluice/random.h>

#include <algorithm>
#include <cmath>

namespace sluice::bench {
namespace {

using Windows = std::vector<std::vector<std::uint64_t>>;

enum class Skew { kNone, kHubs };

std::uint64_t cache_rows(const EmbeddingSizes& sizes) {
  return sizes.rows / sizes.times;
}

// Of skewed rows a tenth of the table has more than half of what is asked for, spread over all of
// the disk: the fourth power of a uniform number, and a row's number turned into another.
Windows make_windows(const EmbeddingSizes& sizes, Skew skew, std::uint64_t round) {
  constexpr std::uint64_t kPrime = 2'654'435'761;
  Windows windows(sizes.windows, std::vector<std::uint64_t>(sizes.window));
  const RandomKey key = RandomKey(19).with(skew == Skew::kHubs).with(round);
  for (std::uint64_t w = 0; w < sizes.windows; ++w) {
    for (std::uint64_t i = 0; i < sizes.window; ++i) {
      const double uniform = key.with(w).uniform(i);
      const double place = skew == Skew::kHubs ? std::pow(uniform, 4) : uniform;
      const auto row = static_cast<std::uint64_t>(place * static_cast<double>(sizes.rows));
      windows[w][i] = std::min(row, sizes.rows - 1) * kPrime % sizes.rows;
    }
  }
  return windows;
}

// Seconds of all mini-batches, announced before their steps as a run does.
double go_through(EmbeddingTable& table, const Windows& windows, RowWindows::Limits limits) {
  const std::vector<float> gradients = gradients_of(windows.front().size(), table.dim());
  std::vector<float> values(gradients.size());
  const auto begin = std::chrono::steady_clock::now();
  RowWindows ahead(table, limits, nullptr);
  std::size_t announced = 0;
  for (std::size_t w = 0; w < windows.size(); ++w) {
    while (announced < windows.size() && (announced <= w || ahead.wants_more()))
      ahead.expect(windows[announced++]);
    ahead.begin();
    table.gather(windows[w], values);
    table.update(windows[w], gradients, 0.1);
  }
  (void)table.stats();  // waits for the disk
  return seconds_since(begin);
}

// So many groups drawn at random, ascending; those with no more than `most_gap` bytes between them
// are one request, as a sweep reads them.
std::vector<BareTable::Piece> pieces_of(const RowLayout& layout,
                                        std::uint64_t count,
                                        RawDisk::Direction direction,
                                        std::uint64_t most_gap,
                                        RandomKey key) {
  std::vector<std::uint64_t> groups(count);
  for (std::uint64_t i = 0; i < groups.size(); ++i) groups[i] = key.below(layout.groups(), i);
  std::ranges::sort(groups);
  groups.erase(std::ranges::unique(groups).begin(), groups.end());
  std::vector<BareTable::Piece> pieces;
  for (const std::uint64_t group : groups) {
    const std::uint64_t offset = group * layout.group_bytes;
    if (!pieces.empty() && offset - pieces.back().offset - pieces.back().length <= most_gap) {
      pieces.back().length = offset + layout.group_bytes - pieces.back().offset;
    } else {
      pieces.push_back({offset, layout.group_bytes, direction});
    }
  }
  return pieces;
}

std::uint64_t bytes_of(const std::vector<BareTable::Piece>& pieces) {
  std::uint64_t bytes = 0;
  for (const BareTable::Piece& piece : pieces) bytes += piece.length;
  return bytes;
}

// How many groups to draw so that requests of so many bytes come of them.
std::uint64_t groups_for(const RowLayout& layout, std::uint64_t bytes, std::uint64_t most_gap) {
  std::uint64_t low = 0, high = 8 * layout.groups();
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const auto pieces =
        pieces_of(layout, middle, RawDisk::Direction::kRead, most_gap, RandomKey(37));
    if (bytes_of(pieces) < bytes) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

struct BareRun {
  double seconds = 0;
  std::uint64_t bytes = 0;
};

BareRun run_bare(BareTable& bare,
                 const RowLayout& layout,
                 const EmbeddingStats& moved,
                 std::uint64_t windows) {
  constexpr std::uint64_t kGap = GroupSweep::kMostGap;
  const std::uint64_t reads = groups_for(layout, moved.bytes_read / windows, kGap);
  const std::uint64_t writes = groups_for(layout, moved.bytes_written / windows, 0);
  BareRun run;
  for (std::uint64_t w = 0; w < windows; ++w) {
    const RandomKey key = RandomKey(23).with(w);
    auto pieces = pieces_of(layout, reads, RawDisk::Direction::kRead, kGap, key.with(0));
    const auto written = pieces_of(layout, writes, RawDisk::Direction::kWrite, 0, key.with(1));
    pieces.insert(pieces.end(), written.begin(), written.end());
    std::ranges::stable_sort(pieces, {}, &BareTable::Piece::offset);
    run.seconds += bare.seconds(pieces);
    run.bytes += bytes_of(pieces);
  }
  return run;
}

EmbeddingStats since(const EmbeddingStats& now, const EmbeddingStats& before) {
  return {now.rows_read - before.rows_read,
          now.rows_written - before.rows_written,
          now.bytes_read - before.bytes_read,
          now.bytes_written - before.bytes_written,
          now.waited_ns - before.waited_ns,
          now.updates - before.updates};
}

void measure(const EmbeddingSizes& sizes,
             Skew skew,
             EmbeddingTable& memory,
             EmbeddingTable& disk,
             BareTable& bare) {
  const RowLayout layout = RowLayout::make(sizes.rows, disk.dim(), disk.state_width());
  const RowWindows::Limits all{sizes.rows, 1};
  const RowWindows::Limits some{RowWindows::rows_of(cache_rows(sizes), sizes.rows), sizes.together};
  (void)go_through(
      disk, make_windows(sizes, skew, 0), some);  // fills the cache with rows of this kind
  std::vector<double> in_memory, from_disk, bare_rates;
  EmbeddingStats moved;
  for (std::uint64_t round = 1; round <= sizes.rounds; ++round) {
    const Windows windows = make_windows(sizes, skew, round);  // what comes is not there by then
    in_memory.push_back(go_through(memory, windows, all));
    const EmbeddingStats before = disk.stats();
    from_disk.push_back(go_through(disk, windows, some));
    moved = since(disk.stats(), before);
    if (!bare.direct() || moved.bytes_read == 0) continue;
    const BareRun alone = run_bare(bare, layout, moved, windows.size());
    bare_rates.push_back(static_cast<double>(alone.bytes) / alone.seconds);
  }
  const double seconds = median(from_disk);
  const auto rows = static_cast<double>(sizes.window * sizes.windows);
  const auto bytes = static_cast<double>(moved.bytes_read + moved.bytes_written);
  Line line{.name = "windows", .work = rows, .unit = "rows", .seconds = seconds};
  line.peer = "in memory";
  line.peer_rate = rows / median(in_memory);
  line.more["mode"] = skew == Skew::kHubs ? "skewed" : "random";
  line.more["times_in_memory"] = seconds / median(in_memory);
  if (!bare_rates.empty()) {
    line.more["device_rate"] = median(bare_rates);
    line.more["of_device"] = bytes / seconds / median(bare_rates);
  }
  line.more["together"] = sizes.together;
  line.more["bytes"] = {{"read", moved.bytes_read}, {"written", moved.bytes_written}};
  line.more["rows_read"] = moved.rows_read;
  line.more["waited_seconds"] = static_cast<double>(moved.waited_ns) / 1e9;
  line.more["table_bytes"] = layout.bytes();
  line.more["cache_bytes"] = WindowCache::bytes_of(cache_rows(sizes), layout);
  print(line);
}

}  // namespace

void windows_case(const EmbeddingSizes& sizes) {
  const Folder folder(std::filesystem::path(sizes.dir) / "bench-embedding-windows");
  ThreadArena threads(static_cast<int>(sizes.threads));
  const auto memory = create_embedding_table(table_options(sizes, {}, threads));
  touch_all(*memory, sizes.rows);

  EmbeddingTableOptions options = table_options(sizes, folder.path() / "rows", threads);
  const RowLayout layout =
      RowLayout::make(sizes.rows, options.dim, options.optimizer->state_width(options.dim));
  options.placement = Placement::kDisk;
  options.cache_bytes = WindowCache::bytes_of(cache_rows(sizes), layout);
  const auto disk = create_embedding_table(options);
  touch_all(*disk, std::max<std::uint64_t>(1, cache_rows(sizes) / 3));
  const std::uint64_t generation = disk->commit();
  disk->keep(std::span(&generation, 1));

  BareTable bare(folder.path(), layout.bytes());
  for (const Skew skew : {Skew::kNone, Skew::kHubs}) measure(sizes, skew, *memory, *disk, bare);
}

}  // namespace sluice::bench
