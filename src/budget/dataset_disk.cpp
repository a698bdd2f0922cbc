#include "budget/dataset_disk.h"

#include "storage/io/disk_cache.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <system_error>
#include <utility>

namespace sluice {
namespace {

// What reading is measured on.
std::filesystem::path largest_file(const std::filesystem::path& dataset) {
  std::filesystem::path largest = dataset;
  std::uintmax_t bytes = 0;
  std::error_code problem;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dataset, problem)) {
    if (!entry.is_regular_file(problem) || entry.file_size(problem) <= bytes) continue;
    bytes = entry.file_size(problem);
    largest = entry.path();
  }
  return largest;
}

}  // namespace

DatasetDisk measure_dataset_disk(const std::filesystem::path& dataset, MemoryLedger* ledger) {
  DiskProbeOptions probe;
  probe.buffer_bytes = std::clamp(ledger->available() / kMiB * kMiB, kMiB, probe.buffer_bytes);
  auto found = find_disk_profile(largest_file(dataset), probe, ledger, default_disk_cache());
  DatasetDisk disk;
  if (found) {
    if (!found.value().warning.empty()) disk.warnings.push_back(found.value().warning);
    disk.profile = std::make_shared<const DiskProfile>(std::move(found).value().profile);
  } else {
    disk.warnings.push_back(
        fmt::format("the disk could not be measured, a typical one is assumed: {}",
                    std::move(found).error().message()));
  }
  return disk;
}

}  // namespace sluice
