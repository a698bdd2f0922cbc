#include "storage/topology/compressed_offsets.h"

#include "storage/format/data_file.h"
#include "storage/format/data_file_reader.h"
#include "storage/topology/topology_errors.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sluice {
namespace {

std::uint32_t width_log2_of(std::uint64_t last_end) {
  if (last_end <= 0xff) return 0;
  if (last_end <= 0xffff) return 1;
  return last_end <= 0xffffffff ? 2 : 3;
}

template <class End>
void write_ends(std::span<const std::uint64_t> ends, std::byte* to) {
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const auto end = static_cast<End>(ends[i]);
    std::memcpy(to + i * sizeof end, &end, sizeof end);
  }
}

}  // namespace

CompressedOffsets CompressedOffsets::load(const std::filesystem::path& root,
                                          const Manifest& manifest,
                                          const RelationSchema& relation,
                                          const DatasetOptions& options) {
  const RelationLists lists = RelationLists::of(manifest.schema, relation, ListsOf::kTargets);
  const FileEntry entry = find_file(root, manifest, lists.offsets).or_throw();
  const std::uint64_t needed = (lists.lists + 1) * sizeof(std::uint64_t);
  if (round_up_to_page(needed) != entry.bytes)
    throw size_error(root / lists.offsets, entry.bytes, needed);

  Builder builder(lists.lists, relation.edges, root / lists.offsets, options.ledger);
  scan_file(root,
            entry,
            {options.verify},
            options.ledger,
            [&](std::uint64_t offset, std::span<const std::byte> bytes) {
              // Pieces begin at whole pages of an aligned buffer, so offsets do not straddle them.
              const std::uint64_t count = std::min(bytes.size(), needed - offset) / 8;
              return builder.add({reinterpret_cast<const std::uint64_t*>(bytes.data()), count});
            })
      .or_throw();
  CompressedOffsets built = builder.finish().or_throw();
  built.listed_ = NodeList::load(root, manifest, lists, options).or_throw();
  return built;
}

std::uint64_t CompressedOffsets::bytes() const {
  std::uint64_t bytes = blocks_.size() * sizeof(Block) + listed_.bytes();
  for (const Array& segment : segment_storage_) bytes += segment.bytes();
  return bytes;
}

CompressedOffsets::Builder::Builder(std::uint64_t num_targets,
                                    std::uint64_t num_edges,
                                    std::filesystem::path path,
                                    MemoryLedger* ledger)
    : path_(std::move(path)), ledger_(ledger) {
  built_.num_lists_ = num_targets;
  built_.num_edges_ = num_edges;
}

// The first call's work: here, as it may fail.
Result<void> CompressedOffsets::Builder::start() {
  const std::uint64_t blocks = (built_.num_lists_ + kBlockTargets - 1) / kBlockTargets;
  const std::uint64_t segment =
      std::min(blocks, kSegmentTargets / kBlockTargets) * kBlockTargets * sizeof(std::uint64_t);
  if (ledger_ != nullptr) {
    auto charge = ledger_->charge("topology", blocks * sizeof(Block));
    if (!charge) return std::move(charge).error();
    built_.blocks_charge_ = std::move(charge).value();
    charge = ledger_->charge("read buffers", segment);
    if (!charge) return std::move(charge).error();
    segment_charge_ = std::move(charge).value();
  }
  built_.blocks_.reserve(blocks);
  segment_.reserve(segment);
  return {};
}

Result<void> CompressedOffsets::Builder::add(std::span<const std::uint64_t> offsets) {
  if (seen_ == 0) {
    if (auto started = start(); !started) return started;
  }
  for (const std::uint64_t offset : offsets) {
    const bool sound = seen_ == 0 ? offset == 0 : offset >= last_;
    if (!sound || offset > built_.num_edges_) return offsets_error(path_, built_.num_edges_);
    if (seen_++ != 0) ends_[filled_++] = offset - base_;
    last_ = offset;
    if (filled_ < kBlockTargets) continue;
    close_block();
    if (seen_ - 1 < kSegmentTargets * (built_.segments_.size() + 1)) continue;
    if (auto closed = close_segment(); !closed) return closed;
  }
  return {};
}

void CompressedOffsets::Builder::close_block() {
  const std::span<const std::uint64_t> ends(ends_.data(), filled_);
  const std::uint32_t width_log2 = width_log2_of(ends.back());
  const std::size_t place = segment_.size();
  built_.blocks_.push_back({base_, static_cast<std::uint32_t>(place), width_log2});
  segment_.resize(place + (kBlockTargets << width_log2));  // whole, so that all begin aligned
  std::byte* to = segment_.data() + place;
  switch (width_log2) {
    case 0:
      write_ends<std::uint8_t>(ends, to);
      break;
    case 1:
      write_ends<std::uint16_t>(ends, to);
      break;
    case 2:
      write_ends<std::uint32_t>(ends, to);
      break;
    default:
      write_ends<std::uint64_t>(ends, to);
  }
  base_ = last_;
  filled_ = 0;
}

Result<void> CompressedOffsets::Builder::close_segment() {
  const auto bytes = static_cast<std::int64_t>(segment_.size());
  auto made = Array::make(DType::kU8, {bytes}, ledger_, "topology");
  if (!made) return std::move(made).error();
  std::memcpy(made.value().data(), segment_.data(), segment_.size());
  built_.segments_.push_back(static_cast<const std::byte*>(made.value().data()));
  built_.segment_storage_.push_back(std::move(made).value());
  segment_.clear();
  return {};
}

Result<CompressedOffsets> CompressedOffsets::Builder::finish() {
  if (seen_ != built_.num_lists_ + 1 || last_ != built_.num_edges_)
    return offsets_error(path_, built_.num_edges_);
  if (filled_ != 0) close_block();
  if (!segment_.empty()) {
    if (auto closed = close_segment(); !closed) return std::move(closed).error();
  }
  return std::move(built_);
}

}  // namespace sluice
