#include "prep/propagate/panel_product.h"

#include "prep/features/elements.h"
#include "storage/format/list_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint32_t kTile = 64;      // columns whose sums are on the stack
constexpr std::size_t kAhead = 16;       // neighbours whose rows are asked for early
constexpr std::size_t kRowsATask = 256;  // of lists of a few edges
constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

// As elements are stored, to f64. The f16 one has no branch, so that compilers make vectors of it.
struct AsF32 {
  static constexpr std::size_t kBytes = 4;
  static double load(const std::byte* at) {
    float value = 0;
    std::memcpy(&value, at, sizeof value);
    return static_cast<double>(value);
  }
};
struct AsBf16 {
  static constexpr std::size_t kBytes = 2;
  static double load(const std::byte* at) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, at, sizeof bits);
    return static_cast<double>(std::bit_cast<float>(std::uint32_t{bits} << 16));
  }
};
struct AsF16 {
  static constexpr std::size_t kBytes = 2;
  static double load(const std::byte* at) {
    std::uint16_t half = 0;
    std::memcpy(&half, at, sizeof half);
    const std::uint32_t magnitude = (half & 0x7fffu) << 13;
    // The exponent's bias is 15 here and 127 there; subnormals come out right as well.
    const float value = std::bit_cast<float>(magnitude) * 0x1p112f;
    const std::uint32_t special = magnitude >= (0x7c00u << 13) ? 0x7f800000u : 0;
    const std::uint32_t sign = (half & 0x8000u) << 16;
    return static_cast<double>(
        std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | special | sign));
  }
};

/// The rows that a list names, and what each counts.
struct ListPart {
  const std::byte* neighbours = nullptr;
  std::uint64_t count = 0;
  const float* scales = nullptr;  // by node; null: all 1
  std::uint64_t known = 0;        // ids from `neighbours` on that may be read: later lists' too
};

template <class Id>
std::uint64_t neighbour_at(const ListPart& list, std::uint64_t at) {
  Id id = 0;
  std::memcpy(&id, list.neighbours + at * sizeof(Id), sizeof id);
  return id;
}

// The least id that is no row, of those from `at` on.
template <class Id>
std::uint64_t least_stranger(const ListPart& list, std::uint64_t at, std::uint64_t rows) {
  std::uint64_t least = kNowhere;
  for (; at < list.count; ++at) {
    const std::uint64_t id = neighbour_at<Id>(list, at);
    if (id >= rows) least = std::min(least, id);
  }
  return least;
}

// A row may lie across two lines of the processor's cache; a longer one's middle follows by itself.
void prefetch(const std::byte* row, std::size_t bytes) {
  __builtin_prefetch(row);
  __builtin_prefetch(row + bytes - 1);
}

// Adds columns [column, column + count) of the list's rows. Returns the least id that is no row.
template <class Element, class Id>
std::uint64_t add_rows(const PanelView& x,
                       const ListPart& list,
                       std::uint32_t column,
                       std::uint32_t count,
                       double* sums) {
  const std::size_t row_bytes = x.width * Element::kBytes;
  const std::byte* const first = x.values.data() + column * Element::kBytes;
  for (std::uint64_t at = 0; at < list.count; ++at) {
    if (at + kAhead < list.known) {
      const std::uint64_t soon = neighbour_at<Id>(list, at + kAhead);
      if (soon < x.rows) {
        prefetch(first + soon * row_bytes, count * Element::kBytes);
        if (list.scales != nullptr) __builtin_prefetch(list.scales + soon);
      }
    }
    const std::uint64_t id = neighbour_at<Id>(list, at);
    if (id >= x.rows) return least_stranger<Id>(list, at, x.rows);
    const std::byte* const row = first + id * row_bytes;
    const double scale = list.scales == nullptr ? 1.0 : static_cast<double>(list.scales[id]);
    for (std::uint32_t c = 0; c < count; ++c)
      sums[c] += scale * Element::load(row + c * Element::kBytes);
  }
  return kNowhere;
}

