// Splits by masks: of files of their own, and of columns of tables of nodes. Files of ids come
// before them.
#include "prep/layout/files_guess.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace sluice {

/// Masks are the parts of splits that no other files are.
void FilesGuess::add_mask_files() {
  std::vector<std::string> late, earlier;
  for (const MaskFile& mask : masks_) {
    NodeSpec* const node = node_of_mask(mask);
    std::string why =
        node == nullptr ? "of which type's nodes is this mask?" : why_no_mask(mask, *node);
    SplitSpec* const split = why.empty() ? split_for(mask, *node) : nullptr;
    if (why.empty() && split == nullptr) why = "it is unlike the other parts of its split";
    if (!why.empty()) {
      made_.warn(fmt::format("{}: {}", mask.file, why));
      continue;
    }
    count_by_mask(mask, *node);
    if (const std::string& file = file_of_part(*split, mask.part); file.empty()) {
      set_part(*split, mask.part, mask.file, mask.column);
    } else {
      late.push_back(mask.file);
      earlier.push_back(file);
    }
  }
  if (!late.empty())
    made_.warn(fmt::format("{}: {} {} already",
                           fmt::join(late, ", "),
                           late.size() == 1 ? "this part of the split is that of"
                                            : "these parts of the split are those of",
                           fmt::join(earlier, ", ")));
}

/// The type whose nodes a split is of that names none.
std::string FilesGuess::usual_type() const {
  const auto& nodes = made_.spec.nodes;
  if (nodes.size() == 1) return nodes.front().type;
  std::string type;
  for (const NodeSpec& node : nodes) {
    if (node.labels.file.empty()) continue;
    if (!type.empty()) return {};
    type = node.type;
  }
  return type;
}

/// The type that a mask's name says, or the usual one, or the only one of so many rows.
NodeSpec* FilesGuess::node_of_mask(const MaskFile& mask) {
  const std::string usual = usual_type();
  NodeSpec* of_type = nullptr;
  std::vector<NodeSpec*> of_rows;
  for (NodeSpec& node : made_.spec.nodes) {
    if (!mask.split.empty() && node.type == plain_name(mask.split)) return &node;
    if (node.type == usual) of_type = &node;
    const auto rows = rows_.find(node.type);
    if (rows != rows_.end() && rows->second == mask.rows) of_rows.push_back(&node);
  }
  if (of_type != nullptr) return of_type;
  return of_rows.size() == 1 ? of_rows.front() : nullptr;
}

/// The split that a mask is a part of, maybe a new one; null: it cannot be.
SplitSpec* FilesGuess::split_for(const MaskFile& mask, const NodeSpec& node) {
  const std::string said = mask.split.empty() ? "" : plain_name(mask.split);
  const std::string name = said.empty() || said == node.type ? SplitSpec().name : said;
  SplitSpec* const split = claim_split(name, node.type);
  if (split == nullptr) return nullptr;
  if (split->parts().empty()) split->format = mask.format;
  return split->format == mask.format ? split : nullptr;
}

/// A type's split of that name, or with the type in its name where another type has it; null where
/// these are no nodes.
SplitSpec* FilesGuess::claim_split(const std::string& name, const std::string& type) {
  const bool several = made_.spec.nodes.size() > 1;
  const std::string longer = name == SplitSpec().name ? type : name + "_" + type;
  for (const std::string& wanted : {name, longer}) {
    auto& splits = made_.spec.splits;
    const auto found = std::find_if(
        splits.begin(), splits.end(), [&](const SplitSpec& split) { return split.name == wanted; });
    if (found == splits.end()) {
      SplitSpec& split = splits.emplace_back();
      split.name = wanted;
      if (several) split.node_type = type;
      return &split;
    }
    const std::string of = found->node_type.empty() ? usual_type() : found->node_type;
    if (found->of == SplitOf::kNodes && of == type) return &*found;
    if (!several) return nullptr;
  }
  return nullptr;
}

/// In whose order the masks stand.
void FilesGuess::say_masks() {
  const auto& splits = made_.spec.splits;
  for (std::size_t i = 0; i < splits.size(); ++i) {
    for (const SplitPart& part : splits[i].parts()) {
      const auto mask = std::find_if(masks_.begin(), masks_.end(), [&](const MaskFile& candidate) {
        return candidate.file == part.file;
      });
      const NodeSpec* const node = mask == masks_.end() ? nullptr : node_of_mask(*mask);
      if (node == nullptr) continue;
      made_.comment(
          fmt::format("splits[{}].{}", i, part.name),
          fmt::format("A mask: one truth value for each node, {}.",
                      mask->by_id                  ? "by the ids beside it"
                      : node->id_list.file.empty() ? "in their order"
                                                   : "in the order of " + node->id_list.file));
    }
  }
}

/// Masks among the columns of tables of nodes.
void FilesGuess::add_mask_columns() {
  for (const TableMasks& masks : table_masks_) {
    const std::string names = fmt::format("{}", fmt::join(masks.columns.names(), ", "));
    const auto made = masks.columns.split(masks.file, masks.format);
    if (!made) {
      made_.warn(fmt::format("{}: {}: without a train_mask this is no split", masks.file, names));
      continue;
    }
    SplitSpec* const split = claim_split(SplitSpec().name, masks.type);
    if (split == nullptr || !split->parts().empty()) {
      made_.warn(fmt::format("{}: {}: the split {} is made of other files already",
                             masks.file,
                             names,
                             split == nullptr ? SplitSpec().name : split->name));
      continue;
    }
    const std::string name = split->name, type = split->node_type;
    *split = *made;
    split->name = name;
    split->node_type = type;
    split->id_column = masks.id;
    made_.comment(fmt::format("splits[{}].columns", split - made_.spec.splits.data()),
                  fmt::format("Masks: one truth value a row, {}.",
                              masks.id.empty() ? "which is the node of that row"
                                               : "of the node that " + masks.id + " names"));
  }
}

}  // namespace sluice
