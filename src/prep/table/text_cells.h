// What may stand in a cell of a text table, whatever the format: integers, reals, UTF-8; and what
// is wrong with one that does not read. Never on the fast path. Pure functions.
#pragma once

#include "prep/table/table_values.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace sluice {

struct CellFault {
  std::string reason;
  std::string hint;
};

/// A value as a message shows it: quoted, clipped, free of control characters, and with blanks that
/// are no spaces by their numbers: 'bob<U+00A0>'.
std::string shown_cell(std::string_view text);

/// Without the spaces and tabs around it.
std::string_view trimmed_cell(std::string_view text);

/// Without blanks of any kind around it: no-break and other wide spaces, marks without a width.
/// They are part of what a cell says, and unseen.
std::string_view without_blanks(std::string_view text);

/// As Arrow reads integers, which knows hexadecimal ones too.
std::errc parse_integer_cell(std::string_view text, std::int64_t& value);

/// As Arrow reads reals, which takes a plus sign. What is beyond a double becomes infinite, what is
/// too small zero.
std::errc parse_real_cell(std::string_view text, double& value);

/// What is wrong with a cell that is asked for as `request` says; nothing when it reads.
std::optional<CellFault> cell_fault(std::string_view text, const ColumnRequest& request);

}  // namespace sluice
