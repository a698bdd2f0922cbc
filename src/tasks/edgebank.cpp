#include "tasks/edgebank.h"

#include "tasks/pair_scores.h"

namespace sluice::tasks {

void EdgeBankOptions::describe(Schema& schema) {
  schema.field("window_share", window_share)
      .help(
          "a pair counts if it met within this share of the time that training took, back from the "
          "last event that is seen; 0: if it ever met")
      .range(0, 1e6);
  describe_direction(schema, direction);
}

EdgeBank::EdgeBank(const Options& options, const ModelContext& /*context*/) : options_(options) {}

torch::Tensor EdgeBank::score(const PairRequest& request) {
  const double window = options_.window_share * static_cast<double>(ticks_between(
                                                    request.training_first, request.training_last));
  return score_candidates(
      request, [&](std::size_t i, std::uint64_t source, std::uint64_t destination) {
        const auto last =
            request.history.of_pair(source, destination, options_.direction, request.bounds[i])
                .last();
        if (!last) return 0.0;
        const bool within = options_.window_share == 0 ||
                            static_cast<double>(ticks_between(*last, request.latest[i])) <= window;
        return within ? 1.0 : 0.0;
      });
}

}  // namespace sluice::tasks
