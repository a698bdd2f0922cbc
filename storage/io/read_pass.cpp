#include "storage/io/read_pass.h"

#include "core/hash.h"

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

namespace sluice {
namespace {

constexpr std::chrono::microseconds kBackOff{100};
constexpr std::uint32_t kPage = kPageBytes;
// Verifying and taking what has arrived is work: after so many bytes the disk gets more to do.
constexpr std::uint64_t kTakenAtOnce = 1 << 20;

std::uint64_t to_ns(Clock::duration duration) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(duration).count());
}

bool worth_retrying(int error_number) {
  switch (error_number) {
    case EIO:
    case EAGAIN:
    case EINTR:
    case ENOMEM:
    case EBUSY:
      return true;
    default:
      return false;
  }
}

}  // namespace

Result<void> check_read(const ReaderState& state, const BlockRead& read, std::size_t index) {
  const auto fits = [](std::uint64_t offset, std::uint64_t length, std::uint64_t size) {
    return offset <= size && length <= size - offset;
  };
  const auto file = static_cast<std::size_t>(read.file);
  const auto buffer = static_cast<std::size_t>(read.buffer);
  if (file >= state.files.size() || buffer >= state.buffers.size())
    return read_invalid(read, index, "a file or buffer that is not attached");
  if (read.length == 0 || (read.length | read.file_offset | read.buffer_offset) % kPageBytes != 0)
    return read_invalid(read, index, "something else than whole pages");
  if (!fits(read.file_offset, read.length, state.files[file].size))
    return read_invalid(read, index, "bytes past the end of the file");
  if (!fits(read.buffer_offset, read.length, state.buffers[buffer]->size()))
    return read_invalid(read, index, "more than the buffer holds");
  return {};
}

ReaderState::ReaderState(std::unique_ptr<IoEngine> with, BlockReaderOptions by)
    : engine(std::move(with)), options(by), slots(engine->depth()), arrived(engine->depth()) {
  queued.reserve(slots.size());
  free_slots.reserve(slots.size());
  for (auto tag = static_cast<std::uint32_t>(slots.size()); tag > 0; --tag)
    free_slots.push_back(tag - 1);
}

Result<void> ReadPass::run() {
  const auto begin = Clock::now();
  now_ = begin;
  while (true) {
    error_ ? drop_queued() : fill();
    if (state_.free_slots.size() == state_.slots.size()) break;
    if (auto exchanged = exchange(); !exchanged) return exchanged;
  }
  const std::uint64_t busy_ns = to_ns(Clock::now() - begin);
  if (reads_ != 0) read_stats_.busy_ns += busy_ns;
  if (&write_stats_ != &read_stats_) write_stats_.busy_ns += busy_ns;
  if (error_) return *std::move(error_);
  return {};
}

/// Queues reads while there are slots.
void ReadPass::fill() {
  while (!state_.free_slots.empty()) {
    const std::optional<BlockRead> read = source_.next();
    if (!read) return;
    // A source may have waited for long before it gave the first.
    if (state_.free_slots.size() == state_.slots.size()) now_ = Clock::now();
    if (auto valid = check_read(state_, *read, started_); !valid) {
      error_ = std::move(valid).error();
      return drop_queued();
    }
    const std::uint32_t tag = state_.free_slots.back();
    state_.free_slots.pop_back();
    state_.slots[tag] = ReadSlot{*read, started_++, 0, 0, 0, true, now_};
    request_rest(tag);
  }
}

/// After a failure nothing more is started.
void ReadPass::drop_queued() {
  for (const IoRequest& request : state_.queued) release(static_cast<std::uint32_t>(request.tag));
  state_.queued.clear();
}

void ReadPass::request_rest(std::uint32_t tag) {
  const ReadSlot& slot = state_.slots[tag];
  const BlockRead& read = slot.read;
  state_.queued.push_back({read.file,
                           read.buffer,
                           read.length - slot.done,
                           read.file_offset + slot.done,
                           read.buffer_offset + slot.done,
                           tag,
                           op_of(slot)});
}

void ReadPass::release(std::uint32_t tag) {
  state_.slots[tag].active = false;
  state_.free_slots.push_back(tag);
}

/// Hands what is queued to the engine, which may not take all of it now.
Result<void> ReadPass::submit() {
  std::vector<IoRequest>& queued = state_.queued;
  if (queued.empty()) return {};
  auto accepted = state_.engine->submit(queued);
  if (!accepted) return std::move(accepted).error();
  queued.erase(queued.begin(), queued.begin() + static_cast<std::ptrdiff_t>(accepted.value()));
  return {};
}

