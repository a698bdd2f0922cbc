#include "prep/table/csv_blocks.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace sluice {
namespace {

constexpr int kMaxBlocks = 16;  // in a group: bounds memory on machines of many cores

void check_encoding(std::string_view text, const std::string& file) {
  const Place place{file, -1, -1, -1};
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    throw Error(ErrorCode::kData, "is UTF-16 text", "save the file as UTF-8", place);
  }
  if (text.starts_with("\x1f\x8b") || text.starts_with("\x28\xb5\x2f\xfd")) {
    throw Error(ErrorCode::kData, "is compressed", "decompress the file first", place);
  }
}

}  // namespace

CsvBlocks::CsvBlocks(const TableSource& source, std::uint64_t block_bytes)
    : name_(source.path.string()), block_bytes_(block_bytes) {
  file_ = File::open_read(source.path).or_throw();
  file_bytes_ = file_.size().or_throw();
  const Place place{name_, -1, -1, -1};
  if (file_bytes_ == 0) {
    throw Error(
        ErrorCode::kData, "the file is empty", "the first line must name the columns", place);
  }
  const auto blocks = static_cast<std::uint64_t>(std::min(source.arena->threads(), kMaxBlocks));
  const std::uint64_t wanted = std::min((blocks + 1) * block_bytes_, file_bytes_);
  buffer_ = AlignedBuffer::make(wanted, source.ledger, "csv text").or_throw();
  fill();
  std::string_view text(reinterpret_cast<const char*>(buffer_.data()), end_);
  check_encoding(text, name_);
  if (text.starts_with("\xef\xbb\xbf")) begin_ = 3;
  text.remove_prefix(begin_);
  const std::size_t newline = text.find('\n');
  if (newline == std::string_view::npos && end_ < file_bytes_) {
    throw Error(ErrorCode::kData,
                fmt::format("line 1 is longer than {}", format_bytes(end_)),
                "is this a CSV file? If so raise [csv] block",
                place);
  }
  header_ = text.substr(0, newline);
  begin_ += std::min(header_.size() + 1, text.size());
  if (header_.ends_with('\r')) header_.remove_suffix(1);
  if (header_.find_first_not_of(" \t") == std::string_view::npos) {
    throw Error(ErrorCode::kData,
                "the first line is blank",
                "the first line must name the columns",
                Place{name_, 1, -1, -1});
  }
}

// Moves what is left to the front and reads on behind it.
void CsvBlocks::fill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  const auto take =
      static_cast<std::size_t>(std::min<std::uint64_t>(buffer_.size() - end_, file_bytes_ - read_));
  file_.read_at(read_, buffer_.bytes().subspan(end_, take)).or_throw();
  read_ += take;
  end_ += take;
}

/// One behind the last line end in [begin, limit), or `begin` where there is none.
std::size_t CsvBlocks::line_end_before(std::size_t limit, std::size_t begin) const {
  const void* found = ::memrchr(buffer_.data() + begin, '\n', limit - begin);
  if (found == nullptr) return begin;
  return static_cast<std::size_t>(static_cast<const std::byte*>(found) - buffer_.data()) + 1;
}

bool CsvBlocks::next_group(std::vector<std::string_view>& blocks, std::int64_t line) {
  blocks.clear();
  fill();
  if (begin_ == end_) return false;
  const bool last = read_ == file_bytes_;
  const std::size_t ready = last ? end_ : line_end_before(end_, begin_);
  while (begin_ < ready) {
    const std::size_t limit = std::min<std::size_t>(begin_ + block_bytes_, ready);
    const std::size_t cut = limit == ready ? ready : line_end_before(limit, begin_);
    if (cut == begin_) break;
    blocks.emplace_back(reinterpret_cast<const char*>(buffer_.data()) + begin_, cut - begin_);
    begin_ = cut;
  }
  if (blocks.empty()) {
    throw Error(ErrorCode::kData,
                fmt::format("the line is longer than {}", format_bytes(block_bytes_)),
                "is this a CSV file? If so raise [csv] block",
                Place{name_, line, -1, -1});
  }
  return true;
}

}  // namespace sluice
