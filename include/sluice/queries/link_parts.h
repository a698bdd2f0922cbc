// LinkParts: which links of one relation are for training and which are kept from it. What tasks
// about links and loaders of links go by, so that both ask the same.
//
// Torch-free. Opened once for a dataset, then read; not thread-safe while it is opened.
#pragma once

#include <sluice/dataset.h>
#include <sluice/edge_rule.h>
#include <sluice/loader.h>
#include <sluice/options.h>
#include <sluice/random.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

class Links;

struct LinkPartsOptions {
  std::string relation;  ///< its name or key; empty: the only one
  std::string reverse;   ///< the relation that holds the same edges the other way round
  /// Shares of train, valid and test, drawn by the run's seed; empty: the dataset's edge split.
  std::vector<double> edge_split;

  void describe(Schema& schema);
};

/// How messages name who asks, and where its options stand.
struct Asker {
  std::string who;                ///< "task 'link_prediction'"
  std::string table = "[task] ";  ///< before an option's name, in hints
  std::string prefix = "task.";   ///< the same, of a key
  std::string split = "[dataset] split";
  std::string part = "--part ";
};

class LinkParts {
 public:
  /// What the cells of a split's rows that hold types of edges are.
  enum class RowTypes {
    kPassedOver,
    kLabels,    ///< what is asked for: examples of no link have none
    kRelations  ///< a part of the link: links of the same ends and other types are others
  };

  /// Throws kUsage for a relation that is not there.
  LinkParts(LinkPartsOptions options, const GraphSchema& schema, Asker asker);

  /// Reads or draws the split; again where the dataset has grown. Throws Error.
  void open(const Dataset& dataset, const std::string& split, RandomKey key, RowTypes types);

  std::size_t relation() const { return relation_; }
  /// Holds the same edges the other way round; for links between nodes of one type the relation
  /// itself.
  std::optional<std::size_t> reverse() const { return reverse_; }
  std::size_t source_type() const { return source_type_; }
  std::size_t destination_type() const { return destination_type_; }
  bool same_type() const { return source_type_ == destination_type_; }

  /// By relation, as GraphDataOptions::edge_rules.
  const std::vector<std::shared_ptr<const EdgeRule>>& rules() const { return rules_; }
  /// Classes of links that stand apart from the relation's edges: LabelsOf::more.
  const Array& row_classes() const { return row_classes_; }
  /// Links of a part, as far as the schema tells.
  std::uint64_t expected(Part part, const GraphSchema& schema, const std::string& split) const;

  // @pre data was made with rules()

  /// Throws kUsage for all links, which are no part.
  std::shared_ptr<const Links> links(Part part, const GraphData& data) const;
  /// Whether the split lists links in an order of its own, which that of links() is: not ids of
  /// edges, and none that are drawn.
  bool lists_links() const { return by_rows_; }
  /// What nobody would expect of the split, a line each.
  std::vector<std::string> warnings(const GraphData& data) const;
  /// Throws kUsage where another relation would show what is asked.
  void check_reverse(const GraphData& data) const;

 private:
  const EdgeSplitSchema* split_in(const GraphSchema& schema, const std::string& name) const;
  void draw_split(RandomKey key);
  void read_split(const Dataset& dataset);
  void take_rows(const EdgeSplit& split, const Dataset& dataset);
  void take_ids(EdgeSplit split, const Dataset& dataset);
  LinkArrays rows_of(const Array& rows, const Dataset& dataset, Part part) const;
  [[noreturn]] void throw_no_row(const Dataset& dataset,
                                 Part part,
                                 std::size_t row,
                                 const char* what,
                                 std::uint64_t value) const;
  void give_ids(const Dataset& dataset);

  LinkPartsOptions options_;
  Asker asker_;
  RowTypes types_ = RowTypes::kPassedOver;
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

}  // namespace sluice
