#include "pipeline/stream/batch_spool.h"

#include "core/batch_fields.h"
#include "core/hash.h"

#include <fmt/format.h>

#include <cstring>

namespace sluice {
namespace {

constexpr std::uint64_t kWord = sizeof(std::uint64_t);

std::uint64_t padded(std::uint64_t bytes) {
  return (bytes + kWord - 1) / kWord * kWord;
}

// Goes over everything that is kept, in a fixed order: of the batch what was sampled, and the
// numbers of its rows. For a Batch that is read back, counts come before what they count.
template <class Visitor, class AnyBatch, class Numbers>
void visit(AnyBatch& batch, Numbers& numbers, Visitor& visitor) {
  visit_batch(batch, visitor);
  visitor.count(numbers);
  for (auto& each : numbers) visitor.array(each, BatchPart::kSampled);
}

// An eighth more, so that a buffer seldom grows again.
std::uint64_t with_spare(std::uint64_t bytes) {
  return bytes + bytes / 8;
}

std::uint64_t side_bytes(std::uint64_t batch_bytes) {
  return round_up_to_page(batch_bytes) + kPageBytes;
}

class Measure {
 public:
  template <class Number>
  void number(const Number&) {
    bytes += kWord;
  }
  template <class List>
  void count(const List&) {
    bytes += kWord;
  }
  void array(const Array& array, BatchPart part) {
    if (part == BatchPart::kSampled)
      bytes += (1 + array.shape().size()) * kWord + padded(array.bytes());
  }
  std::uint64_t bytes = 0;
};

class Write {
 public:
  explicit Write(std::byte* to) : to_(to) {}
  template <class Number>
  void number(const Number& value) {
    put(static_cast<std::uint64_t>(value));
  }
  template <class List>
  void count(const List& list) {
    put(list.size());
  }
  void array(const Array& array, BatchPart part) {
    if (part != BatchPart::kSampled) return;
    put(static_cast<std::uint64_t>(array.dtype()) << 8 | array.shape().size());
    for (const std::int64_t extent : array.shape()) put(static_cast<std::uint64_t>(extent));
    if (array.empty()) return;
    std::memcpy(to_, array.data(), array.bytes());
    std::memset(to_ + array.bytes(), 0, padded(array.bytes()) - array.bytes());
    to_ += padded(array.bytes());
  }

 private:
  void put(std::uint64_t value) {
    std::memcpy(to_, &value, kWord);
    to_ += kWord;
  }
  std::byte* to_;
};

class Read {
 public:
  Read(const std::byte* from, MemoryLedger& ledger) : from_(from), ledger_(ledger) {}
  template <class Number>
  void number(Number& value) {
    value = static_cast<Number>(take());
  }
  template <class List>
  void count(List& list) {
    list.resize(take());
  }
  void array(Array& array, BatchPart part) {
    if (part != BatchPart::kSampled) return;
    const std::uint64_t kind = take();
    Array::Shape shape(kind & 0xff);
    for (std::int64_t& extent : shape) extent = static_cast<std::int64_t>(take());
    if (shape.empty()) return;
    array = Array::make(static_cast<DType>(kind >> 8), shape, &ledger_, "batches").or_throw();
    if (array.empty()) return;
    std::memcpy(array.data(), from_, array.bytes());
    from_ += padded(array.bytes());
  }

