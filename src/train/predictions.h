// PredictionFile: predictions under the user's own node ids, as CSV or as a NumPy structured array,
// written atomically.
//
// CSV: a header, then a line a row: id,class or id,target_0,... of nodes, source,target,score of
// links. NumPy: one record a row with the same names; ids are i64, or bytes ('S') where the user's
// ids are text. Where classes have names, class_name follows; the types of links give way to their
// names: text in a CSV, bytes (UTF-8) in NumPy. A row without a prediction has empty fields in a
// CSV; in NumPy -1 for a class, NaN for a target, and no name. Throws Error. Not thread-safe.
#pragma once

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
  struct Ids {
    std::string name;         ///< of the column: "id"
    std::uint64_t bytes = 0;  ///< of the longest id as text; 0: ids are numbers
  };
  std::vector<Ids> ids;  ///< of the nodes that a row is about
  std::vector<std::string> columns;
  DType dtype = DType::kI64;  ///< of the columns: i64, f32 or f64
  std::uint64_t rows = 0;     ///< that will be written, at the most
  /// What the values of the last column are called; empty: they are numbers.
  std::vector<std::string> names{};
  /// The column of the names, behind that; empty: they stand in its place.
  std::string name_column = "class_name";
};

class PredictionFile {
 public:
  virtual ~PredictionFile() = default;
  /// @param nodes by column of ids: u64 [rows] @param values [rows, columns] of the schema's dtype
  /// @param known 0 for a row without a prediction, whatever its values
  virtual void append(const std::vector<Array>& nodes,
                      const Array& values,
                      std::span<const std::uint8_t> known) = 0;
  virtual void commit() = 0;

  /// By the name's ending; kUsage for one that is neither .csv nor .npy. @param ids must outlive
  /// the file; one a column
  static std::unique_ptr<PredictionFile> create(const std::filesystem::path& path,
                                                const std::vector<ExternalIds>& ids,
                                                const PredictionSchema& schema);
  /// Throws what create would for a name it cannot write.
  static void check_name(const std::filesystem::path& path);
};

}  // namespace sluice
