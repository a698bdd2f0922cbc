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

// Both round up so that kernels may load whole vectors at the tail.

Result<std::shared_ptr<void>> allocate(std::uint64_t bytes, std::string_view name) {
  constexpr std::uint64_t kAlignment = Array::kAlignment;
  const std::uint64_t size =
      std::max<std::uint64_t>((bytes + kAlignment - 1) / kAlignment, 1) * kAlignment;
  std::shared_ptr<void> data(std::aligned_alloc(kAlignment, size), &std::free);
  if (data == nullptr) {
    return Error(ErrorCode::kResource,
                 fmt::format("the system has no {} for '{}'", format_bytes(size), name));
  }
  wish_huge_pages(data.get(), size);
  return data;
}

Result<std::shared_ptr<void>> allocate_charged(std::uint64_t bytes,
                                               MemoryLedger& ledger,
                                               std::string_view name) {
  auto charge = std::make_shared<Charge>(ledger.charge(name, 0).or_throw());  // never fails
  const auto block = ledger.take_block(bytes, *charge);
  if (!block) return block.error();
  return std::shared_ptr<void>(block.value().data, [charge, &ledger, given = block.value()](void*) {
    ledger.give_block(given, *charge);
    charge->release();  // this deleter may outlive the ledger, by a weak pointer to the storage
  });
}

}  // namespace

Result<Array> Array::make(DType dtype, Shape shape, MemoryLedger* ledger, std::string_view name) {
  auto count = count_elements(shape, dtype);
  if (!count) return std::move(count).error();
  Array array;
  array.dtype_ = dtype;
  array.shape_ = std::move(shape);
  array.numel_ = count.value();
  auto memory = ledger == nullptr ? allocate(array.bytes(), name)
                                  : allocate_charged(array.bytes(), *ledger, name);
  if (!memory) return std::move(memory).error();
  array.data_ = std::move(memory).value();
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
