#include "prep/update/merged_events.h"

#include "core/interrupt.h"
#include "storage/format/appended_edges.h"
#include "storage/format/data_file.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace sluice {
namespace {

constexpr std::size_t kChunkEvents = std::size_t{1} << 16;

}  // namespace

MergedEvents::MergedEvents(const std::filesystem::path& root,
                           const Manifest& manifest,
                           const RelationSchema& relation,
                           MemoryLedger* ledger)
    : edges_(relation.edges + relation.appended),
      id_bound_(relation.appended_id_bound),
      base_(root, manifest, relation, {}, ledger),
      base_times_(root,
                  find_file(root, manifest, relation_path(relation, "times.bin")).or_throw(),
                  DType::kI64,
                  relation.edges,
                  ledger) {
  const DatasetOptions options{.ledger = ledger};
  log_.rows = load_appended(root, manifest, relation, options).or_throw();
  log_.row_times = load_appended_times(root, manifest, relation, options).or_throw();
  order_ =
      Array::make(DType::kU64, {static_cast<std::int64_t>(relation.appended)}, ledger, "topology")
          .or_throw();
  const auto order = order_.as<std::uint64_t>();
  const auto rows = std::as_const(log_.rows).as<std::uint64_t>();
  const auto times = std::as_const(log_.row_times).as<std::int64_t>();
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  std::ranges::sort(order, {}, [&](std::uint64_t row) {
    return std::tuple(appended_edge(rows, row).target, times[row], row);
  });
}

// Whether there is an edge of the base at at_; its time is then read.
bool MergedEvents::refill_base() {
  if (at_ < span_.count) return true;
  const auto view = base_.next();
  if (!view) return false;
  span_ = std::get<EdgeSpan<std::uint64_t>>(*view);
  at_ = 0;
  base_time_ = static_cast<std::int64_t>(*base_times_.next());
  return true;
}

bool MergedEvents::log_comes_first() {
  if (next_row_ == static_cast<std::size_t>(order_.numel())) return false;
  if (!refill_base()) return true;
  const std::uint64_t row = std::as_const(order_).as<std::uint64_t>()[next_row_];
  const std::uint64_t target =
      appended_edge(std::as_const(log_.rows).as<std::uint64_t>(), row).target;
  // Of equal times the base's edge is first: its id is smaller.
  return std::tuple(target, std::as_const(log_.row_times).as<std::int64_t>()[row]) <
         std::tuple(span_.target[at_], base_time_);
}

void MergedEvents::put(std::uint64_t source,
                       std::uint64_t target,
                       std::uint64_t id,
                       std::int64_t time) {
  chunk_.source.push_back(source);
  chunk_.target.push_back(target);
  chunk_ids_.push_back(id);
  chunk_times_.push_back(time);
}

void MergedEvents::put_log() {
  const std::uint64_t row = std::as_const(order_).as<std::uint64_t>()[next_row_++];
  const AppendedEdge edge = appended_edge(std::as_const(log_.rows).as<std::uint64_t>(), row);
  put(edge.source, edge.target, edge.id, std::as_const(log_.row_times).as<std::int64_t>()[row]);
}

void MergedEvents::put_base() {
  put(span_.source[at_], span_.target[at_], span_.ids[at_], base_time_);
  if (++at_ < span_.count) base_time_ = static_cast<std::int64_t>(*base_times_.next());
}

std::optional<EdgeView> MergedEvents::next() {
  throw_if_interrupted();
  chunk_.resize(0);
  chunk_ids_.clear();
  chunk_times_.clear();
  while (chunk_.size() < kChunkEvents) {
    if (log_comes_first()) {
      put_log();
    } else if (refill_base()) {
      put_base();
    } else {
      break;
    }
  }
  if (chunk_.size() == 0) return std::nullopt;
  if (times_out_ != nullptr) times_out_->append_values(std::span<const std::int64_t>(chunk_times_));
  EdgeSpan<std::uint64_t> span{chunk_.source.data(), chunk_.target.data(), chunk_.size()};
  span.ids = chunk_ids_.data();
  return span;
}

}  // namespace sluice
