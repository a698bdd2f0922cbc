#include "prep/update/attach.h"

#include "core/interrupt.h"
#include "prep/features/feature_encoder.h"
#include "prep/update/added_tables.h"
#include "prep/update/generation.h"
#include "storage/checkpoint/safetensors.h"
#include "storage/format/layout.h"
#include "storage/io/aligned_buffer.h"
#include "storage/io/disk_space.h"
#include "storage/io/file.h"

#include <sluice/dataset.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace sluice {
namespace {

constexpr std::uint64_t kAttachPiece = std::uint64_t{1} << 20;  // bytes of rows at a time
constexpr const char* kAttachHint =
    "write it as `sluice-train embed --out rows.safetensors` does: rows, f32 [nodes, columns], a "
    "row a node in the dataset's order";

[[noreturn]] void refuse_attached(const std::string& what, const std::string& hint) {
  throw Error(ErrorCode::kUsage, what, hint);
}

/// A file's rows, checked against a node type as far as its header goes.
class AttachedRows {
 public:
  AttachedRows(const std::filesystem::path& path, const NodeTypeSchema& node)
      : file_(File::open_read(path).or_throw()), node_(node) {
    auto listed = list_safetensors(file_);
    if (!listed && listed.error().code() == ErrorCode::kData) refuse(listed.error().message());
    entries_ = std::move(listed).or_throw();
    check_type();
    const SafetensorsEntry* const rows = find("rows");
    if (rows == nullptr || rows->dtype != DType::kF32 || rows->shape.size() != 2 ||
        rows->shape[1] == 0)
      refuse("there is no f32 matrix called 'rows'");
    if (static_cast<std::uint64_t>(rows->shape[0]) != node.count)
      refuse(
          fmt::format("{} rows, and {} nodes of type '{}'", rows->shape[0], node.count, node.name));
    if (static_cast<std::uint64_t>(rows->shape[1]) > kMaxFeatureDim)
      refuse(fmt::format("rows of {} columns", rows->shape[1]));
    begin_ = rows->begin;
    columns_ = static_cast<std::uint32_t>(rows->shape[1]);
  }

  std::uint32_t columns() const { return columns_; }

  /// Throws kData where the file says ids, and row i is not node i's.
  void check_ids(const ExternalIds& own, MemoryLedger& ledger) const {
    const SafetensorsEntry* const ids = find("ids");
    if (ids == nullptr) return;
    const SafetensorsEntry* const ends = find("ids.offsets");
    const Array values = read(*ids, ledger);
    if (ends != nullptr) return check_texts(own, values, read(*ends, ledger));
    if (values.dtype() != DType::kI64 || values.numel() != std::int64_t(node_.count))
      refuse("'ids' are neither i64 [nodes], nor u8 with 'ids.offsets' beside them");
    const auto numbers = values.as<std::int64_t>();
    for (std::uint64_t node = 0; node < node_.count; ++node) {
      const bool same = own.kind() == IdKind::kString
                            ? own.text(node) == std::to_string(numbers[node])
                            : own.integer(node) == numbers[node];
      if (!same) refuse_order(node, std::to_string(numbers[node]), own);
    }
  }

  /// Whole rows from `first` on.
  void read_rows(std::uint64_t first, std::span<std::byte> out) const {
    file_.read_at(begin_ + first * columns_ * sizeof(float), out).or_throw();
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorCode::kData, what, kAttachHint, Place{file_.path().string(), -1, -1, -1});
  }

 private:
  // `sluice-train embed` says whose rows it writes.
  void check_type() const {
    const auto said = safetensors_metadata(file_).or_throw();
    const auto type = said.find("node_type");
    if (type == said.end() || type->second == node_.name) return;
    throw Error(ErrorCode::kData,
                fmt::format("rows of nodes of type '{}' cannot become a table of type '{}'",
                            type->second,
                            node_.name),
                fmt::format("name their type, --type {}, or write rows of this one: sluice-train "
                            "embed --type {}",
                            type->second,
                            node_.name),
                Place{file_.path().string(), -1, -1, -1});
  }

  const SafetensorsEntry* find(std::string_view name) const {
    const auto found = std::ranges::find(entries_, name, &SafetensorsEntry::name);
    return found == entries_.end() ? nullptr : &*found;
  }

  Array read(const SafetensorsEntry& entry, MemoryLedger& ledger) const {
    Array made = Array::make(entry.dtype, entry.shape, &ledger, "external ids").or_throw();
    file_.read_at(entry.begin, made.raw()).or_throw();
    return made;
  }

