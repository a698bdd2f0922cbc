// The CUDA kernels as a table: what the device library hands out.
#pragma once

#include "kernels/table.h"

namespace sluice::kernels::cuda {

const KernelTable& cuda_kernels();

// The twins of what kernels/<name>.h declares, of the same types; memory is the device's, or
// pinned.
#define SLUICE_TWIN(name) decltype(kernels::name) name;
SLUICE_KERNELS(SLUICE_TWIN)
#undef SLUICE_TWIN

}  // namespace sluice::kernels::cuda