template <class Element>
std::uint64_t add_rows_of(DType ids,
                          const PanelView& x,
                          const ListPart& list,
                          std::uint32_t column,
                          std::uint32_t count,
                          double* sums) {
  return ids == DType::kU32 ? add_rows<Element, std::uint32_t>(x, list, column, count, sums)
                            : add_rows<Element, std::uint64_t>(x, list, column, count, sums);
}

std::uint64_t add_list(DType ids,
                       const PanelView& x,
                       const ListPart& list,
                       std::uint32_t column,
                       std::uint32_t count,
                       double* sums) {
  if (x.dtype == DType::kF16) return add_rows_of<AsF16>(ids, x, list, column, count, sums);
  if (x.dtype == DType::kBF16) return add_rows_of<AsBf16>(ids, x, list, column, count, sums);
  return add_rows_of<AsF32>(ids, x, list, column, count, sums);
}

// Whether a finite number has become an infinite one. What was not finite in the features stays so.
bool has_overflowed(DType dtype, std::span<const std::byte> stored, std::span<const double> sums) {
  const std::size_t width = size_of(dtype);
  for (std::size_t c = first_not_finite(dtype, stored); c < sums.size(); ++c)
    if (std::isfinite(sums[c]) && first_not_finite(dtype, stored.subspan(c * width, width)) == 0)
      return true;
  return false;
}

void lower(std::atomic<std::uint64_t>& least, std::uint64_t value) {
  for (std::uint64_t known = least; value < known && !least.compare_exchange_weak(known, value);) {
  }
}

}  // namespace

AlignedBuffer inverse_roots(const std::filesystem::path& dataset,
                            const Manifest& manifest,
                            const EdgeOperator& op,
                            Weighting weighting,
                            MemoryLedger& ledger) {
  const RelationLists lists = lists_of(manifest.schema, op);
  AlignedBuffer roots =
      AlignedBuffer::make(lists.nodes * sizeof(float), &ledger, "degrees").or_throw();
  ListCursor cursor(dataset, manifest, lists, &ledger);
  const std::uint64_t loop = weighting == Weighting::kSymmetricWithLoops ? 1 : 0;
  std::uint64_t begin = cursor.end();
  auto* const out = reinterpret_cast<float*>(roots.data());
  for (std::uint64_t node = 0; node < lists.nodes; ++node) {
    const std::uint64_t end = cursor.next_end();
    const std::uint64_t degree = end - begin + loop;
    out[node] = degree == 0 ? 0.0f : static_cast<float>(1 / std::sqrt(static_cast<double>(degree)));
    begin = end;
  }
  return roots;
}

/// What the rows of a batch share.
struct PanelProduct::Call {
  const PanelView& x;
  const ProductWeights& weights;
  const EdgeSweep::Batch& batch;
  std::uint64_t edges_before = 0;        // of the first list, in batches before
  std::atomic<std::uint64_t>& stranger;  // the least neighbour that is no row
  std::atomic<std::uint64_t>& beyond;    // the first row that the dtype does not hold
};

PanelProduct::PanelProduct(DType dtype,
                           std::uint64_t batch_bytes,
                           std::uint32_t width,
                           PrepContext& context)
    : dtype_(dtype),
      max_rows_(std::max<std::uint64_t>(
          1, batch_bytes / std::max<std::uint64_t>(1, width * size_of(dtype)))),
      arena_(context.arena) {
  max_rows_ = std::min<std::size_t>(max_rows_, std::size_t{1} << 16);
  constexpr const char* kName = "propagated rows";
  results_ =
      AlignedBuffer::make(max_rows_ * width * size_of(dtype), &context.ledger, kName).or_throw();
  for (AlignedBuffer* carry : {&carry_, &next_carry_})
    *carry = AlignedBuffer::make(width * sizeof(double), &context.ledger, kName).or_throw();
}

