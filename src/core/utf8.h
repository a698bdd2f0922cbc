// UTF-8: whether a text is, and what to show of one that is not. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

bool valid_utf8(std::string_view text);

/// The text with U+FFFD in the place of each byte that belongs to no character.
std::string as_utf8(std::string_view text);

}  // namespace sluice
