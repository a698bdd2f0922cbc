#include "prep/export/label_cells.h"

#include <fmt/format.h>

#include <cmath>

namespace sluice {

std::vector<SinkColumn> LabelCells::columns() const {
  using Type = SinkColumn::Type;
  switch (schema_.kind) {
    case LabelKind::kClass:
      return {{"label", schema_.names.empty() ? Type::kInt32 : Type::kText}};
    case LabelKind::kMultiLabel:
      return {{"label", Type::kInt32List}};
    case LabelKind::kRegression:
      break;
  }
  if (schema_.width == 1) return {{"label", Type::kFloat32}};
  std::vector<SinkColumn> columns;
  columns.reserve(schema_.width);
  for (std::uint32_t i = 0; i < schema_.width; ++i)
    columns.push_back({fmt::format("label{}", i), Type::kFloat32});
  return columns;
}

void LabelCells::put(TableSink& table, std::uint64_t row) const {
  switch (schema_.kind) {
    case LabelKind::kClass: {
      const std::int32_t label = labels_.as<std::int32_t>()[row];
      if (label < 0) return table.null();
      if (schema_.names.empty()) return table.integer(label);
      return table.text(schema_.names.at(static_cast<std::size_t>(label)));
    }
    case LabelKind::kMultiLabel: {
      const std::size_t bytes = (schema_.width + 7) / 8;
      const auto bits = labels_.as<std::uint8_t>().subspan(row * bytes, bytes);
      std::vector<std::int32_t> set;
      for (std::uint32_t i = 0; i < schema_.width; ++i)
        if ((bits[i / 8] >> i % 8 & 1) != 0) set.push_back(static_cast<std::int32_t>(i));
      return table.list(set);
    }
    case LabelKind::kRegression:
      for (const float value : labels_.as<float>().subspan(row * schema_.width, schema_.width))
        std::isnan(value) ? table.null() : table.real(value);
  }
}

}  // namespace sluice
