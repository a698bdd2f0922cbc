#include "storage/topology/paged_topology.h"

#include "storage/format/data_file_reader.h"
#include "storage/io/engine_kind.h"
#include "storage/topology/topology_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint32_t kMaxRequestBytes =
    64 * 1024;  // full bandwidth already (bench/storage), and short to wait for

// out[wanted.index] = the id at wanted.offset; `ids` begins at offset `first`. Returns the largest.
template <class Id>
std::uint64_t copy_ids(std::span<const WantedPosition> wanted,
                       const Id* ids,
                       std::uint64_t first,
                       std::span<std::uint64_t> out) {
  Id largest = 0;
  for (const WantedPosition& one : wanted) {
    const Id id = ids[one.offset - first];
    largest = std::max(largest, id);
    out[one.index] = id;
  }
  return largest;
}

}  // namespace

std::unique_ptr<PagedTopology> PagedTopology::open(const std::filesystem::path& root,
                                                   const Manifest& manifest,
                                                   const RelationSchema& relation,
                                                   const DatasetOptions& options,
                                                   const TopologyOptions& topology_options) {
  if (relation.appended != 0) {
    throw Error(ErrorCode::kUsage,
                fmt::format("relation '{}' has appended edges, which are read in memory only",
                            relation.key()),
                "run sluice-prep compact, or set storage.topology = \"memory\"",
                Place{root.string(), -1, -1, -1});
  }
  const std::uint64_t staging =
      std::max<std::uint64_t>(topology_options.staging_bytes, kMaxRequestBytes);
  // A piece's scratch is at most as large as the staging buffer.
  PositionSort sort(relation.edges, staging / (2 * sizeof(WantedPosition)), options.ledger);
  std::unique_ptr<PagedTopology> topology(new PagedTopology(std::move(sort)));
  topology->num_sources_ = manifest.schema.node_type(relation.source)->count;
  topology->offsets_ = CompressedOffsets::load(root, manifest, relation, options);

  IoEngineOptions engine_options;
  engine_options.kind = engine_kind(topology_options.io);
  IoEngineChoice choice = make_io_engine(engine_options).or_throw();
  topology->engine_reason_ = choice.reason;
  topology->reader_ = std::make_unique<BlockReader>(std::move(choice.engine));
  Column& neighbours = topology->neighbours_;
  neighbours.bound = topology->num_sources_;
  topology->attach(neighbours,
                   root,
                   manifest,
                   relation_path(relation, "neighbours.bin"),
                   node_id_dtype(topology->num_sources_),
                   options);
  std::uint64_t pages = round_up_to_page(relation.edges << neighbours.id_bytes_log2) / kPageBytes;
  if (relation.has_edge_ids) {
    Column& edge_ids = topology->edge_ids_.emplace(Column{});
    edge_ids.bound = std::numeric_limits<std::uint64_t>::max();
    edge_ids.first_page = pages;
    topology->attach(edge_ids,
                     root,
                     manifest,
                     relation_path(relation, "edge_ids.bin"),
                     relation.edge_id_dtype(),
                     options);
    pages += round_up_to_page(relation.edges << edge_ids.id_bytes_log2) / kPageBytes;
  }
  topology->cache_ =
      PageCache::make(topology_options.cache_bytes, pages, options.ledger).or_throw();
  topology->make_staging(staging, options.ledger);
  return topology;
}

void PagedTopology::make_staging(std::uint64_t bytes, MemoryLedger* ledger) {
  staging_ = std::make_shared<AlignedBuffer>(
      AlignedBuffer::make(bytes, ledger, "topology staging").or_throw());
  staging_slot_ = reader_->attach(staging_).or_throw();
  const std::size_t most = staging_->size() / kPageBytes;  // requests, if no pages are neighbours
  if (ledger != nullptr) {
    wave_charge_ =
        ledger->charge("topology staging", most * (sizeof(BlockRead) + sizeof(Run))).or_throw();
  }
  reads_.reserve(most);
  runs_.reserve(most);
}

void PagedTopology::attach(Column& column,
                           const std::filesystem::path& root,
                           const Manifest& manifest,
                           const std::string& path,
                           DType dtype,
                           const DatasetOptions& options) {
  column.path = root / path;
  column.id_bytes_log2 = dtype == DType::kU32 ? 2 : 3;
  const FileEntry entry = find_file(root, manifest, path).or_throw();
  const std::uint64_t needed = num_edges() << column.id_bytes_log2;
  if (round_up_to_page(needed) != entry.bytes) throw size_error(column.path, entry.bytes, needed);
  if (options.verify == Verify::kRead)
    column.sums = load_checksums(root, entry, options.ledger).or_throw();
  auto file = std::make_shared<const File>(File::open_read(column.path, Direct::kAuto).or_throw());
  column.file = reader_->attach(std::move(file), column.sums.page_sums).or_throw();
}

Result<void> PagedTopology::ranges(std::span<const std::uint64_t> targets,
                                   std::span<EdgeRange> out) {
  constexpr std::size_t kAhead = 16;
  const std::size_t count = targets.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (i + 2 * kAhead < count) offsets_.prefetch_block(targets[i + 2 * kAhead]);
    if (i + kAhead < count) offsets_.prefetch_ends(targets[i + kAhead]);
    out[i] = offsets_.range(targets[i]);
  }
  return {};
}

