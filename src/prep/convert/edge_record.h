// EdgeRecord: an edge as the conversion stores it between its two passes, packed into as few bytes
// as its ids need. The range that holds it says the high bits of the target.
//
//   word = target within the range | source << local_bits | edge id << (local_bits + source_bits)
//
// A word of up to 64 bits takes 4 to 8 bytes, a wider one 16. Few bytes are what makes the
// conversion fast: each is written and read once, in memory or on disk.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sluice {

struct EdgeRecord {
  int local_bits = 0;
  int source_bits = 0;
  int id_bits = 0;  ///< 0: the edge's id is not kept
  int bytes = 4;    ///< 4 to 8, or 16

  /// @param id_bound every edge id is below it; 0: no ids
  static EdgeRecord make(int local_bits, std::uint64_t num_sources, std::uint64_t id_bound) {
    const auto width = [](std::uint64_t bound) {
      return bound <= 1 ? 0 : static_cast<int>(std::bit_width(bound - 1));
    };
    EdgeRecord record{local_bits, width(num_sources), width(id_bound), 4};
    if (id_bound != 0) record.id_bits = std::max(record.id_bits, 1);
    const int bits = record.local_bits + record.source_bits + record.id_bits;
    record.bytes = bits > 64 ? 16 : std::max(4, (bits + 7) / 8);
    return record;
  }

  /// Bit at which the id begins; 0 where there is none, as a shift past the word is undefined.
  int id_at() const { return id_bits == 0 ? 0 : local_bits + source_bits; }
  std::uint64_t local_mask() const { return (std::uint64_t{1} << local_bits) - 1; }
  std::uint64_t source_mask() const { return (std::uint64_t{1} << source_bits) - 1; }
};

/// The word that a record of `Bytes` is handled as.
template <int Bytes>
struct RecordWordOf {
  using Type = std::uint64_t;
};
template <>
struct RecordWordOf<16> {
  using Type = unsigned __int128;
};
template <int Bytes>
using RecordWord = typename RecordWordOf<Bytes>::Type;

/// Bytes that load_record and store_record touch: records of 5 to 7 bytes are handled by eight at a
/// time, so up to 3 bytes after one must be there (and are the next one's).
template <int Bytes>
inline constexpr std::size_t kRecordAccess = Bytes == 4    ? 4
                                             : Bytes == 16 ? 16
                                                           : 8;

template <int Bytes>
RecordWord<Bytes> load_record(const std::byte* at) {
  RecordWord<Bytes> word = 0;
  std::memcpy(&word, at, kRecordAccess<Bytes>);
  if constexpr (Bytes > 4 && Bytes < 8) word &= (std::uint64_t{1} << Bytes * 8) - 1;
  return word;
}

template <int Bytes>
void store_record(std::byte* at, RecordWord<Bytes> word) {
  std::memcpy(at, &word, kRecordAccess<Bytes>);
}

/// Calls f.template operator()<Bytes>() for the record's width.
template <class F>
decltype(auto) with_record_bytes(int bytes, F&& f) {
  switch (bytes) {
    case 4:
      return f.template operator()<4>();
    case 5:
      return f.template operator()<5>();
    case 6:
      return f.template operator()<6>();
    case 7:
      return f.template operator()<7>();
    case 8:
      return f.template operator()<8>();
    default:
      return f.template operator()<16>();
  }
}

}  // namespace sluice
