#include "storage/embedding/sparse_optimizers.h"

#include <sluice/registry.h>

namespace sluice {

SparseOptimizerCatalog builtin_sparse_optimizers() {
  SparseOptimizerCatalog all("sparse optimizer");
  all.add<SparseAdagrad>("adagrad", "a sum of squares an element");
  all.add<SparseRowAdagrad>("adagrad_row", "a sum of squares a row: half the memory and disk");
  all.add<SparseAdam>("adam", "two moments an element; steps are counted by the row");
  all.add<SparseSgd>("sgd", "no state");
  return all;
}

}  // namespace sluice
