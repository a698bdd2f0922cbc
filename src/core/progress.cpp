#include "core/progress.h"

#include <fmt/format.h>
#include <sluice/units.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace sluice {
namespace {

constexpr std::chrono::seconds kFirst{2};
constexpr std::chrono::milliseconds kBarEvery{200};
constexpr std::chrono::seconds kLineEvery{10};

std::string amount(std::uint64_t value, const std::string& unit) {
  return unit == "B" ? format_bytes(value) : fmt::format("{} {}", format_count(value), unit);
}

}  // namespace

Progress::Progress(ProgressStyle style, std::string label, std::uint64_t total, std::string unit)
    : label_(std::move(label)), unit_(std::move(unit)), total_(total), start_(Clock::now()) {
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  mode_ = style == ProgressStyle::kSilent ? Mode::kSilent : terminal ? Mode::kBar : Mode::kLines;
  next_print_ = start_ + (mode_ == Mode::kBar ? std::chrono::seconds(kFirst) : kLineEvery);
}

Progress::~Progress() {
  const MutexLock lock(mutex_);
  if (printed_) print(Clock::now(), true);
}

void Progress::add(std::uint64_t amount) {
  const MutexLock lock(mutex_);
  done_ += amount;
  if (mode_ == Mode::kSilent) return;
  const auto now = Clock::now();
  if (now >= next_print_) print(now, false);
}

void Progress::print(Clock::time_point now, bool last) {
  printed_ = true;
  next_print_ =
      now + (mode_ == Mode::kBar ? Clock::duration(kBarEvery) : Clock::duration(kLineEvery));
  const std::string line = text(std::chrono::duration<double>(now - start_).count());
  if (mode_ == Mode::kBar) {
    fmt::print(stderr, "\r\033[K{}{}", line, last ? "\n" : "");
  } else {
    fmt::print(stderr, "{}\n", line);
  }
  (void)std::fflush(stderr);  // nobody is left to be told
}

std::string Progress::text(double elapsed_seconds) const {
  const double rate = static_cast<double>(done_) / std::max(elapsed_seconds, 1e-9);
  const std::string speed = amount(static_cast<std::uint64_t>(rate), unit_) + "/s";
  if (total_ == 0) return fmt::format("{}: {}, {}", label_, amount(done_, unit_), speed);
  const double share = std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_));
  const double left = rate > 0 ? static_cast<double>(total_ - std::min(done_, total_)) / rate : 0;
  return fmt::format(
      "{}: {:3.0f} %, {} of {}, {}, {} left",
      label_,
      100 * share,
      amount(done_, unit_),
      amount(total_, unit_),
      speed,
      format_duration(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(left))));
}

}  // namespace sluice
