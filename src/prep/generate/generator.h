// Generator: makes a graph from a seed, for benchmarks, tests and demos. The same options give the
// same bytes.
//
// A generator is one file pair and one line in src/registry/core.cpp.
#pragma once

#include "prep/prep_context.h"
#include "storage/format/dataset_writer.h"

namespace sluice {

class Generator {
 public:
  virtual ~Generator() = default;

  /// Writes nodes, features, labels, edges and a split through `writer`; does not commit. Throws
  /// Error.
  virtual void generate(DatasetWriter& writer, PrepContext& context) = 0;
};

}  // namespace sluice
