// LinkTask: what tasks about the links of one relation share: which links are for training and
// which are kept from it, and how they are asked about.
#pragma once

#include <sluice/queries/link_parts.h>
#include <sluice/samplers/link_queries.h>
#include <sluice/task.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::tasks {

class LinkTask : public Task {
 public:
  std::vector<std::size_t> target_types() const final;
  std::uint64_t expected(Part part,
                         const GraphSchema& schema,
                         const std::string& split) const final {
    return parts_.expected(part, schema, split);
  }
  void open(const TaskData& data) final;
  std::vector<std::string> warnings(const GraphData& data) const override {
    return parts_.warnings(data);
  }
  std::vector<std::shared_ptr<const EdgeRule>> edge_rules() const final { return parts_.rules(); }
  std::uint64_t count(Part part, const GraphData& data) const final;
  std::unique_ptr<QuerySource> queries(const QueryRequest& request,
                                       const GraphData& data) const final;
  PartitionedLinks partitioned_links(const GraphData& data) const override;

  std::vector<IdColumn> prediction_ids() const final {
    return {{"source", source_type()}, {"target", destination_type()}};
  }
  std::vector<Array> predicted_nodes(const Batch& batch) const final;

  /// Whether blocks of that part lack the links that their mini-batch asks about.
  bool hides_asked(Part part) const { return part == Part::kTrain && hides_links(); }

 protected:
  /// Throws kUsage for a relation that is not there. @param name the task's, for messages
  LinkTask(LinkPartsOptions options, const GraphSchema& schema, const std::string& name);

  std::size_t relation() const { return parts_.relation(); }
  std::size_t source_type() const { return parts_.source_type(); }
  std::size_t destination_type() const { return parts_.destination_type(); }
  /// Classes of links that stand apart from the relation's edges: LabelsOf::more.
  const Array& row_classes() const { return parts_.row_classes(); }

  bool same_type() const { return parts_.same_type(); }
  /// Links of a part. @pre data was made with edge_rules()
  std::shared_ptr<const Links> links(Part part, const GraphData& data) const {
    return parts_.links(part, data);
  }

  /// Whether the split lists links in an order of its own: LinkParts::lists_links().
  bool lists_links() const { return parts_.lists_links(); }

  /// Other destinations a link, and whether those that are links in the graph are left out; nodes
  /// that links share; ends that are listed, in the place of both.
  struct Negatives {
    std::int64_t count = 0;
    bool filtered = false;
    SharedNegatives shared = {};
    std::shared_ptr<const ListedEnds> destinations = nullptr, sources = nullptr;
  };

 private:
  /// Beside the links that are asked for.
  virtual Negatives negatives(const QueryRequest& /*request*/, const GraphData& /*data*/) const {
    return {};
  }
  /// Whether blocks must not have the links that are asked about in training.
  virtual bool hides_links() const = 0;
  /// Whether it asks if there is a link, so that one which is seen gives the answer away.
  virtual bool asks_whether() const = 0;
  /// What the types of a split's rows are to it.
  virtual LinkParts::RowTypes row_types() const { return LinkParts::RowTypes::kPassedOver; }

  LinkParts parts_;
};

}  // namespace sluice::tasks
