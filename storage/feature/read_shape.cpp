#include "storage/feature/read_shape.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

constexpr std::size_t class_of(std::uint64_t pages) {
  const auto above = std::ranges::lower_bound(DiskRates::kRequestBytes, pages * kPageBytes);
  return static_cast<std::size_t>(above - DiskRates::kRequestBytes.begin());
}

// By pages: millions of requests are told apart for a window.
constexpr auto kClassOf = [] {
  std::array<std::uint8_t, 257> classes{};
  for (std::size_t pages = 0; pages < classes.size(); ++pages)
    classes[pages] = static_cast<std::uint8_t>(class_of(pages));
  return classes;
}();

const MergeRule& rule_of(std::size_t rule) {
  return rule < ReadShape::kSweeps.size() ? ReadShape::kSweeps[rule] : ReadShape::kDirect;
}

}  // namespace

void RequestMix::add(std::uint64_t pages) {
  Class& found = classes_[pages < kClassOf.size() ? kClassOf[pages] : class_of(pages)];
  ++found.requests;
  found.pages += pages;
}

std::uint64_t RequestMix::requests() const {
  std::uint64_t sum = 0;
  for (const Class& each : classes_) sum += each.requests;
  return sum;
}

std::uint64_t RequestMix::bytes() const {
  std::uint64_t sum = 0;
  for (const Class& each : classes_) sum += each.pages * kPageBytes;
  return sum;
}

double RequestMix::seconds(const DiskProfile& disk) const {
  double sum = 0;
  for (const Class& each : classes_) {
    if (each.requests == 0) continue;
    const auto requests = static_cast<double>(each.requests);
    sum += requests * disk.seconds_for(static_cast<double>(each.pages * kPageBytes) / requests);
  }
  return sum;
}

ReadShapeBuilder::ReadShapeBuilder(const FeatureLayout& layout) : layout_(layout) {}

RequestMix& ReadShapeBuilder::mix(std::size_t rule) {
  return rule < ReadShape::kSweeps.size() ? shape_.sweeps[rule] : shape_.direct;
}

void ReadShapeBuilder::add(std::uint64_t row) {
  if (shape_.rows > 0 && row == last_row_) return;
  last_row_ = row;
  if (layout_.row_bytes == 0) return;
  const std::uint64_t first = layout_.first_page_of(row);
  const std::uint64_t end = layout_.last_page_of(row) + 1;
  const bool is_first = shape_.rows++ == 0;
  if (!is_first && end <= end_page_) return;  // its pages are in the requests already
  shape_.pages += end - (is_first ? first : std::max(first, end_page_));
  const std::uint64_t before = std::exchange(end_page_, end);
  for (std::size_t rule = 0; !is_first && rule < kRules; ++rule) {
    const MergeRule& by = rule_of(rule);
    if (first <= before + by.gap_pages && end - first_page_[rule] <= by.max_pages) continue;
    mix(rule).add(before - first_page_[rule]);
    first_page_[rule] = first;
  }
  if (is_first) first_page_.fill(first);
}

ReadShape ReadShapeBuilder::finish() {
  if (shape_.rows > 0) {
    for (std::size_t rule = 0; rule < kRules; ++rule) mix(rule).add(end_page_ - first_page_[rule]);
  }
  shape_.row_bytes = layout_.row_bytes;
  shape_.table_bytes = layout_.file_bytes();
  end_page_ = 0;
  return std::exchange(shape_, ReadShape{});
}

ReadShape read_shape_of_many(const WantedRows& sorted_rows, const FeatureLayout& layout) {
  constexpr std::size_t kStretch = 1 << 10;
  const std::size_t rows = sorted_rows.size();
  const std::size_t parts = rows > kLookedAt ? kLookedAt / kStretch : 1;
  const std::size_t stretch = parts > 1 ? kStretch : rows;
  ReadShapeBuilder builder(layout);
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t first = parts > 1 ? (rows - stretch) * part / (parts - 1) : 0;
    for (std::size_t i = first; i < first + stretch; ++i) builder.add(sorted_rows.row(i));
  }
  return builder.finish();
}

}  // namespace sluice
