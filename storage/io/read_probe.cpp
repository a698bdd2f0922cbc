#include "storage/io/read_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <thread>
#include <utility>

namespace sluice {
namespace {

constexpr std::chrono::seconds kPatience{10};  // without any answer
constexpr double kWarmUp = 0.2;                // share of a point that is not counted

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

bool passes_by_itself(int error_number) {
  return error_number == EAGAIN || error_number == EINTR || error_number == EBUSY ||
         error_number == ENOMEM;
}

}  // namespace

Result<void> ReadProbe::attach(std::shared_ptr<const File> file,
                               std::shared_ptr<AlignedBuffer> buffer,
                               std::uint64_t file_bytes) {
  path_ = file->path();
  file_bytes_ = file_bytes;
  buffer_bytes_ = buffer->size();
  auto file_slot = engine_->attach_file(std::move(file));
  if (!file_slot) return std::move(file_slot).error();
  auto buffer_slot = engine_->attach_buffer(std::move(buffer));
  if (!buffer_slot) return std::move(buffer_slot).error();
  file_ = file_slot.value();
  buffer_ = buffer_slot.value();
  return {};
}

Result<double> ReadProbe::measure(std::uint32_t length, Order order) {
  length_ = length;
  order_ = order;
  next_ = 0;
  queued_.clear();
  // Other places each time: a disk may remember what it read before.
  key_ = RandomKey(static_cast<std::uint64_t>(Clock::now().time_since_epoch().count()));
  const std::uint64_t in_flight =
      std::clamp<std::uint64_t>(buffer_bytes_ / length, 1, engine_->depth());
  arrived_.resize(in_flight);
  for (std::uint64_t slot = 0; slot < in_flight; ++slot) start(slot);

  const double whole = std::chrono::duration<double>(per_point_).count();
  const auto begin = Clock::now();
  auto now = begin;
  std::optional<Clock::time_point> counted_from;
  std::uint64_t counted = 0;
  // At least one round beyond the warm-up, however slow the disk.
  while (seconds_between(begin, now) < whole || counted < in_flight) {
    auto arrived = finish_some();
    if (!arrived) return std::move(arrived).error();
    now = Clock::now();
    if (counted_from) {
      counted += arrived.value().whole;
    } else if (seconds_between(begin, now) >= whole * kWarmUp) {
      counted_from = now;
    }
    if (counted == 0 && now - begin > kPatience + per_point_) return silent();
    for (const IoCompletion& completion : std::span(arrived_).first(arrived.value().all))
      start(completion.tag);
  }
  queued_.clear();
  while (engine_->in_flight() > 0) {
    if (auto arrived = finish_some(); !arrived) return std::move(arrived).error();
  }
  return seconds_between(*counted_from, now) / static_cast<double>(counted);
}

/// Queues the next request into `slot` of the buffer.
void ReadProbe::start(std::uint64_t slot) {
  const std::uint64_t places = file_bytes_ / length_;
  const std::uint64_t place =
      order_ == Order::kRandom ? key_.below(places, next_) : (key_.draw(0) + next_) % places;
  ++next_;
  queued_.push_back({file_, buffer_, length_, place * length_, slot * length_, slot});
}

/// Hands over what is queued; returns with something in flight.
Result<void> ReadProbe::submit(Clock::time_point deadline) {
  while (true) {
    if (!queued_.empty()) {
      auto accepted = engine_->submit(queued_);
      if (!accepted) return std::move(accepted).error();
      queued_.erase(queued_.begin(),
                    queued_.begin() + static_cast<std::ptrdiff_t>(accepted.value()));
    }
    if (engine_->in_flight() > 0) return {};
    if (Clock::now() >= deadline) return silent();
    std::this_thread::sleep_for(std::chrono::microseconds(100));  // all was refused for now
  }
}

/// Waits until something arrives.
Result<ReadProbe::Arrived> ReadProbe::finish_some() {
  const auto deadline = Clock::now() + kPatience;
  if (auto submitted = submit(deadline); !submitted) return std::move(submitted).error();
  auto reaped = engine_->reap(arrived_, deadline);
  if (!reaped) return std::move(reaped).error();
  if (reaped.value() == 0) return silent();
  Arrived arrived{reaped.value(), 0};
  for (const IoCompletion& completion : std::span(arrived_).first(arrived.all)) {
    const auto problem = static_cast<int>(-completion.result);
    if (problem > 0 && !passes_by_itself(problem))
      return system_error(problem, "cannot read while measuring the disk", path_);
    if (completion.result == length_) ++arrived.whole;
  }
  return arrived;
}

Error ReadProbe::silent() const {
  return Error(ErrorCode::kIo,
               fmt::format("no read has come through for {} s", kPatience.count()),
               "look at `dmesg` and check the disk",
               Place{path_.string(), -1, -1, -1});
}

}  // namespace sluice
