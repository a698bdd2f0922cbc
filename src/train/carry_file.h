// CarryFile: what a layer leaves for the same targets' next layer (LayerCarry), on disk, in a file
// without a name: one entry a mini-batch of targets, in the order in which they are written.
//
// One thread at a time. Throws Error: kResource for a full disk, kIo.
#pragma once

#include "storage/io/file.h"

#include <sluice/memory.h>
#include <sluice/models/layerwise.h>

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace sluice {

class CarryFile {
 public:
  /// @param ledger of what says where entries are, as "carried rows"; outlives this
  CarryFile(const std::filesystem::path& folder, MemoryLedger& ledger);

  /// @return the entry's number
  std::size_t write(const LayerCarry& carry);
  LayerCarry read(std::size_t entry) const;
  std::uint64_t bytes() const noexcept { return end_; }

 private:
  struct Stored {
    torch::ScalarType dtype = torch::kFloat32;
    std::vector<std::int64_t> shape;  // of an undefined tensor: none
    bool defined = false;
    std::uint64_t offset = 0;
  };

  File file_;
  Charge charge_;
  std::uint64_t end_ = 0;
  std::vector<std::vector<Stored>> entries_;
};

}  // namespace sluice
