#include "prep/table/matrix_text.h"

#include "prep/table/csv_text.h"
#include "prep/table/text_cells.h"
#include "prep/table/text_source.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

namespace sluice {
namespace {

using MatrixFields = std::vector<std::string>;

MatrixFields split_matrix_line(std::string_view line, char delimiter) {
  MatrixFields fields;
  if (delimiter != '\0') {
    for (const CsvField& field : split_csv_line(line, delimiter))
      fields.emplace_back(trimmed_cell(field.text));
    return fields;
  }
  for (std::size_t at = line.find_first_not_of(" \t"); at < line.size();) {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    fields.emplace_back(line.substr(at, end - at));
    at = line.find_first_not_of(" \t", end);
  }
  return fields;
}

std::optional<double> matrix_number(const std::string& cell) {
  double value = 0;
  if (cell.empty()) return 0;  // of a sparse one
  std::string number = cell;
  if (const auto comma = number.find(','); comma != std::string::npos) number[comma] = '.';
  return parse_real_cell(number, value) == std::errc{} ? std::optional(value) : std::nullopt;
}

bool are_matrix_numbers(std::span<const std::string> cells) {
  return std::all_of(cells.begin(), cells.end(), [](const std::string& cell) {
    return !cell.empty() && matrix_number(cell).has_value();
  });
}

/// Names of columns that say that rows are edges.
bool names_an_end(const MatrixFields& names) {
  static constexpr std::array<std::string_view, 14> kEnds{"src",
                                                          "dst",
                                                          "source",
                                                          "target",
                                                          "from",
                                                          "to",
                                                          "head",
                                                          "tail",
                                                          "u",
                                                          "v",
                                                          "src_id",
                                                          "dst_id",
                                                          "source_id",
                                                          "target_id"};
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    std::string small;
    for (const char c : name)
      small += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return std::find(kEnds.begin(), kEnds.end(), small) != kEnds.end();
  });
}

/// Takes line after line of a file, until it is known that it is no matrix.
class MatrixScan {
 public:
  /// False: it is none, whatever follows.
  bool take(std::string_view line) {
    if (first_.empty()) {
      delimiter_ = delimiter_of(line);
      first_ = split_matrix_line(line, delimiter_);
      return first_.size() >= 3;
    }
    const MatrixFields fields = split_matrix_line(line, delimiter_);
    if (width_ == 0 && !take_shape(fields)) return false;
    return take_row(fields);
  }

  std::optional<MatrixText> verdict() const {
    if (width_ == 0 || rows_ != size_) return std::nullopt;
    MatrixText matrix{size_, has_header_ || has_row_names_, true, delimiter_, commas_};
    if (has_header_ && has_row_names_)
      return header_ == row_names_ ? std::optional(matrix) : std::nullopt;
    if (size_ < 3 || (has_header_ && names_an_end(first_))) return std::nullopt;
    // Numbers alone may be edges with columns besides: what makes them a matrix?
    const bool ids = has_row_names_ || ids_;
    const bool bare = !has_header_ && !has_row_names_;
    // Under a header of words a square table may be one of nodes, however its columns begin.
    matrix.certain = bits_ || hollow_ || symmetric() || (bare && (!ids || size_ >= 5));
    // Columns of fractions are weights, or features.
    return matrix.certain || (whole_ && !has_row_names_) ? std::optional(matrix) : std::nullopt;
  }

 private:
  static constexpr std::uint64_t kMostKept = 256;  // rows that symmetry is looked for in

  static char delimiter_of(std::string_view line) {
    char best = '\0';
    std::size_t most = split_matrix_line(line, best).size();
    for (const char c : {',', ';', '|', '\t'}) {
      const std::size_t fields = split_matrix_line(line, c).size();
      if (fields > most || (fields == most && fields > 1 && c == '\t')) {
        most = fields;
        best = c;
      }
    }
    return best;
  }

  /// What the first line is, by the second; a first line of numbers is a row.
  bool take_shape(const MatrixFields& second) {
    const std::span<const std::string> first(first_);
    width_ = second.size();
    if (width_ == first.size() + 1) {  // R leaves the corner out
      has_header_ = has_row_names_ = true;
      size_ = first.size();
      header_.insert(first.begin(), first.end());
      return true;
    }
    if (width_ != first.size()) return false;
    const bool bare = are_matrix_numbers(first);
    const bool numbered =
        !bare && (first_[0].empty() || second[0] == first_[1]);  // names 0, 1, ...
    if (bare || (!numbered && are_matrix_numbers(first.subspan(1)))) {
      has_row_names_ = !bare;
      size_ = width_ - (bare ? 0 : 1);
      return take_row(first_);
    }
    has_header_ = true;
    const bool corner = numbered || !are_matrix_numbers(second);
    has_row_names_ = corner;
    size_ = width_ - (corner ? 1 : 0);
    header_.insert(first.begin() + (corner ? 1 : 0), first.end());
    return true;
  }

