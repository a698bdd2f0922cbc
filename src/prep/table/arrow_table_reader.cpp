#include "prep/table/arrow_table_reader.h"

#include "prep/table/arrow_column.h"
#include "prep/table/arrow_source.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sluice {
namespace {

constexpr std::uint64_t kArrowChunkBytes = 4 * kMiB;  // of what is handed out
constexpr std::uint64_t kMostRows = 1 << 17;          // a chunk
constexpr std::uint64_t kTextBytes = 32;              // guessed
constexpr std::uint64_t kLeadRows = 64;               // looked at to see how long lists are
constexpr const char* kDamaged = "the file was cut short or is damaged: write it again";

using Arrays = std::vector<std::shared_ptr<arrow::Array>>;

}  // namespace

class ArrowTableReader::Impl {
 public:
  Impl(const TableReader& table, const TableSource& source, const std::string& format, Open open)
      : table_(table),
        arena_(*source.arena),
        pool_(*source.ledger, Refused::kFails),
        faults_(source.path.string(), format, pool_),
        source_(open(source, pool_, faults_)) {
    for (const auto& field : source_->schema().fields())
      infos_.push_back(arrow_column_info(*field));
    if (infos_.empty()) faults_.fail("has no columns", "is this the file?");
    measure_lists();
  }

  const std::vector<ColumnInfo>& columns() const { return infos_; }
  std::optional<std::uint64_t> num_rows() const { return source_->num_rows(); }
  void select(const std::vector<ColumnRequest>& requests);
  bool next(TableChunk& chunk);

 private:
  void measure_lists();
  bool refill();
  void convert(TableChunk& chunk);

  const TableReader& table_;
  ThreadArena& arena_;
  LedgerMemoryPool pool_;  // before all that is allocated from it
  ArrowFaults faults_;
  std::unique_ptr<ArrowSource> source_;
  std::vector<ColumnInfo> infos_;
  std::vector<int> fields_;                            // that are read, ascending
  std::vector<std::size_t> positions_;                 // of each request in fields_
  std::vector<std::unique_ptr<ArrowColumn>> columns_;  // by request
  Arrays pending_;                                     // by field: what was not yet handed out
  std::uint64_t chunk_rows_ = 0;
  std::uint64_t next_row_ = 0;
};

// The width of a list is that of the first row that has one.
void ArrowTableReader::Impl::measure_lists() {
  for (std::size_t i = 0; i < infos_.size(); ++i) {
    const auto& type = *source_->schema().field(static_cast<int>(i))->type();
    if (!infos_[i].dtype || !is_open_list(type)) continue;
    source_->start({static_cast<int>(i)}, kLeadRows);
    std::optional<std::uint32_t> width;
    for (Arrays arrays(1); !width; arrays[0].reset()) {
      source_->refill(arrays);
      if (arrays[0] == nullptr) break;
      faults_.check(arrays[0]->Validate());
      width = list_width(*arrays[0]);
    }
    infos_[i].width = width.value_or(0);
  }
}

void ArrowTableReader::Impl::select(const std::vector<ColumnRequest>& requests) {
  const auto index_of = [&](const ColumnRequest& request) {
    const auto found = std::find_if(infos_.begin(), infos_.end(), [&](const ColumnInfo& info) {
      return info.name == request.name;
    });
    return static_cast<int>(found - infos_.begin());
  };
  std::set<int> fields;
  for (const ColumnRequest& request : requests) fields.insert(index_of(request));
  fields_.assign(fields.begin(), fields.end());
  std::uint64_t row_bytes = 0;
  for (const ColumnRequest& request : requests) {
    const int index = index_of(request);
    const ColumnInfo& info = infos_[static_cast<std::size_t>(index)];
    const auto& type = *source_->schema().field(index)->type();
    columns_.push_back(std::make_unique<ArrowColumn>(table_, type, info, request, pool_, faults_));
    const auto at = std::lower_bound(fields_.begin(), fields_.end(), index);
    positions_.push_back(static_cast<std::size_t>(at - fields_.begin()));
    row_bytes += info.dtype ? info.width * sizeof(double) : kTextBytes;
  }
  chunk_rows_ = std::clamp<std::uint64_t>(
      kArrowChunkBytes / std::max<std::uint64_t>(row_bytes, 1), 1, kMostRows);
  pending_.resize(fields_.size());
  source_->start(fields_, chunk_rows_);
}

// False at the end, which all columns reach at once.
bool ArrowTableReader::Impl::refill() {
  source_->refill(pending_);
  const auto ended =
      std::count_if(pending_.begin(), pending_.end(), [](const auto& array) { return !array; });
  const auto rows = num_rows();
  const bool all = static_cast<std::size_t>(ended) == pending_.size();
  if (ended != 0 && (!all || (rows && *rows != next_row_))) {
    faults_.fail(rows ? fmt::format("ends after {} of {} rows", next_row_, *rows)
                      : fmt::format("a column ends after {} rows, others go on", next_row_),
                 kDamaged);
  }
  return !all;
}

bool ArrowTableReader::Impl::next(TableChunk& chunk) {
  for (const auto& column : columns_) column->release();
  if (!refill()) return false;
  auto rows = static_cast<std::int64_t>(chunk_rows_);
  for (const auto& array : pending_) rows = std::min(rows, array->length());
  chunk.first_row = next_row_;
  chunk.rows = static_cast<std::size_t>(rows);
  convert(chunk);
  for (auto& array : pending_) array = array->length() == rows ? nullptr : array->Slice(rows);
  next_row_ += chunk.rows;
  return true;
}

// Of several faults the one of the first column is reported, for any number of threads.
void ArrowTableReader::Impl::convert(TableChunk& chunk) {
  chunk.columns.assign(columns_.size(), {});
  std::vector<std::optional<Error>> problems(columns_.size());
  arena_.for_each(columns_.size(), [&](std::size_t i) {
    try {
      const auto& array = pending_[positions_[i]];
      faults_.check(array->Validate());
      chunk.columns[i] = columns_[i]->convert(
          array->Slice(0, static_cast<std::int64_t>(chunk.rows)), chunk.first_row);
    } catch (const Error& error) {
      problems[i] = error;
    }
  });
  for (const auto& problem : problems) {
    if (problem) throw Error(*problem);
  }
}

ArrowTableReader::ArrowTableReader(const TableSource& source, const std::string& format, Open open)
    : TableReader(source), impl_(std::make_unique<Impl>(*this, source, format, open)) {}
ArrowTableReader::~ArrowTableReader() = default;

const std::vector<ColumnInfo>& ArrowTableReader::columns() const {
  return impl_->columns();
}
std::optional<std::uint64_t> ArrowTableReader::num_rows() const {
  return impl_->num_rows();
}
void ArrowTableReader::select(const std::vector<ColumnRequest>& requests) {
  impl_->select(requests);
}
bool ArrowTableReader::next(TableChunk& chunk) {
  return impl_->next(chunk);
}

}  // namespace sluice
