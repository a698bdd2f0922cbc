// The rows that a round of random projection begins with (RpHGNN, Hu et al. 2024): of a node type,
// the sum over what its relations brought of L2norm(h R), where R is sparse and random: an element
// is sqrt 3 or -sqrt 3 with probability 1/6 each, else 0 (Achlioptas 2003). As the norm takes any
// factor away, elements are 1 and -1 here.
#pragma once

#include "prep/propagate/product_walk.h"
#include "storage/feature/panel_table.h"

#include <sluice/random.h>

#include <vector>

namespace sluice {

/// What a relation brought, and the key of its matrix.
struct MixedRows {
  const PanelTable* rows = nullptr;
  RandomKey key{0};
};

/// Fills `to` with the sums, in the order of `parts`; a row of zeros adds nothing. Bits depend on
/// neither threads nor panels. Throws Error. @pre all have as many rows as `to`
void mix_rows(const std::vector<MixedRows>& parts, const WalkPlace& place, PanelTable& to);

}  // namespace sluice
