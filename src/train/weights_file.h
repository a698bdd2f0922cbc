// A run's weights for other programs: a safetensors file under the names that PyTorch's state_dict
// would have, those of the task's head below "head.". Its metadata say of which model, task and
// epoch they are, and what the classes are called, in their order (a JSON list).
#pragma once

#include "train/checkpoint.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace sluice {

/// Writes the parts' weights. @param state whose best epoch they are of, or else its last
void save_weights(const std::filesystem::path& path, const Parts& parts, const RunState& state);

struct WeightsReport {
  std::string out;
  std::string checkpoint;
  std::uint64_t epoch = 0;  ///< after which the weights are
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;
};

/// Writes the weights of a checkpoint. Throws Error: kData where it is damaged.
WeightsReport export_weights(const std::filesystem::path& checkpoint,
                             const std::filesystem::path& out);

/// Throws kUsage unless the name ends in .safetensors.
void check_weights_name(const std::filesystem::path& out);

}  // namespace sluice
