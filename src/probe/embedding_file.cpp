#include "probe/embedding_file.h"

#include "storage/checkpoint/safetensors.h"
#include "storage/io/file.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <system_error>

namespace sluice::probe {
namespace {

using torch::Tensor;

constexpr const char* kIdsLedger = "embedding ids";
constexpr const char* kRowsHint =
    "write it as `sluice-train embed` does: a row for each node, behind its own id";

[[noreturn]] void refuse_embeddings(const std::filesystem::path& path, const std::string& what) {
  throw Error(ErrorCode::kData, what, kRowsHint, Place{path.string(), -1, -1, -1});
}

// A tensor of a safetensors file, by name; nothing where it has none.
std::optional<Array> tensor_in(const File& file,
                               const std::vector<SafetensorsEntry>& entries,
                               std::string_view name,
                               DType dtype,
                               MemoryLedger* ledger) {
  const auto found = std::ranges::find(entries, name, &SafetensorsEntry::name);
  if (found == entries.end()) return std::nullopt;
  if (found->dtype != dtype)
    refuse_embeddings(file.path(), fmt::format("tensor '{}' is of another type", name));
  Array made = Array::make(found->dtype, found->shape, ledger, kIdsLedger).or_throw();
  file.read_at(found->begin, made.raw()).or_throw();
  return made;
}

EmbeddingFile::Texts texts_of(const Array& bytes,
                              const Array& offsets,
                              const std::filesystem::path& path,
                              IdMemory& memory) {
  const auto ends = offsets.as<std::int64_t>();
  const auto all = bytes.as<std::uint8_t>();
  const bool sound = !ends.empty() && ends.front() == 0 && ends.back() == std::ssize(all) &&
                     std::ranges::is_sorted(ends);
  if (!sound) refuse_embeddings(path, "'ids.offsets' do not lead through 'ids'");
  const std::size_t count = ends.size() - 1;
  memory.take(count * (sizeof(std::string) + 1) + all.size());
  EmbeddingFile::Texts texts;
  texts.reserve(count);
  for (std::size_t i = 0; i + 1 < ends.size(); ++i)
    texts.emplace_back(reinterpret_cast<const char*>(all.data()) + ends[i],
                       static_cast<std::size_t>(ends[i + 1] - ends[i]));
  return texts;
}

// Which row is whose, by ids: `row_id` of rows, `node_id` of nodes. Throws where they do not meet
// one to one. @param shown an id as text, for messages
template <class RowId, class NodeId, class Shown>
std::vector<std::int64_t> rows_by_node(std::size_t rows,
                                       std::uint64_t nodes,
                                       const RowId& row_id,
                                       const NodeId& node_id,
                                       const Shown& shown,
                                       const std::filesystem::path& path) {
  std::vector<std::size_t> sorted(rows);
  std::iota(sorted.begin(), sorted.end(), std::size_t{0});
  std::ranges::sort(sorted, {}, row_id);
  const auto twice = std::ranges::adjacent_find(sorted, {}, row_id);
  if (twice != sorted.end())
    refuse_embeddings(path,
                      fmt::format("id '{}' stands in rows {} and {}",
                                  shown(row_id(*twice)),
                                  std::min(*twice, twice[1]),
                                  std::max(*twice, twice[1])));
  std::vector<std::int64_t> row_of(nodes, -1);
  std::vector<bool> used(rows, false);
  std::uint64_t missing = 0;
  std::optional<std::uint64_t> first_missing;
  for (std::uint64_t node = 0; node < nodes; ++node) {
    const auto id = node_id(node);
    const auto found = std::ranges::lower_bound(sorted, id, {}, row_id);
    if (found != sorted.end() && row_id(*found) == id) {
      row_of[node] = static_cast<std::int64_t>(*found);
      used[*found] = true;
    } else {
      ++missing;
      if (!first_missing) first_missing = node;
    }
  }
  const auto unknown = std::ranges::find(used, false);
  if (unknown != used.end()) {
    const auto row = static_cast<std::size_t>(unknown - used.begin());
    refuse_embeddings(path,
                      fmt::format("{} of its {} ids are of no node, the first in row {}: '{}'",
                                  std::ranges::count(used, false),
                                  rows,
                                  row,
                                  shown(row_id(row))));
  }
  if (missing != 0)
    refuse_embeddings(path,
                      fmt::format("{} of {} nodes have no row, the first is '{}'",
                                  missing,
                                  nodes,
                                  shown(node_id(*first_missing))));
  return row_of;
}

std::string shown_text(const std::string& id) {
  return id;
}

// A node's id as a column of f32 has it; nothing where it is no number.
std::optional<float> id_as_value(const ExternalIds& own, std::uint64_t node) {
  if (own.kind() != IdKind::kString) return static_cast<float>(own.integer(node));
  const std::string text = own.text(node);
  std::int64_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return static_cast<float>(number);
}

// A first column that holds each node's id once is no value: rows stand behind it in an order of
// their own, which nobody would follow. Of a few nodes that may be chance.
void refuse_ids_as_values(const EmbeddingFile& file,
                          const ExternalIds& own,
                          const std::filesystem::path& path,
                          MemoryLedger* ledger) {
  constexpr std::int64_t kFewest = 8;
  const std::int64_t rows = file.rows.size(0);
  if (rows < kFewest || file.rows.size(1) < 2) return;
  const auto value = file.rows.accessor<float, 2>();
  for (std::int64_t row = 0; row < rows; ++row)
    if (value[row][0] != std::trunc(value[row][0])) return;
  IdMemory memory(ledger);
  memory.take(2 * static_cast<std::uint64_t>(rows) * sizeof(float));
  std::vector<float> column, ids;
  column.reserve(static_cast<std::size_t>(rows));
  ids.reserve(static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::optional<float> id = id_as_value(own, static_cast<std::uint64_t>(row));
    if (!id) return;
    ids.push_back(*id);
    column.push_back(value[row][0]);
  }
  std::ranges::sort(column);
  std::ranges::sort(ids);
  if (column != ids) return;
  throw Error(ErrorCode::kData,
              "the first column holds each node's id once, and would be read as a value",
              "write ids as ids, as `sluice-train embed` does: in a .csv below the header id,e0,e1,"
              "...; or leave the column out, with rows in the nodes' order",
              Place{path.string(), -1, -1, -1});
}

std::vector<std::int64_t> placed(const EmbeddingFile& file,
                                 const ExternalIds& own,
                                 std::uint64_t nodes,
                                 const std::filesystem::path& path) {
  const auto rows = static_cast<std::size_t>(file.rows.size(0));
  const auto own_text = [&own](std::uint64_t node) { return own.text(node); };
  if (const auto* texts = std::get_if<EmbeddingFile::Texts>(&file.ids))
    return rows_by_node(
        rows,
        nodes,
        [texts](std::size_t row) -> const std::string& { return (*texts)[row]; },
        own_text,
        shown_text,
        path);
  const auto& numbers = std::get<EmbeddingFile::Numbers>(file.ids);
  if (own.kind() == IdKind::kString)
    return rows_by_node(
        rows,
        nodes,
        [&numbers](std::size_t row) { return std::to_string(numbers[row]); },
        own_text,
        shown_text,
        path);
  return rows_by_node(
      rows,
      nodes,
      [&numbers](std::size_t row) { return numbers[row]; },
      [&own](std::uint64_t node) { return own.integer(node); },
      [](std::int64_t id) { return std::to_string(id); },
      path);
}

}  // namespace

IdMemory::IdMemory(MemoryLedger* ledger) : charges_(ledger != nullptr) {
  if (charges_) charge_ = ledger->charge(kIdsLedger, 0).or_throw();
}

void IdMemory::take(std::uint64_t bytes) {
  constexpr std::uint64_t kStep = 64 * 1024;  // the ledger is not asked for each id
  taken_ += bytes;
  if (charges_ && taken_ > charge_.bytes()) charge_.resize((taken_ / kStep + 1) * kStep).or_throw();
}

EmbeddingFile read_safetensors_embeddings(const std::filesystem::path& path, MemoryLedger* ledger) {
  const File file = File::open_read(path).or_throw();
  const std::vector<SafetensorsEntry> entries = list_safetensors(file).or_throw();
  const auto rows = std::ranges::find(entries, "rows", &SafetensorsEntry::name);
  if (rows == entries.end() || rows->dtype != DType::kF32 || rows->shape.size() != 2)
    refuse_embeddings(path, "there is no f32 matrix called 'rows'");
  EmbeddingFile read;
  read.memory = IdMemory(ledger);
  read.rows = torch::empty({rows->shape[0], rows->shape[1]}, torch::kFloat32);
  file.read_at(rows->begin,
               std::as_writable_bytes(std::span(read.rows.data_ptr<float>(),
                                                static_cast<std::size_t>(read.rows.numel()))))
      .or_throw();
  const auto offsets = tensor_in(file, entries, "ids.offsets", DType::kI64, ledger);
  const auto ids = tensor_in(file, entries, "ids", offsets ? DType::kU8 : DType::kI64, ledger);
  if (offsets && !ids) refuse_embeddings(path, "there are 'ids.offsets' without 'ids'");
  if (offsets) {
    read.ids = texts_of(*ids, *offsets, path, read.memory);
  } else if (ids) {
    const auto numbers = ids->as<std::int64_t>();
    read.memory.take(numbers.size_bytes());
    read.ids = EmbeddingFile::Numbers(numbers.begin(), numbers.end());
  }
  return read;
}

EmbeddingFile read_embedding_file(const std::filesystem::path& path, MemoryLedger* ledger) {
  if (path.extension() == ".npy") return read_npy_embeddings(path, ledger);
  if (path.extension() == ".csv") return read_csv_embeddings(path, ledger);
  if (path.extension() == ".safetensors") return read_safetensors_embeddings(path, ledger);
  throw Error(ErrorCode::kUsage,
              "embeddings are read from .npy, .csv and .safetensors, and this name ends in none",
              "for example rows.npy",
              Place{path.string(), -1, -1, -1});
}

Tensor read_embeddings(const std::filesystem::path& path,
                       const Dataset& dataset,
                       std::string_view node_type) {
  EmbeddingFile file = read_embedding_file(path, dataset.ledger());
  const NodeTypeSchema* const type = dataset.schema().node_type(node_type);
  if (type == nullptr) throw Error(ErrorCode::kUsage, "the dataset has no such node type");
  const auto rows = static_cast<std::uint64_t>(file.rows.size(0));
  const std::size_t num_ids = std::visit(
      [rows](const auto& ids) -> std::size_t {
        if constexpr (requires { ids.size(); }) return ids.size();
        return rows;
      },
      file.ids);
  if (num_ids != rows) refuse_embeddings(path, fmt::format("{} rows and {} ids", rows, num_ids));
  if (rows != type->count)
    refuse_embeddings(
        path, fmt::format("{} rows, and {} nodes of type '{}'", rows, type->count, node_type));
  if (std::holds_alternative<std::monostate>(file.ids)) {
    refuse_ids_as_values(file, dataset.ids(node_type), path, dataset.ledger());
    return file.rows;
  }
  // The rows in the order of their ids, and the row of each node.
  file.memory.take(rows * 2 * sizeof(std::int64_t) + rows / 8);
  const std::vector<std::int64_t> row_of = placed(file, dataset.ids(node_type), type->count, path);
  return file.rows.index_select(0, torch::tensor(row_of, torch::kInt64));
}

}  // namespace sluice::probe
