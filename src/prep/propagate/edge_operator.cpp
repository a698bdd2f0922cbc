#include "prep/propagate/edge_operator.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace sluice {
namespace {

std::size_t place_of(const GraphSchema& schema, const std::string& type) {
  const auto found = std::ranges::find(schema.nodes, type, &NodeTypeSchema::name);
  if (found == schema.nodes.end())
    throw Error(ErrorCode::kData,
                fmt::format("a relation names the node type '{}', which is not there", type),
                "the dataset is damaged: restore it from a copy or prepare it again");
  return static_cast<std::size_t>(found - schema.nodes.begin());
}

EdgeOperator along_edges(const GraphSchema& schema, std::size_t relation) {
  const RelationSchema& of = schema.relations[relation];
  return {relation, Along::kEdges, place_of(schema, of.source), place_of(schema, of.target)};
}

EdgeOperator turned(const EdgeOperator& op) {
  const Along along = op.along == Along::kEdges ? Along::kBackwards : Along::kEdges;
  return {op.relation, along, op.to, op.from};
}

}  // namespace

RelationLists lists_of(const GraphSchema& schema, const EdgeOperator& op) {
  const ListsOf side = op.along == Along::kEdges ? ListsOf::kTargets : ListsOf::kSources;
  return RelationLists::of(schema, schema.relations[op.relation], side);
}

std::uint64_t list_bytes(const GraphSchema& schema, const EdgeOperator& op) {
  const RelationLists lists = lists_of(schema, op);
  return lists.edges * size_of(node_id_dtype(lists.neighbour_nodes)) + lists.offset_bytes();
}

std::vector<EdgeOperator> operators_of(const GraphSchema& schema, Ways directions) {
  std::vector<EdgeOperator> all;
  for (std::size_t r = 0; r < schema.relations.size(); ++r) {
    all.push_back(along_edges(schema, r));
    if (directions == Ways::kBoth && schema.relations[r].has_out_edges)
      all.push_back(turned(all.back()));
  }
  return all;
}

EdgeOperator reverse_of(const GraphSchema& schema, const EdgeOperator& op) {
  const RelationSchema& relation = schema.relations[op.relation];
  if (op.along == Along::kBackwards || relation.has_out_edges) return turned(op);
  if (op.from == op.to) return op;
  std::size_t this_way = 0;
  std::vector<std::size_t> back;
  for (std::size_t r = 0; r < schema.relations.size(); ++r) {
    const RelationSchema& other = schema.relations[r];
    if (other.source == relation.source && other.target == relation.target) ++this_way;
    if (other.source == relation.target && other.target == relation.source) back.push_back(r);
  }
  if (this_way == 1 && back.size() == 1) return along_edges(schema, back.front());
  if (back.empty())
    throw Error(ErrorCode::kUsage,
                fmt::format("there is no way back along relation '{}': it has no out-edges, and no "
                            "relation goes from '{}' to '{}'",
                            relation.key(),
                            relation.target,
                            relation.source),
                this_way == 1
                    ? "import the graph with out_edges = true, or with a reverse of this relation"
                    : "import the graph with out_edges = true");
  throw Error(ErrorCode::kUsage,
              fmt::format("the way back along relation '{}' is not clear: it has no out-edges, {} "
                          "relations go from '{}' to '{}', and {} from '{}' to '{}'",
                          relation.key(),
                          this_way,
                          relation.source,
                          relation.target,
                          back.size(),
                          relation.target,
                          relation.source),
              "import the graph with out_edges = true");
}

std::string step_name(const GraphSchema& schema,
                      const std::vector<EdgeOperator>& operators,
                      const EdgeOperator& op) {
  const auto same_ends = [&op](const EdgeOperator& other) {
    return other.from == op.from && other.to == op.to;
  };
  const std::string& type = schema.nodes[op.from].name;
  if (std::ranges::count_if(operators, same_ends) <= 1) return type;
  const char* const way = op.along == Along::kEdges ? "" : "-back";
  return schema.relations[op.relation].name + way + "." + type;
}

}  // namespace sluice