  void check_texts(const ExternalIds& own, const Array& bytes, const Array& offsets) const {
    if (bytes.dtype() != DType::kU8 || offsets.dtype() != DType::kI64 ||
        offsets.numel() != std::int64_t(node_.count) + 1)
      refuse("'ids' are neither i64 [nodes], nor u8 with 'ids.offsets' beside them");
    const auto ends = offsets.as<std::int64_t>();
    if (ends.front() != 0 || ends.back() != bytes.numel() || !std::ranges::is_sorted(ends))
      refuse("'ids.offsets' do not lead through 'ids'");
    const auto* const all = reinterpret_cast<const char*>(bytes.as<std::uint8_t>().data());
    for (std::uint64_t node = 0; node < node_.count; ++node) {
      const std::string id(all + ends[node], static_cast<std::size_t>(ends[node + 1] - ends[node]));
      if (id != own.text(node)) refuse_order(node, id, own);
    }
  }

  [[noreturn]] void refuse_order(std::uint64_t node,
                                 const std::string& id,
                                 const ExternalIds& own) const {
    refuse(
        fmt::format("row {} is of id '{}', and the node there is '{}'", node, id, own.text(node)));
  }

  File file_;
  const NodeTypeSchema& node_;
  std::vector<SafetensorsEntry> entries_;
  std::uint64_t begin_ = 0;
  std::uint32_t columns_ = 0;
};

const NodeTypeSchema& attached_type(const Manifest& manifest, const std::string& name) {
  if (name.empty() && manifest.schema.nodes.size() == 1) return manifest.schema.nodes.front();
  if (const NodeTypeSchema* node = manifest.schema.node_type(name)) return *node;
  refuse_attached(name.empty() ? std::string("the dataset has several node types")
                               : fmt::format("the dataset has no node type '{}'", name),
                  "say one with --type; sluice-prep inspect shows them");
}

void check_attached(const AttachOptions& options, const NodeTypeSchema& node) {
  check_table_name(options.name);
  if (options.dtype == DType::kI8)
    refuse_attached("attached tables are not kept as int8", "--dtype is f32, f16 or bf16");
  const bool there = std::ranges::count(node.features, options.name, &FeatureSchema::name) != 0;
  if (there && options.table == Overwrite::kRefuse)
    refuse_attached(
        fmt::format("node type '{}' has a feature table '{}' already", node.name, options.name),
        "choose another --name, or replace it with --replace");
}

// Copies the rows piece by piece, as the table stores them.
void copy_rows(const AttachedRows& rows,
               const FeatureSchema& table,
               DataFileWriter& file,
               PrepContext& context) {
  FeatureWriter writer(file, Manifest::layout_of(table));
  FeatureEncoder encoder({table.dtype, table.dim}, context);
  const std::uint64_t row_bytes = std::uint64_t{table.dim} * sizeof(float);
  const std::uint64_t piece =
      std::min(table.rows, std::max<std::uint64_t>(1, kAttachPiece / row_bytes));
  AlignedBuffer buffer =
      AlignedBuffer::make(piece * row_bytes, &context.ledger, "feature rows").or_throw();
  for (std::uint64_t first = 0; first < table.rows; first += piece) {
    throw_if_interrupted();
    const std::uint64_t count = std::min(piece, table.rows - first);
    const std::span<std::byte> values = buffer.bytes().first(count * row_bytes);
    rows.read_rows(first, values);
    const FeatureEncoder::Rows stored = encoder.encode(first, DType::kF32, values);
    if (stored.refused < count * table.dim) {
      float value = 0;
      std::memcpy(&value, values.data() + stored.refused * sizeof value, sizeof value);
      rows.refuse(fmt::format("row {}, column {}: {} cannot be stored as {}",
                              first + stored.refused / table.dim,
                              stored.refused % table.dim,
                              value,
                              feature_dtype_name(table.dtype)));
    }
    writer.append_rows(stored.bytes);
  }
}

}  // namespace

AttachReport attach_table(const AttachOptions& options, PrepContext& context) {
  NextGeneration next(options.dataset, context);
  const NodeTypeSchema& node = attached_type(next.old_manifest(), options.node_type);
  check_attached(options, node);
  const AttachedRows rows(options.file, node);
  rows.check_ids(next.open_old().ids(node.name), context.ledger);
  FeatureSchema table;
  table.name = options.name;
  table.dtype = options.dtype;
  table.rows = node.count;
  table.dim = rows.columns();
  require_space(next.writer().staging().path(),
                Manifest::layout_of(table).file_bytes(),
                fmt::format("the table '{}'", table.name));
  keep_beside(next, node.name, {&table, 1});
  auto file = next.writer().create(node_path(node.name, table.name + ".bin"));
  copy_rows(rows, table, *file, context);
  next.writer().add(std::move(file));
  const std::uint64_t bytes = Manifest::layout_of(table).file_bytes();
  UpdateReport update;
  next.commit(options.created_by, update);
  return {update.generation, table.rows, table.dim, bytes};
}

}  // namespace sluice
