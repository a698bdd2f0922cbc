#include "storage/topology/paged_topology.h"

#include "storage/format/data_file.h"
#include "storage/io/staging_ring.h"
#include "storage/topology/topology_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint64_t kMaxRequestBytes = 256 * 1024;  // near full bandwidth (bench/storage)
constexpr std::uint64_t kLeastDepth = 8;                // requests that the staging buffer holds

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
  if (relation.appended != 0) throw appended_in_memory_only(relation, root);
  std::unique_ptr<PagedTopology> topology(new PagedTopology);
  topology->io_ = topology_options.io;
  topology->ledger_ = options.ledger;
  topology->num_sources_ = manifest.schema.node_type(relation.source)->count;
  topology->offsets_ = CompressedOffsets::load(root, manifest, relation, options);

  Column& neighbours = topology->neighbours_;
  neighbours.bound = topology->num_sources_;
  topology->open_column(neighbours,
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
    edge_ids.slot = FileSlot{1};
    topology->open_column(edge_ids,
                          root,
                          manifest,
                          relation_path(relation, "edge_ids.bin"),
                          relation.edge_id_dtype(),
                          options);
    pages += round_up_to_page(relation.edges << edge_ids.id_bytes_log2) / kPageBytes;
  }
  {
    const MutexLock lock(topology->mutex_);
    topology->cache_ =
        PageCache::make(topology_options.cache_bytes, pages, options.ledger).or_throw();
  }
  topology->own_ = topology->open_reader(topology_options.staging_bytes);
  return topology;
}

void PagedTopology::open_column(Column& column,
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
  column.file =
      std::make_shared<const File>(File::open_read(column.path, Direct::kAuto).or_throw());
}

std::unique_ptr<EdgeReader> PagedTopology::open_reader(std::uint64_t staging_bytes) const {
  std::vector<EdgeFile> files{{neighbours_.file, neighbours_.sums.page_sums}};
  if (edge_ids_) files.push_back({edge_ids_->file, edge_ids_->sums.page_sums});
  return EdgeReader::open(files, io_, num_edges(), staging_bytes, ledger_);
}

void PagedTopology::set_gap(std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  gap_pages_ = std::min(bytes, kMaxRequestBytes) / kPageBytes;
}

Result<void> PagedTopology::lend_staging(std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  if (lent_) before_ += lent_->reader->stats();
  lent_.reset();
  try {
    if (bytes != 0) lent_ = open_reader(bytes);
  } catch (const Error& error) {
    return error;
  }
  return {};
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
  const RequestLatency latency = io_stats().latency;
  const MutexLock lock(mutex_);
  TopologyStats stats = stats_;
  stats.latency = latency;
  return stats;
}

IoStats PagedTopology::io_stats() const {
  const MutexLock lock(mutex_);
  IoStats stats = before_;
  stats += own_->reader->stats();
  if (lent_) stats += lent_->reader->stats();
  return stats;
}

Result<void> PagedTopology::fetch(const Column& column,
                                  std::span<const std::uint64_t> positions,
                                  std::span<std::uint64_t> out) {
  const MutexLock lock(mutex_);
  problem_.reset();
  PositionSort& sort = reader().sort;
  while (!positions.empty()) {
    const std::size_t count = std::min(positions.size(), PositionSort::kMaxPositions);
    if (auto started = sort.start(positions.first(count), column.page_log2()); !started)
      return started;
    for (PositionPiece piece = sort.next(); !piece.wanted.empty(); piece = sort.next()) {
      if (auto fetched = fetch_piece(column, piece, out.first(count)); !fetched) return fetched;
      if (problem_) return *std::move(problem_);
    }
    stats_.positions += count;
    positions = positions.subspan(count);
    out = out.subspan(count);
  }
  return {};
}

// The pages of a piece, in order: what the cache has is delivered at once, the rest in requests
// that follow each other through the staging buffer.
class PagedTopology::PieceSource final : public ReadSource {
 public:
  PieceSource(PagedTopology& topology,
              const Column& column,
              const PositionPiece& piece,
              std::span<std::uint64_t> out)
      : topology_(topology),
        reader_(topology.reader()),
        column_(column),
        piece_(piece),
        out_(out),
        piece_page_(piece.first >> column.page_log2()),
        max_pages_(std::min(kMaxRequestBytes, reader_.staging->size() / kLeastDepth) / kPageBytes),
        ring_(reader_.staging->size()) {}

