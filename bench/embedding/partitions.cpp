#include "bench/embedding/bare_table.h"
#include "bench/embedding/cases.h"
#include "bench/support/folder.h"
#include "bench/support/program.h"
#include "bench/support/seconds.h"
#include "storage/embedding/bucket_order.h"
#include "storage/embedding/row_layout.h"

#include <sluice/random.h>

#include <algorithm>

namespace sluice::bench {
namespace {

// Seconds of all swaps, each partition changed by the state that had it. The next comes into the
// spare slot before the last goes, so the disk reads and writes without a pause.
double swap_through(EmbeddingTable& table, const BucketOrder& order) {
  const auto wait_and_touch = [&](std::uint32_t partition) {
    (void)table.partition(partition);
    table.touch(partition);
  };
  for (const std::uint32_t partition : order.states.front().resident) table.load(partition);
  for (const std::uint32_t partition : order.states.front().resident) wait_and_touch(partition);
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t s = 1; s < order.states.size(); ++s) {
    const BucketState& state = order.states[s];
    for (std::size_t i = 0; i < state.loaded.size(); ++i) {
      table.load(state.loaded[i]);
      table.release(state.evicted[i]);
    }
    for (const std::uint32_t partition : state.loaded) wait_and_touch(partition);
  }
  (void)table.stats();  // waits for the disk
  const double seconds = seconds_since(begin);
  for (const std::uint32_t partition : order.states.back().resident) table.release(partition);
  (void)table.stats();
  return seconds;
}

// As many bytes in each direction, front to back, pieces of both in turn.
double bare_swaps(BareTable& bare, std::uint64_t swaps, std::uint64_t bytes_each) {
  constexpr std::uint64_t kPiece = 1 << 20;
  const std::uint64_t places = std::max<std::uint64_t>(1, bare.bytes() / bytes_each);
  std::vector<BareTable::Piece> pieces;
  for (std::uint64_t swap = 0; swap < swaps; ++swap) {
    const std::uint64_t in = swap % places * bytes_each;
    const std::uint64_t out = (swap + places / 2) % places * bytes_each;
    for (std::uint64_t at = 0; at < bytes_each; at += kPiece) {
      const std::uint64_t length = std::min(kPiece, bytes_each - at);
      pieces.push_back({in + at, length, RawDisk::Direction::kRead});
      pieces.push_back({out + at, length, RawDisk::Direction::kWrite});
    }
  }
  return bare.seconds(pieces);
}

}  // namespace

void partitions_case(const EmbeddingSizes& sizes) {
  const Folder folder(std::filesystem::path(sizes.dir) / "bench-embedding-partitions");
  ThreadArena threads(static_cast<int>(sizes.threads));
  EmbeddingTableOptions options = table_options(sizes, folder.path() / "rows", threads);
  options.placement = Placement::kDisk;
  options.partitions = static_cast<std::uint32_t>(sizes.partitions);
  options.partition_slots = static_cast<std::uint32_t>(sizes.slots + 1);
  const auto table = create_embedding_table(options);
  const BucketOrder order = make_bucket_order({.kind = BucketOrderKind::kBeta,
                                               .partitions = options.partitions,
                                               .slots = static_cast<std::uint32_t>(sizes.slots)},
                                              RandomKey(29));
  if (order.swaps() == 0) {
    throw Error(ErrorCode::kUsage,
                "all partitions fit in the slots: nothing is swapped",
                "set --slots below --partitions");
  }
  (void)swap_through(*table, order);  // from now on all rows are on disk
  const std::uint64_t generation = table->commit();
  table->keep(std::span(&generation, 1));

  const RowLayout layout = RowLayout::make(sizes.rows, table->dim(), table->state_width());
  BareTable bare(folder.path(), layout.bytes());
  const std::uint64_t bytes_each = layout.bytes() / sizes.partitions / kPageBytes * kPageBytes;
  std::vector<double> seconds, bare_seconds;
  EmbeddingStats moved;
  for (std::uint64_t round = 0; round < sizes.rounds; ++round) {
    const EmbeddingStats before = table->stats();
    seconds.push_back(swap_through(*table, order));
    moved = table->stats();
    moved.bytes_read -= before.bytes_read;
    moved.bytes_written -= before.bytes_written;
    if (bare.direct()) bare_seconds.push_back(bare_swaps(bare, order.swaps(), bytes_each));
  }
  // Of what stats() counts, the first state's reads and the last one's writes are not timed.
  const auto bytes = static_cast<double>(2 * order.swaps() * bytes_each);
  Line line{.name = "partitions", .work = bytes, .seconds = median(seconds)};
  if (!bare_seconds.empty()) line.disk_rate = bytes / median(bare_seconds);
  line.more["swaps"] = order.swaps();
  line.more["states"] = order.states.size();
  line.more["bytes"] = {{"read", moved.bytes_read}, {"written", moved.bytes_written}};
  line.more["partition_bytes"] = bytes_each;
  line.more["table_bytes"] = layout.bytes();
  print(line);
}

}  // namespace sluice::bench
