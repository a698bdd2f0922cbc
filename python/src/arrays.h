// Arrays on their way between Sluice and NumPy: views out, copies in.
#pragma once

#include <sluice/array.h>
#include <sluice/memory.h>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <memory>
#include <optional>

namespace sluice::python {

namespace nb = nanobind;

using LedgerPtr = std::shared_ptr<MemoryLedger>;
using Numpy = nb::ndarray<nb::numpy>;

/// A NumPy view that keeps the array's memory, and the ledger that it is charged to, alive; of no
/// elements for an array without a shape. Unsigned ids of 64 bits come as int64, which PyTorch
/// indexes by: the same bits, kNoNode is -1.
Numpy to_numpy(const Array& array, const LedgerPtr& ledger);
/// None for an array without a shape.
std::optional<Numpy> maybe_numpy(const Array& array, const LedgerPtr& ledger);

/// Copies of what the user gave: a query source keeps it for all epochs, whatever becomes of it.
using Ids = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
Array to_ids(const Ids& given);
Array to_times(const Ids& given);
using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
Array to_bytes(const Bytes& given);

}  // namespace sluice::python