Result<void> PagedTopology::neighbours(std::span<const std::uint64_t> positions,
                                       std::span<std::uint64_t> out) {
  return fetch(neighbours_, positions, out);
}

Result<void> PagedTopology::edge_ids(std::span<const std::uint64_t> positions,
                                     std::span<std::uint64_t> out) {
  if (edge_ids_) return fetch(*edge_ids_, positions, out);
  std::copy(positions.begin(), positions.end(), out.begin());
  return {};
}

TopologyStats PagedTopology::stats() const {
  const std::scoped_lock lock(mutex_);
  return stats_;
}

IoStats PagedTopology::io_stats() const {
  const std::scoped_lock lock(mutex_);
  return reader_->stats();
}

Result<void> PagedTopology::fetch(const Column& column,
                                  std::span<const std::uint64_t> positions,
                                  std::span<std::uint64_t> out) {
  const std::scoped_lock lock(mutex_);
  problem_.reset();
  while (!positions.empty()) {
    const std::size_t count = std::min(positions.size(), PositionSort::kMaxPositions);
    if (auto started = sort_.start(positions.first(count), column.page_log2()); !started)
      return started;
    for (PositionPiece piece = sort_.next(); !piece.wanted.empty(); piece = sort_.next()) {
      if (auto fetched = fetch_piece(column, piece, out.first(count)); !fetched) return fetched;
      if (problem_) return *std::move(problem_);
    }
    stats_.positions += count;
    positions = positions.subspan(count);
    out = out.subspan(count);
  }
  return {};
}

// Page by page: what the cache has is delivered at once, the rest in waves as large as the staging
// buffer.
Result<void> PagedTopology::fetch_piece(const Column& column,
                                        const PositionPiece& piece,
                                        std::span<std::uint64_t> out) {
  const std::span<const WantedPosition> wanted = piece.wanted;
  const std::uint64_t piece_page = piece.first >> column.page_log2();
  for (std::size_t first = 0; first < wanted.size();) {
    const std::uint32_t page_of_piece = wanted[first].offset >> column.page_log2();
    Run run{first, first + 1};
    while (run.last < wanted.size() &&
           wanted[run.last].offset >> column.page_log2() == page_of_piece)
      ++run.last;
    first = run.last;
    const std::uint64_t page = piece_page + page_of_piece;
    if (const std::byte* cached = cache_.find(column.first_page + page)) {
      ++stats_.page_hits;
      deliver(column, piece, run, cached, page, out);
      continue;
    }
    if (staged_ == staging_->size()) {
      if (auto read = read_wanted(column, piece, out); !read) return read;
    }
    want(column, page, run);
  }
  return read_wanted(column, piece, out);
}

// Adds a page to the wave: to the request of the page before it, or as a request of its own.
void PagedTopology::want(const Column& column, std::uint64_t page, Run run) {
  if (!reads_.empty()) {
    BlockRead& before = reads_.back();
    const bool follows = before.file_offset + before.length == page * kPageBytes;
    if (follows && before.length < kMaxRequestBytes) {
      before.length += kPageBytes;
      runs_.back().last = run.last;
      staged_ += kPageBytes;
      return;
    }
  }
  reads_.push_back({column.file, staging_slot_, kPageBytes, page * kPageBytes, staged_});
  runs_.push_back(run);
  staged_ += kPageBytes;
}

Result<void> PagedTopology::read_wanted(const Column& column,
                                        const PositionPiece& piece,
                                        std::span<std::uint64_t> out) {
  if (reads_.empty()) return {};
  auto read = reader_->read(reads_, [&](std::size_t i) {
    const BlockRead& done = reads_[i];
    const std::byte* bytes = staging_->data() + done.buffer_offset;
    const std::uint64_t first_page = done.file_offset / kPageBytes;
    deliver(column, piece, runs_[i], bytes, first_page, out);
    for (std::uint32_t at = 0; at < done.length; at += kPageBytes)
      cache_.offer(column.first_page + first_page + at / kPageBytes, bytes + at);
    ++stats_.requests;
    stats_.bytes_read += done.length;
  });
  reads_.clear();
  runs_.clear();
  staged_ = 0;
  return read;
}

void PagedTopology::deliver(const Column& column,
                            const PositionPiece& piece,
                            Run run,
                            const std::byte* bytes,
                            std::uint64_t first_page,
                            std::span<std::uint64_t> out) {
  const std::span<const WantedPosition> wanted =
      piece.wanted.subspan(run.first, run.last - run.first);
  const std::uint64_t first = (first_page << column.page_log2()) - piece.first;
  const std::uint64_t largest =
      column.id_bytes_log2 == 2
          ? copy_ids(wanted, reinterpret_cast<const std::uint32_t*>(bytes), first, out)
          : copy_ids(wanted, reinterpret_cast<const std::uint64_t*>(bytes), first, out);
  if (largest < column.bound || problem_) return;
  const auto culprit = std::find_if(wanted.begin(), wanted.end(), [&](const auto& one) {
    return out[one.index] >= column.bound;
  });
  const std::uint64_t position = piece.first + culprit->offset;
  problem_ = neighbour_error(
      column.path, out[culprit->index], column.bound, position << column.id_bytes_log2);
}

}  // namespace sluice
