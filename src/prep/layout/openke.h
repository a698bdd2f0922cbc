// OpenKeLayout: knowledge graphs by number as OpenKE lays them out: train2id.txt, valid2id.txt and
// test2id.txt with the triples, entity2id.txt and relation2id.txt with the names, each behind a
// line with its count.
#pragma once

#include "prep/layout/layout.h"

namespace sluice {

class OpenKeLayout final : public Layout {
 public:
  explicit OpenKeLayout(Options /*options*/) {}
  std::optional<std::string> recognise(const FileSet& files) const override;
  Description describe(const FileSet& files) const override;
};

}  // namespace sluice
