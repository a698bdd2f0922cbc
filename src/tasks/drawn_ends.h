// DrawnEnds: other ends that stand beside links in evaluation, drawn uniformly: never a link's own
// end, nor, where known links are given, one that makes a link of train, valid or test. Torch-free.
//
// A draw is keyed by (key, source, type, destination, number of the draw, attempt), whoever is
// beside the link. Thread-safe.
#pragma once

#include "tasks/known_links.h"

#include <sluice/random.h>
#include <sluice/samplers/link_queries.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sluice::tasks {

class DrawnEnds final : public ListedEnds {
 public:
  struct From {
    std::shared_ptr<const Links> links;  ///< that are asked about
    const GraphData* data = nullptr;  ///< has the links' types, outlives this; null: they have none
    std::shared_ptr<const KnownLinks> known;  ///< those that are left out; null: none are
    std::uint64_t nodes = 0;                  ///< of the type that is drawn from
    std::uint64_t count = 0;                  ///< ends beside each link
    RandomKey key{0};
  };

  /// @param looked which end is drawn @pre where `from.known` is given, it lists what the links ask
  DrawnEnds(From from, KnownLinks::Looked looked);

  std::uint64_t columns() const override { return from_.count; }
  Result<void> read(std::span<const std::uint64_t> numbers,
                    std::span<std::uint64_t> out) const override;

 private:
  struct Asked;

  Result<std::vector<std::uint32_t>> types_of_links(std::span<const std::uint64_t> ids,
                                                    std::size_t count) const;
  void draw(const Asked& asked, std::span<std::uint64_t> out) const;

  From from_;
  KnownLinks::Looked looked_;
};

}  // namespace sluice::tasks
