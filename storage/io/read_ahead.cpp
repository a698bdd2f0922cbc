#include "storage/io/read_ahead.h"

#include <algorithm>

namespace sluice {

// What the reader's thread asks for, and where it waits for room.
class ReadAhead::Pass final : public ReadSource {
 public:
  explicit Pass(ReadAhead& owner) : owner_(owner) {}

  std::optional<BlockRead> next() override {
    MutexLock lock(owner_.mutex_);
    const Source& source = owner_.source_;
    const std::uint64_t length = owner_.length_at(owner_.asked_);
    if (length == 0) return std::nullopt;
    std::optional<std::uint64_t> offset;
    while (!owner_.stopping_ && !(offset = owner_.ring_.take(length))) {
      if (owner_.under_way_ > 0) return std::nullopt;  // asked again when one of them has arrived
      owner_.changed_.wait(lock);
    }
    if (!offset) return std::nullopt;
    const std::uint64_t at = owner_.asked_;
    owner_.asked_ += length;
    owner_.pieces_.push_back({length, false});
    ++owner_.under_way_;
    return BlockRead{source.file, source.slot, static_cast<std::uint32_t>(length), at, *offset};
  }

  void done(std::size_t index) override {
    const MutexLock lock(owner_.mutex_);
    owner_.pieces_[index - owner_.first_piece_].arrived = true;
    --owner_.under_way_;
    owner_.stats_ = owner_.source_.reader->stats();
    owner_.changed_.notify_all();
  }

 private:
  ReadAhead& owner_;
};

ReadAhead::ReadAhead(Source source) : source_(std::move(source)), ring_(source_.buffer->size()) {
  thread_ = std::thread([this] {
    Pass pass(*this);
    auto result = source_.reader->read(pass);
    const MutexLock lock(mutex_);
    if (!result) error_ = std::move(result).error();
    stats_ = source_.reader->stats();
    ended_ = true;
    changed_.notify_all();
  });
}

ReadAhead::~ReadAhead() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

std::uint64_t ReadAhead::length_at(std::uint64_t at) const {
  return std::min(source_.request_bytes, source_.bytes - at);
}

Result<std::span<const std::byte>> ReadAhead::next() {
  MutexLock lock(mutex_);
  if (lent_) {
    ring_.give_back(first_piece_++);
    pieces_.pop_front();
    lent_ = false;
    changed_.notify_all();
  }
  while (!ended_ && (pieces_.empty() || !pieces_.front().arrived)) changed_.wait(lock);
  if (!pieces_.empty() && pieces_.front().arrived) {
    lent_ = true;
    return std::span<const std::byte>(source_.buffer->data() + ring_.offset_of(first_piece_),
                                      pieces_.front().length);
  }
  if (error_) return *error_;
  return std::span<const std::byte>();
}

IoStats ReadAhead::stats() const {
  const MutexLock lock(mutex_);
  return stats_;
}

}  // namespace sluice
