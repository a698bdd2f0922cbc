#include "train/initial_vectors.h"

#include "core/hash.h"
#include "core/interrupt.h"
#include "storage/checkpoint/safetensors.h"
#include "storage/embedding/initial_values.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace sluice {
namespace {

constexpr const char* kVectorsLedger = "initial vectors";
constexpr const char* kVectorsHint =
    "write it as `sluice-train embed --out rows.safetensors` does: rows, f32 [n, dim], and ids";

Array column_of(std::uint64_t count, MemoryLedger* ledger) {
  return Array::make(DType::kU64, {static_cast<std::int64_t>(count)}, ledger, kVectorsLedger)
      .or_throw();
}

}  // namespace

// The ids in a file, by row: numbers or texts.
class InitialVectors::FileIds {
 public:
  FileIds(const File& file, const std::vector<SafetensorsEntry>& entries, MemoryLedger* ledger)
      : ids_(read(file, entries, "ids", ledger)),
        offsets_(read(file, entries, "ids.offsets", ledger)) {}

  bool any() const { return !ids_.shape().empty(); }
  bool texts() const { return !offsets_.shape().empty(); }
  std::uint64_t count() const {
    return static_cast<std::uint64_t>(texts() ? offsets_.numel() - 1 : ids_.numel());
  }
  /// Why they are no ids; empty where they are.
  std::string fault() const {
    if (!any()) return texts() ? "there are 'ids.offsets' without 'ids'" : "";
    if (ids_.dtype() != (texts() ? DType::kU8 : DType::kI64))
      return "'ids' are neither i64, nor u8 with 'ids.offsets' beside them";
    if (!texts()) return ids_.shape().size() == 1 ? "" : "'ids' are no list";
    if (offsets_.dtype() != DType::kI64) return "'ids.offsets' are not i64";
    const auto ends = offsets_.as<std::int64_t>();
    const bool sound = !ends.empty() && ends.front() == 0 && ends.back() == ids_.numel() &&
                       std::ranges::is_sorted(ends);
    return sound ? "" : "'ids.offsets' do not lead through 'ids'";
  }
  void hash(Hasher& hasher) const {
    if (any()) hasher.update(ids_.raw());
    if (texts()) hasher.update(offsets_.raw());
  }
  std::int64_t number(std::uint64_t row) const { return ids_.as<std::int64_t>()[row]; }
  std::string_view text(std::uint64_t row) const {
    const auto ends = offsets_.as<std::int64_t>();
    const auto begin = static_cast<std::size_t>(ends[row]);
    const auto bytes =
        ids_.as<std::uint8_t>().subspan(begin, static_cast<std::size_t>(ends[row + 1]) - begin);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

 private:
  static Array read(const File& file,
                    const std::vector<SafetensorsEntry>& entries,
                    std::string_view name,
                    MemoryLedger* ledger) {
    const auto found = std::ranges::find(entries, name, &SafetensorsEntry::name);
    if (found == entries.end()) return {};
    Array made = Array::make(found->dtype, found->shape, ledger, kVectorsLedger).or_throw();
    file.read_at(found->begin, made.raw()).or_throw();
    return made;
  }

  Array ids_, offsets_;
};

void InitialVectors::refuse(ErrorCode code,
                            const std::string& what,
                            const std::string& hint) const {
  throw Error(code, "embedding.vectors: " + what, hint, Place{file_.path().string(), -1, -1, -1});
}

InitialVectors::InitialVectors(const std::filesystem::path& path,
                               const Dataset& dataset,
                               std::string_view node_type,
                               std::uint32_t dim)
    : file_(File::open_read(path).or_throw()), dim_(dim) {
  auto listed = list_safetensors(file_);
  if (!listed && listed.error().code() == ErrorCode::kData)
    refuse(ErrorCode::kData, listed.error().message(), kVectorsHint);
  const std::vector<SafetensorsEntry> entries = std::move(listed).or_throw();
  const auto rows = std::ranges::find(entries, "rows", &SafetensorsEntry::name);
  if (rows == entries.end() || rows->dtype != DType::kF32 || rows->shape.size() != 2)
    refuse(ErrorCode::kData, "there is no f32 matrix called 'rows'", kVectorsHint);
  if (rows->shape[1] != std::int64_t{dim})
    refuse(ErrorCode::kUsage,
           fmt::format("vectors of {} columns, and embedding.dim is {}", rows->shape[1], dim),
           fmt::format("set embedding.dim = {}", rows->shape[1]));
  begin_ = rows->begin;
  const auto count = static_cast<std::uint64_t>(rows->shape[0]);
  const FileIds ids(file_, entries, dataset.ledger());
  if (const std::string fault = ids.fault(); !fault.empty())
    refuse(ErrorCode::kData, fault, kVectorsHint);
  if (ids.any() && ids.count() != count)
    refuse(ErrorCode::kData, fmt::format("{} rows and {} ids", count, ids.count()), kVectorsHint);
  place_rows(dataset, node_type, ids, count);
  hash_rows(count, ids);
}

// Which row is whose.
void InitialVectors::place_rows(const Dataset& dataset,
                                std::string_view node_type,
                                const FileIds& ids,
                                std::uint64_t count) {
  const auto schema = std::ranges::find(dataset.schema().nodes, node_type, &NodeTypeSchema::name);
  rows_ = column_of(schema->count, dataset.ledger());
  const auto places = rows_.as<std::uint64_t>();
  if (!ids.any()) {
    if (count != places.size())
      refuse(ErrorCode::kData,
             fmt::format(
                 "{} rows without ids, and {} nodes of type '{}'", count, places.size(), node_type),
             kVectorsHint);
    std::iota(places.begin(), places.end(), std::uint64_t{0});
    return;
  }
  Array order = column_of(count, dataset.ledger());
  const auto sorted = order.as<std::uint64_t>();
  const ExternalIds own = dataset.ids(node_type);
  const auto place_by = [&](const auto& id_of, const auto& own_id) {
    std::iota(sorted.begin(), sorted.end(), std::uint64_t{0});
    std::ranges::sort(sorted, {}, id_of);
    const auto twice = std::ranges::adjacent_find(sorted, {}, id_of);
    if (twice != sorted.end())
      refuse(ErrorCode::kData,
             fmt::format("id '{}' stands in rows {} and {}", id_of(*twice), *twice, twice[1]),
             "leave one of them out");
    for (std::uint64_t node = 0; node < places.size(); ++node) {
      const auto id = own_id(node);
      const auto found = std::ranges::lower_bound(sorted, id, {}, id_of);
      places[node] = found != sorted.end() && id_of(*found) == id ? *found : kNoRow;
    }
  };
  if (ids.texts()) {
    place_by([&](std::uint64_t row) { return ids.text(row); },
             [&](std::uint64_t node) { return own.text(node); });
  } else if (own.kind() == IdKind::kString) {
    place_by([&](std::uint64_t row) { return std::to_string(ids.number(row)); },
             [&](std::uint64_t node) { return own.text(node); });
  } else {
    place_by([&](std::uint64_t row) { return ids.number(row); },
             [&](std::uint64_t node) { return own.integer(node); });
  }
  if (!places.empty() && std::ranges::count(places, kNoRow) == std::ssize(places))
    refuse(ErrorCode::kData,
           fmt::format("none of its {} ids is of a node of type '{}'", count, node_type),
           "name nodes by the ids that they were imported with");
}

void InitialVectors::hash_rows(std::uint64_t count, const FileIds& ids) {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;  // values
  Hasher hasher;
  std::vector<float> piece;
  const std::uint64_t values = count * dim_;
  for (std::uint64_t first = 0; first < values; first += kPiece) {
    throw_if_interrupted();
    piece.resize(std::min(kPiece, values - first));
    const auto bytes = std::as_writable_bytes(std::span(piece));
    file_.read_at(begin_ + first * sizeof(float), bytes).or_throw();
    const auto wrong = std::ranges::find_if(piece, [](float x) { return !std::isfinite(x); });
    if (wrong != piece.end()) {
      const std::uint64_t at = first + static_cast<std::uint64_t>(wrong - piece.begin());
      refuse(ErrorCode::kData,
             fmt::format("row {}, column {} is {}", at / dim_, at % dim_, *wrong),
             "replace what is no finite number");
    }
    hasher.update(bytes);
  }
  ids.hash(hasher);
  hash_ = hasher.digest();
}

// Neighbours in the file are read together.
void InitialVectors::read(std::span<const std::uint64_t> nodes, std::span<float> out) const {
  for (std::size_t i = 0, count = 1; i < nodes.size(); i += count) {
    count = 1;
    const std::uint64_t row = row_of(nodes[i]);
    if (row == kNoRow) continue;
    while (i + count < nodes.size() && row_of(nodes[i + count]) == row + count) ++count;
    const auto rows = out.subspan(i * dim_, count * dim_);
    file_.read_at(begin_ + row * dim_ * sizeof(float), std::as_writable_bytes(rows)).or_throw();
  }
}

VectorsByType open_initial_vectors(const EmbeddingSection& wanted,
                                   bool follow,
                                   const Dataset& dataset) {
  VectorsByType vectors;
  if (wanted.vectors.empty()) return vectors;
  const auto unfit = [](const std::string& what, const std::string& hint) {
    return Error(ErrorCode::kUsage, "embedding.vectors: " + what, hint);
  };
  if (wanted.dim == 0)
    throw unfit("no rows are learned that could begin as vectors",
                "set embedding.dim to the columns of the vectors");
  if (follow)
    throw unfit(
        "a dataset that is followed may get nodes that the file tells of, whose rows began "
        "otherwise",
        "set dataset.follow = false, or leave embedding.vectors out");
  const std::filesystem::path path(wanted.vectors);
  std::vector<std::string> types = wanted.types;
  if (types.empty())
    for (const NodeTypeSchema& type : dataset.schema().nodes) types.push_back(type.name);
  const bool folder = std::filesystem::is_directory(path);
  if (!folder && types.size() != 1)
    throw unfit(fmt::format("one file, and {} node types have learned rows", types.size()),
                "name a folder with TYPE.safetensors, or one type in embedding.types");
  for (const NodeTypeSchema& type : dataset.schema().nodes) {
    if (type.count == 0 || std::ranges::count(types, type.name) == 0) continue;
    const std::filesystem::path file = folder ? path / (type.name + ".safetensors") : path;
    if (folder && !std::filesystem::exists(file)) continue;
    vectors[type.name] = std::make_shared<const InitialVectors>(
        file, dataset, type.name, static_cast<std::uint32_t>(wanted.dim));
  }
  if (folder && vectors.empty())
    throw unfit(fmt::format("folder '{}' has no file of a type with learned rows", path.string()),
                fmt::format("put {}.safetensors there", types.front()));
  return vectors;
}

InitialRows begin_as_vectors(std::shared_ptr<const InitialVectors> vectors,
                             const InitialRows& else_as) {
  const InitialValues others(else_as);
  InitialRows initial;
  initial.kind = InitialRows::Kind::kReader;
  initial.source = fmt::format("vectors {}, else {}", hex64(vectors->hash()), others.description());
  initial.reader = [vectors = std::move(vectors), others](std::span<const std::uint64_t> nodes,
                                                          std::span<float> out) {
    if (nodes.empty()) return;
    const std::size_t dim = out.size() / nodes.size();
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (!vectors->has(nodes[i]))
        others.fill(nodes[i], 1, static_cast<std::uint32_t>(dim), out.data() + i * dim, dim);
    vectors->read(nodes, out);
  };
  return initial;
}

}  // namespace sluice