/// Submits what is queued and takes what has arrived, once; the error is a stall's or the engine's.
Result<void> ReadPass::exchange() {
  IoEngine& engine = *state_.engine;
  const auto deadline = now_ + state_.options.timeout;
  if (auto submitted = submit(); !submitted) return submitted;
  if (engine.in_flight() == 0) {
    // All was refused: there is no completion to wait for, only time.
    if (Clock::now() >= deadline) return stalled();
    std::this_thread::sleep_for(kBackOff);
    return {};
  }
  auto reaped = engine.reap(state_.arrived, deadline);
  if (!reaped) return std::move(reaped).error();
  if (reaped.value() == 0) return stalled();
  now_ = Clock::now();
  std::uint64_t taken = 0;
  for (const IoCompletion& completion : std::span(state_.arrived).first(reaped.value())) {
    arrive(completion);
    if (completion.result > 0) taken += static_cast<std::uint64_t>(completion.result);
    if (taken < kTakenAtOnce || error_) continue;
    taken = 0;
    fill();
    if (auto submitted = submit(); !submitted) return submitted;
  }
  return {};
}

void ReadPass::arrive(const IoCompletion& completion) {
  const auto tag = static_cast<std::uint32_t>(completion.tag);
  if (error_) return release(tag);
  if (completion.result > 0) return advance(tag, static_cast<std::uint32_t>(completion.result));

  const ReadSlot& slot = state_.slots[tag];
  const BlockRead& read = slot.read;
  if (completion.result == 0) return retry(tag, no_progress(slot, slot.done));
  const int error_number = static_cast<int>(-completion.result);
  Error error = op_of(slot) == IoOp::kWrite
                    ? write_failed(file_of(read), read, slot.done, error_number)
                    : read_failed(file_of(read), read, slot.done, error_number);
  worth_retrying(error_number) ? retry(tag, std::move(error)) : fail(tag, std::move(error));
}

void ReadPass::advance(std::uint32_t tag, std::uint32_t bytes) {
  ReadSlot& slot = state_.slots[tag];
  const BlockRead& read = slot.read;
  if (bytes >= read.length - slot.done) {
    slot.done = read.length;
    return finish(tag);
  }
  // O_DIRECT goes on from whole pages only, so a part of a page is moved again.
  const std::uint32_t whole = bytes / kPage * kPage;
  if (whole == 0) return retry(tag, no_progress(slot, slot.done + bytes));
  slot.done += whole;
  ++stats_of(slot).short_reads;
  request_rest(tag);
}

/// All bytes are there: verifies them and reports the read, or reads again from the first bad page.
void ReadPass::finish(std::uint32_t tag) {
  ReadSlot& slot = state_.slots[tag];
  const BlockRead& read = slot.read;
  slot.checked = op_of(slot) == IoOp::kWrite ? read.length : verify(read, slot.checked);
  if (slot.checked < read.length) {
    slot.done = slot.checked;
    return retry(tag, read_corrupt(file_of(read), read, slot.done));
  }
  IoStats& stats = stats_of(slot);
  ++stats.requests;
  stats.bytes += read.length;
  stats.latency.add(to_ns(now_ - slot.start));
  const std::size_t index = slot.index;
  release(tag);
  source_.done(index);
}

void ReadPass::retry(std::uint32_t tag, Error error) {
  ReadSlot& slot = state_.slots[tag];
  if (slot.retries >= state_.options.max_retries) return fail(tag, std::move(error));
  // At once the first time, then ever later: rare enough that the other reads hardly notice.
  if (slot.retries > 0) std::this_thread::sleep_for(kBackOff * (1 << std::min(slot.retries, 6)));
  ++slot.retries;
  ++stats_of(slot).retries;
  request_rest(tag);
}

void ReadPass::fail(std::uint32_t tag, Error error) {
  error_ = std::move(error);
  release(tag);
}

/// A read at the end of its file. A write of nothing without an error: the next one would fail for
/// want of space.
Error ReadPass::no_progress(const ReadSlot& slot, std::uint32_t done) const {
  const BlockRead& read = slot.read;
  return op_of(slot) == IoOp::kWrite ? write_failed(file_of(read), read, done, ENOSPC)
                                     : read_truncated(file_of(read), read, done);
}

/// The bytes of `read` that are right, counted from its start; those before `from` are known to be.
std::uint32_t ReadPass::verify(const BlockRead& read, std::uint32_t from) const {
  const std::span<const std::uint32_t> sums = file_of(read).page_sums;
  if (sums.empty()) return read.length;
  const std::byte* bytes =
      state_.buffers[static_cast<std::size_t>(read.buffer)]->data() + read.buffer_offset;
  const std::uint64_t first_page = read.file_offset / kPageBytes;
  for (std::uint32_t at = from; at < read.length; at += kPage) {
    if (xxh3_32({bytes + at, kPageBytes}) != sums[first_page + at / kPage]) return at;
  }
  return read.length;
}

Error ReadPass::stalled() const {
  const ReadSlot* oldest = nullptr;
  std::size_t waiting = 0;
  for (const ReadSlot& slot : state_.slots) {
    if (!slot.active) continue;
    ++waiting;
    if (oldest == nullptr || slot.start < oldest->start) oldest = &slot;
  }
  const BlockRead& read = oldest->read;
  return io_stalled(
      op_of(*oldest), file_of(read), read, oldest->done, waiting, state_.options.timeout);
}

}  // namespace sluice
