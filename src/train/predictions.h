// PredictionFile: predictions under the user's own node ids, as CSV or as a NumPy structured array,
// written atomically.
//
// CSV: a header, then a line a node: id,class or id,target_0,.... NumPy: one record a node with the
// same names; ids are i64, or bytes ('S') where the user's ids are text. Where classes have names,
// class_name follows: text in a CSV, bytes (UTF-8) in NumPy. A node without a prediction has empty
// fields in a CSV; in NumPy -1 for a class, NaN for a target, and no name. Throws Error. Not
// thread-safe.
#pragma once

#include "storage/io/atomic_file.h"

#include <sluice/array.h>
#include <sluice/dataset.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice {

struct PredictionSchema {
  std::vector<std::string> columns;
  DType dtype = DType::kI64;    ///< of the columns: i64 or f32
  std::uint64_t rows = 0;       ///< that will be written
  std::uint64_t id_bytes = 20;  ///< the longest id as text
  /// What the values of the only column are called; empty: they are numbers.
  std::vector<std::string> names{};
};

class PredictionFile {
 public:
  virtual ~PredictionFile() = default;
  /// @param values [nodes.size(), columns] of the schema's dtype
  /// @param known 0 for a node without a prediction, whatever its values
  virtual void append(std::span<const std::uint64_t> nodes,
                      const Array& values,
                      std::span<const std::uint8_t> known) = 0;
  virtual void commit() = 0;

  /// By the name's ending; kUsage for one that is neither .csv nor .npy. @param ids must outlive
  /// the file
  static std::unique_ptr<PredictionFile> create(const std::filesystem::path& path,
                                                const ExternalIds& ids,
                                                const PredictionSchema& schema);
  /// Throws what create would for a name it cannot write.
  static void check_name(const std::filesystem::path& path);
};

}  // namespace sluice
