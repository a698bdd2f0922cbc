// The parts of sluice._core: each adds its classes to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace sluice::python {

void add_errors(nanobind::module_& module);
void add_dataset(nanobind::module_& module);
void add_batch(nanobind::module_& module);
void add_loader(nanobind::module_& module);

}  // namespace sluice::python
