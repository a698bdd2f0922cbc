// TableInputs: the feature tables of a node type that a model reads, chosen by name, as rows of the
// seeds: what models over propagated tables share.
#pragma once

#include <sluice/model.h>

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::models {

/// Describes the dropouts of a model over tables: of its hidden elements, and of the tables' own.
void describe_table_dropouts(Schema& schema, double& dropout, double& table_dropout);

class TableInputs {
 public:
  /// @param patterns names of tables; one that ends in '*' is of all that begin like it, in the
  /// dataset's order; none: all tables of the type. A table counts once. Learned rows, where the
  /// run has some for the type, are one more table, the last.
  /// @param model for messages. Throws Error: kUsage for a name that no table has, for several
  /// target types, and where there is no table at all.
  TableInputs(const ModelContext& context,
              const std::vector<std::string>& patterns,
              std::string_view model);

  std::size_t type() const { return type_; }
  std::size_t size() const { return widths_.size(); }
  /// Columns by table.
  const std::vector<std::int64_t>& widths() const { return widths_; }
  /// Their names, as BatchNeeds::feature_groups; learned rows have none.
  const std::vector<std::string>& names() const { return names_; }
  /// The place of a table; size() where it is not among these.
  std::size_t find(std::string_view name) const;

  /// The seeds' rows of a table: f32 [seeds, widths()[table]].
  torch::Tensor rows(const Batch& batch, std::size_t table) const;

 private:
  std::size_t type_;
  std::vector<std::string> names_;
  std::vector<std::int64_t> widths_;
  nn::LearnedRows* learned_;
};

}  // namespace sluice::models
