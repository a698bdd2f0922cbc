#include "samplers/stored_ends.h"

#include "core/npy_header.h"

#include <sluice/no_node.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace sluice {
namespace {

// Rows that are looked at together when all are.
constexpr std::uint64_t kMostRowsAtOnce = 4096;
constexpr std::uint64_t kMostNodesAtOnce = StoredEnds::kMostColumns;

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
  ends.read_head();
  return ends;
}

// Of the forms that NumPy writes one is taken: an array of two dimensions, row by row.
void StoredEnds::read_head() {
  const std::uint64_t size = file_.size().or_throw();
  std::vector<std::byte> front(std::min<std::uint64_t>(size, kNpyMaxHeaderBytes));
  file_.read_at(0, front).or_throw();
  const NpyInspection is = inspect_npy_header(front, size, file_.path().string());
  const NpyHeader& head = is.header;
  // Said before that the file is not as long as such a shape asks for.
  if (head.shape.size() == 2 && head.width() > kMostColumns)
    refuse(fmt::format("it has {} columns, more than {}", head.width(), kMostColumns));
  if (is.problem) refuse(is.problem->message());
  if (head.dtype != DType::kI64 || head.fortran_order) refuse("it is not of int64, row by row");
  if (head.shape.size() != 2 || head.width() == 0) refuse("it has not two dimensions");
  if (head.rows() != form_.rows)
    refuse(fmt::format("it has {} rows, and the part {} {}", head.rows(), form_.rows, form_.links));
  begin_ = head.data_offset;
  columns_ = head.width();
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
