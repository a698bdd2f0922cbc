// What is said of a key that a table of options does not know.
#pragma once

#include <sluice/options.h>

#include <string>
#include <string_view>

namespace sluice {

/// The hint: the types that have it, the nearest key, the section that has it, or all known keys.
/// @param schema what the table may hold, of @p root
/// @param chosen where the table has its keys by its `type`: what it was chosen from; else null
std::string unknown_key_hint(std::string_view key,
                             const Schema& schema,
                             const Schema& root,
                             const Schema::Nested* chosen);

}  // namespace sluice
