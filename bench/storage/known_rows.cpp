#include "bench/storage/known_rows.h"

#include "bench/support/seconds.h"
#include "budget/read_buffers.h"
#include "core/threads.h"
#include "kernels/widen_rows.h"
#include "pipeline/data/graph_data_state.h"
#include "pipeline/plan/planned_epoch.h"
#include "pipeline/stage/row_fetcher.h"
#include "pipeline/trace.h"
#include "storage/feature/cache_policies.h"
#include "storage/io/disk_cache.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <deque>
#include <future>
#include <optional>

namespace sluice::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

// As a training run sizes them, which keeps more beside them in a small budget.
std::uint64_t staging_of(std::uint64_t budget) {
  return std::max<std::uint64_t>(read_buffer_bytes(budget, 1), 16 << 20);
}

// Distinct ids of a table by a bit a row. Lists that are known need no hashing: an id's number is
// how many smaller ones there are.
class KnownIds {
 public:
  KnownIds(std::uint64_t rows, MemoryLedger& ledger)
      : charge_(ledger.charge("window index", (rows / 64 + 1) * 12).or_throw()),
        words_(rows / 64 + 1),
        before_(rows / 64 + 1) {}

  void clear() {
    std::ranges::fill(words_, 0);
    count_ = 0;
  }
  void add(std::span<const std::uint32_t> ids) {
    for (const std::uint32_t id : ids) {
      std::uint64_t& word = words_[id / 64];
      count_ += ~word >> id % 64 & 1;
      word |= std::uint64_t{1} << id % 64;
    }
  }
  std::uint64_t count() const { return count_; }
  // Lists all of them in ascending order; numbers are told from then on.
  void list(std::span<std::uint64_t> out) {
    std::uint32_t count = 0;
    for (std::size_t w = 0; w < words_.size(); ++w) {
      before_[w] = count;
      for (std::uint64_t word = words_[w]; word != 0; word &= word - 1)
        out[count++] = 64 * w + static_cast<unsigned>(std::countr_zero(word));
    }
  }
  void number(std::span<const std::uint32_t> ids, std::span<std::uint32_t> out) const {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::uint64_t smaller = words_[ids[i] / 64] & ((std::uint64_t{1} << ids[i] % 64) - 1);
      out[i] = before_[ids[i] / 64] + static_cast<std::uint32_t>(std::popcount(smaller));
    }
  }

 private:
  Charge charge_;
  std::vector<std::uint64_t> words_;
  std::vector<std::uint32_t> before_;  // distinct ids of the words before
  std::uint64_t count_ = 0;
};

// The known lists as windows: the whole epoch in one where the budget holds its rows, else a
// mini-batch each. Planning wants the ids alone; from number_rows() on, each call of next()
// numbers the rows of the window before, which are not wanted before they were read.
class KnownWindows final : public WindowSource {
 public:
  KnownWindows(const KnownRows& known, MemoryLedger& ledger, ThreadArena& arena)
      : known_(known), ledger_(ledger), arena_(arena) {
    for (int i = 0; i < arena.threads(); ++i) ids_.emplace_back(known.rows, ledger);
  }

  // They come again from the first.
  void begin(WindowLimits limits) {
    limits_ = std::move(limits);
    next_ = 0;
    number_ = 0;
    ahead_.clear();
    given_.reset();
  }

  void number_rows() { numbered_ = true; }

  std::shared_ptr<Window> next() override {
    if (given_) number(*given_);
    given_.reset();
    if (ahead_.empty()) make_windows();
    if (ahead_.empty()) return nullptr;
    auto window = std::move(ahead_.front());
    ahead_.pop_front();
    if (numbered_) given_ = window;
    return window;
  }

 private:
  Array make(DType dtype, std::uint64_t count, std::string_view name) {
    return Array::make(dtype, {static_cast<std::int64_t>(count)}, &ledger_, name).or_throw();
  }

  // The next one; one a thread where they are not numbered.
  void make_windows() {
    const bool all = limits_.rows[0] > 2 * known_.batch_rows;
    const std::uint64_t each = all ? known_.batches : 1;
    const std::uint64_t left = (known_.batches - next_) / each;
    ahead_.resize(std::min<std::uint64_t>(left, numbered_ ? 1 : ids_.size()));
    for (auto& window : ahead_) {
      window = std::make_shared<Window>();
      window->number = number_++;
      window->batches.resize(each);
    }
    arena_.for_each(ahead_.size(), [&](std::size_t i) {
      KnownIds& ids = ids_[i];
      ids.clear();
      for (std::uint64_t b = 0; b < each; ++b) ids.add(known_.ids(next_ + i * each + b));
      Array listed = make(DType::kU64, ids.count(), "window index");
      ids.list(listed.as<std::uint64_t>());
      ahead_[i]->rows.push_back(std::make_unique<WindowRows>(std::move(listed)));
    });
    next_ += ahead_.size() * each;
  }

