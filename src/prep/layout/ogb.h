// OgbLayout: data sets of the Open Graph Benchmark as they come out of their archives: raw/ with
// the edges, features and labels in csv.gz, one file each (or in raw/data.npz), and split/. One
// node type or several (ogb_hetero.h); one graph or many small ones.
#pragma once

#include "prep/layout/layout.h"

namespace sluice {

class OgbLayout final : public Layout {
 public:
  explicit OgbLayout(Options /*options*/) {}
  std::optional<std::string> recognise(const FileSet& files) const override;
  Description describe(const FileSet& files) const override;
};

}  // namespace sluice
