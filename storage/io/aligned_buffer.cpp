#include "storage/io/aligned_buffer.h"

#include "core/huge_pages.h"

#include <sluice/units.h>

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

namespace sluice {
namespace {

void* map_anonymous(std::size_t bytes) {
  return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/// Maps more than asked, cuts both ends off so that the rest begins at a huge page, and asks for
/// huge pages.
void* map_huge(std::size_t bytes) {
  const std::size_t mapped_bytes = bytes + kHugePageBytes;
  void* mapped = map_anonymous(mapped_bytes);
  if (mapped == MAP_FAILED) return MAP_FAILED;
  auto* begin = static_cast<std::byte*>(mapped);
  const std::size_t past = reinterpret_cast<std::uintptr_t>(begin) % kHugePageBytes;
  const std::size_t head = past == 0 ? 0 : kHugePageBytes - past;
  const std::size_t tail = mapped_bytes - head - bytes;
  if (head != 0) ::munmap(begin, head);
  if (tail != 0) ::munmap(begin + head + bytes, tail);
  wish_huge_pages(begin + head, bytes);
  return begin + head;
}

}  // namespace

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      charge_(std::move(other.charge_)),
      pinned_(std::move(other.pinned_)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(charge_, other.charge_);
  std::swap(pinned_, other.pinned_);
  return *this;
}

AlignedBuffer::~AlignedBuffer() {
  pinned_.release();
  if (data_ != nullptr) ::munmap(data_, size_);
}

void AlignedBuffer::shrink(std::uint64_t bytes, std::string_view name) {
  charge_.rename(std::string(name));
  const std::uint64_t kept = round_up_to_page(bytes);
  // A system that does not take it back: then it stays, charged.
  if (kept >= size_ || ::munmap(data_ + kept, size_ - kept) != 0) return;
  size_ = kept;
  if (charge_.bytes() != 0) (void)charge_.resize(kept);  // giving back never fails
}

Result<AlignedBuffer> AlignedBuffer::make(std::uint64_t bytes,
                                          MemoryLedger* ledger,
                                          std::string_view name,
                                          std::shared_ptr<HostPinning> device) {
  AlignedBuffer buffer;
  if (bytes == 0) return buffer;
  if (bytes > std::numeric_limits<std::ptrdiff_t>::max()) {
    return Error(ErrorCode::kResource,
                 fmt::format("{} bytes for {} are more than any machine has", bytes, name));
  }
  const std::uint64_t size = round_up_to_page(bytes);
  if (ledger != nullptr) {
    auto charge = ledger->charge(name, size);
    if (!charge) return std::move(charge).error();
    buffer.charge_ = std::move(charge).value();
  }
  void* mapped = size >= kHugePageBytes ? map_huge(size) : map_anonymous(size);
  if (mapped == MAP_FAILED) {
    return Error(
        ErrorCode::kResource,
        fmt::format("cannot map {} for {}: {}", format_bytes(size), name, std::strerror(errno)),
        "free memory, or lower the memory budget; `ulimit -v` and the cgroup's limit count too");
  }
  buffer.data_ = static_cast<std::byte*>(mapped);
  buffer.size_ = size;
  buffer.pinned_ = Pinned(std::move(device), buffer.bytes());
  return buffer;
}

}  // namespace sluice
