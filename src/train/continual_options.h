// The tables [continual] and [replay]: a run that goes on from another over what was appended.
#pragma once

#include "samplers/replay_buffer.h"

#include <sluice/options.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

struct ContinualSection {
  std::string from;                 ///< a run directory; empty: weights begin as the seed says
  std::vector<std::int64_t> since;  ///< empty: the run is about all of the dataset
  std::vector<double> shares{0.7, 0.15, 0.15};
  void describe(Schema& schema);

  bool any() const { return !since.empty(); }
  /// DataStages::since. Throws kUsage where it does not ascend from 1 on, or `from` stands alone.
  std::vector<std::uint64_t> stages() const;
};

struct ReplaySection {
  ReplayRule choose = ReplayRule::kNone;
  std::int64_t size = 1000;
  double weight = 1;
  void describe(Schema& schema);
};

}  // namespace sluice
