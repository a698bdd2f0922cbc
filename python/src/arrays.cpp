#include "arrays.h"

#include <sluice/error.h>

#include <cstring>
#include <vector>

namespace sluice::python {
namespace {

// Destroyed from the last to the first: the ledger must outlive what is charged to it.
struct Kept {
  LedgerPtr ledger;
  std::shared_ptr<void> storage;
};

nb::dlpack::dtype dtype_for(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return nb::dtype<float>();
    case DType::kF64:
      return nb::dtype<double>();
    case DType::kF16:
      return {static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float), 16, 1};
    case DType::kI8:
      return nb::dtype<std::int8_t>();
    case DType::kU8:
      return nb::dtype<std::uint8_t>();
    case DType::kI16:
      return nb::dtype<std::int16_t>();
    case DType::kU16:
      return nb::dtype<std::uint16_t>();
    case DType::kI32:
      return nb::dtype<std::int32_t>();
    case DType::kU32:
      return nb::dtype<std::uint32_t>();
    case DType::kI64:
    case DType::kU64:
      return nb::dtype<std::int64_t>();
    case DType::kBF16:
      break;
  }
  throw Error(ErrorCode::kInternal, "an array of bfloat16 has no NumPy view");
}

Array copied(const void* data, std::size_t count, DType dtype) {
  Array copy = Array::make(dtype, {static_cast<std::int64_t>(count)}).or_throw();
  if (count != 0) std::memcpy(copy.data(), data, copy.bytes());
  return copy;
}

}  // namespace

Numpy to_numpy(const Array& array, const LedgerPtr& ledger) {
  auto kept = std::make_unique<Kept>(Kept{ledger, array.storage()});
  nb::capsule owner(kept.get(), [](void* that) noexcept { delete static_cast<Kept*>(that); });
  void* const data = kept.release()->storage.get();
  static char none = 0;  // what an array of no elements points to
  std::vector<std::size_t> shape;
  for (const std::int64_t extent : array.shape()) shape.push_back(static_cast<std::size_t>(extent));
  const bool given = !shape.empty();
  if (!given) shape.push_back(0);
  return Numpy(data != nullptr ? data : &none,
               shape.size(),
               shape.data(),
               owner,
               nullptr,
               dtype_for(given ? array.dtype() : DType::kI64));
}

std::optional<Numpy> maybe_numpy(const Array& array, const LedgerPtr& ledger) {
  if (array.shape().empty()) return std::nullopt;
  return to_numpy(array, ledger);
}

Array to_ids(const Ids& given) {
  return copied(given.data(), given.size(), DType::kU64);
}

Array to_times(const Ids& given) {
  return copied(given.data(), given.size(), DType::kI64);
}

Array to_bytes(const Bytes& given) {
  return copied(given.data(), given.size(), DType::kU8);
}

}  // namespace sluice::python
