#include "prep/table/text_tokens.h"

#include "prep/table/text_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace sluice {
namespace {

constexpr std::size_t kLongestField = 255;

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

}  // namespace

TextTokens::TextTokens(const TableSource& source,
                       std::uint64_t buffer_bytes,
                       std::string comment,
                       Banner banner)
    : name_(source.path.string()),
      comment_(std::move(comment)),
      source_(TextSource::open(source.path, source.ledger)),
      buffer_(AlignedBuffer::make(buffer_bytes, source.ledger, "text tokens").or_throw()),
      text_(reinterpret_cast<const char*>(buffer_.data())) {
  fill();
  begin_ = check_encoding({text_, end_}, name_);
  if (banner == Banner::kRefuse) refuse_market_banner({text_ + begin_, end_ - begin_}, name_, 1);
}

// Moves what is left to the front and reads on behind it, but for one byte: the end of a last line
// that has none.
void TextTokens::fill() {
  if (ended_) return;
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  end_ += source_->read(buffer_.bytes().subspan(end_, buffer_.size() - 1 - end_));
  ended_ = source_->ended();
  if (ended_ && end_ != 0 && text_[end_ - 1] != '\n')
    buffer_.bytes()[end_++] = static_cast<std::byte>('\n');
}

// A comment has no end of its own among the tokens: the line is as if it were not there.
bool TextTokens::pass_comment() {
  if (comment_.find(text_[begin_]) == std::string::npos) return false;
  while (true) {
    const std::string_view rest(text_ + begin_, end_ - begin_);
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::size_t lone = rest.substr(0, end).find('\r');
    if (lone != rest.npos && lone + 1 != end) fail_lone_return();  // it would hide a line
    begin_ += end;
    if (end != rest.size()) break;
    if (rest.ends_with('\r')) --begin_;  // what is behind it comes with the next buffer
    fill();
    if (begin_ == end_ && ended_) break;  // the text ended with the buffer
  }
  if (begin_ != end_) ++begin_;
  ++line_;
  return true;
}

void TextTokens::fail_lone_return() const {
  throw Error(ErrorCode::kData,
              "a carriage return in the middle of the line",
              "end lines with LF or CRLF",
              place());
}

TextTokens::Token TextTokens::end_line(std::size_t bytes) {
  begin_ += bytes;
  at_line_start_ = true;
  line_over_ = true;
  return Token::kLineEnd;
}

TextTokens::Token TextTokens::next() {
  if (std::exchange(line_over_, false)) ++line_;
  while (true) {
    while (begin_ != end_ && is_blank(text_[begin_])) ++begin_;
    if (begin_ == end_) {
      if (!ended_) {
        fill();
        continue;
      }
      if (line_ > 1) --line_;  // there is none behind the last
      return Token::kEnd;
    }
    if (!at_line_start_ || !pass_comment()) break;
  }
  std::size_t at = begin_;
  while (true) {  // a field, and one character behind it, are in the buffer
    while (at != end_ && !is_blank(text_[at]) && text_[at] != '\n' && text_[at] != '\r') ++at;
    if (at + 1 < end_ || ended_ || at - begin_ > kLongestField) break;
    at -= begin_;
    fill();
    at += begin_;
  }
  if (at == begin_ && text_[at] == '\n') return end_line(1);
  if (at != end_ && text_[at] == '\r' && text_[at + 1] != '\n') fail_lone_return();
  if (at == begin_) return end_line(2);
  field_ = {text_ + begin_, at - begin_};
  if (field_.size() > kLongestField) {
    throw Error(ErrorCode::kData,
                fmt::format("{} is longer than {} characters", shown_cell(field_), kLongestField),
                "is this a file of numbers?",
                place());
  }
  begin_ = at;
  at_line_start_ = false;
  return Token::kField;
}

}  // namespace sluice
