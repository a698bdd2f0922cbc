#include "samplers/stored_ends.h"

#include <sluice/no_node.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace sluice {
namespace {

// Rows that are looked at together when all are.
constexpr std::uint64_t kMostRowsAtOnce = 4096;
constexpr std::uint64_t kMostNodesAtOnce = StoredEnds::kMostColumns;

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
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

}  // namespace

Error StoredEnds::refused(const std::string& what) const {
  return {
      ErrorCode::kData,
      fmt::format("stored negatives: {}", what),
      fmt::format(
          "write them with numpy.save as int64 [{} of the part, k], {}", form_.links, form_.order),
      Place{file_.path().string(), -1, -1, -1}};
}

void StoredEnds::refuse(const std::string& what) const {
  throw refused(what);
}

StoredEnds StoredEnds::open(const std::filesystem::path& path, StoredForm form) {
  auto opened = File::open_read(path);
  if (!opened)
    throw Error(ErrorCode::kIo,
                fmt::format("cannot read stored negatives: {}", opened.error().message()),
                fmt::format("check {}: a folder with valid.npy and test.npy", form.key),
                Place{path.string(), -1, -1, -1});
  StoredEnds ends(std::move(opened).value(), std::move(form));
  ends.read_shape(ends.read_head());
  return ends;
}

// The head of a file (NumPy Enhancement Proposal 1), of which one form is taken.
std::string StoredEnds::read_head() {
  constexpr std::uint64_t kMostBytes = 1 << 16;
  constexpr std::size_t kMagic = 8;
  const std::uint64_t size = file_.size().or_throw();
  std::array<std::byte, kMagic> magic{};
  if (size < kMagic) refuse("this is no .npy file");
  file_.read_at(0, magic).or_throw();
  if (std::string_view(reinterpret_cast<const char*>(magic.data()), 6) !=
      std::string_view("\x93NUMPY", 6))
    refuse("this is no .npy file");
  const std::size_t width = magic[6] == std::byte{1} ? 2 : 4;
  std::array<std::byte, 4> length{};
  if (size < kMagic + width) refuse("its head is cut off");
  file_.read_at(kMagic, std::span(length).first(width)).or_throw();
  const std::uint64_t bytes = little_endian(std::span(length).first(width));
  begin_ = kMagic + width + bytes;
  if (bytes > kMostBytes || begin_ > size) refuse("its head is cut off");
  std::string head(bytes, ' ');
  file_.read_at(kMagic + width, std::as_writable_bytes(std::span(head))).or_throw();
  return head;
}

// Rows and columns of an array of two dimensions, which must fill the file.
void StoredEnds::read_shape(const std::string& head) {
  if (between(head, "'descr': '", '\'') != "<i8" ||
      between(head, "'fortran_order': ", ',') != "False")
    refuse("it is not of int64, row by row");
  const std::string shape = between(head, "'shape': (", ')');
  const auto comma = shape.find(',');
  std::uint64_t rows = 0;
  if (comma == std::string::npos) refuse("it has not two dimensions");
  const char* const end = shape.data() + shape.size();
  const auto first = std::from_chars(shape.data(), shape.data() + comma, rows);
  const char* second = shape.data() + comma + 1;
  while (second != end && *second == ' ') ++second;
  const auto last = std::from_chars(second, end, columns_);
  if (first.ec != std::errc() || last.ec != std::errc() || last.ptr != end || columns_ == 0)
    refuse("it has not two dimensions");
  if (rows != form_.rows)
    refuse(fmt::format("it has {} rows, and the part {} {}", rows, form_.rows, form_.links));
  if (columns_ > kMostColumns)
    refuse(fmt::format("it has {} columns, more than {}", columns_, kMostColumns));
  if (file_.size().or_throw() - begin_ != rows * columns_ * sizeof(std::uint64_t))
    refuse("it is not as long as its head says");
}

Result<void> StoredEnds::check_nodes(std::uint64_t first,
                                     std::span<const std::uint64_t> nodes) const {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] < form_.nodes || nodes[i] == kNoNode) continue;  // -1 is kNoNode
    return refused(fmt::format("row {}, column {}: {} is none of the {} {}",
                               first + i / columns_,
                               i % columns_,
                               static_cast<std::int64_t>(nodes[i]),
                               form_.nodes,
                               form_.ends));
  }
  return {};
}

// An evaluation asks in the order of the rows: one read a mini-batch.
Result<void> StoredEnds::read(std::span<const std::uint64_t> numbers,
                              std::span<std::uint64_t> out) const {
  for (std::size_t i = 0, count = 1; i < numbers.size(); i += count) {
    count = 1;
    while (i + count < numbers.size() && numbers[i + count] == numbers[i] + count) ++count;
    const auto rows = out.subspan(i * columns_, count * columns_);
    const std::uint64_t at = begin_ + numbers[i] * columns_ * sizeof(std::uint64_t);
    if (auto done = file_.read_at(at, std::as_writable_bytes(rows)); !done) return done;
    if (auto sound = check_nodes(numbers[i], rows); !sound) return sound;
  }
  return {};
}

void StoredEnds::check_beside(const Links& links, StoredSide side) const {
  const std::uint64_t piece =
      std::clamp<std::uint64_t>(kMostNodesAtOnce / columns_, 1, kMostRowsAtOnce);
  std::vector<std::uint64_t> numbers(piece), sources(piece), targets(piece), nodes;
  for (std::uint64_t first = 0; first < form_.rows; first += piece) {
    const std::size_t count = std::min(piece, form_.rows - first);
    const auto some = std::span(numbers).first(count);
    std::iota(some.begin(), some.end(), first);
    nodes.resize(count * columns_);
    read(some, nodes).or_throw();
    links.find(some, {std::span(sources).first(count), std::span(targets).first(count)}).or_throw();
    const auto& own = side == StoredSide::kDestinations ? targets : sources;
    for (std::size_t i = 0; i < count; ++i) {
      const auto row = std::span(nodes).subspan(i * columns_, columns_);
      const auto found = std::ranges::find(row, own[i]);
      if (found == row.end()) continue;
      refuse(fmt::format("row {}, column {}: {} is the end of the row's own link",
                         first + i,
                         found - row.begin(),
                         own[i]));
    }
  }
}

Array StoredEnds::read_all(MemoryLedger* ledger) const {
  Array made =
      Array::make(DType::kU64,
                  {static_cast<std::int64_t>(form_.rows), static_cast<std::int64_t>(columns_)},
                  ledger,
                  "negatives")
          .or_throw();
  const auto nodes = made.as<std::uint64_t>();
  if (nodes.empty()) return made;
  file_.read_at(begin_, std::as_writable_bytes(nodes)).or_throw();
  check_nodes(0, nodes).or_throw();
  return made;
}

}  // namespace sluice
