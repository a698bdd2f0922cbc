// What a run of bench/end_to_end is about: the graph, the model, the budget. A case has its own;
// options change them.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::bench {

enum class GraphKind { kSbm, kRmat };

struct Sizes {
  GraphKind graph = GraphKind::kSbm;
  std::uint64_t nodes = 0;  ///< R-MAT takes the next power of two
  std::uint64_t edges = 0;
  std::uint64_t features = 128;  ///< f32 a node
  double train = 0.02;           ///< share of the nodes that are seeds
  std::uint64_t batch = 1024;
  std::string fanout;  ///< "15,10,5", the first number next to the seeds
  std::uint64_t hidden = 128;
  std::uint64_t layers = 2;
  std::uint64_t epochs = 3;  ///< of which the one in the middle counts
};

/// What the command line says in place of a case's own; zero and empty leave it.
struct Overrides {
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;
  std::uint64_t features = 0;
  std::uint64_t batch = 0;
  std::string fanout;
  std::uint64_t hidden = 0;
  std::uint64_t layers = 0;
  std::uint64_t epochs = 0;
  std::uint64_t budget_mib = 0;

  Sizes applied_to(Sizes sizes) const;
};

}  // namespace sluice::bench