 private:
  std::uint64_t take() {
    std::uint64_t value = 0;
    std::memcpy(&value, from_, kWord);
    from_ += kWord;
    return value;
  }
  const std::byte* from_;
  MemoryLedger& ledger_;
};

}  // namespace

BatchSpool::BatchSpool(const std::filesystem::path& folder,
                       std::uint64_t first,
                       MemoryLedger& ledger,
                       std::shared_ptr<ScratchFiles> scratch)
    : scratch_(std::move(scratch)), first_(first), ledger_(ledger) {
  file_ = scratch_->take(folder, 0);
}

BatchSpool::~BatchSpool() {
  // A future's destructor does not say what went wrong: nobody asks for it any more.
  for (Side& side : sides_) {
    if (side.writing.valid()) side.writing.wait();
    if (side.reading.valid()) side.reading.wait();
  }
  scratch_->give_back(std::move(file_));
}

void BatchSpool::ensure(AlignedBuffer& buffer, std::uint64_t bytes) {
  if (buffer.size() >= bytes) return;
  buffer = {};
  buffer = AlignedBuffer::make(with_spare(bytes), &ledger_, "sampled batches").or_throw();
}

std::uint64_t BatchSpool::buffer_bytes(std::uint64_t bytes) {
  return 2 * with_spare(side_bytes(bytes));
}

std::uint64_t BatchSpool::bytes_on_disk(const Batch& batch, std::span<const Array> numbers) {
  Measure measure;
  visit(batch, numbers, measure);
  return round_up_to_page(measure.bytes);
}

void BatchSpool::reserve(std::uint64_t bytes) {
  for (Side& side : sides_) ensure(side.buffer, side_bytes(bytes));
}

// Waits for what is being written from a side, which is there from then on.
void BatchSpool::settle(Side& side) {
  if (!side.writing.valid()) return;
  records_.push_back(side.writing.get());
  bytes_written_ += records_.back().pages * kPageBytes;
}

void BatchSpool::append(const Batch& batch, std::span<const Array> numbers) {
  Side& side = sides_[turn_];
  Measure measure;
  visit(batch, numbers, measure);
  const std::uint64_t bytes = round_up_to_page(measure.bytes);
  if (side.buffer.size() < bytes) {
    // Both: batches are read back by either, when memory has other uses.
    settle(sides_[1 - turn_]);
    reserve(bytes);
  }
  Write write(side.buffer.data());
  visit(batch, numbers, write);
  std::memset(side.buffer.data() + measure.bytes, 0, bytes - measure.bytes);
  settle(sides_[1 - turn_]);  // the batch before: the other side is free for the next one
  const std::span<const std::byte> pages(side.buffer.data(), bytes);
  side.writing = std::async(std::launch::async, [this, pages, at = end_] {
    auto written = file_->write_at(at, pages);
    if (!written && written.error().code() == ErrorCode::kResource) {
      scratch_->drop();
      written = file_->write_at(at, pages);
    }
    std::move(written).or_throw();
    return Record{at, static_cast<std::uint32_t>(pages.size() / kPageBytes), xxh3_32(pages)};
  });
  end_ += bytes;
  turn_ = 1 - turn_;
}

void BatchSpool::finish() {
  settle(sides_[1 - turn_]);
}

void BatchSpool::start_reading(Side& side, std::uint64_t index) {
  const Record& record = records_[index - first_];
  ensure(side.buffer, record.pages * kPageBytes);
  side.batch = index;
  side.reading = std::async(std::launch::async, [this, &side, record] {
    const std::span<std::byte> pages(side.buffer.data(), record.pages * kPageBytes);
    file_->read_at(record.offset, pages).or_throw();
    if (xxh3_32(pages) == record.sum) return;
    throw Error(ErrorCode::kIo,
                fmt::format("sampled mini-batch {} was read back from a scratch file in {} with "
                            "other bytes than were written",
                            side.batch,
                            file_->path().string()),
                "look at `dmesg` and check the disk, then start again");
  });
  bytes_read_ += record.pages * kPageBytes;
}

BatchSpool::Kept BatchSpool::read(std::uint64_t index) {
  Side& side = sides_[turn_];
  if (side.reading.valid() && side.batch != index) {
    side.reading.wait();
    side.reading = {};
  }
  if (!side.reading.valid()) start_reading(side, index);
  side.reading.get();
  turn_ = 1 - turn_;
  Side& other = sides_[turn_];
  if (has(index + 1) && !(other.reading.valid() && other.batch == index + 1)) {
    if (other.reading.valid()) other.reading.wait();
    start_reading(other, index + 1);
  }
  Kept kept;
  Read read(side.buffer.data(), ledger_);
  visit(kept.batch, kept.numbers, read);
  return kept;
}

}  // namespace sluice
