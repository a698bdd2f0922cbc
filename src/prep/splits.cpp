#include "prep/splits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice {
namespace {

struct Part {
  const char* name;
  const std::vector<std::uint64_t>* ids;
};

std::array<Part, 3> parts_of(const SplitIds& ids) {
  return {Part{"train", &ids.train}, Part{"valid", &ids.valid}, Part{"test", &ids.test}};
}

[[noreturn]] void report_twice(const std::string& name,
                               const std::string& what,
                               std::uint64_t id,
                               const SplitIds& ids) {
  std::string where;
  for (const auto& [part, part_ids] : parts_of(ids)) {
    const auto times = std::count(part_ids->begin(), part_ids->end(), id);
    for (std::ptrdiff_t i = 0; i < times; ++i)
      where += (where.empty() ? "in " : " and in ") + std::string(part);
  }
  throw Error(ErrorCode::kData,
              fmt::format("split '{}': {} {} stands twice, {}", name, what, id, where),
              fmt::format("each {} may be in one part, once", what));
}

void check_split(const std::string& name,
                 const std::string& what,
                 std::uint64_t count,
                 const SplitIds& ids,
                 MemoryLedger* ledger) {
  if (ids.train.empty()) {
    throw Error(ErrorCode::kData,
                fmt::format("split '{}': the train part is empty", name),
                fmt::format("give at least one training {}", what));
  }
  Charge charge;
  if (ledger != nullptr) charge = ledger->charge("split check", count / 8 + 8).or_throw();
  std::vector<bool> seen(count, false);
  for (const auto& [part, part_ids] : parts_of(ids)) {
    for (const std::uint64_t id : *part_ids) {
      if (id >= count) {
        throw Error(ErrorCode::kData,
                    fmt::format("split '{}', part {}: {} {} is not below the {} count, {}",
                                name,
                                part,
                                what,
                                id,
                                what,
                                count),
                    "ids run from 0 to count - 1");
      }
      if (seen[id]) report_twice(name, what, id, ids);
      seen[id] = true;
    }
  }
}

}  // namespace

SplitIds draw_split(std::vector<std::uint64_t> candidates,
                    const std::array<double, 3>& ratios,
                    RandomKey key) {
  const double sum = ratios[0] + ratios[1] + ratios[2];
  if (ratios[0] < 0 || ratios[1] < 0 || ratios[2] < 0 || sum > 1.0 + 1e-9) {
    throw Error(ErrorCode::kUsage, "split ratios must not be negative and must sum to at most 1");
  }
  if (candidates.empty()) {
    throw Error(ErrorCode::kData,
                "a split by ratio has no node to draw from",
                "label some nodes, or give split files");
  }
  // Fisher-Yates: the i-th draw decides position i, so the order depends on the key and the
  // candidates alone.
  for (std::size_t i = 0; i + 1 < candidates.size(); ++i) {
    std::swap(candidates[i], candidates[i + key.below(candidates.size() - i, i)]);
  }
  SplitIds split;
  std::size_t begin = 0;
  double upto = 0;
  std::vector<std::uint64_t>* const parts[] = {&split.train, &split.valid, &split.test};
  constexpr const char* kNames[] = {"train", "valid", "test"};
  for (std::size_t part = 0; part < 3; ++part) {
    upto += ratios[part];
    const auto end = std::min(
        candidates.size(),
        static_cast<std::size_t>(std::llround(upto * static_cast<double>(candidates.size()))));
    parts[part]->assign(candidates.begin() + static_cast<std::ptrdiff_t>(begin),
                        candidates.begin() + static_cast<std::ptrdiff_t>(std::max(begin, end)));
    std::sort(parts[part]->begin(), parts[part]->end());
    begin = std::max(begin, end);
    if (ratios[part] > 0 && parts[part]->empty()) {
      throw Error(ErrorCode::kData,
                  fmt::format("a split by ratio leaves the {} part empty: {} of {} nodes",
                              kNames[part],
                              ratios[part],
                              candidates.size()),
                  "raise the ratio, or set it to 0");
    }
  }
  return split;
}

SplitSchema write_split(DatasetWriter& writer,
                        const std::string& name,
                        const std::string& what,
                        std::uint64_t count,
                        SplitIds ids) {
  check_split(name, what, count, ids, writer.ledger());
  for (std::vector<std::uint64_t>* part : {&ids.train, &ids.valid, &ids.test})
    std::sort(part->begin(), part->end());
  for (const auto& [part, part_ids] : parts_of(ids)) {
    writer.write(split_path(name, part), std::span<const std::uint64_t>(*part_ids));
  }
  return {name, {}, ids.train.size(), ids.valid.size(), ids.test.size()};
}

}  // namespace sluice
