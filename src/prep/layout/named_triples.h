// NamedTriplesLayout: knowledge graphs by number beside their names: train.txt, valid.txt and
// test.txt with a head, a relation and a tail a line, all of them numbers from 0 on, entities.txt
// and relations.txt with a name a line. As UMLS and Kinship are given.
#pragma once

#include "prep/layout/layout.h"

namespace sluice {

class NamedTriplesLayout final : public Layout {
 public:
  explicit NamedTriplesLayout(Options /*options*/) {}
  std::optional<std::string> recognise(const FileSet& files) const override;
  Description describe(const FileSet& files) const override;
};

}  // namespace sluice