  bool take_row(const MatrixFields& fields) {
    if (fields.size() != width_ || rows_ == size_) return false;
    std::vector<double> row;
    for (std::size_t i = has_row_names_ ? 1 : 0; i < fields.size(); ++i) {
      const auto value = matrix_number(fields[i]);
      if (!value) return false;
      row.push_back(*value);
      commas_ = commas_ || fields[i].find(',') != std::string::npos;
    }
    if (has_row_names_) row_names_.insert(fields[0]);
    for (std::size_t i = 0; i < row.size(); ++i) {
      bits_ = bits_ && (row[i] == 0 || row[i] == 1);
      const bool whole = std::trunc(row[i]) == row[i];
      whole_ = whole_ && whole;
      if (i < 2) ids_ = ids_ && row[i] >= 0 && whole;
    }
    hollow_ = hollow_ && row[rows_] == 0;
    if (size_ <= kMostKept) values_.push_back(std::move(row));
    ++rows_;
    return true;
  }

  bool symmetric() const {
    if (values_.empty()) return false;
    for (std::size_t i = 0; i < size_; ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (values_[i][j] != values_[j][i]) return false;
    return true;
  }

  char delimiter_ = '\0';
  MatrixFields first_;
  std::size_t width_ = 0;  // fields of a row; 0: not known
  std::uint64_t size_ = 0;
  std::uint64_t rows_ = 0;
  bool has_header_ = false, has_row_names_ = false;
  std::set<std::string> header_, row_names_;
  std::vector<std::vector<double>> values_;
  bool commas_ = false;
  bool bits_ = true;    // all are 0 or 1
  bool hollow_ = true;  // the diagonal is 0
  bool whole_ = true;   // all are whole numbers
  bool ids_ = true;     // the first two columns could be ids
};

}  // namespace

std::optional<MatrixText> find_matrix(const std::filesystem::path& path,
                                      const std::string& comment,
                                      MemoryLedger& ledger) {
  constexpr std::uint64_t kPiece = 64 * kKiB, kLongestLine = 16 * kMiB;
  const auto source = TextSource::open(path, &ledger);
  Charge charge = ledger.charge("lines of a matrix", kPiece).or_throw();
  std::string text;
  MatrixScan scan;
  bool begun = false;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos && !source->ended()) {
      text.erase(0, at);
      at = 0;
      if (text.size() > kLongestLine) return std::nullopt;
      const std::size_t there = text.size();
      charge.resize(there + kPiece).or_throw();
      text.resize(there + kPiece);
      text.resize(there + source->read(std::as_writable_bytes(std::span(text).subspan(there))));
      if (text.size() == there && !source->ended()) return std::nullopt;  // a fault, for the reader
      if (!begun) at = check_encoding(text, path.string());
      begun = true;
      continue;
    }
    if (at >= text.size()) return scan.verdict();
    std::string_view line = std::string_view(text).substr(at, end - at);
    at = std::min(end, text.size() - 1) + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string_view cells = trimmed_cell(line);
    if (cells.empty() || comment.find(cells.front()) != std::string::npos) continue;
    if (!scan.take(line)) return std::nullopt;
  }
}

Error matrix_error(const MatrixText& matrix, const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  std::string separator = matrix.delimiter == '\0'   ? "sep=r'\\s+'"
                          : matrix.delimiter == '\t' ? "sep='\\t'"
                                                     : fmt::format("sep='{}'", matrix.delimiter);
  if (matrix.commas) separator += ", decimal=','";
  const std::string python =
      matrix.names
          ? fmt::format(
                "m = pandas.read_csv('{}', {}, index_col=0).stack(); m[m != 0].rename_axis("
                "['src', 'dst']).to_frame('weight').to_csv('edges.csv')",
                name,
                separator)
          : fmt::format(
                "m = pandas.read_csv('{}', {}, header=None); scipy.sparse.save_npz("
                "'edges.npz', scipy.sparse.coo_matrix(m))",
                name,
                separator);
  return {ErrorCode::kData,
          fmt::format("it holds a matrix of {0} x {0} numbers{1}, not a list of edges",
                      matrix.size,
                      matrix.names ? " with names" : ""),
          fmt::format("edges are rows of source and target. In Python: {}. If its rows are edges "
                      "all the same, name source_column and target_column",
                      python),
          Place{path.string(), 1, -1, -1}};
}

std::string matrix_doubt(const MatrixText& matrix, const std::filesystem::path& path) {
  return fmt::format(
      "{}: {} rows of {} numbers are read as edges, their first two columns as ids; "
      "say source_column and target_column if that is right. {}",
      path.string(),
      matrix.size,
      matrix.size,
      "If it is a matrix, save it by scipy.sparse.save_npz, as .npz");
}

}  // namespace sluice
