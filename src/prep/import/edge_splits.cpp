#include "prep/import/edge_splits.h"

#include "core/interrupt.h"
#include "storage/format/value_cursor.h"

#include <sluice/random.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace sluice {
namespace {

constexpr std::array<const char*, 3> kParts{"train", "valid", "test"};

std::uint64_t& size_of_part(EdgeSplitSchema& split, std::size_t part) {
  return part == 0 ? split.train : part == 1 ? split.valid : split.test;
}

/// Turns the edges of one file into rows.
class RowWriter {
 public:
  RowWriter(ImportContext& context, const SplitSpec& split, const SpooledTable& table)
      : context_(context),
        spec_(edges_of_split(context.spec, split)),
        split_(split),
        table_(table) {
    for (const std::string& name : table.type_names) types_.push_back(meaning_of(name));
    if (table.type_names.empty()) types_.push_back({place_of(spec_.relation), 0});
  }

  std::uint64_t write(DataFileWriter& out) {
    SpooledEdges edges(table_.edges, table_.rows);
    std::uint64_t rows = 0;
    while (const auto view = edges.next()) {
      throw_if_interrupted();
      std::visit([&](const auto& span) { add(span, rows); }, *view);
      out.append_values(std::span<const EdgeSplit::Row>(rows_));
      rows += rows_.size();
    }
    return rows;
  }

 private:
  struct Meaning {
    std::uint64_t relation;
    std::uint64_t type;
  };

  std::uint64_t place_of(const std::string& name) const {
    const auto& relations = context_.writer.schema().relations;
    for (std::size_t i = 0; i < relations.size(); ++i) {
      if (relations[i].source == spec_.source && relations[i].target == spec_.target &&
          relations[i].name == name)
        return i;
    }
    return relations.size();
  }

  Meaning meaning_of(const std::string& type) const {
    const auto& relations = context_.writer.schema().relations;
    if (spec_.types == EdgeTypes::kRelations) {
      const auto& names = context_.relation_names[&spec_];
      const auto name = names.find(type);
      const std::uint64_t place = name == names.end() ? relations.size() : place_of(name->second);
      if (place < relations.size()) return {place, 0};
    } else {
      const std::uint64_t place = place_of(spec_.relation);
      const auto& names = relations[place].labels->names;
      const auto found = std::find(names.begin(), names.end(), type);
      if (found != names.end()) return {place, static_cast<std::uint64_t>(found - names.begin())};
    }
    throw Error(ErrorCode::kData,
                fmt::format("split '{}': no edge has the type '{}'", split_.name, type),
                "types are those of the [[edges]]",
                Place{(context_.root / spec_.file).string(), -1, -1, -1});
  }

  template <class Span>
  void add(const Span& span, std::uint64_t first) {
    rows_.resize(span.count);
    for (std::size_t i = 0; i < span.count; ++i) {
      const std::uint64_t id = span.ids == nullptr ? first + i : span.ids[i];
      std::int64_t type = 0, label = 1;
      if (table_.types) table_.types->read_values(id, std::span(&type, 1));
      if (table_.labels) table_.labels->read_values(id, std::span(&label, 1));
      if (label != 0 && label != 1)
        throw Error(ErrorCode::kData,
                    fmt::format("split '{}': row {} has the label {}", split_.name, id, label),
                    "1 is an edge, 0 an example of none",
                    Place{(context_.root / spec_.file).string(), -1, -1, -1});
      const Meaning& meaning = types_[static_cast<std::size_t>(type)];
      rows_[i] = {meaning.relation,
                  meaning.type,
                  span.source[i],
                  span.target[i],
                  static_cast<std::uint64_t>(label)};
    }
  }

  ImportContext& context_;
  const EdgeSpec& spec_;
  const SplitSpec& split_;
  const SpooledTable& table_;
  std::vector<Meaning> types_;
  std::vector<EdgeSplit::Row> rows_;
};

/// The parts of a relation's edges, by edge id.
class DrawnParts {
 public:
  DrawnParts(ImportContext& context, const SplitSpec& split, const RelationSchema& relation)
      : context_(context),
        split_(split),
        relation_(relation),
        there_(context.prep.ledger),
        low_(context.prep.ledger),
        high_(context.prep.ledger) {
    // Edges that were dropped have an id, and are in no part.
    ValueCursor ids(context.writer.staging().path(),
                    context.writer.entry(relation_path(relation, "edge_ids.bin")),
                    relation.edge_id_dtype(),
                    relation.edges,
                    &context.prep.ledger);
    while (const auto id = ids.next()) {
      if (there_.get(*id)) continue;  // the other way of an undirected edge
      there_.set(*id);
      ++count_;
    }
  }

