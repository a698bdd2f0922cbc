#include <sluice/loader.h>

#include "core/hash.h"
#include "pipeline/assembler.h"
#include "pipeline/byte_queue.h"
#include "pipeline/window_builder.h"

#include <array>
#include <atomic>
#include <thread>

namespace sluice {
namespace {

using Clock = std::chrono::steady_clock;

// Adds the time from its making to its end to a counter of nanoseconds.
class Busy {
 public:
  explicit Busy(std::atomic<std::int64_t>& total) : total_(total), begin_(Clock::now()) {}
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  ~Busy() {
    total_ += std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin_).count();
  }

 private:
  std::atomic<std::int64_t>& total_;
  Clock::time_point begin_;
};

double seconds(const std::atomic<std::int64_t>& nanoseconds) {
  return 1e-9 * static_cast<double>(nanoseconds.load());
}

struct Ready {
  std::shared_ptr<const Batch> batch;
  std::uint64_t hash = 0;
};

// A window whose rows are in, on its way to the assembler.
using WindowPtr = std::shared_ptr<Window>;

}  // namespace

struct Loader::State {
  State(GraphData& graph,
        const LoaderOptions& given,
        Array seed_ids,
        const LoaderMemory& share,
        MemoryLedger& book)
      : data(graph.state()),
        options(given),
        memory(share),
        ledger(book),
        seeds(std::move(seed_ids)),
        order(std::as_const(seeds).as<std::uint64_t>(),
              static_cast<std::uint64_t>(given.batch_size),
              given.shuffle ? Shuffle::kEveryEpoch : Shuffle::kOff,
              RandomKey(given.seed)),
        builder(data, options, order, book),
        assembler(data, options, book) {}

  // One epoch's threads and what joins them. A new one each start, so that nothing is left over
  // from a stopped one.
  struct Run {
    explicit Run(std::uint64_t queue_bytes) : ready(queue_bytes) {}
    ByteQueue<WindowPtr> sampled{
        0};  // windows are handed over, so that no more live than there are stages
    ByteQueue<WindowPtr> fetched{0};
    ByteQueue<Ready> ready;
    std::atomic<std::int64_t> sampling{0};
    std::atomic<std::int64_t> fetching{0};
    std::atomic<std::int64_t> assembling{0};
    std::atomic<std::uint64_t> windows{0};
    std::atomic<std::uint64_t> rows_wanted{0};
    std::atomic<std::uint64_t> rows_reused{0};
    std::atomic<std::uint64_t> bytes_useful{0};
    std::atomic<std::uint64_t> bytes_read{0};
    std::atomic<std::uint64_t> requests{0};
    std::array<std::jthread, 3> threads;
  };

  void sample_loop(Run& run);
  void fetch_loop(Run& run);
  void assemble_loop(Run& run);
  void halt();
  // The stores are the fetching thread's own while it runs.
  FeatureStats device_stats() const;

  GraphData::State& data;
  LoaderOptions options;
  LoaderMemory memory;
  MemoryLedger& ledger;
  Array seeds;
  SeedOrder order;
  WindowBuilder builder;
  Assembler assembler;
  std::unique_ptr<Run> run;
  std::uint64_t delivered = 0;
  std::uint64_t chain = 0;     // batches_xxh3 so far
  FeatureStats device_before;  // counters of the stores when this run began
};

void Loader::State::sample_loop(Run& now) {
  try {
    for (;;) {
      WindowPtr window;
      {
        const Busy busy(now.sampling);
        window = builder.sample();
      }
      if (!window || !now.sampled.hand_over(std::move(window))) break;
    }
    now.sampled.finish();
  } catch (...) {
    now.sampled.finish(std::current_exception());
  }
}

void Loader::State::fetch_loop(Run& now) {
  try {
    WindowPtr before;
    while (auto window = now.sampled.pop()) {
      {
        const Busy busy(now.fetching);
        builder.fetch(**window, before.get());
      }
      const FeatureStats device = device_stats();
      now.bytes_read = device.bytes_read - device_before.bytes_read;
      now.requests = device.requests - device_before.requests;
      ++now.windows;
      for (const auto& rows : (*window)->rows) {
        if (!rows) continue;
        now.rows_wanted += rows->rows();
        now.rows_reused += rows->reused();
      }
      before = *window;
      if (!now.fetched.hand_over(std::move(*window))) break;
    }
    now.fetched.finish();
  } catch (...) {
    now.fetched.finish(std::current_exception());
  }
}

