// What this machine offers a run: cores, memory, LibTorch, and how fast a folder's disk is.
#pragma once

#include "core/cgroup.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice {

/// One kind of requests, many in flight, in steady state.
struct IoFigure {
  std::string name;  ///< "random read 4 KiB", "sequential write 1 MiB"
  std::uint64_t request_bytes = 0;
  double seconds = 0;  ///< a request
  double bytes_per_second() const { return static_cast<double>(request_bytes) / seconds; }
  double requests_per_second() const { return 1 / seconds; }
};

struct DoctorReport {
  int cores = 0;
  std::uint64_t memory_granted = 0;
  CgroupMemory cgroup;
  std::string processor;   ///< what it calls itself
  std::string newest_isa;  ///< of those that our kernels are compiled for, what it has
  std::string used_isa;    ///< no newer than SLUICE_MAX_CPU_ISA
  std::string libtorch;    ///< version
  std::string isa;         ///< that LibTorch's kernels use
  int torch_threads = 0;
  std::string mkl;         ///< MKL_CBWR
  std::string device;      ///< the GPU's name; empty where there is none that works
  std::string why_device;  ///< what it is, or why there is none
  std::string engine;      ///< "io_uring" or "pread"
  std::string why_engine;
  std::string folder;
  bool direct = false;                       ///< reads there pass the page cache by
  std::vector<IoFigure> figures;             ///< empty when nothing was measured
  std::uint64_t request_overhead_bytes = 0;  ///< a gap that costs as much to read as a request more
};

/// The least that a processor must have.
inline constexpr const char* kLeastIsa = "sse4.2";

/// Looks around, and measures `folder`'s disk anew on a scratch file that vanishes with the
/// process (DiskProfile::measure). Throws Error where the folder cannot be written to.
/// @param scratch_bytes size of the file; 0: nothing is measured
DoctorReport examine(const std::filesystem::path& folder, std::uint64_t scratch_bytes);

std::string to_text(const DoctorReport& report);

}  // namespace sluice
