#include "storage/format/list_writer.h"

#include "storage/format/layout.h"

#include <string>
#include <utility>

namespace sluice {
namespace {

constexpr std::size_t kListsAtATime = 4096;

}  // namespace

ListWriter::ListWriter(DatasetWriter& writer,
                       const RelationSchema& relation,
                       ListsOf side,
                       std::uint64_t nodes,
                       OffsetLayout layout)
    : node_dtype_(node_id_dtype(nodes)) {
  const std::string prefix = side == ListsOf::kTargets ? "" : "out_";
  offsets_ = writer.create(relation_path(relation, prefix + "offsets.bin"));
  if (layout == OffsetLayout::kListedNodes)
    listed_ = writer.create(relation_path(relation, prefix + "listed.bin"));
  const std::uint64_t begin = 0;
  offsets_->append_values(std::span(&begin, 1));
}

void ListWriter::append(std::span<const std::uint64_t> ends) {
  if (!listed_) return offsets_->append_values(ends);
  for (; ends.size() > kListsAtATime; ends = ends.subspan(kListsAtATime))
    append_listed(ends.first(kListsAtATime));
  append_listed(ends);
}

void ListWriter::append_listed(std::span<const std::uint64_t> ends) {
  ends_.clear();
  nodes_.clear();
  for (const std::uint64_t end : ends) {
    if (end != last_end_) {
      ends_.push_back(end);
      nodes_.push_back(node_);
    }
    last_end_ = end;
    ++node_;
  }
  lists_ += ends_.size();
  offsets_->append_values(std::span<const std::uint64_t>(ends_));
  if (node_dtype_ == DType::kU64)
    return listed_->append_values(std::span<const std::uint64_t>(nodes_));
  narrow_.clear();
  for (const std::uint64_t node : nodes_) narrow_.push_back(static_cast<std::uint32_t>(node));
  listed_->append_values(std::span<const std::uint32_t>(narrow_));
}

std::optional<std::uint64_t> ListWriter::finish(DatasetWriter& writer) {
  writer.add(std::move(offsets_));
  if (!listed_) return std::nullopt;
  writer.add(std::move(listed_));
  return lists_;
}

}  // namespace sluice
