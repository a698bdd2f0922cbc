// ArrowTableReader: what the readers of Arrow data share: the columns of a schema, converted as
// they are asked for, several at a time. Keeps Arrow's headers out of theirs.
#pragma once

#include "prep/table/table_reader.h"

#include <memory>

namespace sluice {

class ArrowFaults;
class ArrowSource;
class LedgerMemoryPool;

class ArrowTableReader : public TableReader {
 public:
  ~ArrowTableReader() override;

  const std::vector<ColumnInfo>& columns() const override;
  std::optional<std::uint64_t> num_rows() const override;
  void select(const std::vector<ColumnRequest>& requests) override;
  bool next(TableChunk& chunk) override;

 protected:
  using Open = std::unique_ptr<ArrowSource> (*)(const TableSource& source,
                                                LedgerMemoryPool& pool,
                                                ArrowFaults& faults);
  /// @param format as users call it: "Parquet"
  ArrowTableReader(const TableSource& source, const std::string& format, Open open);

 private:
  std::optional<std::int64_t> line_of(std::uint64_t /*row*/) const override { return std::nullopt; }

  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
