// StorageSection: what sits where and how it is read, as the user asks. The same keys for a
// training config and for a loader by itself.
#pragma once

#include <sluice/cache_policy.h>
#include <sluice/dataset.h>
#include <sluice/loader.h>
#include <sluice/options.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// The names of a catalog, for a key that is a name alone, without options.
std::vector<Schema::Choice<std::string>> catalog_choices(const OptionsCatalog& catalog);

enum class Keep { kAuto, kMemory, kDisk };

struct StorageSection {
  Keep features = Keep::kAuto;
  Keep topology = Keep::kAuto;
  std::vector<std::string> topology_in_memory{};  ///< relations, whatever `topology` says
  IoChoice io = IoChoice::kAuto;
  PlanChoice plan = PlanChoice::kAuto;
  std::string cache = "belady";
  std::int64_t window = 0;
  Verify verify = Verify::kRead;
  const CachePolicyCatalog* caches = nullptr;  ///< what `cache` may name
  /// What `cache` names.
  std::shared_ptr<const CachePolicyKind> cache_kind() const;
  void describe(Schema& schema);
};

}  // namespace sluice
