// What a Batch is made of, said once: hashing, scratch files, packing, sizes and moves to a device
// all go through visit_batch().
//
// A field that is added to one of the structs does not compile until its list below names it. A
// visitor has number(value), count(list) for a vector whose elements follow, and array(array,
// part).
#pragma once

#include <sluice/batch.h>

#include <cstdint>
#include <type_traits>

namespace sluice {

/// What an array of a batch is there for.
enum class BatchPart : std::uint8_t {
  kSampled,  ///< made with the queries and by the sampler: what a scratch file keeps
  kDerived,  ///< follows from those: transposes, labels of edges
  kLabels,
  kFeatures
};

namespace batch_fields {

template <class Visitor, class AnyQueries>
void visit_queries(AnyQueries& queries, Visitor& visitor) {
  auto& [kind,
         relation,
         type,
         destination_type,
         ids,
         times,
         nodes,
         offsets,
         sources,
         destinations,
         negatives,
         truth,
         shared,
         shared_sources,
         chunk] = queries;
  visitor.number(kind);
  visitor.number(relation);
  visitor.number(type);
  visitor.number(destination_type);
  visitor.number(chunk);
  for (auto* array : {&ids,
                      &times,
                      &nodes,
                      &offsets,
                      &sources,
                      &destinations,
                      &negatives,
                      &truth,
                      &shared,
                      &shared_sources})
    visitor.array(*array, BatchPart::kSampled);
}

template <class Visitor, class AnyNodes>
void visit_nodes(AnyNodes& nodes, Visitor& visitor) {
  auto& [ids, features, degrees, relation_degrees, times, size_at] = nodes;
  visitor.array(ids, BatchPart::kSampled);
  visitor.count(features);
  for (auto& group : features) visitor.array(group, BatchPart::kFeatures);
  visitor.array(degrees, BatchPart::kSampled);
  visitor.array(relation_degrees, BatchPart::kSampled);
  visitor.array(times, BatchPart::kSampled);
  visitor.count(size_at);
  for (auto& size : size_at) visitor.number(size);
}

template <class Visitor, class AnyBlock>
void visit_block(AnyBlock& block, Visitor& visitor) {
  auto& [relation,
         source_type,
         target_type,
         num_sources,
         num_targets,
         offsets,
         neighbours,
         edge_ids,
         features,
         deltas,
         labels,
         transposed_offsets,
         transposed_targets,
         transposed_edges] = block;
  visitor.number(relation);
  visitor.number(source_type);
  visitor.number(target_type);
  visitor.number(num_sources);
  visitor.number(num_targets);
  for (auto* array : {&offsets, &neighbours, &edge_ids, &deltas})
    visitor.array(*array, BatchPart::kSampled);
  visitor.count(features);
  for (auto& group : features) visitor.array(group, BatchPart::kFeatures);
  for (auto* array : {&labels, &transposed_offsets, &transposed_targets, &transposed_edges})
    visitor.array(*array, BatchPart::kDerived);
}

}  // namespace batch_fields

/// Goes over all of a Batch or const Batch in a fixed order, counts before what they count; `host`,
/// which is a batch of its own, is left out, and so are features that are not there yet.
template <class Visitor, class AnyBatch>
void visit_batch(AnyBatch& batch, Visitor& visitor) {
  static_assert(std::is_same_v<std::remove_const_t<AnyBatch>, Batch>);
  auto& [epoch, index, seeds, queries, labels, nodes, layers, host, deferred] = batch;
  visitor.number(epoch);
  visitor.number(index);
  visitor.count(seeds);
  for (auto& of_type : seeds) visitor.array(of_type, BatchPart::kSampled);
  batch_fields::visit_queries(queries, visitor);
  visitor.array(labels, BatchPart::kLabels);
  visitor.count(nodes);
  for (auto& of_type : nodes) batch_fields::visit_nodes(of_type, visitor);
  visitor.count(layers);
  for (auto& layer : layers) {
    visitor.count(layer);
    for (auto& block : layer) batch_fields::visit_block(block, visitor);
  }
}

/// A visitor of arrays alone: see(array, part).
template <class See>
class ArrayVisitor {
 public:
  explicit ArrayVisitor(const See& see) : see_(see) {}
  template <class Number>
  void number(const Number&) const {}
  template <class List>
  void count(const List&) const {}
  template <class AnyArray>
  void array(AnyArray& array, BatchPart part) const {
    see_(array, part);
  }

 private:
  const See& see_;
};

/// Shows all arrays of a batch: see(array, part).
template <class AnyBatch, class See>
void for_each_array(AnyBatch& batch, const See& see) {
  ArrayVisitor<See> visitor(see);
  visit_batch(batch, visitor);
}

}  // namespace sluice
