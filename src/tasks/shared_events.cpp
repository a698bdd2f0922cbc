#include "tasks/shared_events.h"

#include <algorithm>

namespace sluice::tasks {

std::size_t SharedEvents::count(std::uint64_t destination) {
  const auto with_it = [&](const PairEvent& event) { return event.other == destination; };
  if (std::ranges::none_of(of_source_, with_it)) return 0;
  latest_events(history_.of_destination(destination, direction_, bound_), count_, of_destination_);
  return static_cast<std::size_t>(std::ranges::count_if(of_source_, [&](const PairEvent& event) {
    return with_it(event) && std::ranges::any_of(of_destination_, [&](const PairEvent& other) {
             return other.id == event.id && other.time == event.time;
           });
  }));
}

}  // namespace sluice::tasks
