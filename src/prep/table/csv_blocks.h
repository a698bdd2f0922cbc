// CsvBlocks: the text of a CSV file in groups of blocks that end at line ends, with the lines
// counted. Knows nothing of columns. Used by one thread.
#pragma once

#include "prep/table/table_reader.h"
#include "storage/io/aligned_buffer.h"
#include "storage/io/file.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice {

class CsvBlocks {
 public:
  /// Opens the file and takes in its header line. @param block_bytes text of a block; no line may
  /// be longer
  CsvBlocks(const TableSource& source, std::uint64_t block_bytes);

  /// The first line, without its end and without a byte-order mark. Valid until next_group().
  std::string_view header() const { return header_; }

  /// Replaces `blocks` by the next ones, as many as there are threads; false at the end of the
  /// file. They stay valid until the next call. @param line the number of the first line that was
  /// not handed out, for messages
  bool next_group(std::vector<std::string_view>& blocks, std::int64_t line);

 private:
  void fill();
  std::size_t line_end_before(std::size_t limit, std::size_t begin) const;

  std::string name_;
  File file_;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t read_ = 0;  // bytes of the file that were read
  std::uint64_t block_bytes_;
  AlignedBuffer buffer_;
  std::size_t begin_ = 0;  // text not yet handed out: [begin_, end_) of buffer_
  std::size_t end_ = 0;
  std::string_view header_;
};

}  // namespace sluice
