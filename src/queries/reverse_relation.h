// Finds a relation that holds another one's edges the other way round, which shows what a model of
// links is asked.
#pragma once

#include <sluice/loader.h>

#include <cstddef>
#include <optional>

namespace sluice {

/// Of relations with the types swapped and as many edges, or at the most twice or half as many of
/// 64 and more: the first where 64 edges of the smaller one all have one that leads back in the
/// other. Throws what a topology fails with.
/// @param reverse the one that is known, and passed over
std::optional<std::size_t> unnamed_reverse(const GraphData& data,
                                           std::size_t relation,
                                           std::optional<std::size_t> reverse);

}  // namespace sluice