void Loader::State::assemble_loop(Run& now) {
  try {
    while (auto window = now.fetched.pop()) {
      for (Batch& sampled : (*window)->batches) {
        Ready item;
        std::uint64_t bytes = 0;
        {
          const Busy busy(now.assembling);
          auto batch = std::make_shared<Batch>(std::move(sampled));
          assembler.assemble(*batch, **window);
          bytes = assembler.assembled_bytes(*batch);
          if (options.hash) item.hash = hash_batch(*batch);
          item.batch = std::move(batch);
        }
        now.bytes_useful += bytes;
        if (!now.ready.push(std::move(item), bytes)) return now.ready.finish();
      }
    }
    now.ready.finish();
  } catch (...) {
    now.ready.finish(std::current_exception());
  }
}

void Loader::State::halt() {
  if (!run) return;
  run->sampled.cancel();
  run->fetched.cancel();
  run->ready.cancel();
  for (std::jthread& thread : run->threads) {
    if (thread.joinable()) thread.join();
  }
}

FeatureStats Loader::State::device_stats() const {
  FeatureStats sum;
  for (const auto& store : data.features) {
    if (!store) continue;
    const FeatureStats one = store->stats();
    sum.bytes_read += one.bytes_read;
    sum.requests += one.requests;
  }
  return sum;
}

Loader::Loader(GraphData& data,
               const LoaderOptions& options,
               Array seeds,
               const LoaderMemory& memory,
               MemoryLedger& ledger)
    : state_(std::make_unique<State>(data, options, std::move(seeds), memory, ledger)) {}

Loader::~Loader() {
  stop();
}

std::uint64_t Loader::num_batches() const {
  return state_->order.num_batches();
}

void Loader::set_memory(const LoaderMemory& memory) {
  state_->memory = memory;
}

LoaderProbe Loader::probe(std::uint64_t count) {
  LoaderProbe probe;
  for (std::uint64_t i = 0; i < std::min(count, num_batches()); ++i) {
    const Batch batch = state_->builder.sample_one(i);
    ++probe.batches;
    probe.block_bytes = std::max(probe.block_bytes, block_bytes(batch));
    probe.feature_bytes = std::max(probe.feature_bytes, state_->assembler.assembled_bytes(batch));
    probe.row_bytes = std::max(probe.row_bytes, state_->builder.stored_row_bytes(batch));
  }
  for (const MemoryLedger::Entry& entry : state_->ledger.entries()) {
    if (entry.name == "sampler workspace") {
      probe.workspace_bytes = entry.bytes * state_->builder.group_size();
    }
  }
  return probe;
}

void Loader::start(const LoaderStart& where) {
  stop();
  State& state = *state_;
  state.delivered = 0;
  state.chain = where.batches_xxh3;
  state.device_before = state.device_stats();
  // Three windows live at once: one in each stage.
  state.builder.begin(where, state.memory.window_bytes / 3);
  state.run = std::make_unique<State::Run>(state.memory.queue_bytes);
  State::Run& run = *state.run;
  run.threads = {std::jthread([&state, &run] { state.sample_loop(run); }),
                 std::jthread([&state, &run] { state.fetch_loop(run); }),
                 std::jthread([&state, &run] { state.assemble_loop(run); })};
}

std::shared_ptr<const Batch> Loader::next() {
  State& state = *state_;
  if (!state.run) return nullptr;
  auto item = state.run->ready.pop();
  if (!item) return nullptr;
  ++state.delivered;
  if (state.options.hash) {
    const std::array<std::uint64_t, 2> link{state.chain, item->hash};
    state.chain = xxh3_64(std::as_bytes(std::span(link)));
  }
  return std::move(item->batch);
}

void Loader::stop() {
  state_->halt();
}

LoaderStats Loader::stats() const {
  const State& state = *state_;
  LoaderStats stats;
  stats.batches = state.delivered;
  stats.batches_xxh3 = state.chain;
  if (!state.run) return stats;
  const State::Run& run = *state.run;
  stats.bytes_read = run.bytes_read;
  stats.requests = run.requests;
  stats.bytes_useful = run.bytes_useful;
  stats.windows = run.windows;
  stats.rows_wanted = run.rows_wanted;
  stats.rows_reused = run.rows_reused;
  stats.stages = {
      {"sample", seconds(run.sampling), 0, run.sampled.blocked()},
      {"fetch", seconds(run.fetching), run.sampled.starved(), run.fetched.blocked()},
      {"assemble", seconds(run.assembling), run.fetched.starved(), run.ready.blocked()}};
  return stats;
}

}  // namespace sluice
