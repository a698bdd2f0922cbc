// ParquetFile: a table as Parquet (zstd), in bounded memory: a row group is in memory at a time.
#pragma once

#include "prep/export/table_sink.h"

namespace sluice {

class ParquetFile final : public TableSink {
 public:
  /// Arrow's memory is charged to `ledger`, which must outlive the file. Throws Error.
  ParquetFile(const std::filesystem::path& path,
              const std::vector<SinkColumn>& columns,
              MemoryLedger& ledger);
  ParquetFile(const ParquetFile&) = delete;
  ParquetFile& operator=(const ParquetFile&) = delete;
  ~ParquetFile() override;

  void integer(std::int64_t value) override;
  void text(std::string_view value) override;
  void real(float value) override;
  void list(std::span<const std::int32_t> values) override;
  void null() override;
  /// Now and then a row group is written.
  void end_row() override;
  std::uint64_t finish() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice
