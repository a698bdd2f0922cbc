#include "tasks/stored_negatives.h"

#include <sluice/error.h>
#include <sluice/no_node.h>

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <span>
#include <utility>

namespace sluice::tasks {
namespace {

[[noreturn]] void refuse_file(const std::string& path, const std::string& what) {
  throw Error(ErrorCode::kData,
              fmt::format("stored negatives: {}", what),
              "write them with numpy.save as int64 [events of the part, k], a row an event in the "
              "order of time",
              Place{path, -1, -1, -1});
}

std::uint32_t little_endian(std::span<const unsigned char> bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    value |= std::uint32_t{bytes[i]} << static_cast<unsigned>(8 * i);
  return value;
}

// The text between two marks of the header; empty where they are not there.
std::string between(const std::string& text, const std::string& from, char to) {
  const auto begin = text.find(from);
  if (begin == std::string::npos) return {};
  const auto end = text.find(to, begin + from.size());
  if (end == std::string::npos) return {};
  return text.substr(begin + from.size(), end - begin - from.size());
}

// The head of a file (NumPy Enhancement Proposal 1), of which one form is taken.
std::string read_head(std::ifstream& file, const std::string& path) {
  constexpr std::uint32_t kMostBytes = 1 << 16;
  std::array<char, 8> magic{};
  file.read(magic.data(), magic.size());
  if (!file || std::string_view(magic.data(), 6) != std::string_view("\x93NUMPY", 6))
    refuse_file(path, "this is no .npy file");
  const std::size_t width = magic[6] == 1 ? 2 : 4;
  std::array<unsigned char, 4> length{};
  file.read(reinterpret_cast<char*>(length.data()), static_cast<std::streamsize>(width));
  const std::uint32_t bytes = little_endian({length.data(), width});
  if (!file || bytes > kMostBytes) refuse_file(path, "its head is cut off");
  std::string head(bytes, ' ');
  file.read(head.data(), static_cast<std::streamsize>(bytes));
  if (!file) refuse_file(path, "its head is cut off");
  return head;
}

// Rows and columns of an array of two dimensions.
std::pair<std::uint64_t, std::uint64_t> shape_in(const std::string& head, const std::string& path) {
  if (between(head, "'descr': '", '\'') != "<i8" ||
      between(head, "'fortran_order': ", ',') != "False")
    refuse_file(path, "it is not of int64, row by row");
  const std::string shape = between(head, "'shape': (", ')');
  const auto comma = shape.find(',');
  std::uint64_t rows = 0, columns = 0;
  if (comma == std::string::npos) refuse_file(path, "it has not two dimensions");
  const char* const end = shape.data() + shape.size();
  const auto first = std::from_chars(shape.data(), shape.data() + comma, rows);
  const char* second = shape.data() + comma + 1;
  while (second != end && *second == ' ') ++second;
  const auto last = std::from_chars(second, end, columns);
  if (first.ec != std::errc() || last.ec != std::errc() || last.ptr != end || columns == 0)
    refuse_file(path, "it has not two dimensions");
  return {rows, columns};
}

}  // namespace

Array read_stored_negatives(const std::string& folder,
                            Part part,
                            std::uint64_t events,
                            std::uint64_t num_destinations,
                            MemoryLedger* ledger) {
  const std::string path = (std::filesystem::path(folder) / (to_string(part) + ".npy")).string();
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw Error(ErrorCode::kIo,
                "cannot read stored negatives",
                "check task.stored_negatives: a folder with valid.npy and test.npy",
                Place{path, -1, -1, -1});
  const auto [rows, columns] = shape_in(read_head(file, path), path);
  if (rows != events)
    refuse_file(path, fmt::format("it has {} rows, and the part {} events", rows, events));
  constexpr std::uint64_t kMostColumns = std::uint64_t{1} << 20;
  if (columns > kMostColumns)
    refuse_file(path, fmt::format("it has {} columns, more than {}", columns, kMostColumns));
  Array made = Array::make(DType::kU64,
                           {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)},
                           ledger,
                           "negatives")
                   .or_throw();
  const auto bytes = static_cast<std::streamsize>(made.bytes());
  file.read(static_cast<char*>(made.data()), bytes);
  if (file.gcount() != bytes || file.peek() != std::ifstream::traits_type::eof())
    refuse_file(path, "it is not as long as its head says");
  const auto nodes = made.as<std::uint64_t>();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] < num_destinations || nodes[i] == kNoNode) continue;  // -1 is kNoNode
    refuse_file(path,
                fmt::format("row {}, column {}: {} is none of the {} destinations",
                            i / columns,
                            i % columns,
                            static_cast<std::int64_t>(nodes[i]),
                            num_destinations));
  }
  return made;
}

}  // namespace sluice::tasks
