// The cache policies of the registry by name, for tests and benchmarks.
#pragma once

#include "support/catalog_names.h"

#include <sluice/registry.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

inline std::vector<std::string> cache_names() {
  return names_of(builtin_caches());
}

/// Throws kUsage for an unknown name.
inline std::shared_ptr<const CachePolicyKind> cache_kind(const std::string& name) {
  return builtin_caches().create({name, nullptr});
}

inline std::unique_ptr<CachePolicy> make_cache_policy(const std::string& name,
                                                      HotnessOf hotness = {}) {
  return cache_kind(name)->make(std::move(hotness));
}

}  // namespace sluice::test
