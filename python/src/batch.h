// A mini-batch as Python holds it, with the ledger that its arrays are charged to.
#pragma once

#include "arrays.h"

#include <sluice/batch.h>

#include <memory>

namespace sluice::python {

struct PyBatch {
  LedgerPtr ledger;  // first: it goes last
  std::shared_ptr<const Batch> batch;
};

}  // namespace sluice::python
