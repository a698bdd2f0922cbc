#include "storage/io/fault_engine.h"

#include <sluice/random.h>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sluice {
namespace {

constexpr std::uint64_t kMaxDelayReaps = 4;
constexpr std::uint32_t kFaultPage = kPageBytes;

/// What is to happen to one request; drawn when it is submitted.
struct Fault {
  bool stall = false;
  int error = 0;               ///< errno to complete with, instead of reading
  std::int64_t short_to = -1;  ///< bytes to complete with at most
  std::uint32_t written = 0;   ///< bytes of a write that are done, whole pages
  int then_error = 0;          ///< errno to complete with, after those
  std::int64_t flip_bit = -1;  ///< bit of the arrived data to flip
  std::uint64_t delay = 0;     ///< reaps to hold the completion back
};

struct Pending {
  IoRequest request{};
  Fault fault;
};

struct Held {
  IoCompletion completion;
  std::uint64_t reaps_left;
};

class FaultEngine final : public IoEngine {
 public:
  FaultEngine(std::unique_ptr<IoEngine> inner, const FaultPlan& plan)
      : inner_(std::move(inner)),
        plan_(plan),
        name_(fmt::format("fault({})", inner_->name())),
        pending_(inner_->depth()),
        reaped_(inner_->depth()) {
    for (std::size_t slot = pending_.size(); slot > 0; --slot) free_.push_back(slot - 1);
  }

  std::string_view name() const override { return name_; }
  std::size_t depth() const override { return inner_->depth(); }
  std::size_t in_flight() const override { return pending_.size() - free_.size() + held_.size(); }

  Result<FileSlot> attach_file(std::shared_ptr<const File> file) override {
    return inner_->attach_file(std::move(file));
  }

  Result<BufferSlot> attach_buffer(std::shared_ptr<AlignedBuffer> buffer) override {
    buffers_.push_back(buffer);
    return inner_->attach_buffer(std::move(buffer));
  }

  Result<std::size_t> submit(std::span<const IoRequest> requests) override;
  Result<std::size_t> reap(std::span<IoCompletion> out, Clock::time_point deadline) override;

 private:
  Fault draw(const IoRequest& request) const;
  void fault_write(const IoRequest& request, Fault& fault) const;
  bool covers(const IoRequest& request, std::uint64_t page) const;
  std::byte* target(const IoRequest& request);
  Result<bool> start(const IoRequest& request);
  void finish(const Pending& pending, std::int64_t result);
  std::size_t hand_over(std::span<IoCompletion> out);

