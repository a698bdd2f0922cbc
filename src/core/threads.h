// One thread budget: TBB runs the data threads inside an arena of stated width, LibTorch gets the
// rest by its own knob.
//
// Results never depend on the number of data threads; this only says how many there are.
#pragma once

#include <sluice/threads.h>  // IWYU pragma: export

namespace sluice {

/// Cores this process may run on (its affinity mask).
int available_cores();

/// The calling thread, and those that it starts from now on, take what time others leave, for good:
/// products of matrices are split between cores beforehand, and wait for the half whose core has
/// something else to do. A wish.
void give_way_to_others() noexcept;

}  // namespace sluice
