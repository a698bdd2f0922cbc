// DglLayout: data sets with a YAML file beside them, as DGL reads them: CSVDataset's meta.yaml, and
// GraphBolt's metadata.yaml (OnDiskDataset).
#pragma once

#include "prep/layout/layout.h"

namespace sluice {

class DglLayout final : public Layout {
 public:
  explicit DglLayout(Options /*options*/) {}
  std::optional<std::string> recognise(const FileSet& files) const override;
  Description describe(const FileSet& files) const override;
};

}  // namespace sluice
