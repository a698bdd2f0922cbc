// TableGroups: which feature tables are one relation's rows, round by round, as `sluice-prep
// propagate --method random_projection` names them: NAME-ROUND-STEP-odd, NAME-ROUND-STEP-even. For
// models that take the rounds of a relation together. Values; thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::models {

/// What the name of a propagated table says.
struct RoundOfRelation {
  enum class Parity {
    kOdd,  ///< the mean of a relation's sources
    kEven  ///< the mean of what its sources see of the node's own type
  };
  std::string relation;  ///< the name without its round and parity: "projected-author"
  std::size_t round = 0;
  Parity parity = Parity::kOdd;
};

/// Nothing for a name that is of another table.
std::optional<RoundOfRelation> round_of_relation(std::string_view table);

/// Tables that a model takes together.
struct TableGroup {
  std::string name;                 ///< "projected-author-odd", or the only table's
  std::vector<std::size_t> tables;  ///< places among the given names, by round
  bool even = false;                ///< of rows that come back to the node's own type
};

/// Groups in the order of their first tables; a table without a round is one by itself.
std::vector<TableGroup> group_tables(const std::vector<std::string>& names);

}  // namespace sluice::models
