#include "fuzz/read_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace sluice::fuzz {
namespace {

constexpr std::size_t kMostColumns = 6;
constexpr std::uint64_t kBudgetBytes = 256 << 20;  // refusals are fine, to swallow memory is not
constexpr std::uint64_t kMostRows = 1 << 20;       // of small inputs: a reader that runs away

ThreadArena& arena_of(int threads) {
  static ThreadArena one(1), two(2);
  return threads == 1 ? one : two;
}

std::vector<ColumnRequest> requests_of(const TableReader& reader, const std::vector<Asked>& asked) {
  const auto& columns = reader.columns();
  expect(!columns.empty(), "a table has a column");
  std::vector<ColumnRequest> requests;
  for (std::size_t i = 0; i < columns.size() && requests.size() < kMostColumns; ++i) {
    const auto& name = columns[i].name;
    if (columns[i].width == 0) continue;  // nobody asks for those, and their rows are no bytes
    const bool stands = std::any_of(requests.begin(), requests.end(), [&](const auto& request) {
      return request.name == name;
    });
    const Asked& how = asked[i % asked.size()];
    if (!stands) requests.push_back({name, how.type, how.empty});
  }
  return requests;
}

template <class Value>
void append(std::string& out, std::span<const Value> values) {
  for (Value value : values) {
    if constexpr (std::is_floating_point_v<Value>) {
      if (std::isnan(value)) value = std::numeric_limits<Value>::quiet_NaN();  // of either sign
    }
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
}

void append_texts(std::string& out, const TextValues& texts) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    expect(texts.offsets[i] <= texts.offsets[i + 1], "offsets of texts ascend");
    out.append(texts[i]);
    out += '\0';
  }
}

// Reads every byte of a column of a chunk, so that a sanitizer sees those that are not there.
void append_column(std::string& out,
                   const ColumnValues& values,
                   const ColumnRequest& request,
                   const ColumnInfo& info,
                   std::size_t rows) {
  const std::size_t count = rows * info.width;
  switch (request.type) {
    case ColumnType::kInteger:
      expect(values.integers.size() == count, "as many integers as rows");
      append(out, values.integers);
      break;
    case ColumnType::kReal:
      expect(values.reals.size() == count, "as many reals as rows");
      append(out, values.reals);
      break;
    case ColumnType::kText:
      expect(values.text.size() == count, "as many texts as rows");
      append_texts(out, values.text);
      break;
    case ColumnType::kRaw:
      expect(values.raw.size() == count * size_of(*info.dtype), "as many raw bytes as rows");
      append(out, values.raw);
      break;
  }
}

// An error can be made of each row, and lines ascend.
void check_lines(const TableReader& reader, const TableChunk& chunk, std::int64_t& last) {
  for (const std::uint64_t row : {chunk.first_row, chunk.first_row + chunk.rows - 1}) {
    const Error error = reader.value_error(row, "column", "reason", "hint");
    check_error(error);
    const std::int64_t line = error.place().line;
    expect(line == -1 || line >= last, "lines of rows ascend");
    last = line;
  }
}

void read_rows(TableReader& reader, const std::vector<Asked>& asked, Reading& to) {
  const std::vector<ColumnRequest> requests = requests_of(reader, asked);
  if (requests.empty()) return;
  std::vector<ColumnInfo> infos;
  for (const ColumnRequest& request : requests) infos.push_back(reader.column(request.name, 0));
  reader.select(requests);
  to.columns.resize(requests.size());
  std::int64_t line = -1;
  TableChunk chunk;
  for (; to.rows < kMostRows && reader.next(chunk); to.rows += chunk.rows) {
    expect(chunk.first_row == to.rows, "chunks follow each other");
    expect(chunk.rows > 0, "a chunk has rows");
    expect(chunk.columns.size() == requests.size(), "as many columns as asked for");
    for (std::size_t i = 0; i < requests.size(); ++i)
      append_column(to.columns[i], chunk.columns[i], requests[i], infos[i], chunk.rows);
    check_lines(reader, chunk, line);
  }
  expect(to.rows < kMostRows, "few bytes are few rows");
  expect(!reader.next(chunk), "behind the end there is nothing");
  if (const auto told = reader.num_rows()) expect(*told == to.rows, "as many rows as told");
}

std::string in_words(const Reading& reading) {
  return reading.refusal
             ? fmt::format("{} rows, then {}", reading.rows, reading.refusal->what())
             : fmt::format("{} rows of {} columns", reading.rows, reading.columns.size());
}

}  // namespace

std::vector<Asked> choose_asked(Input& input) {
  constexpr ColumnType kTypes[] = {ColumnType::kInteger, ColumnType::kReal, ColumnType::kText};
  std::vector<Asked> asked(2);
  for (Asked& column : asked) {
    const unsigned choice = input.choose(6);
    column = {kTypes[choice % 3], choice < 3 ? EmptyCell::kRefuse : EmptyCell::kMissing};
  }
  return asked;
}

bool Reading::operator==(const Reading& other) const {
  if (refusal.has_value() != other.refusal.has_value()) return false;
  if (refusal) return std::string_view(refusal->what()) == other.refusal->what();
  return rows == other.rows && columns == other.columns;
}

void check_same(const Reading& a, const Reading& b, const std::string& what) {
  if (a == b) return;
  throw Finding(fmt::format("{}: {}; but {}", what, in_words(a), in_words(b)));
}

Reading read_table(const Open& open,
                   const TableSource& source,
                   const std::vector<Asked>& asked,
                   const How& how) {
  MemoryLedger ledger(kBudgetBytes, "--memory");
  TableSource full = source;
  full.ledger = &ledger;
  full.arena = &arena_of(how.threads);
  Reading reading;
  reading.refusal = refusal_of([&] { read_rows(*open(full, how.block), asked, reading); });
  expect(ledger.used() == 0, "all memory is given back: " + ledger.table());
  return reading;
}

Reading check_blocks(const Open& open,
                     const TableSource& source,
                     const std::vector<Asked>& asked,
                     std::uint64_t small) {
  const Reading large = read_table(open, source, asked, {2});
  const Reading alone = read_table(open, source, asked, {1, small});
  check_same(alone, read_table(open, source, asked, {2, small}), "one thread and two");
  const bool too_long =
      alone.refusal && alone.refusal->message().starts_with("the line is longer than");
  if (!too_long && alone.refusal.has_value() != large.refusal.has_value())
    check_same(large, alone, "blocks large and small");
  if (!large.refusal && !alone.refusal) check_same(large, alone, "blocks large and small");
  return large;
}

}  // namespace sluice::fuzz
