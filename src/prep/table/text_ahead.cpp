#include "prep/table/text_ahead.h"

#include <sluice/units.h>

#include <algorithm>
#include <cstring>
#include <stop_token>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint64_t kSlotBytes = 512 * kKiB;

}  // namespace

TextAhead::TextAhead(std::unique_ptr<TextDecoder> decoder, MemoryLedger& ledger)
    : decoder_(std::move(decoder)) {
  for (Slot& slot : slots_)
    slot.buffer = AlignedBuffer::make(kSlotBytes, &ledger, "decompressed text").or_throw();
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void TextAhead::run(const std::stop_token& stop) {
  for (bool more = true; more;) {
    MutexLock lock(mutex_);
    const auto free = [&]() SLUICE_REQUIRES(mutex_) { return made_ - taken_ < slots_.size(); };
    if (!changed_.wait(lock, stop, free)) return;
    Slot& slot = slots_[made_ % slots_.size()];
    lock.unlock();
    std::exception_ptr failure;
    try {
      more = decode_slot(slot);
    } catch (...) {  // what was decoded before stays in the slot
      failure = std::current_exception();
      more = false;
    }
    lock.lock();
    if (slot.filled != 0) ++made_;
    failure_ = failure;
    done_ = !more;
    changed_.notify_all();
  }
}

// False at the end.
bool TextAhead::decode_slot(Slot& slot) {
  slot.filled = 0;
  while (slot.filled < slot.buffer.size()) {
    const std::size_t got = decoder_->decode(slot.buffer.bytes().subspan(slot.filled));
    if (got == 0) return false;
    slot.filled += got;
  }
  return true;
}

std::size_t TextAhead::read(std::span<std::byte> out) {
  std::size_t given = 0;
  while (given < out.size()) {
    MutexLock lock(mutex_);
    while (taken_ == made_ && !done_) changed_.wait(lock);
    if (taken_ == made_) {
      if (failure_ && given == 0) std::rethrow_exception(failure_);
      break;
    }
    const Slot& slot = slots_[taken_ % slots_.size()];
    lock.unlock();
    const std::size_t take = std::min(out.size() - given, slot.filled - used_);
    std::memcpy(out.data() + given, slot.buffer.data() + used_, take);
    given += take;
    used_ += take;
    if (used_ < slot.filled) break;
    used_ = 0;
    lock.lock();
    ++taken_;
    changed_.notify_all();
  }
  return given;
}

bool TextAhead::ended() const {
  const MutexLock lock(mutex_);
  return done_ && taken_ == made_ && !failure_;
}

}  // namespace sluice
