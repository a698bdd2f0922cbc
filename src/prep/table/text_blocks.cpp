#include "prep/table/text_blocks.h"

#include "prep/table/market_banner.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <string.h>  // memrchr
#include <algorithm>
#include <cstring>
#include <utility>

namespace sluice {
namespace {

constexpr int kMaxBlocks = 16;  // in a group: bounds memory on machines of many cores

std::string_view without_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

TextBlocks::TextBlocks(const TableSource& source,
                       std::uint64_t block_bytes,
                       std::string long_line_hint)
    : name_(source.path.string()),
      long_line_hint_(std::move(long_line_hint)),
      arena_(*source.arena),
      source_(TextSource::open(source.path, source.ledger)),
      block_bytes_(block_bytes) {
  const auto blocks = static_cast<std::uint64_t>(std::min(arena_.threads(), kMaxBlocks));
  std::uint64_t wanted = (blocks + 1) * block_bytes_;
  if (const auto bytes = source_->bytes()) wanted = std::min(wanted, *bytes + 1);
  buffer_ = AlignedBuffer::make(wanted, source.ledger, "text blocks").or_throw();
  fill();
  begin_ = check_encoding(text(), name_);
  refuse_market_banner(text(), name_, 1);
}

// Moves what is left to the front and reads on behind it. One byte of the buffer is kept for the
// end of a last line that has none.
void TextBlocks::fill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (ended_) return;
  const std::span room = buffer_.bytes().subspan(end_, buffer_.size() - 1 - end_);
  const std::size_t got = source_->read(room);
  end_ += got;
  ended_ = source_->ended();
  fault_ahead_ = got < room.size() && !ended_;
  if (ended_ && end_ != 0 && text().back() != '\n')
    buffer_.bytes()[end_++] = static_cast<std::byte>('\n');
}

/// One behind the last line end in [begin, limit), or `begin` where there is none.
std::size_t TextBlocks::line_end_before(std::size_t limit, std::size_t begin) const {
  const void* found = ::memrchr(buffer_.data() + begin, '\n', limit - begin);
  if (found == nullptr) return begin;
  return static_cast<std::size_t>(static_cast<const std::byte*>(found) - buffer_.data()) + 1;
}

void TextBlocks::fail_long_line() const {
  throw Error(ErrorCode::kData,
              fmt::format("the line is longer than {}", format_bytes(block_bytes_)),
              long_line_hint_,
              Place{name_, line_, -1, -1});
}

std::optional<std::string_view> TextBlocks::peek_line() {
  std::size_t length = text().find('\n');
  while (length == std::string_view::npos && end_ - begin_ < block_bytes_ && !ended_) {
    fill();
    length = text().find('\n');
  }
  if (begin_ == end_) return std::nullopt;
  if (length >= block_bytes_) fail_long_line();
  return without_end(text().substr(0, length + 1));
}

std::vector<std::string> TextBlocks::peek_lines(std::size_t count, std::size_t most_bytes) {
  const auto there = [&] {
    return std::count(text().begin(), text().end(), '\n') >= static_cast<std::ptrdiff_t>(count);
  };
  const std::size_t most = std::min<std::size_t>(most_bytes, buffer_.size() - 1);
  while (!ended_ && !fault_ahead_ && end_ - begin_ < most && !there()) fill();
  std::vector<std::string> lines;
  std::size_t at = 0;
  while (lines.size() < count) {
    const std::size_t end = text().find('\n', at);
    if (end == std::string_view::npos || end >= most_bytes) break;
    lines.emplace_back(without_end(text().substr(at, end + 1 - at)));
    at = end + 1;
  }
  return lines;
}

void TextBlocks::skip_line() {
  begin_ += text().find('\n') + 1;
  ++line_;
}

bool TextBlocks::next_group(std::vector<Block>& blocks) {
  blocks.clear();
  while (blocks.empty()) {
    if (!fault_ahead_ || text().find('\n') == std::string_view::npos) fill();
    if (begin_ == end_ && ended_) return false;
    const std::size_t ready = line_end_before(end_, begin_);
    while (begin_ < ready) {
      const std::size_t limit = std::min<std::size_t>(begin_ + block_bytes_, ready);
      const std::size_t cut = line_end_before(limit, begin_);
      if (cut == begin_) break;
      blocks.push_back({text().substr(0, cut - begin_), 0, 0});
      begin_ = cut;
    }
    if (blocks.empty() && end_ - begin_ >= block_bytes_) fail_long_line();
  }
  arena_.for_each(blocks.size(), [&](std::size_t i) {
    blocks[i].lines = std::count(blocks[i].text.begin(), blocks[i].text.end(), '\n');
  });
  for (Block& block : blocks) {
    block.first_line = line_;
    line_ += block.lines;
  }
  return true;
}

}  // namespace sluice
