// BG-HGNN (Su et al. 2024, "blend and grind"): node types and relations are blended into one row a
// node by a few shared matrices, and one GAT goes over the graph of all nodes: the number of
// parameters does not grow with that of relations.
#pragma once

#include "models/gat.h"

#include <cstdint>

namespace sluice::models {

class BgHgnn final : public Gat {
 public:
  struct Options {
    Gat::Options gat;
    std::int64_t rank = 4;
    std::int64_t code_width = 512;
    void describe(Schema& schema);
  };
  BgHgnn(const Options& options, const ModelContext& context);
};

}  // namespace sluice::models
