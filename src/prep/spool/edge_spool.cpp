#include "prep/spool/edge_spool.h"

#include <algorithm>
#include <limits>

namespace sluice {
namespace {

constexpr std::size_t kMostEdges = std::size_t{1} << 17;  // of a chunk: what a reader holds

bool fits_narrow(std::span<const std::uint64_t> nodes) {
  std::uint64_t all = 0;
  for (const std::uint64_t node : nodes) all |= node;
  return all <= std::numeric_limits<std::uint32_t>::max();
}

}  // namespace

template <class Id>
void EdgeSpool::append_ids(std::span<const std::uint64_t> nodes) {
  if constexpr (sizeof(Id) == sizeof(std::uint64_t)) {
    bytes_.append_values(nodes);
  } else {
    narrow_.resize(nodes.size());
    std::transform(nodes.begin(), nodes.end(), narrow_.begin(), [](std::uint64_t node) {
      return static_cast<std::uint32_t>(node);
    });
    bytes_.append_values(std::span<const std::uint32_t>(narrow_));
  }
}

void EdgeSpool::append(std::span<const std::uint64_t> sources,
                       std::span<const std::uint64_t> targets,
                       std::span<const std::uint64_t> ids) {
  has_ids_ = has_ids_ || !ids.empty();
  for (std::size_t first = 0; first < sources.size(); first += kMostEdges) {
    const std::size_t count = std::min(kMostEdges, sources.size() - first);
    const auto from = sources.subspan(first, count);
    const auto to = targets.subspan(first, count);
    const bool narrow = fits_narrow(from) && fits_narrow(to);
    const Head head{static_cast<std::uint32_t>(count), narrow ? 4u : 8u};
    bytes_.append_values(std::span(&head, 1));
    for (const auto& nodes : {from, to})
      narrow ? append_ids<std::uint32_t>(nodes) : append_ids<std::uint64_t>(nodes);
    if (!ids.empty()) bytes_.append_values(ids.subspan(first, count));
    edges_ += count;
  }
}

template <class Id>
void SpooledEdges::read(EdgeChunk<Id>& chunk) {
  chunk.resize(head_.count);
  for (std::vector<Id>* nodes : {&chunk.source, &chunk.target}) {
    spool_.bytes_.read_at(at_, std::as_writable_bytes(std::span(*nodes)));
    at_ += head_.count * sizeof(Id);
  }
}

void SpooledEdges::read_chunk() {
  spool_.bytes_.read_at(at_, std::as_writable_bytes(std::span(&head_, 1)));
  at_ += sizeof head_;
  given_ = 0;
  head_.width == 4 ? read(narrow_) : read(wide_);
  if (!spool_.has_ids_) return;
  ids_.resize(head_.count);
  spool_.bytes_.read_at(at_, std::as_writable_bytes(std::span(ids_)));
  at_ += head_.count * sizeof(std::uint64_t);
}

template <class Id>
EdgeView SpooledEdges::slice(const EdgeChunk<Id>& chunk, std::size_t count) const {
  EdgeSpan<Id> span{chunk.source.data() + given_, chunk.target.data() + given_, count};
  if (spool_.has_ids_) span.ids = ids_.data() + given_;
  return span;
}

std::optional<EdgeView> SpooledEdges::next_at_most(std::uint64_t most) {
  if (given_ == head_.count) {
    if (at_ == spool_.bytes_.size()) return std::nullopt;
    read_chunk();
  }
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(most, head_.count - given_));
  const EdgeView view = head_.width == 4 ? slice(narrow_, count) : slice(wide_, count);
  given_ += count;
  return way_ == Way::kForward ? view : reversed(view);
}

void SpooledEdges::skip(std::uint64_t edges) {
  while (edges != 0) {
    const auto view = next_at_most(edges);
    if (!view) return;
    edges -= std::visit([](const auto& span) { return std::uint64_t{span.count}; }, *view);
  }
}

}  // namespace sluice
