// A dataset to measure on: one that is there, or an R-MAT graph made for the run and removed at its
// end.
#pragma once

#include <sluice/dataset.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace sluice::bench {

class RmatDataset {
 public:
  /// @param path of a prepared dataset; empty: makes 2^scale nodes, 16 edges a node and
  /// `features` f32 features a node in a folder of its own under `dir`. Throws Error.
  RmatDataset(const std::string& path,
              const std::string& dir,
              std::uint64_t scale,
              std::int64_t features = 0);
  ~RmatDataset();
  RmatDataset(const RmatDataset&) = delete;
  RmatDataset& operator=(const RmatDataset&) = delete;

  const Dataset& dataset() const { return *dataset_; }

 private:
  std::filesystem::path made_;
  std::optional<Dataset> dataset_;
};

}  // namespace sluice::bench
