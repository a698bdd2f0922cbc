// StoredEnds: ends that links of a part are ranked beside, in a file, so that others rank by the
// same.
//
// i64 [links of the part, k] in NumPy's format, a row a link, of dense numbers of nodes; -1 where a
// row has fewer. Rows are read when they are asked for: the file may be larger than memory.
#pragma once

#include "storage/io/file.h"

#include <sluice/array.h>
#include <sluice/error.h>
#include <sluice/memory.h>
#include <sluice/samplers/link_queries.h>
#include <sluice/samplers/links.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace sluice {

/// What a file of ends must be.
struct StoredForm {
  std::uint64_t rows = 0;   ///< links of the part
  std::uint64_t nodes = 0;  ///< of the ends' type: numbers are below it
  std::string links;        ///< what rows are of, for messages: "events"
  std::string ends;         ///< what they list: "destinations"
  std::string key;          ///< the option that names the folder: "task.stored_negatives"
  std::string order;        ///< of the rows: "in the order of time"
};

/// Which end of a link a list is of.
enum class StoredSide { kDestinations, kSources };

class StoredEnds final : public ListedEnds {
 public:
  /// Of a row: a file with more is refused.
  static constexpr std::uint64_t kMostColumns = std::uint64_t{1} << 20;

  /// Throws kIo for a file that cannot be read, kData for one of another form or size.
  static StoredEnds open(const std::filesystem::path& path, StoredForm form);

  std::uint64_t columns() const override { return columns_; }
  /// Errors: kIo, and kData, with row and column, for numbers of no node.
  Result<void> read(std::span<const std::uint64_t> numbers,
                    std::span<std::uint64_t> out) const override;
  /// Reads all rows once. Throws kData where a row has the end of its own link: a list in another
  /// order than that of the links, or one that is not of others; and what read() and links.find()
  /// fail with. @param links form.rows of them
  void check_beside(const Links& links, StoredSide side) const;
  /// u64 [rows, columns]; charged as "negatives". Throws kResource, and what read() fails with.
  Array read_all(MemoryLedger* ledger) const;

 private:
  StoredEnds(File file, StoredForm form) : file_(std::move(file)), form_(std::move(form)) {}

  [[noreturn]] void refuse(const std::string& what) const;
  Error refused(const std::string& what) const;
  void read_head();
  Result<void> check_nodes(std::uint64_t first, std::span<const std::uint64_t> nodes) const;

  File file_;
  StoredForm form_;
  std::uint64_t begin_ = 0;  // of the rows, in bytes
  std::uint64_t columns_ = 0;
};

}  // namespace sluice
