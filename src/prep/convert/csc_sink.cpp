#include "prep/convert/csc_sink.h"

#include <cstring>

namespace sluice {
namespace {

constexpr std::uint64_t line_up(std::uint64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

void store(std::byte* column, DType dtype, std::uint64_t at, std::uint64_t value) {
  if (dtype == DType::kU32) {
    reinterpret_cast<std::uint32_t*>(column)[at] = static_cast<std::uint32_t>(value);
  } else {
    reinterpret_cast<std::uint64_t*>(column)[at] = value;
  }
}

}  // namespace

std::uint64_t source_of_edge(const CscSink& sink, const CscRoom& room, std::uint64_t at) {
  if (sink.neighbour_dtype() == DType::kU32)
    return reinterpret_cast<const std::uint32_t*>(room.neighbours)[at];
  return reinterpret_cast<const std::uint64_t*>(room.neighbours)[at];
}

void set_edge(const CscSink& sink,
              const CscRoom& room,
              std::uint64_t at,
              std::uint64_t source,
              std::uint64_t id) {
  store(room.neighbours, sink.neighbour_dtype(), at, source);
  if (sink.id_dtype()) store(room.ids, *sink.id_dtype(), at, id);
}

void move_edges(const CscSink& sink,
                const CscRoom& room,
                std::uint64_t from,
                std::uint64_t to,
                std::uint64_t count) {
  if (from == to || count == 0) return;
  const std::size_t wide = size_of(sink.neighbour_dtype());
  std::memmove(room.neighbours + to * wide, room.neighbours + from * wide, count * wide);
  if (!sink.id_dtype()) return;
  const std::size_t id = size_of(*sink.id_dtype());
  std::memmove(room.ids + to * id, room.ids + from * id, count * id);
}

MemoryCsc::MemoryCsc(DType neighbour,
                     std::optional<DType> id,
                     std::uint64_t targets,
                     std::uint64_t edges,
                     MemoryLedger* ledger)
    : CscSink(neighbour, id),
      offsets_(AlignedBuffer::make((targets + 1) * sizeof(std::uint64_t), ledger, "topology")
                   .or_throw()),
      neighbours_(AlignedBuffer::make(edges * size_of(neighbour), ledger, "topology").or_throw()) {
  if (id) ids_ = AlignedBuffer::make(edges * size_of(*id), ledger, "topology").or_throw();
}

CscRoom MemoryCsc::room(std::uint64_t, std::uint64_t) {
  CscRoom room;
  room.ends = reinterpret_cast<std::uint64_t*>(offsets_.data()) + 1 + targets_;
  room.neighbours = neighbours_.data() + edges_ * size_of(neighbour_dtype());
  if (id_dtype()) room.ids = ids_.data() + edges_ * size_of(*id_dtype());
  return room;
}

void MemoryCsc::commit(std::uint64_t targets, std::uint64_t edges) {
  targets_ += targets;
  edges_ += edges;
}

FileCsc::FileCsc(DType neighbour,
                 std::optional<DType> id,
                 ListWriter& lists,
                 DataFileWriter& neighbours,
                 DataFileWriter* ids,
                 MemoryLedger* ledger)
    : CscSink(neighbour, id), lists_(lists), neighbours_(neighbours), ids_(ids), ledger_(ledger) {}

CscRoom FileCsc::room(std::uint64_t targets, std::uint64_t edges) {
  Part& part = parts_[static_cast<std::size_t>(filling_)];
  const std::uint64_t ends = line_up(targets * sizeof(std::uint64_t));
  const std::uint64_t neighbours = line_up(edges * size_of(neighbour_dtype()));
  const std::uint64_t ids = id_dtype() ? edges * size_of(*id_dtype()) : 0;
  const std::uint64_t bytes = ends + neighbours + ids;
  if (part.memory.size() < bytes) {
    part.memory = AlignedBuffer();
    part.memory = AlignedBuffer::make(bytes, ledger_, "edges").or_throw();
  }
  part.room = {reinterpret_cast<std::uint64_t*>(part.memory.data()),
               part.memory.data() + ends,
               id_dtype() ? part.memory.data() + ends + neighbours : nullptr};
  return part.room;
}

void FileCsc::commit(std::uint64_t targets, std::uint64_t edges) {
  writing_.wait();
  const CscRoom room = parts_[static_cast<std::size_t>(filling_)].room;
  filling_ = 1 - filling_;
  writing_.begin([this, room, targets, edges] {
    lists_.append(std::span<const std::uint64_t>(room.ends, targets));
    neighbours_.append({room.neighbours, edges * size_of(neighbour_dtype())});
    if (ids_ != nullptr) ids_->append({room.ids, edges * size_of(*id_dtype())});
  });
}

void FileCsc::finish() {
  writing_.wait();
}

}  // namespace sluice