  // The last one made, alone: its ids are still there.
  void number(Window& window) {
    const std::uint64_t batches = window.batches.size();
    std::vector<Array>& numbers = window.rows[0]->numbers;
    for (std::uint64_t b = 0; b < batches; ++b)
      numbers.push_back(make(DType::kU32, known_.batch_rows, "batches"));
    arena_.for_each(batches, [&](std::size_t b) {
      ids_.front().number(known_.ids(next_ - batches + b), numbers[b].as<std::uint32_t>());
    });
  }

  const KnownRows& known_;
  MemoryLedger& ledger_;
  ThreadArena& arena_;
  WindowLimits limits_;
  bool numbered_ = false;
  std::deque<KnownIds> ids_;
  std::deque<std::shared_ptr<Window>> ahead_;
  std::shared_ptr<Window> given_;  // the last one, while it has no numbers
  std::uint64_t next_ = 0;
  std::size_t number_ = 0;
};

// Distinct ids of the epoch.
std::uint64_t count_distinct(const KnownRows& known) {
  std::vector<bool> seen(known.rows);
  std::uint64_t count = 0;
  for (std::uint64_t b = 0; b < known.batches; ++b) {
    for (const std::uint64_t id : known.ids(b)) {
      if (!seen[id]) ++count;
      seen[id] = true;
    }
  }
  return count;
}

// Copies a mini-batch out of the cache, as assembling does. Returns the sum of its rows' first
// words.
std::uint64_t copy_out(const SlotTable& slots,
                       const WindowRows& rows,
                       std::size_t batch,
                       std::size_t row_bytes,
                       ThreadArena& arena,
                       std::span<std::byte> out) {
  const std::span<const std::uint32_t> numbers =
      std::as_const(rows.numbers[batch]).as<std::uint32_t>();
  const std::span<const std::uint32_t> places = std::as_const(rows.places).as<std::uint32_t>();
  const auto width = static_cast<std::int64_t>(row_bytes / sizeof(float));
  constexpr std::size_t kGrain = 256;
  std::atomic<std::uint64_t> check{0};
  arena.for_ranges(numbers.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    std::array<const std::byte*, kGrain> from;
    for (std::size_t i = begin; i < end; ++i) from[i - begin] = slots.row(places[numbers[i]]);
    float* to = reinterpret_cast<float*>(out.data() + begin * row_bytes);
    kernels::widen_rows(
        {}, DType::kF32, from.data(), {to, static_cast<std::int64_t>(end - begin), width});
    std::uint64_t sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, out.data() + i * row_bytes, sizeof word);
      sum += word;
    }
    check += sum;
  });
  return check;
}

}  // namespace

void KnownRows::draw() {
  all.clear();
  all.reserve(batches * batch_rows);
  for (std::uint64_t batch = 0; batch < batches; ++batch) {
    const RandomKey key = RandomKey(11).with(batch);
    for (std::uint64_t i = 0; i < batch_rows; ++i) {
      if (zipf == 0) {
        all.push_back(static_cast<std::uint32_t>(key.below(rows, i)));
        continue;
      }
      // The inverse of the distribution function of a continuous power law, its ranks scattered.
      const double span = std::pow(static_cast<double>(rows), 1 - zipf) - 1;
      const auto rank =
          static_cast<std::uint64_t>(std::pow(span * key.uniform(i) + 1, 1 / (1 - zipf)));
      all.push_back(static_cast<std::uint32_t>(rank * 0x9e3779b97f4a7c15ull % rows));
    }
  }
}

