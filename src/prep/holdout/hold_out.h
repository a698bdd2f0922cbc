// hold-out: a dataset without some links, which stand apart in a split of it: what link prediction
// after pre-training is measured by. The graph that is left holds none of them, in no direction.
//
// Which links are held out is a function of the seed and of the two nodes: both directions of a
// pair, repeats of it, and the same edge in a reverse relation go together. Reads edges as a
// stream, some passes; held-out pairs are in memory, 16 bytes each, charged as "held-out pairs".
#pragma once

#include "prep/prep_context.h"
#include "storage/format/staging.h"

#include <sluice/graph_schema.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace sluice {

struct HoldOutOptions {
  std::filesystem::path dataset;
  std::filesystem::path out;
  Overwrite overwrite = Overwrite::kRefuse;
  std::string relation;  ///< its key; empty: the only one
  std::string reverse;   ///< key of the relation that holds the same edges the other way round
  std::string split = "links";      ///< what it is called
  double valid = 0.05, test = 0.1;  ///< shares of the pairs
  std::uint64_t seed = 0;
  std::filesystem::path pairs;  ///< a folder for valid.csv and test.csv; empty: none are written
  std::string created_by;
};

struct HoldOutReport {
  GraphSchema schema;
  std::string relation;               ///< its key
  std::uint64_t valid = 0, test = 0;  ///< pairs that are held out, and as many that are no edges
  std::uint64_t removed = 0;          ///< edges, of both directions and relations
  std::uint64_t bytes = 0;            ///< written
};

/// Writes the dataset with the split: of each part its links, then as many pairs without an edge,
/// drawn uniformly. Node ids, features, labels and other relations stay. Throws Error: kUsage for
/// what it does not carry over; kData where a part would be empty, or nearly all nodes are linked.
HoldOutReport hold_out_links(const HoldOutOptions& options, PrepContext& context);

}  // namespace sluice
