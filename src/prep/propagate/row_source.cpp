#include "prep/propagate/row_source.h"

#include "prep/features/sparse_rows.h"
#include "prep/generate/normal_draw.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace sluice {
namespace {

// One row: a scale, and a signed byte an element (FORMAT.md).
void widen_int8_row(const std::byte* row, std::uint32_t columns, std::byte* out) {
  float scale = 0;
  std::memcpy(&scale, row, sizeof scale);
  for (std::uint32_t c = 0; c < columns; ++c) {
    const float value =
        scale * static_cast<float>(static_cast<std::int8_t>(row[kInt8ScaleBytes + c]));
    std::memcpy(out + c * sizeof value, &value, sizeof value);
  }
}

}  // namespace

StoredRows::StoredRows(std::unique_ptr<FeatureStore> store,
                       std::uint64_t chunk_rows,
                       MemoryLedger& ledger)
    : store_(std::move(store)) {
  const std::uint64_t most = std::max<std::uint64_t>(1, std::min(chunk_rows, rows()));
  constexpr const char* kName = "propagated rows";
  wanted_ = AlignedBuffer::make(most * sizeof(std::uint64_t), &ledger, kName).or_throw();
  if (widens())
    stored_ = AlignedBuffer::make(most * store_->row_bytes(), &ledger, kName).or_throw();
  if (store_->schema().sparse()) spread_.resize(columns());
}

void StoredRows::widen(const std::byte* row, std::byte* out) {
  const FeatureSchema& table = store_->schema();
  if (!table.sparse()) return widen_int8_row(row, table.dim, out);
  read_sparse_row(table, {row, store_->row_bytes()}, spread_);
  for (std::uint32_t c = 0; c < table.dim; ++c) {
    const auto value = static_cast<float>(spread_[c]);
    std::memcpy(out + c * sizeof value, &value, sizeof value);
  }
}

void StoredRows::read(std::uint64_t first_row, std::span<std::byte> out) {
  if (row_bytes() == 0) return;
  const std::uint64_t count = out.size() / row_bytes();
  const std::uint64_t most = wanted_.size() / sizeof(std::uint64_t);
  const std::uint64_t piece =
      widens() ? std::min(most, stored_.size() / store_->row_bytes()) : most;
  for (std::uint64_t at = 0; at < count; at += piece) {
    const std::uint64_t some = std::min(piece, count - at);
    const std::span<std::uint64_t> wanted(reinterpret_cast<std::uint64_t*>(wanted_.data()), some);
    for (std::uint64_t i = 0; i < some; ++i) wanted[i] = first_row + at + i;
    const std::span<std::byte> part = out.subspan(at * row_bytes(), some * row_bytes());
    GatherRequest request{wanted, {}, part};
    request.shape.max_request = 1 << 20;
    if (widens()) request.out = stored_.bytes().first(some * store_->row_bytes());
    store_->gather(request).or_throw();
    for (std::uint64_t i = 0; widens() && i < some; ++i)
      widen(stored_.data() + i * store_->row_bytes(), part.data() + i * row_bytes());
  }
}

void NormalRows::read(std::uint64_t first_row, std::span<std::byte> out) {
  const std::uint64_t count = row_bytes() == 0 ? 0 : out.size() / row_bytes();
  const float scale = static_cast<float>(1 / std::sqrt(static_cast<double>(columns_)));
  for (std::uint64_t i = 0; i < count; ++i) {
    const RandomKey row = key_.with(first_row + i);
    for (std::uint32_t c = 0; c < columns_; ++c) {
      const float value = normal_draw(row.draw(c)) * scale;
      std::memcpy(out.data() + i * row_bytes() + c * sizeof value, &value, sizeof value);
    }
  }
}

}  // namespace sluice
