// The built-in cache policies: where their names meet their types. Without LibTorch, and without
// Arrow.
#pragma once

#include <sluice/cache_policy.h>

namespace sluice {

CachePolicyCatalog builtin_caches();

}  // namespace sluice
