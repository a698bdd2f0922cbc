#include <sluice/array.h>

#include "core/huge_pages.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

namespace sluice {
namespace {

Result<std::int64_t> count_elements(const Array::Shape& shape, DType dtype) {
  const auto limit =
      std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(size_of(dtype));
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0)
      return Error(ErrorCode::kInternal, fmt::format("array extent {} is negative", extent));
    if (extent != 0 && count > limit / extent)
      return Error(ErrorCode::kInternal, "array is larger than 2^63 bytes");
    count *= extent;
  }
  return count;
}

}  // namespace

Result<Array> Array::make(DType dtype, Shape shape, MemoryLedger* ledger, std::string_view name) {
  auto count = count_elements(shape, dtype);
  if (!count) return std::move(count).error();
  Array array;
  array.dtype_ = dtype;
  array.shape_ = std::move(shape);
  array.numel_ = count.value();
  // Rounded up so that kernels may load whole vectors at the tail.
  const std::uint64_t bytes =
      ledger != nullptr
          ? MemoryLedger::block_bytes(array.bytes())
          : std::max<std::size_t>((array.bytes() + kAlignment - 1) / kAlignment, 1) * kAlignment;
  auto charge = std::make_shared<Charge>();
  if (ledger != nullptr) {
    auto made = ledger->charge(name, bytes);
    if (!made) return std::move(made).error();
    *charge = std::move(made).value();
  }
  void* data =
      ledger != nullptr ? ledger->take_block(bytes) : std::aligned_alloc(kAlignment, bytes);
  if (data == nullptr) {
    return Error(ErrorCode::kResource,
                 fmt::format("the system has no {} for '{}'", format_bytes(bytes), name));
  }
  if (ledger == nullptr) wish_huge_pages(data, bytes);
  array.data_ = std::shared_ptr<void>(data, [charge, ledger, bytes](void* p) {
    if (ledger != nullptr) {
      ledger->give_block(p, bytes, *charge);
      charge->release();  // this deleter may outlive the ledger, by a weak pointer to the storage
    } else {
      std::free(p);
    }
  });
  return array;
}

Array Array::adopt(
    DType dtype, Shape shape, void* data, std::function<void(void*)> release, MemorySpace space) {
  assert(reinterpret_cast<std::uintptr_t>(data) % kAlignment == 0);
  Array array;
  array.dtype_ = dtype;
  array.space_ = space;
  array.numel_ = count_elements(shape, dtype).or_throw();
  array.shape_ = std::move(shape);
  array.data_ = std::shared_ptr<void>(data, std::move(release));
  return array;
}

}  // namespace sluice
