// The header of a NumPy .npy file, versions 1 to 3: dtype, order and shape. A pure parser of
// untrusted bytes.
#pragma once

#include <sluice/dtype.h>
#include <sluice/error.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

struct NpyHeader {
  DType dtype = DType::kF32;  ///< bool is u8
  std::string descr;          ///< NumPy's own name: "<f4"
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
  std::uint64_t data_offset = 0;

  /// Rows and elements a row: [N] is N x 1, [N, D] is N x D.
  std::uint64_t rows() const { return shape[0]; }
  std::uint64_t width() const { return shape.size() == 2 ? shape[1] : 1; }
  /// Whether it holds truth values.
  bool truth() const { return descr.size() == 3 && descr.substr(1) == "b1"; }
  /// Whether it is [2, N]: pairs that lie the other way than rows do. @param two_by_two where N is
  /// 2
  bool has_turned_pairs(bool two_by_two) const {
    return shape.size() == 2 && shape[0] == 2 && (shape[1] != 2 || two_by_two);
  }
  /// Sees [A, B] as [B, A]: the same bytes in the other order. @pre two dimensions
  void turn() {
    std::swap(shape[0], shape[1]);
    fortran_order = !fortran_order;
  }
};

/// What the header of an array says, whether or not we can read it as a table.
struct NpyInspection {
  NpyHeader header;              ///< as far as it could be parsed
  std::optional<Error> problem;  ///< why it is no table
  bool sound = true;  ///< false: the file is damaged, or no .npy file; not just an array of a kind
                      ///< that we do not read
};

inline constexpr std::size_t kNpyMaxHeaderBytes = 64 * 1024;

/// Parses the front of a file. @param bytes its first bytes, kNpyMaxHeaderBytes of them unless it
/// is shorter
/// @param file_bytes size of the file: must be what the shape says
Result<NpyHeader> parse_npy_header(std::span<const std::byte> bytes,
                                   std::uint64_t file_bytes,
                                   const std::string& file);

/// The same, for those who want to know more of what they cannot read.
NpyInspection inspect_npy_header(std::span<const std::byte> bytes,
                                 std::uint64_t file_bytes,
                                 const std::string& file);

}  // namespace sluice
