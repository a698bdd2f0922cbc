#include "prep/spool/edge_column.h"

#include "core/interrupt.h"
#include "core/side_thread.h"
#include "prep/spool/edge_id_buckets.h"
#include "storage/io/disk_space.h"
#include "storage/io/scratch_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace sluice {
namespace {

constexpr std::uint64_t kPiece = std::uint64_t{1} << 18;  // values looked up and written at a time
constexpr std::uint64_t kSome = std::uint64_t{1} << 15;   // values merged and written at a time
constexpr std::uint64_t kTablePiece = std::uint64_t{1} << 17;  // values a thread reads at a time
// Memory of which a part is worth it that ids are read ahead.
constexpr std::uint64_t kRoomToReadAhead = 4 * FileCursor::kAheadBytes;

/// The values that were found, run by run of edges: of each bucket those of a run at once.
template <class T>
class FoundRuns {
 public:
  /// @param begins of the buckets in `found`, as values
  FoundRuns(const ScratchPages& found,
            const IdBucketPlan& plan,
            const EdgeIdBuckets& buckets,
            std::vector<std::uint64_t> begins)
      : buckets_(buckets),
        next_(std::move(begins)),
        pieces_(next_.size()),
        reader_(found, plan.run_bytes(sizeof(T))) {
    begin();
  }

  /// Of each bucket a run's values, which stay until the next call; the next run's are read
  /// meanwhile. @pre there is one
  std::vector<const T*> next_run() {
    std::vector<const T*> values;
    values.reserve(pieces_.size());
    for (const std::span<const std::byte> bytes : reader_.next())
      values.push_back(reinterpret_cast<const T*>(bytes.data()));
    begin();
    return values;
  }

  ScratchRead read() const { return reader_.read(); }

 private:
  void begin() {
    if (run_ == buckets_.runs()) return;
    for (std::size_t bucket = 0; bucket < next_.size(); ++bucket) {
      const std::uint64_t count = buckets_.count(run_, bucket);
      pieces_[bucket] = {next_[bucket] * sizeof(T), count * sizeof(T)};
      next_[bucket] += count;
    }
    ++run_;
    reader_.begin(pieces_);
  }

  const EdgeIdBuckets& buckets_;
  std::vector<std::uint64_t> next_;  // of each bucket
  std::uint64_t run_ = 0;
  std::vector<ScratchPieces::Piece> pieces_;
  ScratchPieces reader_;
};

template <class T>
class ColumnWriter {
 public:
  ColumnWriter(DatasetWriter& writer,
               const RelationSchema& relation,
               const ScratchBytes& values,
               const std::string& path,
               PrepContext& context)
      : writer_(writer),
        relation_(relation),
        values_(values),
        path_(path),
        context_(context),
        file_(writer.create(path)) {}

  EdgeColumnStats run() {
    open_ids();
    const std::uint64_t room = context_.ledger.available() / 2;
    values_.size() + kPiece * 2 * sizeof(std::uint64_t) <= room ? in_memory() : by_buckets(room);
    writer_.add(std::move(file_));
    return stats_;
  }

 private:
  // From their beginning; one reader at a time has memory.
  void open_ids() {
    FileReading reading;
    if (context_.ledger.available() >= kRoomToReadAhead) reading.ahead = IoChoice::kAuto;
    const FileEntry& entry = writer_.entry(relation_path(relation_, "edge_ids.bin"));
    ids_.reset();
    ids_.emplace(writer_.staging().path(),
                 entry,
                 relation_.edge_id_dtype(),
                 relation_.edges,
                 &context_.ledger,
                 reading);
    stats_.bytes_read += entry.bytes;
  }

