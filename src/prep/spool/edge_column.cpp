#include "prep/spool/edge_column.h"

#include "core/interrupt.h"
#include "core/radix_sort.h"
#include "prep/dataset_edges.h"

#include <algorithm>
#include <vector>

namespace sluice {
namespace {

constexpr std::uint64_t kPiece = std::uint64_t{1} << 18;      // values read or written at a time
constexpr std::uint64_t kLeastPart = std::uint64_t{1} << 16;  // positions

struct Wanted {
  std::uint64_t id;
  std::uint64_t place;
};

/// Bytes that a position of a part takes: two of Wanted, and its value.
constexpr std::uint64_t kPartBytes = 2 * sizeof(Wanted) + sizeof(std::uint64_t);

template <class T>
class ColumnWriter {
 public:
  ColumnWriter(DatasetWriter& writer,
               const RelationSchema& relation,
               const ScratchBytes& values,
               const std::string& path,
               PrepContext& context)
      : writer_(writer),
        values_(values),
        context_(context),
        left_(relation.edges),
        file_(writer.create(path)),
        ids_(writer.staging().path(),
             writer.entry(relation_path(relation, "edge_ids.bin")),
             relation.edge_id_dtype(),
             relation.edges,
             &context.ledger) {
    stats_.bytes_read = writer.entry(relation_path(relation, "edge_ids.bin")).bytes;
  }

  EdgeColumnStats run() {
    const std::uint64_t room = context_.ledger.available() / 2;
    values_.size() + kPiece * 2 * sizeof(std::uint64_t) <= room ? look_up() : sweep(room);
    writer_.add(std::move(file_));
    return stats_;
  }

 private:
  void look_up() {
    AlignedBuffer all =
        AlignedBuffer::make(values_.size(), &context_.ledger, "edge columns").or_throw();
    values_.read_at(0, all.bytes().first(values_.size()));
    stats_.bytes_read += values_.size();
    const T* const table = reinterpret_cast<const T*>(all.data());
    std::vector<std::uint64_t> ids;
    std::vector<T> out;
    while (left_ != 0) {
      throw_if_interrupted();
      take_ids(kPiece, ids);
      out.resize(ids.size());
      context_.arena.for_ranges(ids.size(), 1 << 14, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) out[i] = table[ids[i]];
      });
      file_->append_values(std::span<const T>(out));
    }
  }

  void sweep(std::uint64_t room) {
    const std::uint64_t part = std::max(kLeastPart, room / kPartBytes);
    const Charge charge = context_.ledger.charge("edge columns", part * kPartBytes).or_throw();
    std::vector<std::uint64_t> ids;
    std::vector<Wanted> wanted, scratch;
    std::vector<T> out;
    while (left_ != 0) {
      wanted.clear();
      while (left_ != 0 && wanted.size() < part) {
        take_ids(std::min(kPiece, part - wanted.size()), ids);
        for (const std::uint64_t id : ids) wanted.push_back({id, wanted.size()});
      }
      radix_sort(wanted, scratch, [](const Wanted& each) { return each.id; });
      out.resize(wanted.size());
      fill(wanted, out);
      file_->append_values(std::span<const T>(out));
    }
  }

  // One pass over the values, of which those between the wanted ones are read too.
  void fill(const std::vector<Wanted>& wanted, std::vector<T>& out) {
    std::vector<T> piece;
    std::uint64_t first = 0;
    for (const Wanted& each : wanted) {
      if (each.id >= first + piece.size()) {
        throw_if_interrupted();
        first = each.id;
        piece.resize(std::min(kPiece, values_.size() / sizeof(T) - first));
        values_.read_values(first, std::span(piece));
        stats_.bytes_read += piece.size() * sizeof(T);
      }
      out[each.place] = piece[each.id - first];
    }
  }

  void take_ids(std::uint64_t most, std::vector<std::uint64_t>& ids) {
    ids.resize(std::min(most, left_));
    for (std::uint64_t& id : ids) id = *ids_.next();
    left_ -= ids.size();
  }

  DatasetWriter& writer_;
  const ScratchBytes& values_;
  PrepContext& context_;
  std::uint64_t left_;
  std::unique_ptr<DataFileWriter> file_;
  ValueCursor ids_;
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
