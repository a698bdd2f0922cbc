// IpcReader: Arrow's own files (IPC, "Feather version 2") and streams, by Arrow. The file is
// mapped: batches that are not compressed are read where they are, however long; compressed ones
// are unpacked one at a time, only the columns that are asked for.
#pragma once

#include "prep/table/arrow_table_reader.h"

#include <sluice/options.h>

#include <array>
#include <string_view>

namespace sluice {

class IpcReader final : public ArrowTableReader {
 public:
  static constexpr std::array<std::string_view, 3> kExtensions{".arrow", ".feather", ".ipc"};

  struct Options {
    void describe(Schema& /*schema*/) {}
  };

  IpcReader(Options options, const TableSource& source);
};

}  // namespace sluice
