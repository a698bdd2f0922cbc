// What to do where a column does not hold what its use asks for: the hints of messages, one a use,
// so that ids, times, classes and features each have their own. Pure functions.
#pragma once

#include "prep/table/table_reader.h"

#include <string>
#include <string_view>

namespace sluice {

/// Text stands where a number is asked.
std::string hint_for_text(ColumnUse use);
/// A number with a fraction stands where a whole one is asked. @param stored by its dtype: as f32,
/// say, not as text
std::string hint_for_fraction(ColumnUse use, bool stored);
/// A whole number stands there that 63 bits do not hold.
std::string hint_beyond_integers(ColumnUse use);

/// Nothing stands there.
std::string hint_for_missing(ColumnUse use);

/// Whether a cell is a truth value as Python and others write it: true or false, in any case.
bool is_truth_word(std::string_view cell);
/// What to do with truth values where ids are asked.
inline constexpr const char* kTruthsAsIds =
    "ids are numbers or names; a mask, one bool a node, is for train, valid or test of a "
    "[[splits]], and numpy.flatnonzero(mask) are its ids";
/// Throws Error(kData) for a column of truth values, which are no ids.
void refuse_truths_as_ids(const TableReader& table, const ColumnInfo& column);

}  // namespace sluice