void PanelProduct::sum_row(const Call& call, std::size_t at) {
  const EdgeSweep::Batch& batch = call.batch;
  const PanelView& x = call.x;
  const bool continues = at == 0 && batch.continues;
  const bool goes_on = at + 1 == batch.num_targets() && batch.goes_on;
  const bool loops = call.weights.weighting == Weighting::kSymmetricWithLoops;
  const std::uint64_t target = batch.first_target + at;
  const ListPart list{
      batch.neighbours.data() + batch.begin(at) * size_of(batch.width),
      batch.ends[at] - batch.begin(at),
      call.weights.inverse_roots.empty() ? nullptr : call.weights.inverse_roots.data(),
      batch.ends.back() - batch.begin(at)};
  const std::uint64_t edges = list.count + (continues ? call.edges_before : 0);
  const auto* const carry = reinterpret_cast<const double*>(carry_.data());
  std::byte* const result = results_.data() + at * x.width * size_of(dtype_);
  for (std::uint32_t column = 0; column < x.width; column += kTile) {
    const std::uint32_t count = std::min(kTile, x.width - column);
    std::array<double, kTile> sums{};
    if (continues) std::copy_n(carry + column, count, sums.data());
    const ListPart own{reinterpret_cast<const std::byte*>(&target), 1, list.scales, 1};
    if (loops && !continues) (void)add_list(DType::kU64, x, own, column, count, sums.data());
    const std::uint64_t stranger = add_list(batch.width, x, list, column, count, sums.data());
    lower(call.stranger, stranger);
    if (goes_on) {
      std::copy_n(sums.data(), count, reinterpret_cast<double*>(next_carry_.data()) + column);
      continue;
    }
    // A mean is divided by the number of edges, not multiplied by its rounded inverse.
    const bool mean = call.weights.weighting == Weighting::kMean;
    const double factor = mean ? static_cast<double>(std::max<std::uint64_t>(1, edges))
                               : static_cast<double>(call.weights.inverse_roots[target]);
    for (std::uint32_t c = 0; c < count; ++c) sums[c] = mean ? sums[c] / factor : sums[c] * factor;
    const std::span<std::byte> stored(result + column * size_of(dtype_), count * size_of(dtype_));
    convert_elements(DType::kF64, std::as_bytes(std::span(sums).first(count)), dtype_, stored);
    if (has_overflowed(dtype_, stored, std::span(sums).first(count))) lower(call.beyond, target);
  }
}

void PanelProduct::multiply(const PanelView& x,
                            const ProductWeights& weights,
                            EdgeSweep& edges,
                            const std::string& what,
                            const Sink& sink) {
  std::atomic<std::uint64_t> stranger = kNowhere, beyond = kNowhere;
  std::uint64_t carried_edges = 0;
  while (const auto batch = edges.next()) {
    const std::size_t rows = batch->num_targets();
    const Call call{x, weights, *batch, carried_edges, stranger, beyond};
    const auto tasks = 4 * static_cast<std::size_t>(arena_.threads());
    const std::size_t grain = std::clamp<std::size_t>(rows / tasks, 1, kRowsATask);
    arena_.for_ranges(rows, grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t at = begin; at < end; ++at) sum_row(call, at);
    });
    if (stranger != kNowhere)
      throw Error(ErrorCode::kData,
                  fmt::format("{}: a neighbour is node {} of {}", what, stranger.load(), x.rows),
                  "the dataset is damaged: restore it from a copy or prepare it again");
    if (beyond != kNowhere)
      throw Error(ErrorCode::kData,
                  fmt::format("{}: row {} has a value that {} cannot hold",
                              what,
                              beyond.load(),
                              feature_dtype_name(dtype_)),
                  "choose --dtype f32, or scale the features when they are imported");
    if (batch->goes_on) {
      const std::uint64_t before = rows == 1 && batch->continues ? carried_edges : 0;
      carried_edges = before + batch->ends[rows - 1] - batch->begin(rows - 1);
      std::swap(carry_, next_carry_);
    }
    const std::size_t done = rows - (batch->goes_on ? 1 : 0);
    if (done != 0)
      sink(batch->first_target,
           std::span<const std::byte>(results_.data(), done * x.width * size_of(dtype_)));
  }
}

}  // namespace sluice
