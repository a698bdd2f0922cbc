#include "kernels/table.h"

namespace sluice::kernels {

const KernelTable& cpu_kernels() {
#define SLUICE_ADDRESS(name) &name,
  static constexpr KernelTable kTable{SLUICE_KERNELS(SLUICE_ADDRESS)};
#undef SLUICE_ADDRESS
  return kTable;
}

}  // namespace sluice::kernels
