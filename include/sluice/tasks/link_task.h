// LinkTask: what tasks about the links of one relation share: which links are for training and
// which are kept from it, and how they are asked about.
#pragma once

#include <sluice/task.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice {
class Links;
}

namespace sluice::tasks {

struct LinkTaskOptions {
  std::string relation;  ///< its name or key; empty: the only one
  std::string reverse;   ///< the relation that holds the same edges the other way round
  /// Shares of train, valid and test, drawn by the run's seed; empty: the dataset's edge split.
  std::vector<double> edge_split;

  void describe(Schema& schema);
};

class LinkTask : public Task {
 public:
  std::vector<std::size_t> target_types() const final;
  std::uint64_t expected(Part part,
                         const GraphSchema& schema,
                         const std::string& split) const final;
  void open(const TaskData& data) final;
  std::vector<std::string> warnings(const GraphData& data) const final;
  std::vector<std::shared_ptr<const EdgeRule>> edge_rules() const final { return rules_; }
  std::uint64_t count(Part part, const GraphData& data) const final;
  std::unique_ptr<QuerySource> queries(const QueryRequest& request,
                                       const GraphData& data) const final;

  std::vector<IdColumn> prediction_ids() const final {
    return {{"source", source_type_}, {"target", destination_type_}};
  }
  std::vector<Array> predicted_nodes(const Batch& batch) const final;

 protected:
  /// Throws kUsage for a relation that is not there. @param name the task's, for messages
  LinkTask(LinkTaskOptions options, const GraphSchema& schema, std::string name);

  std::size_t relation() const { return relation_; }
  std::size_t source_type() const { return source_type_; }
  std::size_t destination_type() const { return destination_type_; }
  /// Classes of links that stand apart from the relation's edges: LabelsOf::more.
  const Array& row_classes() const { return row_classes_; }

  /// Other destinations a link, and whether those that are links in the graph are left out.
  struct Negatives {
    std::int64_t count = 0;
    bool filtered = false;
  };

 private:
  virtual Negatives negatives(Part) const { return {}; }
  /// Whether blocks must not have the links that are asked about in training.
  virtual bool hides_links() const = 0;
  /// Whether it asks if there is a link, so that one which is seen gives the answer away.
  virtual bool asks_whether() const = 0;
  /// Whether the types of a split's rows are what it asks for.
  virtual bool labels_rows() const { return false; }

  bool same_type() const { return source_type_ == destination_type_; }
  const EdgeSplitSchema* split_in(const GraphSchema& schema, const std::string& name) const;
  void draw_split(const TaskData& data);
  void read_split(const TaskData& data);
  void take_rows(const EdgeSplit& split, const TaskData& data);
  void take_ids(EdgeSplit split, const TaskData& data);
  LinkArrays rows_of(const Array& rows, const TaskData& data, Part part) const;
  [[noreturn]] void throw_no_row(const TaskData& data,
                                 Part part,
                                 std::size_t row,
                                 const char* what,
                                 std::uint64_t value) const;
  void give_ids(const TaskData& data);
  [[noreturn]] void throw_reverse(const GraphData& data, std::size_t back) const;
  std::shared_ptr<const Links> links(Part part, const GraphData& data) const;

  LinkTaskOptions options_;
  std::string name_;
  std::size_t relation_ = 0;
  std::optional<std::size_t> reverse_;
  std::size_t source_type_ = 0;
  std::size_t destination_type_ = 0;
  std::string split_;  // its name
  std::vector<std::shared_ptr<const EdgeRule>> rules_;
  bool by_rows_ = false;             // the split holds links that stand apart
  LinkArrays train_, valid_, test_;  // of those; no `train_`: all edges of the relation
  Array row_classes_;                // i32, by their ids from edge_id_bound on
};

}  // namespace sluice::tasks
