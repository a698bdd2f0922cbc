#include "storage/io/disk_profile.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice {
namespace {

constexpr auto& kSizes = DiskRates::kRequestBytes;

bool positive(double value) {
  return std::isfinite(value) && value > 0;
}

}  // namespace

bool DiskRates::plausible() const {
  return std::ranges::all_of(read_seconds, positive) && positive(sequential_read) &&
         (sequential_write == 0 || positive(sequential_write));
}

std::string DiskRates::doubt() const {
  constexpr double kMostSeconds = 1;    // a read
  constexpr double kMostRate = 200e9;   // bytes/s: more than memory gives
  constexpr double kSlowerByNoise = 2;  // a small read than a larger one
  const double random_rate = kSizes.back() / read_seconds.back();
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    const std::string read = "a random read of " + format_bytes(kSizes[i]);
    if (read_seconds[i] > kMostSeconds)
      return fmt::format("{} took {:.1f} s", read, read_seconds[i]);
    if (kSizes[i] / read_seconds[i] > kMostRate) return read + " was faster than memory";
    if (i > 0 && read_seconds[i - 1] > kSlowerByNoise * read_seconds[i])
      return read + " was much faster than a smaller one";
  }
  const auto far = [](double rate, double other, double least, double most) {
    return rate < least * other || rate > most * other;
  };
  if (std::max(sequential_read, sequential_write) > kMostRate)
    return "sequential reads or writes were faster than memory";
  if (far(sequential_read, random_rate, 0.25, 32))
    return "sequential reads are out of proportion to random ones of the same size";
  if (sequential_write > 0 && far(sequential_write, sequential_read, 1.0 / 256, 32))
    return "writes are out of proportion to reads";
  return {};
}

DiskProfile::DiskProfile(const DiskRates& rates, DiskOrigin origin)
    : rates_(rates), origin_(std::move(origin)) {
  if (!rates.plausible()) {
    throw Error(ErrorCode::kInternal,
                "a disk profile needs times and rates above 0",
                "please report this as a bug");
  }
  for (std::size_t i = 1; i < kSizes.size(); ++i)
    rates_.read_seconds[i] = std::max(rates_.read_seconds[i], rates_.read_seconds[i - 1]);
  fit();
}

// Weighted by 1 / t^2, so that a 4 KiB read counts as much as one of 1 MiB.
void DiskProfile::fit() {
  double w = 0, ws = 0, wss = 0, wt = 0, wst = 0;
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    const double s = kSizes[i];
    const double t = rates_.read_seconds[i];
    const double weight = 1 / (t * t);
    w += weight;
    ws += weight * s;
    wss += weight * s * s;
    wt += weight * t;
    wst += weight * s * t;
  }
  double slope = (w * wst - ws * wt) / (w * wss - ws * ws);
  overhead_seconds_ = (wt - slope * ws) / w;
  if (overhead_seconds_ < 0) {  // the best line through the origin
    overhead_seconds_ = 0;
    slope = wst / wss;
  }
  // Times that never fall give a slope that is not below 0; at 0 the last request's rate stands.
  bandwidth_ = slope > 0 ? 1 / slope : kSizes.back() / rates_.read_seconds.back();
}

double DiskProfile::seconds_for(double request_bytes) const {
  const auto& t = rates_.read_seconds;
  if (request_bytes <= kSizes.front()) return t.front();
  if (request_bytes >= kSizes.back()) return t.back() * request_bytes / kSizes.back();
  const auto above = std::ranges::upper_bound(kSizes, request_bytes);
  const auto i = static_cast<std::size_t>(above - kSizes.begin());
  const double from = kSizes[i - 1];
  const double share = (request_bytes - from) / (kSizes[i] - from);
  return t[i - 1] + share * (t[i] - t[i - 1]);
}

std::uint64_t DiskProfile::request_overhead_bytes() const {
  // Where size hardly matters the fitted bandwidth has no bound.
  constexpr double kMost = 64.0 * kMiB;
  return static_cast<std::uint64_t>(std::min(overhead_seconds_ * bandwidth_, kMost));
}

std::string DiskProfile::describe() const {
  std::string text = "random reads";
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    const auto rate = static_cast<std::uint64_t>(1 / rates_.read_seconds[i]);
    text +=
        fmt::format("{} {} {}/s", i == 0 ? "" : ",", format_bytes(kSizes[i]), format_count(rate));
  }
  text += fmt::format("; sequential read {:.2f} GB/s", rates_.sequential_read / 1e9);
  return rates_.sequential_write > 0
             ? text + fmt::format(", write {:.2f} GB/s", rates_.sequential_write / 1e9)
             : text + ", write not measured";
}

}  // namespace sluice
