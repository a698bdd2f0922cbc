// Safetensors, the format of Hugging Face: named tensors in one file that other programs read.
// The length of the header as u64, the header as JSON, then the data.
//
//   {"__metadata__": {"model": "graphsage"},
//    "layer0.own.weight": {"dtype": "F32", "shape": [16, 32], "data_offsets": [0, 2048]}, ...}
//
// Little-endian; offsets count from the header's end; data without gaps, in the header's order,
// larger elements first, so that each lies at a multiple of its size. Written by AtomicFile.
#pragma once

#include "storage/checkpoint/container.h"
#include "storage/io/file.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace sluice {

struct SafetensorsContent {
  std::map<std::string, std::string> metadata;
  std::vector<CheckpointTensor> tensors;
};

/// A matrix of f32 that is too large to be held: its rows are asked for in pieces, in order.
struct StreamedRows {
  std::string name;
  std::uint64_t rows = 0, columns = 0;
  std::function<void(std::uint64_t first, std::span<float> out)> read;
};

/// Replaces `path` @return bytes written. Throws Error: kResource when the disk is full, kIo
/// otherwise; kUsage for a name that the format has for something else.
std::uint64_t write_safetensors(const std::filesystem::path& path,
                                const SafetensorsContent& content,
                                const std::vector<StreamedRows>& streamed = {});

/// Where a tensor lies in a file, for those who do not want to hold it.
struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::kF32;
  Array::Shape shape;
  std::uint64_t begin = 0;  ///< of its data, in bytes of the file
};

/// What a file has, in the order of its data: its header is read and checked, and its size. Errors:
/// as read_safetensors().
Result<std::vector<SafetensorsEntry>> list_safetensors(const File& file);

/// What a file says of itself; nothing where it says nothing. Errors: as read_safetensors().
Result<std::map<std::string, std::string>> safetensors_metadata(const File& file);

/// Reads and checks a whole file. Tensors are charged to `ledger` as "checkpoint". Errors, which
/// name the file: kData where it is not of this format or cut off; kResource when it does not fit.
Result<SafetensorsContent> read_safetensors(const std::filesystem::path& path,
                                            MemoryLedger* ledger);

}  // namespace sluice
