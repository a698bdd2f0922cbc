#include "prep/features/feature_encoder.h"

#include "prep/features/elements.h"
#include "prep/features/int8_rows.h"
#include "prep/features/sparse_rows.h"

#include <sluice/error.h>
#include <sluice/graph_schema.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

namespace sluice {
namespace {

constexpr std::size_t kGrain = 65536;  // elements a task

void lower_to(std::atomic<std::size_t>& least, std::size_t value) {
  for (std::size_t known = least; value < known && !least.compare_exchange_weak(known, value);) {
  }
}

}  // namespace

FeatureEncoder::Rows FeatureEncoder::encode(std::uint64_t first_row,
                                            DType from,
                                            std::span<const std::byte> values) {
  if (encoding_.dtype == DType::kI8) return encode_int8(first_row, from, values);
  const Rows dense = encode_floats(from, values);
  const bool refused = dense.refused < values.size() / size_of(from);
  if (encoding_.entries == 0 || refused) return dense;
  return {encode_sparse(first_row, dense.bytes), dense.refused};
}

FeatureEncoder::Rows FeatureEncoder::encode_floats(DType from, std::span<const std::byte> values) {
  const DType to = encoding_.dtype;
  const std::size_t from_bytes = size_of(from), to_bytes = size_of(to),
                    count = values.size() / from_bytes;
  std::span<std::byte> out;
  if (from != to) out = {room_for(encoded_, count * to_bytes), count * to_bytes};
  std::atomic<std::size_t> refused = count;
  arena_.for_ranges(count, kGrain, [&](std::size_t begin, std::size_t end) {
    const auto in = values.subspan(begin * from_bytes, (end - begin) * from_bytes);
    std::span<const std::byte> stored = in;
    if (from != to) {
      const auto piece = out.subspan(begin * to_bytes, (end - begin) * to_bytes);
      convert_elements(from, in, to, piece);
      stored = piece;
    }
    const std::size_t found = first_refused(from, in, stored);
    if (found < end - begin) lower_to(refused, begin + found);
  });
  return {from != to ? std::span<const std::byte>(out) : values, refused};
}

FeatureEncoder::Rows FeatureEncoder::encode_int8(std::uint64_t first_row,
                                                 DType from,
                                                 std::span<const std::byte> values) {
  const std::size_t dim = encoding_.dim, from_bytes = dim * size_of(from),
                    to_bytes = feature_row_bytes(DType::kI8, encoding_.dim),
                    rows = values.size() / from_bytes;
  const std::span out(room_for(encoded_, rows * to_bytes), rows * to_bytes);
  std::atomic<std::size_t> refused = rows * dim;
  const std::size_t grain = std::max<std::size_t>(1, kGrain / dim);
  arena_.for_ranges(rows, grain, [&](std::size_t begin, std::size_t end) {
    const std::size_t found =
        store_int8_rows(from,
                        values.subspan(begin * from_bytes, (end - begin) * from_bytes),
                        encoding_.dim,
                        first_row + begin,
                        encoding_.draws,
                        out.subspan(begin * to_bytes, (end - begin) * to_bytes));
    if (found < (end - begin) * dim) lower_to(refused, begin * dim + found);
  });
  return {out, refused};
}

std::span<const std::byte> FeatureEncoder::encode_sparse(std::uint64_t first_row,
                                                         std::span<const std::byte> dense) {
  const std::size_t dim = encoding_.dim, from_bytes = dim * size_of(encoding_.dtype),
                    to_bytes = sparse_row_bytes(encoding_.dtype, encoding_.dim, encoding_.entries),
                    rows = dense.size() / from_bytes;
  const std::span out(room_for(sparse_, rows * to_bytes), rows * to_bytes);
  std::atomic<std::size_t> too_full = rows;
  const std::size_t grain = std::max<std::size_t>(1, kGrain / dim);
  arena_.for_ranges(rows, grain, [&](std::size_t begin, std::size_t end) {
    const std::size_t stored =
        store_sparse_rows(encoding_.dtype,
                          encoding_.dim,
                          encoding_.entries,
                          dense.subspan(begin * from_bytes, (end - begin) * from_bytes),
                          out.subspan(begin * to_bytes, (end - begin) * to_bytes));
    if (stored < end - begin) lower_to(too_full, begin + stored);
  });
  if (too_full == rows) return out;
  throw Error(ErrorCode::kData,
              fmt::format("row {} of the features has more than the {} entries that were counted",
                          first_row + too_full,
                          encoding_.entries),
              "the file was changed while it was read: import it again");
}

// Where NaN and infinity are kept, only what was finite before may not have become infinite.
std::size_t FeatureEncoder::first_refused(DType from,
                                          std::span<const std::byte> values,
                                          std::span<const std::byte> stored) const {
  const std::size_t count = stored.size() / size_of(encoding_.dtype);
  const bool keep = encoding_.not_finite == NotFiniteValues::kKeep;
  if (keep && from == encoding_.dtype) return count;
  for (std::size_t i = first_not_finite(encoding_.dtype, stored); i < count; ++i) {
    if (std::isfinite(element_as_double(encoding_.dtype, stored, i))) continue;
    if (!keep || std::isfinite(element_as_double(from, values, i))) return i;
  }
  return count;
}

std::span<double> FeatureEncoder::scratch(std::size_t count) {
  return {reinterpret_cast<double*>(room_for(scratch_, count * sizeof(double))), count};
}

std::byte* FeatureEncoder::room_for(AlignedBuffer& buffer, std::size_t bytes) {
  if (buffer.size() < bytes) {
    buffer = AlignedBuffer::make(bytes, &ledger_, "feature rows").or_throw();
  }
  return buffer.data();
}

}  // namespace sluice