Delivery deliver_sluice(const std::filesystem::path& path,
                        const KnownRows& known,
                        std::uint64_t budget,
                        const std::filesystem::path& scratch,
                        TraceWriter* trace) {
  MemoryLedger ledger(budget, "--budget-mib");
  const std::uint64_t distinct = count_distinct(known);  // the lists are known: not part of it
  const Dataset dataset = Dataset::open(path.string(), {.ledger = &ledger});
  // What GraphData makes, without edges and labels: nothing but rows is asked for.
  GraphData::State state;
  state.dataset = &dataset;
  state.graph.schema = &dataset.schema();
  const std::uint64_t staging = staging_of(budget);
  state.options.staging_bytes = staging;
  state.options.cache = std::make_shared<CachePolicyOf<BeladyPolicy>>();
  state.tables = open_feature_tables(dataset, state.options);
  const FeatureStore& store = *state.tables[0].store;
  const std::size_t row_bytes = store.row_bytes();
  DiskProbeOptions probe;
  probe.buffer_bytes = staging;
  const auto found =
      find_disk_profile(path / "nodes" / dataset.schema().nodes[0].name / "features.bin",
                        probe,
                        &ledger,
                        default_disk_cache())
          .or_throw();
  state.disk = std::make_shared<const DiskProfile>(found.profile);
  ThreadArena arena;
  // As a mini-batch's features are kept.
  Array features =
      Array::make(
          DType::kU8, {static_cast<std::int64_t>(known.batch_rows * row_bytes)}, &ledger, "batches")
          .or_throw();
  const std::span<std::byte> out = std::as_writable_bytes(features.as<std::uint8_t>());
  std::ranges::fill(out, std::byte{});  // its pages are there, as from the second epoch on

  const auto begin = SteadyClock::now();
  Delivery delivery;
  KnownWindows windows(known, ledger, arena);
  const std::uint64_t room = ledger.available() - (4 << 20);
  const std::uint64_t lists =
      sizeof(std::uint64_t) + 2 * sizeof(std::uint32_t) + RowFetcher::kBytesARow;
  WindowLimits limits;
  const std::uint64_t whole_cache =
      RowCache::bytes_of(distinct, row_bytes) + RowDirectory::bytes_of_table(known.rows);
  const std::uint64_t whole =
      whole_cache + distinct * lists + known.batches * known.batch_rows * sizeof(std::uint32_t);
  const bool one_window = whole <= room;
  limits.rows = {one_window ? distinct : known.batch_rows};
  // Three windows live at once, and packed rows are read back through a buffer of their own.
  const std::uint64_t others = known.batch_rows * (3 * lists + 3 * sizeof(std::uint32_t)) + staging;
  const std::uint64_t cache_bytes = one_window ? whole_cache : room - others;
  state.make_caches(cache_bytes, {1}, {0}, ledger);
  state.options.scratch = scratch;
  PlanClocks clocks(trace);
  // One window holds all there is to know: no plan of the epoch could tell more.
  std::optional<PlannedEpoch> plan;
  windows.begin(limits);
  if (!one_window) {
    state.caches[0]->forget_rows(0);
    const auto planning = SteadyClock::now();
    const PlanSetting setting{state, ledger, clocks, [] { return false; }};
    PlanRequest request;
    request.bytes = ledger.available() / 4 * 3;  // the rows' memory among it
    request.sampled = sample_epoch(setting, windows);
    windows.begin(limits);
    plan = plan_epoch(setting, std::move(request), Directories(state));
    plan->begin(state);
    delivery.plan_seconds = seconds_since(planning);
  }
  RowFetcher fetcher(state, ledger);
  windows.number_rows();
  // As in the Loader: the next window is sampled, and the one before assembled, while rows are
  // read.
  std::future<std::shared_ptr<Window>> sampling;
  const auto sample_next = [&] {
    sampling = std::async(std::launch::async, [&] { return windows.next(); });
  };
  std::future<void> assembling;
  const auto assembled = [&] {
    if (assembling.valid()) assembling.get();
  };
  sample_next();
  auto window = sampling.get();
  while (window) {
    sample_next();
    {
      const TraceSpan span(trace, "fetch");
      const auto fetching = SteadyClock::now();
      fetcher.fetch(*window, {plan ? &*plan : nullptr, nullptr}, assembled);
      delivery.moving_seconds += seconds_since(fetching);
    }
    assembled();
    auto next = sampling.get();
    assembling = std::async(std::launch::async, [&, window] {
      for (std::size_t b = 0; b < window->batches.size(); ++b) {
        delivery.check +=
            copy_out(state.caches[0]->table, *window->rows[0], b, row_bytes, arena, out);
        delivery.useful += out.size();
      }
    });
    window = std::move(next);
  }
  assembled();
  delivery.seconds = seconds_since(begin);
  const FeatureStats stats = store.stats();
  delivery.read = stats.bytes_read;
  delivery.requests = stats.requests;
  delivery.how = "one window, swept";
  if (plan) {
    delivery.read += plan->traffic().bytes_read;
    delivery.written = plan->traffic().bytes_written;
    delivery.requests += plan->traffic().requests;
    delivery.writes = plan->traffic().writes;
    delivery.how = plan->reasons().front();
    for (const StageTimes& stage : clocks.times())
      delivery.moving_seconds += stage.name == "repack" ? stage.busy : 0;
  }
  return delivery;
}

}  // namespace sluice::bench
