#include "bench/support/rmat_dataset.h"

#include "core/log.h"
#include "core/threads.h"
#include "prep/generate/rmat.h"

#include <sluice/memory.h>

#include <unistd.h>

#include <system_error>

namespace sluice::bench {

RmatDataset::RmatDataset(const std::string& path,
                         const std::string& dir,
                         std::uint64_t scale,
                         std::int64_t features) {
  if (path.empty()) {
    made_ = std::filesystem::path(dir) / ("bench-rmat-" + std::to_string(::getpid()));
    RmatGenerator::Options options;
    options.scale = static_cast<std::int64_t>(scale);
    options.node_options.features = features;
    MemoryLedger ledger;
    ThreadArena arena;
    const auto log = make_silent_logger();
    PrepContext context{ledger, arena, *log};
    DatasetWriter writer(made_, Overwrite::kRefuse, &ledger);
    RmatGenerator(options).generate(writer, context);
    writer.commit("bench");
  }
  dataset_ = Dataset::open(path.empty() ? made_.string() : path);
}

RmatDataset::~RmatDataset() {
  std::error_code ignored;
  if (!made_.empty()) std::filesystem::remove_all(made_, ignored);
}

}  // namespace sluice::bench
