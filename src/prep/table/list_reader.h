// ListReader: edge lists as SNAP and others give them: lines of fields without a header, parted by
// white space, with comments between them. Parsed several blocks at a time by a parser of our own.
//
// TriplesReader, OpenKeReader and MultiplexReader: the same with the columns of knowledge graphs
// and of multiplex graphs.
#pragma once

#include "prep/table/table_reader.h"

#include <sluice/options.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

class ListReader : public TableReader {
 public:
  static constexpr std::array<std::string_view, 5> kExtensions{
      ".txt", ".edges", ".edgelist", ".el", ".lst"};
  static constexpr bool kText = true;  ///< files may be compressed

  struct Options {
    std::vector<std::string> columns;  ///< their names; empty: c0, c1, ...
    std::string delimiter;             ///< one character; empty: any white space
    std::string comment = "#%";
    ByteSize block{2 * kMiB};  ///< text a thread parses at a time; a line must fit in one

    void describe(Schema& schema);
  };

  ListReader(const Options& options, const TableSource& source);
  ~ListReader() override;

  const std::vector<ColumnInfo>& columns() const override;
  std::optional<std::uint64_t> num_rows() const override { return std::nullopt; }
  void select(const std::vector<ColumnRequest>& requests) override;
  bool next(TableChunk& chunk) override;

 protected:
  /// What a kind of list knows of its files.
  struct Kind {
    std::string name;  ///< of its table of options
    /// The names of so many columns; none where there may not be as many. Null: any, c0, c1, ...
    std::vector<std::string> (*names)(std::size_t fields) = nullptr;
    std::string expected;     ///< what a line is made of, for messages
    bool tabs_first = false;  ///< a tab parts the fields where the first line has one
    bool counted = false;     ///< the first line says how many rows follow
  };
  ListReader(const Kind& kind, const Options& options, const TableSource& source);

 private:
  std::optional<std::int64_t> line_of(std::uint64_t row) const override;

  class Impl;
  std::unique_ptr<Impl> impl_;
};

class TriplesReader final : public ListReader {
 public:
  static constexpr std::array<std::string_view, 1> kExtensions{".triples"};

  struct Options {
    std::string delimiter;  ///< one character; empty: a tab where the first line has one
    std::string comment;    ///< names of entities may begin with any character
    ByteSize block{2 * kMiB};

    void describe(Schema& schema);
  };

  TriplesReader(const Options& options, const TableSource& source);
};

/// Triples by number as OpenKE writes them: a line with their count, then head, tail, relation.
/// Such files are called .txt.
class OpenKeReader final : public ListReader {
 public:
  static constexpr std::array<std::string_view, 0> kExtensions{};

  struct Options {
    ByteSize block{2 * kMiB};

    void describe(Schema& schema);
  };

  OpenKeReader(const Options& options, const TableSource& source);
};

class MultiplexReader final : public ListReader {
 public:
  static constexpr std::array<std::string_view, 1> kExtensions{".multiplex"};

  struct Options {
    std::string delimiter;  ///< one character; empty: any white space
    std::string comment = "#%";
    ByteSize block{2 * kMiB};

    void describe(Schema& schema);
  };

  MultiplexReader(const Options& options, const TableSource& source);
};

}  // namespace sluice
