#include "prep/table/npz_arrays.h"

#include "prep/table/stored_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace sluice {
namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr std::uint64_t kLongestText = 1024;

}  // namespace

std::vector<NpzArray> list_npz_arrays(const ZipArchive& archive) {
  std::vector<NpzArray> arrays;
  for (const ZipMember& member : archive.members()) {
    if (!member.name.ends_with(kSuffix)) continue;
    if (member.name.size() == kSuffix.size()) {
      throw archive.member_error(
          member, "is an array without a name", "save it by name: numpy.savez(file, name=array)");
    }
    ZipStream stream(archive, member);
    std::vector<std::byte> front(std::min<std::uint64_t>(member.bytes, kNpyMaxHeaderBytes));
    stream.read(front);
    NpyInspection is = inspect_npy_header(front, member.bytes, {});
    if (!is.sound) throw archive.member_error(member, is.problem->message(), is.problem->hint());
    arrays.push_back(
        {member.name.substr(0, member.name.size() - kSuffix.size()), member, std::move(is)});
  }
  return arrays;
}

NpzElements::NpzElements(const ZipArchive& archive, const NpzArray& array)
    : stream_(archive, array.member) {
  stream_.skip(array.is.header.data_offset);
}

NpzPairs::NpzPairs(const ZipArchive& archive, const NpzArray& array)
    : element_(size_of(array.is.header.dtype)),
      first_(archive, array.member),
      second_(archive, array.member) {
  const NpyHeader& header = array.is.header;
  first_.skip(header.data_offset);
  second_.skip(header.data_offset + header.rows() * element_);
}

void NpzPairs::read(std::span<std::byte> out) {
  constexpr std::size_t kRows = 4096;
  std::vector<std::byte> column(kRows * element_);
  for (std::size_t done = 0; done < out.size();) {
    const std::size_t rows = std::min(kRows, (out.size() - done) / (2 * element_));
    for (std::size_t which = 0; which < 2; ++which) {
      const std::span part = std::span(column).first(rows * element_);
      (which == 0 ? first_ : second_).read(part);
      for (std::size_t row = 0; row < rows; ++row)
        std::memcpy(out.data() + done + (2 * row + which) * element_,
                    part.data() + row * element_,
                    element_);
    }
    done += rows * 2 * element_;
  }
}

std::vector<std::int64_t> read_npz_integers(const ZipArchive& archive,
                                            const NpzArray& array,
                                            std::uint64_t count) {
  const NpyHeader& header = array.is.header;
  if (!array.readable() || is_fraction(header.dtype) || header.shape.size() != 1 ||
      header.rows() != count) {
    throw archive.member_error(array.member,
                               fmt::format("is no array of {} integers", count),
                               "save the matrix again with scipy.sparse.save_npz");
  }
  std::vector<std::byte> stored(count * size_of(header.dtype));
  NpzElements(archive, array).read(stored);
  std::vector<std::int64_t> values(count);
  widen_to_integers(header.dtype, stored.data(), values);
  return values;
}

std::string read_npz_text(const ZipArchive& archive, const NpzArray& array) {
  const NpyHeader& header = array.is.header;
  const bool text = header.descr.starts_with("|S") || header.descr.starts_with("<U");
  if (!text || !header.shape.empty() || array.member.bytes - header.data_offset > kLongestText)
    return {};
  std::vector<std::byte> stored(array.member.bytes - header.data_offset);
  NpzElements(archive, array).read(stored);
  std::string value;
  for (const std::byte byte : stored) {  // UCS-4 is ASCII and zeros
    if (byte != std::byte{0}) value += static_cast<char>(byte);
  }
  return value;
}

}  // namespace sluice
