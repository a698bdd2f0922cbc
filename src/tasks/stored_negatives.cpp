#include "tasks/stored_negatives.h"

#include <sluice/error.h>
#include <sluice/no_node.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <numeric>
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

std::string path_of(const std::string& folder, Part part) {
  return (std::filesystem::path(folder) / (to_string(part) + ".npy")).string();
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

std::uint64_t bytes_left(std::ifstream& file) {
  const auto at = file.tellg();
  const auto end = file.seekg(0, std::ios::end).tellg();
  file.seekg(at);
  return file && end > at ? static_cast<std::uint64_t>(end - at) : 0;
}

}  // namespace

Array read_stored_negatives(const std::string& folder,
                            Part part,
                            std::uint64_t events,
                            std::uint64_t num_destinations,
                            MemoryLedger* ledger) {
  const std::string path = path_of(folder, part);
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
  // Before room for it is asked for.
  if (bytes_left(file) != rows * columns * sizeof(std::uint64_t))
    refuse_file(path, "it is not as long as its head says");
  Array made = Array::make(DType::kU64,
                           {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)},
                           ledger,
                           "negatives")
                   .or_throw();
  const auto bytes = static_cast<std::streamsize>(made.bytes());
  file.read(static_cast<char*>(made.data()), bytes);
  if (file.gcount() != bytes)
    throw Error(
        ErrorCode::kIo, "cannot read stored negatives", "check the disk", Place{path, -1, -1, -1});
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

void check_beside(const Array& negatives,
                  const std::string& folder,
                  Part part,
                  const Links& events) {
  constexpr std::uint64_t kPiece = 4096;
  const auto nodes = negatives.as<std::uint64_t>();
  const auto columns = static_cast<std::uint64_t>(negatives.size(1));
  std::array<std::uint64_t, kPiece> numbers{}, sources{}, targets{};
  for (std::uint64_t first = 0; first < events.size(); first += kPiece) {
    const std::size_t count = std::min(kPiece, events.size() - first);
    std::iota(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(count), first);
    events.find({numbers.data(), count}, {{sources.data(), count}, {targets.data(), count}})
        .or_throw();
    for (std::size_t i = 0; i < count; ++i) {
      const auto row = nodes.subspan((first + i) * columns, columns);
      const auto found = std::ranges::find(row, targets.at(i));
      if (found == row.end()) continue;
      refuse_file(path_of(folder, part),
                  fmt::format("row {}, column {}: {} is the destination of the row's own event",
                              first + i,
                              found - row.begin(),
                              targets.at(i)));
    }
  }
}

}  // namespace sluice::tasks
