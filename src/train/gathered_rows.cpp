#include "train/gathered_rows.h"

#include "core/interrupt.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sluice {
namespace {

constexpr std::uint64_t kWordBits = 64;
constexpr std::uint64_t kReadBytes = 1 << 20;  // of one read
constexpr std::uint64_t kGapBytes = 32 << 10;  // read through rather than begun anew behind
constexpr const char* kGathered = "gathered rows";

std::span<std::uint64_t> words_of(AlignedBuffer& buffer) {
  return {reinterpret_cast<std::uint64_t*>(buffer.data()), buffer.size() / sizeof(std::uint64_t)};
}

std::span<const std::uint64_t> words_of(const AlignedBuffer& buffer) {
  return {reinterpret_cast<const std::uint64_t*>(buffer.data()),
          buffer.size() / sizeof(std::uint64_t)};
}

std::uint64_t num_words(std::uint64_t rows) {
  return rows / kWordBits + 1;
}

}  // namespace

GatheredRows::GatheredRows(const PanelTable& table, KeptRows keep, MemoryLedger& ledger)
    : table_(table), keep_(keep), ledger_(ledger) {
  if (keep == KeptRows::kAll) return;
  const std::uint64_t bytes = num_words(table.shape().rows) * sizeof(std::uint64_t);
  bits_ = AlignedBuffer::make(bytes, &ledger, kGathered).or_throw();
  before_ = AlignedBuffer::make(bytes, &ledger, kGathered).or_throw();
  room_ = AlignedBuffer::make(std::max(kReadBytes, row_bytes()), &ledger, kGathered).or_throw();
}

void GatheredRows::want(std::span<const std::uint64_t> rows) {
  if (keep_ == KeptRows::kAll) return;
  const auto bits = words_of(bits_);
  for (const std::uint64_t row : rows) {
    const std::uint64_t bit = std::uint64_t{1} << (row % kWordBits);
    std::uint64_t& word = bits[row / kWordBits];
    wanted_ += (word & bit) == 0 ? 1u : 0u;
    word |= bit;
  }
}

void GatheredRows::fetch() {
  if (keep_ == KeptRows::kWanted) return fetch_wanted();
  if (!fetched_) fetch_all();
  fetched_ = true;
}

void GatheredRows::read(std::uint64_t first, std::uint64_t count, std::span<std::byte> out) {
  throw_if_interrupted();
  table_.read_panel_rows(0, first, out.first(count * row_bytes()));
  bytes_read_ += count * row_bytes();
}

void GatheredRows::fetch_all() {
  const std::uint64_t all = table_.shape().rows;
  if (all == 0 || row_bytes() == 0) return;
  rows_ = AlignedBuffer::make(all * row_bytes(), &ledger_, kGathered).or_throw();
  const std::uint64_t piece = std::max<std::uint64_t>(1, kReadBytes / row_bytes());
  for (std::uint64_t first = 0; first < all; first += piece)
    read(first, std::min(piece, all - first), rows_.bytes().subspan(first * row_bytes()));
  rows_read_ += all;
}

// Runs of rows, those in short gaps among them, are read at once; what was asked for of a run goes
// behind what came before it.
void GatheredRows::fetch_wanted() {
  const auto bits = words_of(bits_);
  const auto before = words_of(before_);
  std::uint64_t placed = 0;
  for (std::size_t word = 0; word < bits.size(); ++word) {
    before[word] = placed;
    placed += static_cast<std::uint64_t>(std::popcount(bits[word]));
  }
  if (wanted_ == 0 || row_bytes() == 0) return;
  rows_ = AlignedBuffer();
  rows_ = AlignedBuffer::make(wanted_ * row_bytes(), &ledger_, kGathered).or_throw();
  const std::uint64_t most = std::max<std::uint64_t>(1, kReadBytes / row_bytes());
  const std::uint64_t gap = kGapBytes / row_bytes();
  std::uint64_t begin = 0, end = 0, placed_rows = 0;  // of the run
  const auto read_run = [&] {
    if (begin == end) return;
    read(begin, end - begin, room_.bytes());
    for (std::uint64_t row = begin; row < end; ++row) {
      if ((bits[row / kWordBits] >> (row % kWordBits) & 1) == 0) continue;
      std::memcpy(rows_.data() + placed_rows++ * row_bytes(),
                  room_.data() + (row - begin) * row_bytes(),
                  row_bytes());
    }
  };
  for (std::size_t word = 0; word < bits.size(); ++word) {
    for (std::uint64_t left = bits[word]; left != 0; left &= left - 1) {
      const std::uint64_t row =
          word * kWordBits + static_cast<std::uint64_t>(std::countr_zero(left));
      if (begin == end || row - end > gap || row + 1 - begin > most) {
        read_run();
        begin = row;
      }
      end = row + 1;
    }
  }
  read_run();
  rows_read_ += wanted_;
}

std::uint64_t GatheredRows::place_of(std::uint64_t row) const {
  if (keep_ == KeptRows::kAll) return row;
  const std::uint64_t below = (std::uint64_t{1} << (row % kWordBits)) - 1;
  const std::uint64_t word = words_of(bits_)[row / kWordBits];
  return words_of(before_)[row / kWordBits] +
         static_cast<std::uint64_t>(std::popcount(word & below));
}

void GatheredRows::copy(std::span<const std::uint64_t> rows, std::span<float> out) const {
  const std::size_t columns = table_.shape().columns;
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::memcpy(
        out.data() + i * columns, rows_.data() + place_of(rows[i]) * row_bytes(), row_bytes());
}

std::span<float> GatheredRows::all() {
  if (keep_ == KeptRows::kWanted) return {};
  return {reinterpret_cast<float*>(rows_.data()), rows_.size() / sizeof(float)};
}

void GatheredRows::clear() {
  if (keep_ == KeptRows::kAll) return;
  std::ranges::fill(words_of(bits_), 0);
  wanted_ = 0;
}

}  // namespace sluice
