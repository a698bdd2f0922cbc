#include "prep/spool/edge_column.h"

#include "core/interrupt.h"
#include "prep/spool/edge_id_buckets.h"
#include "storage/io/disk_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace sluice {
namespace {

constexpr std::uint64_t kPiece = std::uint64_t{1} << 18;  // values looked up and written at a time

/// Values by bucket, of each the next ones in memory.
template <class T>
class FoundValues {
 public:
  /// @param begins of the buckets in `list`
  FoundValues(ScratchList& list, const std::vector<std::uint64_t>& begins, std::uint64_t at_once)
      : list_(list), at_once_(at_once), values_(begins.size() * at_once), streams_(begins.size()) {
    for (std::size_t i = 0; i < begins.size(); ++i)
      streams_[i] = {begins[i], i + 1 < begins.size() ? begins[i + 1] : list.size(), 0, 0};
  }

  /// @pre the bucket has one more
  T next(std::uint64_t bucket) {
    Stream& stream = streams_[bucket];
    if (stream.at == stream.end) refill(stream, bucket * at_once_);
    return values_[stream.at++];
  }

 private:
  struct Stream {
    std::uint64_t first, last;  // of the list, still to be read
    std::uint64_t at, end;      // of values_
  };

  void refill(Stream& stream, std::uint64_t at) {
    const std::uint64_t some = std::min(at_once_, stream.last - stream.first);
    list_.read(stream.first, std::span(values_).subspan(at, some));
    stream.first += some;
    stream.at = at;
    stream.end = at + some;
  }

  ScratchList& list_;
  std::uint64_t at_once_;
  std::vector<T> values_;
  std::vector<Stream> streams_;
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
    const FileEntry& entry = writer_.entry(relation_path(relation_, "edge_ids.bin"));
    ids_.reset();
    ids_.emplace(writer_.staging().path(),
                 entry,
                 relation_.edge_id_dtype(),
                 relation_.edges,
                 &context_.ledger);
    stats_.bytes_read += entry.bytes;
  }

  template <class Id>
  void look_up(const T* table, std::span<const Id> ids, std::vector<T>& out) {
    out.resize(ids.size());
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
      look_up(reinterpret_cast<const T*>(all.data()), std::span<const std::uint64_t>(ids), out);
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
    ScratchList found(folder, sizeof(T));
    const std::vector<std::uint64_t> begins = find(plan, folder, found);
    merge(plan, begins, found);
    stats_.bytes_read += found.bytes_read();
    stats_.scratch_bytes += found.bytes_written();
  }

  /// @return where each bucket begins in `found`
  std::vector<std::uint64_t> find(const IdBucketPlan& plan,
                                  const std::filesystem::path& folder,
                                  ScratchList& found) {
    EdgeIdBuckets wanted(plan, *ids_, relation_.edges, folder);
    const std::uint64_t all = values_.size() / sizeof(T);
    std::vector<std::uint64_t> begins;
    std::vector<T> table, out;
    begins.reserve(plan.buckets);
    for (std::uint64_t bucket = 0; bucket < plan.buckets; ++bucket) {
      throw_if_interrupted();
      begins.push_back(found.size());
      if (wanted.count(bucket) == 0) continue;
      const std::uint64_t first = bucket << plan.shift;
      table.resize(std::min(std::uint64_t{1} << plan.shift, all - first));
      values_.read_values(first, std::span(table));
      stats_.bytes_read += table.size() * sizeof(T);
      wanted.visit(bucket, [&](std::span<const std::uint32_t> ids) {
        look_up(table.data(), ids, out);
        found.append(std::span<const T>(out));
      });
    }
    stats_.bytes_read += wanted.bytes_read();
    stats_.scratch_bytes += wanted.bytes_written();
    return begins;
  }

  void merge(const IdBucketPlan& plan,
             const std::vector<std::uint64_t>& begins,
             ScratchList& found) {
    open_ids();
    FoundValues<T> next(found, begins, plan.at_once);
    std::vector<T> out;
    for (std::uint64_t left = relation_.edges; left != 0; left -= out.size()) {
      throw_if_interrupted();
      out.resize(std::min(IdBucketPlan::kSome, left));
      for (T& value : out) value = next.next(*ids_->next() >> plan.shift);
      file_->append_values(std::span<const T>(out));
    }
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
