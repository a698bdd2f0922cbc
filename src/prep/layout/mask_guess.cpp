#include "prep/layout/mask_guess.h"

#include "prep/layout/file_roles.h"
#include "prep/table/column_names.h"
#include "prep/table/column_use.h"

#include <algorithm>
#include <cstddef>

namespace sluice {
namespace {

constexpr std::array<const char*, 3> kMaskParts{"train", "valid", "test"};

std::size_t place_of_part(const std::string& part) {
  return static_cast<std::size_t>(std::find(kMaskParts.begin(), kMaskParts.end(), part) -
                                  kMaskParts.begin());
}

}  // namespace

bool holds_truths(const ColumnGlance& column, std::uint64_t rows) {
  constexpr std::uint64_t kMostIds = 2;
  if (column.info.width != 1 || column.missing) return false;
  if (column.info.truth) return column.within(0, 1);
  if (!column.texts.empty())
    return column.different.empty() &&
           std::all_of(column.texts.begin(), column.texts.end(), [](const std::string& text) {
             return is_truth_word(text);
           });
  if (rows <= kMostIds || column.padded) return false;
  const bool floats = column.info.dtype && column.whole && !column.classes.empty() &&
                      std::all_of(column.classes.begin(),
                                  column.classes.end(),
                                  [](std::int64_t value) { return value == 0 || value == 1; });
  return floats || column.within(0, 1);
}

bool says_mask(const std::string& name) {
  return role_of(name).kind == FileRole::Kind::kMask || lower_name(name).ends_with("mask");
}

std::string MaskColumns::take(const ColumnGlance& column, std::uint64_t rows) {
  const FileRole role = role_of(column.info.name);
  if (role.kind != FileRole::Kind::kMask)
    return "a mask by its name, of no part: those of a split are called train_mask, val_mask and "
           "test_mask, or stand in columns of a [[splits]]";
  if (column.info.width != 1)
    return "several splits side by side: save one of them as a column or a file of its own";
  if (!role.split.empty()) return "the mask of another split: name it in columns of a [[splits]]";
  if (!holds_truths(column, rows))
    return rows <= 2 ? "no mask, or one of so few rows that 0 and 1 may be ids: write True and "
                       "False"
                     : "no mask: it holds other values than True and False, or 0 and 1";
  std::string& place = names_[place_of_part(role.part)];
  if (!place.empty()) return "a second mask of this part";
  place = column.info.name;
  return {};
}

bool MaskColumns::any() const {
  return !names().empty();
}

std::vector<std::string> MaskColumns::names() const {
  std::vector<std::string> names(names_.begin(), names_.end());
  std::erase(names, "");
  return names;
}

std::optional<SplitSpec> MaskColumns::split(const std::string& file,
                                            const std::string& format) const {
  if (names_[0].empty()) return std::nullopt;
  SplitSpec split;
  split.format = format;
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (!names_[i].empty()) set_part(split, kMaskParts[i], file, names_[i]);
  return split;
}

std::string& file_of_part(SplitSpec& split, const std::string& part) {
  return part == "train" ? split.train : part == "valid" ? split.valid : split.test;
}

void set_part(SplitSpec& split,
              const std::string& part,
              const std::string& file,
              const std::string& column) {
  const std::vector<SplitPart> before = split.parts();
  file_of_part(split, part) = file;
  if (column.empty() && split.columns.empty()) return;
  split.columns.resize(before.size());  // those of parts that had none
  const auto earlier = std::count_if(before.begin(), before.end(), [&](const SplitPart& other) {
    return place_of_part(other.name) < place_of_part(part);
  });
  split.columns.insert(split.columns.begin() + earlier, column);
}

}  // namespace sluice
