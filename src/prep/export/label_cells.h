// LabelCells: labels of a dataset as columns of an exported table. Private to src/prep/export.
#pragma once

#include "prep/export/table_sink.h"

#include <sluice/array.h>
#include <sluice/graph_schema.h>

#include <cstdint>
#include <vector>

namespace sluice {

class LabelCells {
 public:
  /// @param labels as Dataset::labels gives them
  LabelCells(const LabelSchema& schema, Array labels)
      : schema_(schema), labels_(std::move(labels)) {}

  /// "label"; "label0", "label1", ... for several targets.
  std::vector<SinkColumn> columns() const;
  /// The label(s) of a row: a missing one is null.
  void put(TableSink& table, std::uint64_t row) const;

  const Array& array() const { return labels_; }

 private:
  LabelSchema schema_;
  Array labels_;
};

}  // namespace sluice
