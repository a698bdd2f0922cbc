// One part of a split, from a file of ids or of a mask: a truth value (or 0 and 1) a row, in the
// order of the nodes or beside their ids. Private to src/prep/import.
#pragma once

#include "prep/import/import_context.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

/// What a split is of.
struct SplitRows {
  const NodeIds& ids;
  const char* what;                ///< "nodes"
  const NodeSpec* node = nullptr;  ///< null: graphs

  /// Whether they have an order that the user knows: that of the rows of their files.
  bool ordered() const {
    return ids.kind() == IdKind::kDense || (node != nullptr && !node->id_list.file.empty());
  }
};

/// How a part's file says who is in it.
struct PartForm {
  bool mask = false;      ///< else ids
  std::string id_column;  ///< of a mask: the ids beside it; empty: rows stand in their order
};

/// Tells a mask: a column of bool, or True and False, or 0 and 1 alone. Its rows go by the ids
/// beside them where the part names these, or where ids stand there in another order than the
/// nodes', which is said. What could be ids as well is said, and taken as ids. Throws Error(kData)
/// for a mask that cannot be whose: of another length, or where nothing tells the order.
PartForm form_of_part(ImportContext& context, const SplitPart& part, const SplitRows& rows);

/// The rows that are true, ascending. Charged to `charge`. @pre of that form
std::vector<std::uint64_t> read_mask(ImportContext& context, const SplitPart& part, Charge& charge);

/// The nodes whose ids stand beside what is true, ascending; those that are not there and may be
/// left out are counted in `skipped`. Throws Error(kData) where an id stands twice.
std::vector<std::uint64_t> read_mask_by_id(ImportContext& context,
                                           const SplitPart& part,
                                           const std::string& id_column,
                                           const SplitRows& rows,
                                           std::uint64_t& skipped,
                                           Charge& charge);

/// The nodes of ids; those that are not there and may be left out are counted in `skipped`.
std::vector<std::uint64_t> read_ids(ImportContext& context,
                                    const SplitPart& part,
                                    const SplitRows& rows,
                                    std::uint64_t& skipped,
                                    Charge& charge);

}  // namespace sluice