  std::unique_ptr<IoEngine> inner_;
  FaultPlan plan_;
  std::string name_;
  std::vector<std::shared_ptr<AlignedBuffer>> buffers_;
  std::vector<Pending> pending_;   // by inner tag; in the inner engine, or stalled
  std::vector<std::size_t> free_;  // unused slots of pending_
  std::vector<Held> held_;         // finished, not handed over yet
  std::vector<IoCompletion> reaped_;
  std::uint64_t num_requests_ = 0;
  std::uint64_t num_writes_ = 0;
  bool killed_ = false;
  std::uint64_t num_submits_ = 0;
};

bool FaultEngine::covers(const IoRequest& request, std::uint64_t page) const {
  const std::uint64_t first = request.file_offset / kPageBytes;
  return page >= first && page - first < (request.length + kPageBytes - 1) / kPageBytes;
}

std::byte* FaultEngine::target(const IoRequest& request) {
  return buffers_[static_cast<std::size_t>(request.buffer)]->data() + request.buffer_offset;
}

Fault FaultEngine::draw(const IoRequest& request) const {
  const RandomKey key = RandomKey(plan_.seed).with("request").with(num_requests_);
  const bool writes = request.op == IoOp::kWrite;
  Fault fault;
  fault.written = request.length;
  fault.stall = key.uniform(0) < plan_.stall;
  if (key.uniform(1) < plan_.eintr) fault.error = EINTR;
  if (key.uniform(2) < plan_.eagain) fault.error = EAGAIN;
  if (key.uniform(3) < plan_.enomem) fault.error = ENOMEM;
  if (key.uniform(4) < plan_.eio || covers(request, plan_.eio_page)) fault.error = EIO;
  if (!writes && key.uniform(5) < plan_.short_read)
    fault.short_to = static_cast<std::int64_t>(key.below(request.length, 6));
  if (!writes && key.uniform(7) < plan_.corrupt)
    fault.flip_bit = static_cast<std::int64_t>(key.below(request.length * 8ull, 8));
  if (key.uniform(9) < plan_.delay) fault.delay = 1 + key.below(kMaxDelayReaps, 10);
  const std::uint32_t pages = request.length / kFaultPage;
  if (writes && pages > 1 && key.uniform(11) < plan_.short_write)
    fault.written = static_cast<std::uint32_t>(1 + key.below(pages - 1, 12)) * kFaultPage;
  if (killed_) fault.error = EIO;
  if (writes && num_writes_ >= plan_.from_write) fault_write(request, fault);
  return fault;
}

void FaultEngine::fault_write(const IoRequest& request, Fault& fault) const {
  const bool first = num_writes_ == plan_.from_write;
  const std::uint32_t pages = request.length / kFaultPage;
  switch (plan_.write_fault) {
    case WriteFault::kNone:
      return;
    case WriteFault::kStall:
      fault.stall = true;
      fault.error = 0;
      return;
    case WriteFault::kEio:
      fault.error = EIO;
      return;
    case WriteFault::kEnospc:
      fault.error = ENOSPC;
      return;
    case WriteFault::kTorn:
    case WriteFault::kKill:
      fault.written = first ? pages / 2 * kFaultPage : 0;
      fault.then_error = EIO;
      if (fault.written == 0) fault.error = EIO;
      return;
  }
}

/// False when the inner engine is full.
Result<bool> FaultEngine::start(const IoRequest& request) {
  const std::size_t slot = free_.back();
  const Pending pending{request, draw(request)};
  const bool writes = request.op == IoOp::kWrite;
  if (pending.fault.error != 0) {
    finish(pending, -pending.fault.error);
  } else {
    if (!pending.fault.stall) {
      IoRequest inner = request;
      inner.tag = slot;
      if (writes) inner.length = pending.fault.written;
      auto accepted = inner_->submit({&inner, 1});
      if (!accepted) return std::move(accepted).error();
      if (accepted.value() == 0) return false;
    }
    free_.pop_back();
    pending_[slot] = pending;
  }
  ++num_requests_;
  if (writes && plan_.write_fault == WriteFault::kKill && num_writes_ >= plan_.from_write)
    killed_ = true;
  if (writes) ++num_writes_;
  return true;
}

Result<std::size_t> FaultEngine::submit(std::span<const IoRequest> requests) {
  const bool refuse = RandomKey(plan_.seed).with("submit").uniform(num_submits_++) < plan_.refuse;
  std::size_t accepted = 0;
  while (!refuse && accepted < requests.size() && in_flight() < depth()) {
    auto started = start(requests[accepted]);
    if (!started) return std::move(started).error();
    if (!started.value()) break;
    ++accepted;
  }
  return accepted;
}

/// Spoils what arrived as the fault says and queues the completion.
void FaultEngine::finish(const Pending& pending, std::int64_t result) {
  const IoRequest& request = pending.request;
  const Fault& fault = pending.fault;
  if (request.op == IoOp::kWrite) {
    if (fault.then_error != 0) result = -fault.then_error;
    held_.push_back({{request.tag, result}, fault.delay});
    return;
  }
  if (fault.short_to >= 0 && fault.short_to < result) {
    // The whole request was read, since O_DIRECT takes no odd length; what a short read leaves is
    // anything.
    std::memset(
        target(request) + fault.short_to, 0xa5, static_cast<std::size_t>(result - fault.short_to));
    result = fault.short_to;
  }
  if (fault.flip_bit >= 0 && fault.flip_bit / 8 < result) {
    target(request)[fault.flip_bit / 8] ^= std::byte{1} << (fault.flip_bit % 8);
  }
  if (covers(request, plan_.bad_page)) {
    const auto at = static_cast<std::int64_t>(plan_.bad_page * kPageBytes - request.file_offset);
    if (at >= 0 && at < result) target(request)[at] ^= std::byte{1};
  }
  held_.push_back({{request.tag, result}, fault.delay});
}

/// One reap's worth of time passes: hands over what is due.
std::size_t FaultEngine::hand_over(std::span<IoCompletion> out) {
  std::size_t given = 0;
  std::size_t kept = 0;
  for (Held& held : held_) {
    if (held.reaps_left == 0 && given < out.size()) {
      out[given++] = held.completion;
      continue;
    }
    if (held.reaps_left > 0) --held.reaps_left;
    held_[kept++] = held;
  }
  held_.resize(kept);
  return given;
}

Result<std::size_t> FaultEngine::reap(std::span<IoCompletion> out, Clock::time_point deadline) {
  while (!out.empty() && in_flight() > 0) {
    if (const std::size_t given = hand_over(out); given > 0) return given;
    if (inner_->in_flight() == 0 && held_.empty()) {
      std::this_thread::sleep_until(deadline);  // all that is left has stalled
      return std::size_t{0};
    }
    // With something held back, only look; else wait for the inner engine.
    const auto until = held_.empty() ? deadline : Clock::now();
    auto reaped = inner_->reap(reaped_, until);
    if (!reaped) return std::move(reaped).error();
    for (const IoCompletion& completion : std::span(reaped_).first(reaped.value())) {
      finish(pending_[completion.tag], completion.result);
      free_.push_back(completion.tag);
    }
    if (reaped.value() == 0 && held_.empty()) return std::size_t{0};
  }
  return std::size_t{0};
}

}  // namespace

std::unique_ptr<IoEngine> make_fault_engine(std::unique_ptr<IoEngine> inner,
                                            const FaultPlan& plan) {
  return std::make_unique<FaultEngine>(std::move(inner), plan);
}

}  // namespace sluice
