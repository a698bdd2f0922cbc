#include "prep/propagate/edge_sweep.h"

#include "core/interrupt.h"
#include "storage/format/data_file.h"

#include <algorithm>

namespace sluice {
namespace {

FileCursor open_neighbours(const std::filesystem::path& dataset,
                           const Manifest& manifest,
                           const RelationLists& lists,
                           MemoryLedger& ledger) {
  FileReading how;
  how.ahead = IoChoice::kAuto;
  return FileCursor::open(
             dataset, find_file(dataset, manifest, lists.neighbours).or_throw(), how, &ledger)
      .or_throw();
}

}  // namespace

EdgeSweep::EdgeSweep(const std::filesystem::path& dataset,
                     const Manifest& manifest,
                     const EdgeOperator& op,
                     std::size_t max_targets,
                     MemoryLedger& ledger)
    : EdgeSweep(dataset, manifest, lists_of(manifest.schema, op), max_targets, ledger) {}

EdgeSweep::EdgeSweep(const std::filesystem::path& dataset,
                     const Manifest& manifest,
                     const RelationLists& lists,
                     std::size_t max_targets,
                     MemoryLedger& ledger)
    : offsets_path_(dataset / lists.offsets),
      targets_(lists.nodes),
      edges_(lists.edges),
      width_(node_id_dtype(lists.neighbour_nodes)),
      max_targets_(max_targets),
      charge_(ledger.charge("edges", max_targets * sizeof(std::uint64_t)).or_throw()),
      lists_(dataset, manifest, lists, &ledger),
      neighbours_(open_neighbours(dataset, manifest, lists, ledger)) {
  ends_.reserve(max_targets);
  if (lists_.end() != 0) throw damaged_file(offsets_path_, "the first list does not begin at 0");
  if (targets_ != 0) list_end_ = next_end();
}

std::uint64_t EdgeSweep::next_end() {
  const std::uint64_t end = lists_.next_end();
  if (end < list_end_ || end > edges_)
    throw damaged_file(offsets_path_, "its offsets do not ascend to the number of edges");
  return end;
}

void EdgeSweep::refill() {
  throw_if_interrupted();
  const std::uint64_t left = (edges_ - edge_) * size_of(width_);
  const std::span<const std::byte> piece = neighbours_.next().or_throw();
  piece_ = piece.first(std::min<std::uint64_t>(piece.size(), left));
  if (piece_.empty()) throw damaged_file(offsets_path_, "there are fewer neighbours than edges");
}

std::optional<EdgeSweep::Batch> EdgeSweep::next() {
  if (target_ == targets_) {
    if (edge_ != edges_) throw damaged_file(offsets_path_, "its lists hold fewer than all edges");
    return std::nullopt;
  }
  if (piece_.empty() && edge_ != edges_) refill();
  const std::uint64_t limit = edge_ + piece_.size() / size_of(width_);
  Batch batch{target_, {}, piece_, width_, carried_, false};
  ends_.clear();
  while (target_ != targets_ && ends_.size() != max_targets_) {
    const std::uint64_t given = ends_.empty() ? 0 : ends_.back();
    if (list_end_ > limit) {  // what there is of it, unless that is nothing
      batch.goes_on = edge_ + given != limit;
      if (batch.goes_on) ends_.push_back(limit - edge_);
      break;
    }
    ends_.push_back(list_end_ - edge_);
    if (++target_ != targets_) list_end_ = next_end();
  }
  const std::uint64_t taken = ends_.back();
  carried_ = batch.goes_on;
  edge_ += taken;
  piece_ = piece_.subspan(taken * size_of(width_));
  batch.ends = ends_;
  return batch;
}

}  // namespace sluice
