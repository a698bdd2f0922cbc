// Whether weights may be measured by another split than they were trained with.
#pragma once

#include <sluice/error.h>

#include <string>

namespace sluice {

struct Parts;

/// Of a run whose weights were trained with the split `trained` of the dataset that `parts` has
/// open: throws kUsage where nodes that its own split validates or tests were trained on, or edges
/// of the graph may have been. Self-supervised weights have seen no labels, and are measured by any
/// split.
/// @param place of the weights, for the error
void check_measured_split(const std::string& trained, const Parts& parts, const Place& place);

}  // namespace sluice
