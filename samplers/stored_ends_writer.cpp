#include "samplers/stored_ends_writer.h"

#include <sluice/no_node.h>

#include <fmt/format.h>

#include <cstddef>
#include <limits>
#include <string>

namespace sluice {
namespace {

static_assert(kNoNode == std::numeric_limits<std::uint64_t>::max());  // -1 as int64

// The head of a file (NumPy Enhancement Proposal 1), padded so that rows are aligned.
std::string head_of_ends(std::uint64_t rows, std::uint64_t columns) {
  constexpr std::size_t kFixed = 10;  // magic, version, length
  constexpr std::size_t kAligned = 64;
  std::string text =
      fmt::format("{{'descr': '<i8', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
  const std::size_t whole = (kFixed + text.size() + 1 + kAligned - 1) / kAligned * kAligned;
  text.resize(whole - kFixed - 1, ' ');
  text += '\n';
  std::string head("\x93NUMPY\x01\x00", 8);
  head += static_cast<char>(text.size() & 0xff);
  head += static_cast<char>(text.size() >> 8);
  return head + text;
}

}  // namespace

StoredEndsWriter::StoredEndsWriter(const std::filesystem::path& path,
                                   std::uint64_t rows,
                                   std::uint64_t columns)
    : file_(path) {
  file_.append(head_of_ends(rows, columns));
}

void StoredEndsWriter::append(std::span<const std::uint64_t> nodes) {
  const auto bytes = std::as_bytes(nodes);
  hash_.update(bytes);
  file_.append(bytes);
}

std::uint64_t StoredEndsWriter::commit() {
  file_.commit();
  return hash_.digest();
}

}  // namespace sluice