  void draw() {
    const RandomKey key =
        RandomKey(static_cast<std::uint64_t>(split_.seed)).with("split").with(split_.name);
    for (std::uint64_t id = 0; id < relation_.edge_id_bound; ++id) {
      if (!there_.get(id)) continue;
      const double u = key.uniform(id);
      double upto = 0;
      for (std::size_t part = 0; part < 3; ++part) {
        upto += split_.ratio[part];
        if (u >= upto) continue;
        put(id, part);
        break;
      }
    }
  }

  void cut_by_time(const SpooledTable& table) {
    std::array<std::uint64_t, 3> ends{};
    double upto = 0;
    for (std::size_t part = 0; part < 3; ++part) {
      upto += split_.ratio[part];
      ends[part] = static_cast<std::uint64_t>(std::llround(upto * static_cast<double>(count_)));
    }
    std::uint64_t seen = 0;
    std::size_t part = 0;
    std::int64_t last = 0;
    const auto take = [&](std::uint64_t id) {
      if (!there_.get(id)) return;
      std::int64_t time = 0;
      table.times->read_values(id, std::span(&time, 1));
      const bool same = seen != 0 && time == last;
      while (!same && part < 3 && seen >= ends[part]) ++part;
      if (part < 3) put(id, part);
      last = time;
      ++seen;
    };
    SpooledEdges edges(table.edges, table.rows);
    std::uint64_t next = 0;
    while (const auto view = edges.next()) {
      throw_if_interrupted();
      std::visit(
          [&](const auto& span) {
            for (std::size_t i = 0; i < span.count; ++i, ++next)
              take(span.ids == nullptr ? next : span.ids[i]);
          },
          *view);
    }
  }

  void add_training(NodeBits& training) const {
    for (std::uint64_t id = 0; id < relation_.edge_id_bound; ++id)
      if (part_of(id) == 1) training.set(id);
  }

  EdgeSplitSchema write() {
    EdgeSplitSchema schema{split_.name, relation_.key()};
    for (std::size_t part = 0; part < 3; ++part) {
      auto file = context_.writer.create(split_path(split_.name, kParts[part]));
      std::vector<std::uint64_t> ids;
      for (std::uint64_t id = 0; id < relation_.edge_id_bound; ++id) {
        if (part_of(id) == part + 1) ids.push_back(id);
        if (ids.size() < (1 << 16) && id + 1 != relation_.edge_id_bound) continue;
        file->append_values(std::span<const std::uint64_t>(ids));
        size_of_part(schema, part) += ids.size();
        ids.clear();
      }
      context_.writer.add(std::move(file));
      if (split_.ratio[part] == 0 || size_of_part(schema, part) != 0) continue;
      throw Error(ErrorCode::kData,
                  fmt::format("split '{}' by ratio leaves the {} part empty: {} of {} edges",
                              split_.name,
                              kParts[part],
                              split_.ratio[part],
                              count_),
                  "raise the ratio, or set it to 0");
    }
    return schema;
  }

 private:
  void put(std::uint64_t id, std::size_t part) {
    if (((part + 1) & 1) != 0) low_.set(id);
    if (((part + 1) & 2) != 0) high_.set(id);
  }
  /// 0: none; else the part + 1.
  std::size_t part_of(std::uint64_t id) const {
    return std::size_t{low_.get(id)} + 2 * std::size_t{high_.get(id)};
  }

  ImportContext& context_;
  const SplitSpec& split_;
  const RelationSchema& relation_;
  NodeBits there_, low_, high_;
  std::uint64_t count_ = 0;
};

}  // namespace

void write_edge_rows(ImportContext& context,
                     const SplitSpec& split,
                     const std::array<std::unique_ptr<SpooledTable>, 3>& parts) {
  EdgeSplitSchema schema{split.name, {}};
  for (std::size_t part = 0; part < 3; ++part) {
    auto file = context.writer.create(split_path(split.name, kParts[part]));
    if (parts[part])
      size_of_part(schema, part) = RowWriter(context, split, *parts[part]).write(*file);
    context.writer.add(std::move(file));
  }
  context.writer.schema().edge_splits.push_back(std::move(schema));
}

void draw_edge_split(ImportContext& context,
                     const SplitSpec& split,
                     const RelationSchema& relation,
                     const SpooledTable* table,
                     NodeBits* training) {
  DrawnParts parts(context, split, relation);
  split.order == SplitOrder::kTime ? parts.cut_by_time(*table) : parts.draw();
  if (training != nullptr) parts.add_training(*training);
  context.writer.schema().edge_splits.push_back(parts.write());
}

}  // namespace sluice
