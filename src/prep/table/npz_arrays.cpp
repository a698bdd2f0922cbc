#include "prep/table/npz_arrays.h"

#include "prep/table/stored_numbers.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice {
namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr std::uint64_t kLongestText = 1024;

}  // namespace

std::vector<NpzArray> list_npz_arrays(const ZipArchive& archive) {
  std::vector<NpzArray> arrays;
  for (const ZipMember& member : archive.members()) {
    if (!member.name.ends_with(kSuffix)) continue;
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
