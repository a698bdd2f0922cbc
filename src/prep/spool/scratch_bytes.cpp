#include "prep/spool/scratch_bytes.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint64_t kSegmentBytes = std::uint64_t{4} << 20;

}  // namespace

ScratchBytes::ScratchBytes(std::filesystem::path folder,
                           MemoryLedger* ledger,
                           std::uint64_t memory_bytes)
    : folder_(std::move(folder)),
      ledger_(ledger),
      most_segments_(std::max<std::uint64_t>(1, memory_bytes / kSegmentBytes)) {}

void ScratchBytes::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::uint64_t held = size_ - in_file_;
    if (held == segments_.size() * kSegmentBytes) add_segment();
    const std::uint64_t at = (size_ - in_file_) % kSegmentBytes;
    const auto some = std::min<std::size_t>(bytes.size(), kSegmentBytes - at);
    std::memcpy(segments_.back().data() + at, bytes.data(), some);
    size_ += some;
    bytes = bytes.subspan(some);
  }
}

// The first segment must be had; where there is no room for another, those there are go to disk.
void ScratchBytes::add_segment() {
  if (segments_.size() < most_segments_) {
    auto made = AlignedBuffer::make(kSegmentBytes, ledger_, "edges");
    if (made) {
      segments_.push_back(std::move(made).or_throw());
      return;
    }
    if (segments_.empty()) throw Error(made.error());
  }
  spill();
}

void ScratchBytes::spill() {
  if (!file_.is_open()) file_ = File::scratch(folder_).or_throw();
  for (const AlignedBuffer& segment : segments_) {
    file_.write_at(in_file_, segment.bytes()).or_throw();
    in_file_ += kSegmentBytes;
  }
  segments_.resize(1);
  most_segments_ = 1;
}

void ScratchBytes::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset < in_file_ && !out.empty()) {
    const auto some = std::min<std::uint64_t>(out.size(), in_file_ - offset);
    file_.read_at(offset, out.first(some)).or_throw();
    offset += some;
    out = out.subspan(some);
  }
  while (!out.empty()) {
    const std::uint64_t held = offset - in_file_;
    const std::uint64_t at = held % kSegmentBytes;
    const auto some = std::min<std::size_t>(out.size(), kSegmentBytes - at);
    std::memcpy(out.data(), segments_[held / kSegmentBytes].data() + at, some);
    offset += some;
    out = out.subspan(some);
  }
}

}  // namespace sluice
