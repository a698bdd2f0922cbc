// The disk that a dataset is on, as it was measured: what epoch plans are priced by.
#pragma once

#include "storage/io/disk_profile.h"

#include <sluice/memory.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

struct DatasetDisk {
  std::shared_ptr<const DiskProfile> profile;  ///< null where it could not be measured
  std::vector<std::string> warnings;
};

/// Remembered from an earlier time, or measured now: a second, in memory that is free then.
DatasetDisk measure_dataset_disk(const std::filesystem::path& dataset, MemoryLedger* ledger);

}  // namespace sluice
