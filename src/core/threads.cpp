#include "core/threads.h"

#include "core/thread_sanitizer.h"

#include <sluice/error.h>

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <optional>
#include <thread>

#ifdef SLUICE_THREAD_SANITIZER
#include "core/plain_threads.h"
#endif

namespace sluice {

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

void give_way_to_others() noexcept {
  constexpr int kNice = 10;  // of Linux, where threads are nice each for itself
  if (::getpriority(PRIO_PROCESS, 0) < kNice) (void)::setpriority(PRIO_PROCESS, 0, kNice);
}

#ifdef SLUICE_THREAD_SANITIZER

struct ThreadArena::Arena {
  explicit Arena(int threads) : helpers(threads - 1) {}

  void run(int, std::size_t count, const std::function<void(std::size_t)>& work) {
    helpers.run(count, work);
  }

  PlainThreads helpers;
};

#else

// More workers than these only take the cores from each other: thousands on two cores were at it
// for minutes where one was at work for seconds.
int most_workers() {
  constexpr int kWorkersACore = 8, kLeastOfAll = 64;
  return std::max(kLeastOfAll, kWorkersACore * available_cores());
}

struct ThreadArena::Arena {
  explicit Arena(int threads) : Arena(std::min(threads, most_workers()), available_cores()) {}

  Arena(int workers, int cores) : arena(workers, 1) {
    if (workers > cores)
      more.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(workers));
  }

  void run(int, std::size_t count, const std::function<void(std::size_t)>& work) {
    arena.execute(
        [&] { tbb::parallel_for(std::size_t{0}, count, work, tbb::simple_partitioner{}); });
  }

  std::optional<tbb::global_control> more;  // TBB starts no more workers than cores unless told
  tbb::task_arena arena;
};

#endif

namespace {

// As many as a config may ask for.
constexpr int kMostArenaThreads = 4096;

int checked_threads(int threads) {
  if (threads < 0 || threads > kMostArenaThreads)
    throw Error(ErrorCode::kUsage,
                fmt::format("{} threads are asked for", threads),
                fmt::format("give 0, for all cores, or 1 to {}", kMostArenaThreads));
  return threads == 0 ? available_cores() : threads;
}

}  // namespace

ThreadArena::ThreadArena(int threads)
    : threads_(checked_threads(threads)), arena_(std::make_unique<Arena>(threads_)) {}

ThreadArena::~ThreadArena() = default;

void ThreadArena::for_each(std::size_t count, const std::function<void(std::size_t)>& work) {
  if (count == 0) return;
  arena_->run(threads_, count, work);
}

void ThreadArena::for_ranges(std::size_t count,
                             std::size_t grain,
                             const std::function<void(std::size_t, std::size_t)>& work) {
  const std::size_t pieces = (count + grain - 1) / grain;
  for_each(pieces,
           [&](std::size_t piece) { work(piece * grain, std::min(count, (piece + 1) * grain)); });
}

}  // namespace sluice
