#include "pipeline/data/label_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace sluice {
namespace {

constexpr std::int32_t kMostClass = std::numeric_limits<std::uint8_t>::max() - 1;

bool goes_narrow(const Array& labels) {
  if (labels.dtype() != DType::kI32 || labels.shape().size() != 1) return false;
  return std::ranges::all_of(labels.as<std::int32_t>(),
                             [](std::int32_t label) { return label >= -1 && label <= kMostClass; });
}

}  // namespace

LabelTable::LabelTable(Array labels, MemoryLedger* ledger)
    : shape_(labels.shape()), labels_(std::move(labels)) {
  if (!goes_narrow(labels_)) return;
  auto narrow = Array::make(DType::kU8, shape_, ledger, "labels");
  if (!narrow) return;
  std::ranges::transform(std::as_const(labels_).as<std::int32_t>(),
                         narrow.value().as<std::uint8_t>().begin(),
                         [](std::int32_t label) { return static_cast<std::uint8_t>(label + 1); });
  labels_ = std::move(narrow).value();
  narrow_ = true;
}

Array LabelTable::gather(std::span<const std::uint64_t> nodes, MemoryLedger& ledger) const {
  const auto count = static_cast<std::uint64_t>(shape_[0]);
  const std::uint64_t most = nodes.empty() ? 0 : std::ranges::max(nodes);
  if (!nodes.empty() && most >= count)
    throw Error(
        ErrorCode::kUsage,
        fmt::format("the label of id {} is asked for, and there are labels of {} ids", most, count),
        "ask by ids of what LabelsOf names: a query source gives them as Queries::ids");
  Array::Shape shape = shape_;
  shape[0] = static_cast<std::int64_t>(nodes.size());
  const DType dtype = narrow_ ? DType::kI32 : labels_.dtype();
  Array out = Array::make(dtype, shape, &ledger, "batch labels").or_throw();
  if (narrow_) {
    const std::span<const std::uint8_t> labels = labels_.as<std::uint8_t>();
    std::ranges::transform(nodes, out.as<std::int32_t>().begin(), [&](std::uint64_t node) {
      return static_cast<std::int32_t>(labels[node]) - 1;
    });
    return out;
  }
  const std::size_t row_bytes =
      shape_[0] == 0 ? 0 : labels_.bytes() / static_cast<std::size_t>(shape_[0]);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::memcpy(
        out.raw().data() + i * row_bytes, labels_.raw().data() + nodes[i] * row_bytes, row_bytes);
  }
  return out;
}

}  // namespace sluice
