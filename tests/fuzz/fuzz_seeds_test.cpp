// The bodies of the fuzz targets over their seeds: they keep compiling, and what was mended stays
// so. scripts/fuzz is for finding more.
#include "fuzz/target.h"

#include <doctest/doctest.h>

#include <cstddef>

namespace sluice::fuzz {

TEST_CASE("every target takes its seeds, and the beginnings of them") {
  for (const Target& target : targets()) {
    CAPTURE(target.name);
    const std::vector<std::string> seeds = target.seeds();
    CHECK_FALSE(seeds.empty());
    target.body("");
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      CAPTURE(i);
      CHECK_NOTHROW(target.body(seeds[i]));
      for (const std::size_t cut : {1u, 2u, 3u})
        CHECK_NOTHROW(target.body(std::string_view(seeds[i]).substr(0, seeds[i].size() * cut / 4)));
    }
  }
}

}  // namespace sluice::fuzz