  std::optional<BlockRead> next() override SLUICE_REQUIRES(topology_.mutex_) {
    while (!closed_ && at_ < piece_.wanted.size()) look_at_page();
    if (open_.pages == 0) return std::nullopt;
    const auto length = static_cast<std::uint32_t>(open_.pages * kPageBytes);
    const auto offset = ring_.take(length);
    if (!offset) {
      closed_ = true;  // as it is, until there is room
      return std::nullopt;
    }
    runs_.push_back(open_);
    const BlockRead read{
        column_.slot, reader_.staging_slot, length, open_.first_page * kPageBytes, *offset};
    open_ = following_;
    following_ = {};
    closed_ = false;
    return read;
  }

  void done(std::size_t index) override SLUICE_REQUIRES(topology_.mutex_) {
    Run& run = runs_[index - first_run_];
    const std::byte* bytes = reader_.staging->data() + ring_.offset_of(index);
    topology_.deliver(column_, piece_, run, bytes, out_);
    keep(run, bytes);
    ++topology_.stats_.requests;
    topology_.stats_.bytes_read += run.pages * kPageBytes;
    ring_.give_back(index);
    run.pages = 0;
    while (!runs_.empty() && runs_.front().pages == 0) {
      runs_.pop_front();
      ++first_run_;
    }
  }

 private:
  // Takes the wanted positions of the next page: from the cache, or into a request.
  void look_at_page() SLUICE_REQUIRES(topology_.mutex_) {
    const std::span<const WantedPosition> wanted = piece_.wanted;
    const std::uint32_t page_of_piece = wanted[at_].offset >> column_.page_log2();
    const std::size_t first = at_;
    while (at_ < wanted.size() && wanted[at_].offset >> column_.page_log2() == page_of_piece) ++at_;
    const std::uint64_t page = piece_page_ + page_of_piece;
    if (const std::byte* cached = topology_.cache_.find(column_.first_page + page)) {
      ++topology_.stats_.page_hits;
      topology_.deliver(column_, piece_, {first, at_, page, 1}, cached, out_);
      return;
    }
    const std::uint64_t end = open_.first_page + open_.pages;
    if (open_.pages == 0) {
      open_ = {first, at_, page, 1};
    } else if (page - end <= topology_.gap_pages_ && page + 1 - open_.first_page <= max_pages_) {
      open_.last = at_;
      open_.pages = page + 1 - open_.first_page;
    } else {
      following_ = {first, at_, page, 1};
      closed_ = true;
    }
  }

  // Offers the pages that were wanted to the cache.
  void keep(const Run& run, const std::byte* bytes) SLUICE_REQUIRES(topology_.mutex_) {
    std::uint64_t before = ~std::uint64_t{0};
    for (std::size_t i = run.first; i < run.last; ++i) {
      const std::uint64_t page = piece_page_ + (piece_.wanted[i].offset >> column_.page_log2());
      if (page == before) continue;
      before = page;
      if (!topology_.cache_.holds(column_.first_page + page))
        topology_.cache_.offer(column_.first_page + page,
                               bytes + (page - run.first_page) * kPageBytes);
    }
  }

  PagedTopology& topology_;
  EdgeReader& reader_;
  const Column& column_;
  const PositionPiece& piece_;
  std::span<std::uint64_t> out_;
  std::uint64_t piece_page_;
  std::uint64_t max_pages_;
  StagingRing ring_;
  std::size_t at_ = 0;    // of the wanted positions: those before were looked at
  Run open_;              // the request being made
  Run following_;         // what did not fit it any more
  bool closed_ = false;   // whether the open one is to be sent as it is
  std::deque<Run> runs_;  // in flight
  std::size_t first_run_ = 0;
};

Result<void> PagedTopology::fetch_piece(const Column& column,
                                        const PositionPiece& piece,
                                        std::span<std::uint64_t> out) {
  PieceSource source(*this, column, piece, out);
  return reader().reader->read(source);
}

void PagedTopology::deliver(const Column& column,
                            const PositionPiece& piece,
                            const Run& run,
                            const std::byte* bytes,
                            std::span<std::uint64_t> out) {
  const std::span<const WantedPosition> wanted =
      piece.wanted.subspan(run.first, run.last - run.first);
  const std::uint64_t first = (run.first_page << column.page_log2()) - piece.first;
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
