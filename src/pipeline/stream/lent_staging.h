// LentStaging: larger read buffers for the edges on disk, while an epoch is sampled and nothing
// else takes the memory. Given back at its end.
#pragma once

#include <sluice/topology.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sluice {

class PagedTopology;

class LentStaging {
 public:
  /// What one relation is lent of `bytes`, so that all on disk have as much; 0 where that is no
  /// more than they have, or where there is none.
  static std::uint64_t bytes_each(std::span<const std::shared_ptr<Topology>> relations,
                                  std::uint64_t bytes);
  /// What lending so much to each takes: as much again for sorting.
  static std::uint64_t bytes_of(std::span<const std::shared_ptr<Topology>> relations,
                                std::uint64_t each);

  /// Throws Error: kResource; nothing is lent then.
  LentStaging(std::span<const std::shared_ptr<Topology>> relations, std::uint64_t each);
  LentStaging(const LentStaging&) = delete;
  LentStaging& operator=(const LentStaging&) = delete;
  ~LentStaging();

 private:
  void give_back() noexcept;

  std::vector<std::shared_ptr<Topology>> keep_alive_;
  std::vector<PagedTopology*> lent_to_;
};

}  // namespace sluice
