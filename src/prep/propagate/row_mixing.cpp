#include "prep/propagate/row_mixing.h"

#include "core/interrupt.h"
#include "prep/features/elements.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace sluice {
namespace {

constexpr std::size_t kMixedRowsATask = 16;
constexpr const char* kMixedName = "propagated rows";

/// A sparse matrix of 1 and -1, by the input's columns.
class SparseSigns {
 public:
  SparseSigns(std::uint32_t in, std::uint32_t out, RandomKey key, MemoryLedger& ledger)
      : charge_(ledger.charge("projections", bytes_of(in, out)).or_throw()) {
    begins_.reserve(std::size_t{in} + 1);
    for (std::uint32_t i = 0; i < in; ++i) {
      begins_.push_back(entries_.size());
      const RandomKey row = key.with(i);
      for (std::uint32_t o = 0; o < out; ++o) {
        const std::uint64_t drawn = row.below(6, o);
        if (drawn < 2) entries_.push_back(o << 1 | static_cast<std::uint32_t>(drawn));
      }
    }
    begins_.push_back(entries_.size());
  }

  /// Adds x R to `out`, a column of x after the other.
  void multiply(std::span<const double> x, std::span<double> out) const {
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] == 0) continue;
      for (std::size_t at = begins_[i]; at < begins_[i + 1]; ++at) {
        const std::uint32_t entry = entries_[at];
        out[entry >> 1] += (entry & 1) != 0 ? -x[i] : x[i];
      }
    }
  }

 private:
  // A third of the elements, and what vectors keep beyond that as they grow.
  static std::uint64_t bytes_of(std::uint64_t in, std::uint64_t out) {
    return (in * out + in) * sizeof(std::uint32_t) + (in + 1) * sizeof(std::size_t);
  }

  Charge charge_;
  std::vector<std::size_t> begins_;
  std::vector<std::uint32_t> entries_;
};

struct Mixed {
  const PanelTable* rows;
  SparseSigns signs;
  AlignedBuffer values;  // of a chunk of rows
};

class RowMixing {
 public:
  RowMixing(const std::vector<MixedRows>& parts, const WalkPlace& place, PanelTable& to)
      : place_(place), to_(to) {
    std::size_t widest = to.shape().columns * size_of(to.dtype());
    for (const MixedRows& part : parts)
      widest = std::max(widest, part.rows->shape().columns * size_of(part.rows->dtype()));
    chunk_ = std::min(chunk_rows(place.chunk_bytes / (parts.size() + 1), widest), to.shape().rows);
    for (const MixedRows& part : parts)
      parts_.push_back(
          {part.rows,
           SparseSigns(
               part.rows->shape().columns, to.shape().columns, part.key, place.context.ledger),
           room_for(part.rows->shape().columns * size_of(part.rows->dtype()))});
    room_ = room_for(widest);
    out_ = room_for(to.shape().columns * size_of(to.dtype()));
  }

  void run() {
    const std::uint64_t rows = to_.shape().rows;
    const std::size_t out_bytes = to_.shape().columns * size_of(to_.dtype());
    for (std::uint64_t first = 0; first < rows; first += chunk_) {
      throw_if_interrupted();
      const std::uint64_t count = std::min(chunk_, rows - first);
      for (Mixed& part : parts_)
        part.rows->read_rows(first, count, room_.bytes(), part.values.bytes());
      place_.context.arena.for_ranges(
          count, kMixedRowsATask, [&](std::size_t begin, std::size_t end) { mix(begin, end); });
      to_.write_whole_rows(first, out_.bytes().first(count * out_bytes), room_.bytes());
    }
  }

 private:
  AlignedBuffer room_for(std::size_t row_bytes) const {
    return AlignedBuffer::make(chunk_ * row_bytes, &place_.context.ledger, kMixedName).or_throw();
  }

  void mix(std::size_t begin, std::size_t end) {
    const std::uint32_t columns = to_.shape().columns;
    const std::size_t out_bytes = columns * size_of(to_.dtype());
    std::vector<double> sums(columns), projected(columns), x;
    for (std::size_t row = begin; row < end; ++row) {
      std::ranges::fill(sums, 0.0);
      for (const Mixed& part : parts_) {
        read_row(part, row, x);
        std::ranges::fill(projected, 0.0);
        part.signs.multiply(x, projected);
        double squares = 0;
        for (const double value : projected) squares += value * value;
        if (squares == 0) continue;
        const double norm = std::sqrt(squares);
        for (std::uint32_t c = 0; c < columns; ++c) sums[c] += projected[c] / norm;
      }
      convert_elements(DType::kF64,
                       std::as_bytes(std::span(sums)),
                       to_.dtype(),
                       out_.bytes().subspan(row * out_bytes, out_bytes));
    }
  }

  static void read_row(const Mixed& part, std::size_t row, std::vector<double>& x) {
    const DType dtype = part.rows->dtype();
    x.resize(part.rows->shape().columns);
    const std::size_t bytes = x.size() * size_of(dtype);
    const std::span<const std::byte> stored = part.values.bytes().subspan(row * bytes, bytes);
    for (std::size_t c = 0; c < x.size(); ++c) x[c] = element_as_double(dtype, stored, c);
  }

  const WalkPlace& place_;
  PanelTable& to_;
  std::uint64_t chunk_ = 0;
  std::vector<Mixed> parts_;
  AlignedBuffer room_, out_;
};

}  // namespace

void mix_rows(const std::vector<MixedRows>& parts, const WalkPlace& place, PanelTable& to) {
  RowMixing(parts, place, to).run();
}

}  // namespace sluice
