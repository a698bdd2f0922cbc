#include <sluice/samplers/edge_scan.h>

#include "samplers/topology_access.h"

#include <algorithm>
#include <numeric>

namespace sluice {

bool EdgeScan::drawn(std::size_t target) const {
  return request_.fanout >= 0 &&
         range(target).degree() > static_cast<std::uint64_t>(request_.fanout);
}

Result<void> EdgeScan::begin(const Request& request, MemoryLedger* ledger) {
  request_ = request;
  ledger_ = ledger;
  target_ = 0;
  taken_ = 0;
  num_edges_ = 0;
  const std::size_t count = request.targets.size();
  if (count == 0) return {};
  if (auto room = ranges_.ensure(count, ledger); !room) return room;
  if (auto located = locate(*request.topology, request.targets, ranges_.first(count)); !located)
    return located;
  bool draws = false;
  for (std::size_t i = 0; i < count; ++i) {
    draws = draws || drawn(i);
    num_edges_ += drawn(i) ? static_cast<std::uint64_t>(request.fanout) : range(i).degree();
  }
  if (auto room = targets_.ensure(piece_size(), ledger); !room) return room;
  if (auto room = positions_.ensure(piece_size(), ledger); !room) return room;
  if (auto room = sources_.ensure(piece_size(), ledger); !room) return room;
  if (!draws) return {};
  return chooser_.reserve(static_cast<std::size_t>(request.fanout), ledger);
}

// A node's draws are made together, so a piece has room for them.
std::size_t EdgeScan::piece_size() const {
  const bool resident = request_.topology->resident() != nullptr;
  const std::uint64_t most = std::max<std::uint64_t>(
      resident ? kResidentPiece : kPagedPiece,
      static_cast<std::uint64_t>(std::max<std::int64_t>(request_.fanout, 0)));
  return static_cast<std::size_t>(std::min(most, num_edges_));
}

Result<EdgeScan::Piece> EdgeScan::next() {
  const std::size_t count = num_edges_ == 0 ? 0 : fill(piece_size());
  if (count == 0) return Piece{};
  const auto positions = positions_.first(count);
  if (auto read = gather(*request_.topology, positions, sources_.first(count)); !read)
    return std::move(read).error();
  return Piece{targets_.first(count), positions, sources_.first(count)};
}

std::size_t EdgeScan::fill(std::size_t most) {
  std::size_t filled = 0;
  while (target_ < request_.targets.size() && filled < most) {
    const EdgeRange& edges = range(target_);
    const bool draws = drawn(target_);
    const std::uint64_t left =
        (draws ? static_cast<std::uint64_t>(request_.fanout) : edges.degree()) - taken_;
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left, most - filled));
    if (draws && count < left) break;  // it opens the next piece
    const auto out = positions_.first(filled + count).subspan(filled);
    if (draws) {
      chooser_.choose(
          edges.begin, edges.degree(), request_.key.with(request_.targets[target_]), out);
    } else {
      std::iota(out.begin(), out.end(), edges.begin + taken_);
    }
    std::fill_n(targets_.data() + filled, count, static_cast<std::uint32_t>(target_));
    filled += count;
    taken_ += count;
    if (count < left) break;
    ++target_;
    taken_ = 0;
  }
  return filled;
}

}  // namespace sluice
