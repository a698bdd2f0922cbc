// Where names meet types, for the rooms without LibTorch: one line an entry. An explicit function a
// kind of entry, no static initialisers. A newcomer adds one line to core.cpp.
#pragma once

#include "prep/generate/generator.h"
#include "prep/layout/layout.h"
#include "prep/order/node_order.h"
#include "prep/table/table_formats.h"

#include <sluice/catalog.h>

namespace sluice {

/// The file formats that tables of ids, edges, features, labels and splits are read from.
TableFormats table_formats();

/// The layouts of data sets that `sluice-prep import PATH` knows, in the order they are asked.
Layouts layouts();

/// The graphs that `sluice-prep generate` makes.
Catalog<Generator> builtin_generators();

/// The orders that `sluice-prep reorder` gives nodes.
Catalog<NodeOrder> node_orders();

}  // namespace sluice
