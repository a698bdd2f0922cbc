// TypeFlow: which node types matter at which layer of a model, from the types that are asked for
// backwards: parameters of others would never be used.
#pragma once

#include "core/type_index.h"

#include <sluice/graph_schema.h>
#include <sluice/nn/union_block.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::models {

inline std::vector<nn::TypedRelation> typed_relations(const GraphSchema& schema) {
  std::vector<nn::TypedRelation> relations;
  relations.reserve(schema.relations.size());
  for (const RelationSchema& each : schema.relations)
    relations.push_back(
        {relations.size(), type_index(schema, each.source), type_index(schema, each.target)});
  return relations;
}

/// By layer, the first reads the inputs.
inline std::vector<nn::LayerTypes> type_flow(const GraphSchema& schema,
                                             const std::vector<std::size_t>& target_types,
                                             std::int64_t layers) {
  std::vector<nn::LayerTypes> flow(static_cast<std::size_t>(layers));
  std::vector<bool> wanted(schema.nodes.size(), false);
  for (const std::size_t type : target_types) wanted.at(type) = true;
  const std::vector<nn::TypedRelation> relations = typed_relations(schema);
  for (auto layer = flow.rbegin(); layer != flow.rend(); ++layer) {
    layer->written = wanted;
    for (const nn::TypedRelation& each : relations)
      if (layer->written[each.target_type]) wanted[each.source_type] = true;
    layer->read = wanted;
  }
  return flow;
}

/// What a layer has weights of, by number.
struct LayerParts {
  std::vector<std::size_t> written;          ///< node types
  std::vector<nn::TypedRelation> relations;  ///< into types that are written
};

inline LayerParts parts_of(const GraphSchema& schema, const nn::LayerTypes& types) {
  LayerParts parts;
  for (std::size_t type = 0; type < types.written.size(); ++type)
    if (types.written[type]) parts.written.push_back(type);
  for (const nn::TypedRelation& each : typed_relations(schema))
    if (types.written[each.target_type]) parts.relations.push_back(each);
  return parts;
}

}  // namespace sluice::models
