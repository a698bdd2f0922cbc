#include "train/layer_lists.h"

#include "core/interrupt.h"
#include "core/type_index.h"
#include "train/list_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

namespace sluice {
namespace {

class ListLayer {
 public:
  ListLayer(const LayerWork& work, const NodeTables& rows, NodeTables& made, LayerFigures& figure)
      : work_(work),
        schema_(work.parts.dataset.schema()),
        rows_(rows),
        made_(made),
        figure_(figure),
        of_relation_(schema_.relations.size()) {}

  void run() {
    for (std::size_t type = 0; type < rows_.size(); ++type)
      if (rows_[type]) go_by_lists(type);
    for (std::size_t type = 0; type < made_.size(); ++type)
      if (made_[type] && work_.count(type) != 0) write_targets(type);
  }

 private:
  Topology& topology(std::size_t relation) const {
    return *work_.parts.data.graph().relations.at(relation);
  }
  std::size_t source_of(std::size_t relation) const {
    return type_index(schema_, schema_.relations[relation].source);
  }
  std::size_t target_of(std::size_t relation) const {
    return type_index(schema_, schema_.relations[relation].target);
  }

  // All relations out of a type, into types that are written.
  void go_by_lists(std::size_t source) {
    const Gathering gathering = work_.layerwise.gathering(work_.layer);
    std::vector<std::size_t> relations;
    std::vector<ListedRelation> lists;
    std::uint64_t edges = 0;
    Charge charge;
    std::vector<float> scales;
    for (std::size_t relation = 0; relation < schema_.relations.size(); ++relation) {
      if (source_of(relation) != source || !made_[target_of(relation)]) continue;
      relations.push_back(relation);
      edges += topology(relation).num_edges();
      lists.push_back({&topology(relation), gathering, {}});
    }
    if (relations.empty() || work_.count(source) == 0) return;
    if (gathering == Gathering::kScaledMean) {
      charge = work_.parts.ledger->charge("rows by lists", work_.count(source) * sizeof(float))
                   .or_throw();
      scales = scales_of(source);
      for (ListedRelation& each : lists) each.scales = scales;
    }
    const PanelTable& table = *rows_[source];
    Progress bar(work_.progress,
                 fmt::format("layer {}, {}", work_.layer + 1, schema_.nodes[source].name),
                 edges * table.shape().panels(),
                 "edges");
    std::vector<std::unique_ptr<PanelTable>> made =
        make_list_rows(table,
                       lists,
                       {work_.scratch,
                        &work_.parts.compute,
                        work_.parts.ledger.get(),
                        [&bar](std::uint64_t count) { bar.add(count); }});
    figure_.panels = std::max(figure_.panels, table.shape().panels());
    figure_.rows_read += table.shape().rows;
    figure_.bytes_read += table.bytes();
    for (std::size_t at = 0; at < relations.size(); ++at) {
      figure_.bytes_written += made[at]->bytes();
      of_relation_[relations[at]] = std::move(made[at]);
    }
  }

  // 1 / sqrt(in-degree + 1), in the whole graph.
  std::vector<float> scales_of(std::size_t type) const {
    std::vector<float> scales(work_.count(type));
    for (std::uint64_t first = 0; first < scales.size(); first += work_.chunk) {
      const std::uint64_t count = std::min<std::uint64_t>(work_.chunk, scales.size() - first);
      const std::vector<std::int64_t> degrees = degrees_of_targets(type, first, count);
      for (std::uint64_t i = 0; i < count; ++i)
        scales[first + i] = 1.0f / std::sqrt(static_cast<float>(degrees[i]) + 1.0f);
    }
    return scales;
  }

  std::vector<std::int64_t> degrees_of_targets(std::size_t type,
                                               std::uint64_t first,
                                               std::uint64_t count) const {
    std::vector<std::int64_t> degrees(count, 0);
    std::vector<std::uint64_t> nodes(count);
    std::vector<EdgeRange> ranges(count);
    std::iota(nodes.begin(), nodes.end(), first);
    for (std::size_t relation = 0; relation < schema_.relations.size(); ++relation) {
      if (target_of(relation) != type) continue;
      topology(relation).whole_ranges(nodes, ranges).or_throw();
      for (std::uint64_t i = 0; i < count; ++i)
        degrees[i] += static_cast<std::int64_t>(ranges[i].degree());
    }
    return degrees;
  }

  // The targets' own rows, and behind those of their type, or alone, what was made of each list.
  struct Joined {
    Batch batch;
    std::vector<std::vector<torch::Tensor>> rows;  // by node type: parts, one behind the other
    std::vector<std::int64_t> size;                // by node type: rows of all parts
  };

