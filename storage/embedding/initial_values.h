// InitialValues: what rows are before their first step, as InitialRows says.
#pragma once

#include <sluice/embedding_table.h>

#include <cstdint>
#include <optional>
#include <string>

namespace sluice {

class InitialValues {
 public:
  explicit InitialValues(InitialRows how);

  /// The values of consecutive rows, `stride` floats apart; nothing else is written.
  void fill(std::uint64_t first,
            std::uint64_t count,
            std::uint32_t dim,
            float* out,
            std::size_t stride) const;

  /// "uniform(0.1), seed 7": what a table's manifest says, and what is compared when it is opened.
  std::string description() const;
  /// What a description says; nothing where it is not the whole truth: rows of a reader.
  static std::optional<InitialValues> described(const std::string& description);

 private:
  InitialRows how_;
};

}  // namespace sluice
