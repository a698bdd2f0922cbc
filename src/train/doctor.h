// What this machine offers a run: cores, memory, LibTorch, and how fast a folder's device reads.
#pragma once

#include "core/cgroup.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice {

struct ReadFigure {
  std::string name;  ///< "random 4 KiB", "sequential 1 MiB"
  std::uint64_t bytes = 0;
  std::uint64_t requests = 0;
  double seconds = 0;
  double bytes_per_second() const { return seconds > 0 ? static_cast<double>(bytes) / seconds : 0; }
  double requests_per_second() const {
    return seconds > 0 ? static_cast<double>(requests) / seconds : 0;
  }
};

struct DoctorReport {
  int cores = 0;
  std::uint64_t memory_granted = 0;
  CgroupMemory cgroup;
  std::string libtorch;  ///< version
  std::string isa;       ///< that LibTorch's kernels use
  int torch_threads = 0;
  std::string mkl;     ///< MKL_CBWR
  std::string engine;  ///< "io_uring" or "pread"
  std::string why_engine;
  std::string folder;
  bool direct = false;  ///< reads there pass the page cache by
  std::vector<ReadFigure> reads;
};

/// Looks around, and reads a scratch file in `folder` that vanishes with the process. Throws Error
/// where the folder cannot be written to. @param scratch_bytes size of the file; 0: no reading
DoctorReport examine(const std::filesystem::path& folder, std::uint64_t scratch_bytes);

std::string to_text(const DoctorReport& report);

}  // namespace sluice