  void write_targets(std::size_t type) {
    RowWriter writer(*made_[type]);
    Progress bar(work_.progress,
                 fmt::format("layer {}, {}", work_.layer + 1, schema_.nodes[type].name),
                 work_.count(type),
                 "rows");
    for (std::uint64_t first = 0; first < work_.count(type); first += work_.chunk) {
      throw_if_interrupted();
      const std::uint64_t count = std::min(work_.chunk, work_.count(type) - first);
      Joined joined = join(type, first, count);
      std::vector<torch::Tensor> x(schema_.nodes.size());
      for (std::size_t each = 0; each < x.size(); ++each)
        if (!joined.rows[each].empty())
          x[each] =
              joined.rows[each].size() == 1 ? joined.rows[each][0] : torch::cat(joined.rows[each]);
      LayerCarry none;
      writer.write(first, work_.layerwise.layer_rows(work_.layer, x, joined.batch, none).at(type));
      bar.add(count);
    }
    figure_.bytes_read += rows_[type]->bytes();
    for (std::size_t relation = 0; relation < of_relation_.size(); ++relation)
      if (of_relation_[relation] && target_of(relation) == type)
        figure_.bytes_read += of_relation_[relation]->bytes();
  }

  Joined join(std::size_t type, std::uint64_t first, std::uint64_t count) const {
    const std::size_t types = schema_.nodes.size();
    Joined joined{empty_batch(work_.layerwise.depth(), types), {}, {}};
    joined.rows.resize(types);
    joined.size.assign(types, 0);
    joined.rows[type].push_back(read_rows(*rows_[type], first, count));
    joined.size[type] = static_cast<std::int64_t>(count);
    for (std::size_t relation = 0; relation < of_relation_.size(); ++relation) {
      if (target_of(relation) != type) continue;
      const std::size_t source = source_of(relation);
      joined.batch.layers[static_cast<std::size_t>(work_.layer)].push_back(
          block_of(relation, first, count, joined.size[source]));
      if (!of_relation_[relation]) continue;  // of a type without nodes: no edges
      joined.rows[source].push_back(read_rows(*of_relation_[relation], first, count));
      joined.size[source] += static_cast<std::int64_t>(count);
    }
    for (std::size_t each = 0; each < types; ++each)
      set_nodes(joined, each, each == type ? count : 0, first);
    for (Block& block : joined.batch.layers[static_cast<std::size_t>(work_.layer)])
      block.num_sources = joined.size[block.source_type];
    return joined;
  }

  // A neighbour a target, where it has in-edges: the row from `base` on that was made of them.
  Block block_of(std::size_t relation,
                 std::uint64_t first,
                 std::uint64_t count,
                 std::int64_t base) const {
    std::vector<std::uint64_t> nodes(count);
    std::vector<EdgeRange> ranges(count);
    std::iota(nodes.begin(), nodes.end(), first);
    topology(relation).ranges(nodes, ranges).or_throw();
    const auto with_edges =
        std::ranges::count_if(ranges, [](const EdgeRange& range) { return range.degree() != 0; });
    Block block;
    block.relation = relation;
    block.source_type = source_of(relation);
    block.target_type = target_of(relation);
    block.num_targets = static_cast<std::int64_t>(count);
    block.offsets = make(DType::kI64, block.num_targets + 1);
    block.neighbours = make(DType::kI32, with_edges);
    const auto offsets = block.offsets.as<std::int64_t>();
    const auto neighbours = block.neighbours.as<std::int32_t>();
    offsets[0] = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      offsets[i + 1] = offsets[i];
      if (ranges[i].degree() == 0) continue;
      neighbours[static_cast<std::size_t>(offsets[i + 1]++)] =
          static_cast<std::int32_t>(base + static_cast<std::int64_t>(i));
    }
    return block;
  }

  Array make(DType dtype, std::int64_t count) const {
    return Array::make(dtype, {count}, work_.parts.ledger.get(), "batches").or_throw();
  }

  void set_nodes(Joined& joined,
                 std::size_t type,
                 std::uint64_t targets,
                 std::uint64_t first) const {
    BatchNodes& nodes = joined.batch.nodes[type];
    const std::int64_t rows = joined.size[type];
    set_sizes(joined.batch, work_.layer, type, rows, static_cast<std::int64_t>(targets));
    nodes.ids = make(DType::kU64, rows);
    const auto ids = nodes.ids.as<std::uint64_t>();
    std::ranges::fill(ids, 0);
    std::iota(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(targets), first);
    nodes.degrees = make(DType::kI64, rows);
    const auto degrees = nodes.degrees.as<std::int64_t>();
    std::ranges::fill(degrees, 0);
    if (targets == 0) return;
    std::ranges::copy(degrees_of_targets(type, first, targets), degrees.begin());
  }

  const LayerWork& work_;
  const GraphSchema& schema_;
  const NodeTables& rows_;
  NodeTables& made_;
  LayerFigures& figure_;
  NodeTables of_relation_;  // what was made of its lists; null where nobody asks
};

}  // namespace

void pass_by_lists(const LayerWork& work,
                   const NodeTables& rows,
                   NodeTables& made,
                   LayerFigures& figure) {
  ListLayer(work, rows, made, figure).run();
}

}  // namespace sluice
