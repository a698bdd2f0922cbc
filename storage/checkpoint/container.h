// The checkpoint container: one file of free-form state (JSON text) and named tensors, torch-free.
//
//   byte 0   "SLUICKPT", u32 version, u32 0, u64 header bytes, u64 file bytes,
//            u64 XXH3 of the header, u64 XXH3 of everything after the header, u64 0, u64 XXH3 of
//            the 56 bytes so far
//   byte 64  header: {"state": ..., "tensors": [{"name", "dtype", "shape", "offset"}, ...]},
//   offsets from the first tensor
//            zeros up to a multiple of 64, then each tensor at a multiple of 64
//
// Little-endian. Every byte is under a checksum, and reading checks all of them before anything is
// handed out. Written by AtomicFile: a kill leaves the old checkpoint or the new one.
#pragma once

#include <sluice/array.h>
#include <sluice/error.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice {

inline constexpr std::uint32_t kCheckpointVersion = 1;

struct CheckpointTensor {
  std::string name;  ///< distinct within a checkpoint
  Array value;
};

struct CheckpointContent {
  std::string state;  ///< JSON text
  std::vector<CheckpointTensor> tensors;
};

/// Replaces `path` by a checkpoint of `content`. @pre state is JSON
/// @return bytes written. Throws Error: kResource when the disk is full, kIo otherwise.
std::uint64_t write_checkpoint(const std::filesystem::path& path, const CheckpointContent& content);

/// Reads and checks a whole checkpoint. Tensors are charged to `ledger` as "checkpoint". Errors,
/// which name the file: kData when it is no checkpoint, truncated, damaged, or of a newer version;
/// kResource when it does not fit.
Result<CheckpointContent> read_checkpoint(const std::filesystem::path& path, MemoryLedger* ledger);

/// The state alone: reads the prefix and the header, and checks these, not the tensors. Errors: as
/// read_checkpoint().
Result<std::string> read_checkpoint_state(const std::filesystem::path& path);

}  // namespace sluice
