// Labels that stand beside the ids of splits, as GraphBolt's sets have them: gathered in memory,
// and written as labels of nodes.
#include "core/interrupt.h"
#include "prep/import/import_context.h"
#include "prep/import/label_coder.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace sluice {
namespace {

class SeedLabels {
 public:
  SeedLabels(ImportContext& context, NodeState& node) : context_(context), node_(node) {}

  void run() {
    node_.labelled = std::make_unique<NodeBits>(context_.prep.ledger);
    for (const SplitSpec& split : context_.spec.splits) {
      if (split.of != SplitOf::kNodes || split.node_type != node_.spec.type) continue;
      for (const SplitPart& part : split.parts())
        if (!part.labels.empty()) add_part(part);
    }
    auto file = context_.writer.create(node_path(node_.spec.type, "labels.bin"));
    file->append(rows_.bytes().first(*node_.ids.count() * row_bytes_));
    context_.writer.add(std::move(file));
    node_.schema.labels = schema_;
  }

 private:
  std::vector<std::uint64_t> seeds_of(const SplitPart& part) {
    const auto table = context_.open(part.file, part.format);
    const std::string column = find_id_column(*table, part.column).name;
    table->select({{column, node_.ids.column_type(), EmptyCell::kRefuse, ColumnUse::kIds}});
    std::vector<std::uint64_t> all, found;
    for (TableChunk chunk; table->next(chunk);) {
      throw_if_interrupted();
      node_.ids.find(
          id_values(chunk, 0), {*table, chunk.first_row, column}, found, context_.prep.arena);
      charge_.resize(charge_.bytes() + found.size() * sizeof(std::uint64_t)).or_throw();
      all.insert(all.end(), found.begin(), found.end());
    }
    return all;
  }

  void add_part(const SplitPart& part) {
    charge_ = context_.prep.ledger.charge("seeds", 0).or_throw();
    const std::vector<std::uint64_t> seeds = seeds_of(part);
    const auto table = context_.open(part.labels, part.format);
    const Place place{table->path().string(), -1, -1, -1};
    LabelSpec spec = node_.spec.labels;
    spec.file = part.labels;
    LabelCoder coder(*table, spec);
    begin(coder, place);
    table->select(coder.requests());
    const auto check_rows = [&](std::uint64_t rows) {
      if (rows == seeds.size()) return;
      throw Error(ErrorCode::kData,
                  fmt::format("{} rows for the {} ids of {}",
                              format_count(rows),
                              format_count(seeds.size()),
                              part.file),
                  "each id of a split has one label, in the same order",
                  place);
    };
    if (const auto rows = table->num_rows()) check_rows(*rows);
    std::uint64_t rows = 0;
    for (TableChunk chunk; table->next(chunk); rows += chunk.rows) {
      throw_if_interrupted();
      if (chunk.first_row + chunk.rows > seeds.size()) check_rows(chunk.first_row + chunk.rows);
      for (std::size_t row = 0; row < chunk.rows; ++row)
        take(*table, chunk, row, coder, seeds[chunk.first_row + row]);
    }
    check_rows(rows);
    end(coder, place);
    if (const std::string rounded = coder.rounding(); !rounded.empty())
      context_.prep.log.warn("{}: {}", part.labels, rounded);
  }

  /// Room for all nodes, once it is known what labels are; those of later parts are the same.
  void begin(const LabelCoder& coder, const Place& place) {
    if (!kind_) {
      kind_ = coder.kind();
      row_bytes_ = coder.row_bytes();
      const std::uint64_t bytes = *node_.ids.count() * row_bytes_;
      rows_ = AlignedBuffer::make(bytes, &context_.prep.ledger, "labels").or_throw();
      row_.resize(row_bytes_);
      for (std::uint64_t at = 0; at < bytes; at += row_bytes_)
        coder.write_missing(rows_.bytes().subspan(at, row_bytes_));
    }
    if (coder.kind() == *kind_ && coder.row_bytes() == row_bytes_) return;
    throw Error(ErrorCode::kData,
                "the labels are of another kind or width than those of other parts",
                "all parts of a split have labels alike",
                place);
  }

  void take(const TableReader& table,
            const TableChunk& chunk,
            std::size_t row,
            LabelCoder& coder,
            std::uint64_t node) {
    const bool labelled = coder.encode(chunk, 0, row, row_);
    if (node == kNoNode || !labelled) return;  // split rows that are skipped are counted elsewhere
    const auto place = rows_.bytes().subspan(node * row_bytes_, row_bytes_);
    if (node_.labelled->get(node) && std::memcmp(place.data(), row_.data(), row_bytes_) != 0)
      throw table.value_error(chunk.first_row + row,
                              coder.requests().front().name,
                              fmt::format("node {} has another label in another part", node),
                              "each node has one label");
    std::copy(row_.begin(), row_.end(), place.begin());
    node_.labelled->set(node);
  }

  void end(const LabelCoder& coder, const Place& place) {
    if (!coder.any()) return;
    LabelSchema schema = coder.schema();
    if (schema_ && schema.names != schema_->names)
      throw Error(ErrorCode::kData,
                  "the label columns are not those of other parts, or stand in another order",
                  "name the same columns in each file: [[nodes]] labels.columns",
                  place);
    if (schema_) schema.width = std::max(schema.width, schema_->width);
    schema_ = std::move(schema);
  }

  ImportContext& context_;
  NodeState& node_;
  Charge charge_;
  std::optional<LabelKind> kind_;
  std::size_t row_bytes_ = 0;
  AlignedBuffer rows_;
  std::vector<std::byte> row_;
  std::optional<LabelSchema> schema_;
};

}  // namespace

void import_labels_of_splits(ImportContext& context, NodeState& node) {
  SeedLabels(context, node).run();
}

}  // namespace sluice
