// TextTokens: the text of a file as fields parted by white space, line after line. A line may be of
// any length: it is never held as a whole. Used by one thread.
#pragma once

#include "prep/table/market_banner.h"
#include "prep/table/table_reader.h"
#include "prep/table/text_source.h"
#include "storage/io/aligned_buffer.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace sluice {

class TextTokens {
 public:
  /// Opens the file. @param buffer_bytes text that is held at a time, 4 KiB at least
  /// @param comment lines that begin with one of these characters are passed over
  /// @param banner whether it may be a MatrixMarket file, which begins with a comment
  TextTokens(const TableSource& source,
             std::uint64_t buffer_bytes,
             std::string comment,
             Banner banner = Banner::kRefuse);

  enum class Token {
    kField,    ///< text() is one
    kLineEnd,  ///< also behind a last line that has none
    kEnd
  };
  /// Throws Error(kData) for fields of more than 255 characters and lone carriage returns.
  Token next();

  /// Passes over other comments from now on. @pre the last token was a line's end
  void set_comment(std::string comment) { comment_ = std::move(comment); }

  /// Valid until next().
  std::string_view text() const { return field_; }
  /// The 1-based line of the token; at the end, of the last line.
  std::int64_t line() const { return line_; }
  /// Where that is, for messages.
  Place place() const { return {name_, line_, -1, -1}; }

 private:
  void fill();
  bool pass_comment();
  [[noreturn]] void fail_lone_return() const;
  Token end_line(std::size_t bytes);

  std::string name_;
  std::string comment_;
  std::unique_ptr<TextSource> source_;
  AlignedBuffer buffer_;
  const char* text_ = nullptr;  // the buffer's
  std::size_t begin_ = 0;       // text not yet looked at: [begin_, end_)
  std::size_t end_ = 0;
  bool ended_ = false;  // nothing is left to read
  bool at_line_start_ = true;
  bool line_over_ = false;  // the last token was a line's end
  std::string_view field_;
  std::int64_t line_ = 1;
};

}  // namespace sluice
