#include "storage/format/list_cursor.h"

#include "storage/format/data_file.h"

#include <fmt/format.h>

namespace sluice {
namespace {

auto entries_of(const std::filesystem::path& root, const Manifest& manifest) {
  return [&](const std::string& path) { return find_file(root, manifest, path).or_throw(); };
}

}  // namespace

ListCursor::ListCursor(const std::filesystem::path& root,
                       const RelationLists& lists,
                       const std::function<FileEntry(const std::string& path)>& find,
                       MemoryLedger* ledger)
    : listed_path_(root / lists.listed),
      nodes_(lists.nodes),
      lists_(lists.lists),
      offsets_(root, find(lists.offsets), DType::kU64, lists.lists + 1, ledger) {
  if (lists.are_listed())
    listed_.emplace(root, find(lists.listed), lists.node_dtype(), lists.lists, ledger);
  end_ = last_end_ = offsets_.next().value_or(0);
}

ListCursor::ListCursor(const std::filesystem::path& root,
                       const Manifest& manifest,
                       const RelationLists& lists,
                       MemoryLedger* ledger)
    : ListCursor(root, lists, entries_of(root, manifest), ledger) {}

std::optional<ListCursor::List> ListCursor::next() {
  if (given_ == lists_) return std::nullopt;
  List list{given_++, end_, 0};
  list.end = end_ = offsets_.next().value_or(end_);
  if (!listed_) return list;
  list.node = listed_->next().value_or(nodes_);
  if (list.node < after_ || list.node >= nodes_)
    throw damaged_file(listed_path_,
                       fmt::format("node {} is listed in place {}: they ascend below {} nodes",
                                   list.node,
                                   given_ - 1,
                                   nodes_));
  after_ = list.node + 1;
  return list;
}

std::uint64_t ListCursor::next_end() {
  if (!ahead_ || ahead_->node < node_) {
    const auto list = next();
    ahead_ = list.value_or(List{nodes_, last_end_, last_end_});
  }
  if (ahead_->node == node_) last_end_ = ahead_->end;
  ++node_;
  return last_end_;
}

}  // namespace sluice