  template <class Id>
  void look_up(const T* table, std::span<const Id> ids, T* out) {
    context_.arena.for_ranges(ids.size(), 1 << 13, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) out[i] = table[ids[i]];
    });
  }

  void in_memory() {
    AlignedBuffer all =
        AlignedBuffer::make(values_.size(), &context_.ledger, "edge columns").or_throw();
    values_.read_at(0, all.bytes().first(values_.size()));
    stats_.bytes_read += values_.size();
    std::vector<std::uint64_t> ids;
    std::vector<T> out;
    for (std::uint64_t left = relation_.edges; left != 0; left -= ids.size()) {
      throw_if_interrupted();
      ids.resize(std::min(kPiece, left));
      for (std::uint64_t& id : ids) id = *ids_->next();
      out.resize(ids.size());
      look_up(
          reinterpret_cast<const T*>(all.data()), std::span<const std::uint64_t>(ids), out.data());
      file_->append_values(std::span<const T>(out));
    }
  }

  // Ids go to buckets in the order of positions, and a bucket's values are found in that order. So
  // a second pass over the ids says of which bucket each position takes the next value.
  void by_buckets(std::uint64_t room) {
    const std::filesystem::path& folder = writer_.staging().path();
    // Found values, and beside them first the ids and then the file.
    require_space(
        folder, 2 * sizeof(T) * relation_.edges, fmt::format("the values of '{}'", path_));
    const IdBucketPlan plan =
        IdBucketPlan::make(relation_.edges, values_.size() / sizeof(T), sizeof(T), room);
    const Charge charge = context_.ledger.charge("edge columns", plan.bytes).or_throw();
    EdgeIdBuckets wanted(plan, *ids_, relation_.edges, folder, context_.arena);
    ScratchPages found(folder, std::min(plan.chunk, relation_.edges) * sizeof(T));
    std::vector<std::uint64_t> begins = find(plan, wanted, found);
    wanted.end_visits();
    FoundRuns<T> runs(found, plan, wanted, std::move(begins));
    merge(plan, wanted.runs(), runs);
    for (const ScratchRead& read : {wanted.read(), runs.read()}) {
      stats_.bytes_read += read.pages;
      stats_.around_bytes += read.pages - read.bytes;
    }
    stats_.scratch_bytes += wanted.bytes_written() + found.size();
  }

  /// @return where each bucket begins in `found`, as values
  std::vector<std::uint64_t> find(const IdBucketPlan& plan,
                                  EdgeIdBuckets& wanted,
                                  ScratchPages& found) {
    const std::uint64_t all = values_.size() / sizeof(T);
    std::vector<std::uint64_t> begins;
    begins.reserve(plan.buckets);
    AlignedBuffer table =
        AlignedBuffer::make(sizeof(T) << plan.shift, nullptr, "scratch").or_throw();
    for (std::uint64_t bucket = 0; bucket < plan.buckets; ++bucket) {
      throw_if_interrupted();
      begins.push_back(found.size() / sizeof(T));
      if (wanted.count(bucket) == 0) continue;
      const std::uint64_t first = bucket << plan.shift;
      read_table(first, std::min(std::uint64_t{1} << plan.shift, all - first), table);
      wanted.visit(bucket, [&](const EdgeIdBuckets::Pieces& pieces) {
        for (const std::span<const std::byte> piece : pieces) look_up_piece(table, piece, found);
      });
    }
    found.finish();
    return begins;
  }

  void read_table(std::uint64_t first, std::uint64_t count, AlignedBuffer& table) {
    const auto values = std::span(reinterpret_cast<T*>(table.data()), count);
    context_.arena.for_ranges(count, kTablePiece, [&](std::size_t begin, std::size_t end) {
      values_.read_values(first + begin, values.subspan(begin, end - begin));
    });
    stats_.bytes_read += count * sizeof(T);
  }

  void look_up_piece(const AlignedBuffer& table,
                     std::span<const std::byte> piece,
                     ScratchPages& found) {
    const auto ids = std::span(reinterpret_cast<const std::uint32_t*>(piece.data()),
                               piece.size() / sizeof(std::uint32_t));
    const std::span<std::byte> out = found.place(ids.size() * sizeof(T));
    look_up(reinterpret_cast<const T*>(table.data()), ids, reinterpret_cast<T*>(out.data()));
  }

  void merge(const IdBucketPlan& plan, std::uint64_t num_runs, FoundRuns<T>& runs) {
    open_ids();
    std::array<std::vector<T>, 2> out;  // one is written while the other is filled
    std::size_t filling = 0;
    SideThread side;
    for (std::uint64_t run = 0, left = relation_.edges; run < num_runs; ++run) {
      throw_if_interrupted();
      std::vector<const T*> next = runs.next_run();
      for (std::uint64_t in_run = std::min(left, plan.run); in_run != 0;) {
        std::vector<T>& some = out[filling];
        some.resize(std::min(kSome, in_run));
        for (T& value : some) value = *next[*ids_->next() >> plan.shift]++;
        side.begin([&] { file_->append_values(std::span<const T>(some)); });
        filling = 1 - filling;
        in_run -= some.size();
        left -= some.size();
      }
    }
    side.wait();
  }

  DatasetWriter& writer_;
  const RelationSchema& relation_;
  const ScratchBytes& values_;
  const std::string& path_;
  PrepContext& context_;
  std::unique_ptr<DataFileWriter> file_;
  std::optional<ValueCursor> ids_;
  EdgeColumnStats stats_;
};

}  // namespace

EdgeColumnStats write_edge_column(DatasetWriter& writer,
                                  const RelationSchema& relation,
                                  const ScratchBytes& values,
                                  std::size_t width,
                                  const std::string& path,
                                  PrepContext& context) {
  if (width == sizeof(std::uint32_t))
    return ColumnWriter<std::uint32_t>(writer, relation, values, path, context).run();
  return ColumnWriter<std::uint64_t>(writer, relation, values, path, context).run();
}

}  // namespace sluice
