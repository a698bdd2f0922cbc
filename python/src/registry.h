// The samplers and cache policies that loaders may name: what comes with Sluice.
#pragma once

#include "feed/feed_options.h"

namespace sluice::python {

const FeedRegistry& registry();

}  // namespace sluice::python
