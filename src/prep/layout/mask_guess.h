// Masks, one truth value a node, as layouts find them: by the names of columns and what these hold.
// Private to src/prep/layout.
#pragma once

#include "prep/import/graph_spec.h"
#include "prep/layout/glance.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// Whether a column holds truth values and nothing else: bool, True and False, or 0 and 1; of one
/// or two rows 0 and 1 are none, as they may be ids.
bool holds_truths(const ColumnGlance& column, std::uint64_t rows);

/// Whether a column is called a mask: "train_mask", "mask".
bool says_mask(const std::string& name);

/// The mask columns of one table, train_mask, val_mask and test_mask, which make a split.
class MaskColumns {
 public:
  /// Takes in a column that is called a mask. Returns why it is none; empty: it was taken.
  std::string take(const ColumnGlance& column, std::uint64_t rows);

  bool any() const;
  /// Those that were taken, in the order of the parts.
  std::vector<std::string> names() const;
  /// The split that they make; nothing where there is none of train.
  std::optional<SplitSpec> split(const std::string& file, const std::string& format) const;

 private:
  std::array<std::string, 3> names_;  // of train, valid, test
};

/// Sets a part of a split, by its name. @param column of the file; empty: the first
void set_part(SplitSpec& split,
              const std::string& part,
              const std::string& file,
              const std::string& column);
/// The file of a part; empty: there is none.
std::string& file_of_part(SplitSpec& split, const std::string& part);

}  // namespace sluice
