// GenerationReader: the values of a committed generation, by what its manifest says: for programs
// that know neither the optimizer nor how rows began. Throws Error, as open_embedding_table() does;
// kUsage too where rows began as those of a file, of which the manifest knows the name alone.
#pragma once

#include "storage/embedding/group_sweep.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace sluice {

class GenerationReader {
 public:
  GenerationReader(const std::filesystem::path& folder, std::uint64_t generation);
  GenerationReader(const GenerationReader&) = delete;
  GenerationReader& operator=(const GenerationReader&) = delete;

  std::uint64_t rows() const { return store_->layout().rows; }
  std::uint32_t dim() const { return store_->layout().dim; }
  /// The values of rows [first, first + out.size() / dim()). Throws kInternal where there are not
  /// so many.
  void read(std::uint64_t first, std::span<float> out);

 private:
  std::unique_ptr<GroupStore> store_;
  std::unique_ptr<GroupSweep> sweep_;
};

}  // namespace sluice
