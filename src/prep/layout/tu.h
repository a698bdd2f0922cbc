// TuLayout: data sets of many small graphs as TU Dortmund gives them: DS_A.txt with the edges,
// DS_graph_indicator.txt with each node's graph, and labels and attributes beside them. Ids count
// from 1.
#pragma once

#include "prep/layout/layout.h"

namespace sluice {

class TuLayout final : public Layout {
 public:
  explicit TuLayout(Options /*options*/) {}
  std::optional<std::string> recognise(const FileSet& files) const override;
  Description describe(const FileSet& files) const override;
};

}  // namespace sluice
