// edge_add, edge_dot: one value an edge and head from the rows at its two ends (SDDMM).
#pragma once

#include "kernels/views.h"

#include <sluice/executor.h>

namespace sluice::kernels {

/// out[e, h] = from_list[i, h] + from_item[s, h] for the edge e between list i and its item s.
/// @pre out.count == lists.num_items(), all widths equal
void edge_add(const Executor& executor,
              const RowLists& lists,
              Rows<const float> from_list,
              Rows<const float> from_item,
              Rows<float> out);

/// out[e, h] = <from_list[i, h, :], from_item[s, h, :]>; rows are out.width heads side by side, or
/// those of from_item are one head's, which all share.
/// @pre as above; the width of from_list is a multiple of out.width
void edge_dot(const Executor& executor,
              const RowLists& lists,
              Rows<const float> from_list,
              FloatRows from_item,
              Rows<float> out);

}  // namespace sluice::kernels
