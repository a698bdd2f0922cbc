// TextBlocks: the text of a file in groups of blocks that end at line ends, with the lines counted.
// Knows nothing of columns. Used by one thread.
#pragma once

#include "prep/table/table_reader.h"
#include "prep/table/text_source.h"
#include "storage/io/aligned_buffer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

class TextBlocks {
 public:
  /// Opens the file. @param block_bytes text of a block; no line may be longer
  /// @param long_line_hint what to do about a line that is
  TextBlocks(const TableSource& source, std::uint64_t block_bytes, std::string long_line_hint);

  /// The first line that was not handed out, without its end; nothing at the end of the text. Valid
  /// until the next call. A byte-order mark is no part of it.
  std::optional<std::string_view> peek_line();
  /// As many lines from there on, or those that end within `most_bytes`. It invalidates what
  /// peek_line() gave.
  std::vector<std::string> peek_lines(std::size_t count, std::size_t most_bytes);
  /// Takes that line out. @pre peek_line() gave one
  void skip_line();
  /// The 1-based number of the first line that was not handed out.
  std::int64_t line() const { return line_; }

  struct Block {
    std::string_view text;  ///< whole lines, each with its end; the last gets one where it has none
    std::int64_t first_line = 0;
    std::int64_t lines = 0;
  };
  /// Replaces `blocks` by the next ones, as many as there are threads; false at the end of the
  /// file. They stay valid until the next call.
  bool next_group(std::vector<Block>& blocks);

 private:
  void fill();
  std::size_t line_end_before(std::size_t limit, std::size_t begin) const;
  [[noreturn]] void fail_long_line() const;
  std::string_view text() const {
    return {reinterpret_cast<const char*>(buffer_.data()) + begin_, end_ - begin_};
  }

  std::string name_;
  std::string long_line_hint_;
  ThreadArena& arena_;
  std::unique_ptr<TextSource> source_;
  std::uint64_t block_bytes_;
  AlignedBuffer buffer_;
  std::size_t begin_ = 0;  // text not yet handed out: [begin_, end_) of buffer_
  std::size_t end_ = 0;
  bool ended_ = false;        // nothing is left to read
  bool fault_ahead_ = false;  // to read on throws: lines that are there come first
  std::int64_t line_ = 1;
};

}  // namespace sluice
