#include "device/fake_device.h"

#include "core/hash.h"
#include "support/stored_rows.h"

#include <sluice/graph_schema.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace sluice::test {
namespace {

using Clock = std::chrono::steady_clock;

Actor actor_of(Stream stream) {
  return stream == Stream::kCompute ? Actor::kCompute : Actor::kCopy;
}

// Kernels of the compute stream run at once, on the CPU; what they wait for has run by then.
template <auto Kernel>
struct OnCpu;
template <class... Arguments, void (*Kernel)(const kernels::Executor&, Arguments...)>
struct OnCpu<Kernel> {
  static void run(const kernels::Executor& executor, Arguments... arguments) {
    Kernel({executor.threads}, arguments...);
  }
};

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

}  // namespace

struct FakeDevice::Event final : DeviceEvent {
  VectorClock clock;                                            // of the last recording
  std::shared_ptr<bool> passed = std::make_shared<bool>(true);  // whether it has run
  std::shared_ptr<Clock::time_point> when = std::make_shared<Clock::time_point>();
};

FakeDevice::FakeDevice(const Options& options)
    : options_(options), handles_{{this, Stream::kCompute}, {this, Stream::kCopy}} {}

FakeDevice::~FakeDevice() {
  for (const auto& [memory, bytes] : allocated_) std::free(memory);
}

std::vector<std::string> FakeDevice::violations() const {
  const MutexLock lock(mutex_);
  return violations_;
}
std::size_t FakeDevice::queued() const {
  const MutexLock lock(mutex_);
  return queues_[0].size() + queues_[1].size();
}
std::uint64_t FakeDevice::allocated() const {
  const MutexLock lock(mutex_);
  std::uint64_t sum = 0;
  for (const auto& [memory, bytes] : allocated_) sum += bytes;
  return sum;
}
std::uint64_t FakeDevice::pinned() const {
  const MutexLock lock(mutex_);
  std::uint64_t sum = 0;
  for (const auto& [memory, bytes] : pinned_) sum += bytes;
  return sum;
}
std::uint64_t FakeDevice::pinnings() const {
  const MutexLock lock(mutex_);
  return pinnings_;
}

void FakeDevice::refuse_recordings() {
  const MutexLock lock(mutex_);
  refuse_recordings_ = true;
}

DeviceInfo FakeDevice::info() const {
  return {"fake", "a fake device", "in host memory", options_.bytes, options_.bytes - allocated()};
}

void* FakeDevice::handle(Stream stream) const {
  return &handles_[stream == Stream::kCompute ? 0 : 1];
}

const kernels::KernelTable& FakeDevice::kernels() const {
  using namespace sluice::kernels;
  static const KernelTable kTable{
      &OnCpu<&dropout>::run,
      &OnCpu<&edge_add>::run,
      &OnCpu<&edge_dot>::run,
      &OnCpu<&edge_softmax>::run,
      &OnCpu<&edge_softmax_backward>::run,
      &OnCpu<&gather_rows>::run,
      &OnCpu<&sgd_rows>::run,
      &OnCpu<&adagrad_rows>::run,
      &OnCpu<&adagrad_mean_rows>::run,
      &OnCpu<&adam_rows>::run,
      &OnCpu<&segment_max>::run,
      &OnCpu<&segment_max_backward>::run,
      &OnCpu<&segment_sum>::run,
      &OnCpu<&segment_weighted_sum>::run,
      &OnCpu<&segment_edge_sum>::run,
      &OnCpu<&softmax_sums>::run,
      &OnCpu<&softmax_shares>::run,
      [](const Executor& executor,
         DType dtype,
         std::uint32_t entries,
         const std::byte* const* rows,
         Rows<float> out) {
        const auto& where = *static_cast<const Handle*>(executor.stream);
        const auto dim = static_cast<std::uint32_t>(out.width);
        where.device->queue_rows(
            where.stream, sparse_row_bytes(dtype, dim, entries), rows, out, [=] {
              sluice::kernels::spread_rows({}, dtype, entries, rows, out);
            });
      },
      [](const Executor& executor, DType dtype, const std::byte* const* rows, Rows<float> out) {
        const auto& where = *static_cast<const Handle*>(executor.stream);
        const std::size_t row_bytes = stored_row_bytes(dtype, static_cast<std::size_t>(out.width));
        where.device->queue_rows(where.stream, row_bytes, rows, out, [=] {
          sluice::kernels::widen_rows({}, dtype, rows, out);
        });
      }};
  return kTable;
}

Result<std::byte*> FakeDevice::allocate(std::uint64_t bytes) {
  if (allocated() + bytes > options_.bytes)
    return Error(ErrorCode::kResource, "the fake device has no memory left");
  const std::uint64_t rounded = (bytes + 255) / 256 * 256;
  auto* memory =
      static_cast<std::byte*>(std::aligned_alloc(256, std::max<std::uint64_t>(rounded, 256)));
  const MutexLock lock(mutex_);
  allocated_[memory] = bytes;
  order_.forget({memory, bytes});
  poison({memory, bytes});
  return memory;
}

void FakeDevice::free(std::byte* memory) noexcept {
  const MutexLock lock(mutex_);
  if (const auto race = order_.retire({memory, allocated_[memory]}))
    violation("device memory is freed: " + *race);
  drop({memory, allocated_[memory]});
  allocated_.erase(memory);
  std::free(memory);
}

Result<void> FakeDevice::pin(std::span<std::byte> memory) {
  if (options_.refuse_pinning) return Error(ErrorCode::kResource, "pinning is refused");
  const MutexLock lock(mutex_);
  // As CUDA: pages are pinned, and one that two pieces of memory share is refused to the second.
  const auto page = [](const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at) / 4096; };
  for (const auto& [begin, bytes] : pinned_) {
    if (page(begin) <= page(memory.data() + memory.size() - 1) &&
        page(memory.data()) <= page(begin + bytes - 1))
      violation("memory is pinned twice");
  }
  pinned_[memory.data()] = memory.size();
  ++pinnings_;
  return outcome();
}

void FakeDevice::unpin(std::span<std::byte> memory) noexcept {
  const MutexLock lock(mutex_);
  if (const auto race = order_.retire(memory)) violation("host memory is unpinned: " + *race);
  drop(memory);
  if (pinned_.erase(memory.data()) == 0) violation("memory is unpinned that was not pinned");
}

void FakeDevice::violation(const std::string& text) {
  violations_.push_back(text);
}

Result<void> FakeDevice::outcome() {
  if (told_ == violations_.size()) return {};
  told_ = violations_.size();
  return Error(ErrorCode::kInternal, "fake device: " + violations_.back());
}

void FakeDevice::note(Actor actor, std::span<const std::byte> memory, Access access) {
  const auto kind =
      access == Access::kRead ? HappensBefore::Kind::kRead : HappensBefore::Kind::kWrite;
  if (const auto race = order_.access(actor, memory, kind)) violation(*race);
}

// What nobody is about to use there is rubbish until the copy has run.
void FakeDevice::poison(std::span<std::byte> target) {
  for (const auto& operations : queues_) {
    for (const Operation& operation : operations) {
      if (overlap(operation.source, target) || overlap(operation.target, target)) return;
    }
  }
  std::memset(target.data(), 0xff, target.size());  // NaN, -1, no row
}

// What is queued for memory that goes away must not run any more; that it was is told already.
void FakeDevice::drop(std::span<const std::byte> memory) {
  for (auto& operations : queues_) {
    for (Operation& operation : operations) {
      if (overlap(operation.source, memory) || overlap(operation.target, memory))
        operation.run = nullptr;
    }
  }
}

void FakeDevice::push(Stream stream, Operation operation) {
  queue(stream).push_back(std::move(operation));
  if (stream == Stream::kCompute) {
    run_until([this]() SLUICE_REQUIRES(mutex_) { return queues_[0].empty(); });
  } else {
    progress();
  }
}

// Runs one operation whose turn it may be; false when there is none.
bool FakeDevice::step() {
  const auto ready = [](const std::deque<Operation>& operations) {
    return !operations.empty() && (!operations.front().needs || *operations.front().needs);
  };
  std::vector<std::deque<Operation>*> choices;
  for (auto& operations : queues_) {
    if (ready(operations)) choices.push_back(&operations);
  }
  if (choices.empty()) return false;
  auto& chosen = *choices[RandomKey(options_.seed).below(choices.size(), draws_++)];
  const Operation operation = std::move(chosen.front());
  chosen.pop_front();
  if (operation.run) operation.run();
  return true;
}

// Now and then the device gets something done by itself; every fourth seed it never does.
void FakeDevice::progress() {
  if (options_.seed % 4 == 0) return;
  const std::uint64_t steps = RandomKey(options_.seed).with("steps").below(4, draws_++);
  for (std::uint64_t i = 0; i < steps && step(); ++i) {
  }
}

void FakeDevice::run_until(const std::function<bool()>& done) {
  while (!done()) {
    if (step()) continue;
    violation("the streams wait for each other");
    return;
  }
}

Result<void> FakeDevice::copy_in(Stream stream,
                                 std::span<const std::byte> host,
                                 std::byte* device) {
  const MutexLock lock(mutex_);
  const std::span<std::byte> target(device, host.size());
  order_.submit(actor_of(stream));
  note(actor_of(stream), host, Access::kRead);
  note(actor_of(stream), target, Access::kWrite);
  poison(target);
  Operation operation;
  operation.source = host;
  operation.target = target;
  operation.copies = true;
  operation.run = [this, host, target, before = xxh3_64(host)]() SLUICE_REQUIRES(mutex_) {
    if (xxh3_64(host) != before) violation("the source of a copy changed before it ran");
    std::memcpy(target.data(), host.data(), host.size());
  };
  push(stream, std::move(operation));
  return outcome();
}

Result<void> FakeDevice::copy_out(Stream stream,
                                  const std::byte* device,
                                  std::span<std::byte> host) {
  const MutexLock lock(mutex_);
  const std::span<const std::byte> source(device, host.size());
  order_.submit(actor_of(stream));
  note(actor_of(stream), source, Access::kRead);
  note(actor_of(stream), host, Access::kWrite);
  poison(host);
  Operation operation;
  operation.source = source;
  operation.target = host;
  operation.copies = true;
  operation.run = [source, host] { std::memcpy(host.data(), source.data(), source.size()); };
  push(stream, std::move(operation));
  return outcome();
}

// The list of addresses may itself be on its way in a copy.
std::vector<const std::byte*> FakeDevice::addresses_to_come(const std::byte* const* rows,
                                                            std::size_t count) const {
  const auto* at = reinterpret_cast<const std::byte*>(rows);
  const std::byte* from = at;
  for (const Operation& operation : queues_[1]) {
    const bool covers = operation.copies && operation.target.data() <= at &&
                        at < operation.target.data() + operation.target.size();
    if (covers) from = operation.source.data() + (at - operation.target.data());
  }
  std::vector<const std::byte*> addresses(count);
  std::memcpy(addresses.data(), from, count * sizeof(const std::byte*));
  return addresses;
}

void FakeDevice::queue_rows(Stream stream,
                            std::size_t row_bytes,
                            const std::byte* const* rows,
                            kernels::Rows<float> out,
                            std::function<void()> widen) {
  if (options_.refuse_kernels) throw Error(ErrorCode::kResource, "the kernel is refused");
  const MutexLock lock(mutex_);
  const auto count = static_cast<std::size_t>(out.count);
  const auto addresses = addresses_to_come(rows, count);
  const std::span<std::byte> target(reinterpret_cast<std::byte*>(out.data),
                                    count * static_cast<std::size_t>(out.width) * sizeof(float));
  const auto hash_rows = [row_bytes](const std::vector<const std::byte*>& all) {
    Hasher hasher;
    for (const std::byte* row : all) hasher.update({row, row_bytes});
    return hasher.digest();
  };
  order_.submit(actor_of(stream));
  note(actor_of(stream), std::as_bytes(std::span(rows, count)), Access::kRead);
  Operation operation;
  if (count != 0) {
    // One range for all rows: they lie in one pinned table, and nothing else is noted of it.
    const auto [low, high] = std::minmax_element(addresses.begin(), addresses.end());
    operation.source = {*low, *high + row_bytes};
    note(actor_of(stream), operation.source, Access::kRead);
  }
  note(actor_of(stream), target, Access::kWrite);
  poison(target);
  operation.target = target;
  operation.run = [=, this, before = hash_rows(addresses)]() SLUICE_REQUIRES(mutex_) {
    if (hash_rows(addresses) != before) violation("rows changed before the GPU had read them");
    widen();
  };
  push(stream, std::move(operation));  // the next call tells
}

Result<std::unique_ptr<DeviceEvent>> FakeDevice::make_event() {
  return std::unique_ptr<DeviceEvent>(std::make_unique<Event>());
}

Result<void> FakeDevice::record(DeviceEvent& event, Stream stream) {
  const MutexLock lock(mutex_);
  if (refuse_recordings_) return Error(ErrorCode::kResource, "recording is refused");
  auto& mine = static_cast<Event&>(event);
  order_.submit(actor_of(stream));
  mine.clock = order_.clock(actor_of(stream));
  mine.passed = std::make_shared<bool>(false);
  Operation operation;
  operation.run = [passed = mine.passed, when = mine.when] {
    *passed = true;
    *when = Clock::now();
  };
  push(stream, std::move(operation));
  return outcome();
}

Result<void> FakeDevice::wait(Stream stream, const DeviceEvent& event) {
  const MutexLock lock(mutex_);
  const Forget forgotten = stream == Stream::kCompute ? Forget::kComputeWaits : Forget::kCopyWaits;
  if (options_.forget == forgotten) return outcome();
  const auto& mine = static_cast<const Event&>(event);
  order_.submit(actor_of(stream));
  order_.clock(actor_of(stream)).join(mine.clock);
  Operation operation;
  operation.needs = mine.passed;
  push(stream, std::move(operation));
  return outcome();
}

Result<void> FakeDevice::synchronize(const DeviceEvent& event) {
  const MutexLock lock(mutex_);
  if (options_.forget == Forget::kHostWaits) return outcome();
  const auto& mine = static_cast<const Event&>(event);
  run_until([&] { return *mine.passed; });
  order_.clock(Actor::kHost).join(mine.clock);
  return outcome();
}

Result<double> FakeDevice::seconds_between(const DeviceEvent& begin, const DeviceEvent& end) {
  const MutexLock lock(mutex_);
  const auto& first = static_cast<const Event&>(begin);
  const auto& last = static_cast<const Event&>(end);
  if (!*first.passed || !*last.passed) violation("the time of an event that has not passed");
  if (auto said = outcome(); !said) return std::move(said).error();
  return std::chrono::duration<double>(*last.when - *first.when).count();
}

void FakeDevice::declare_host(std::span<const std::byte> memory, Access access) {
  const MutexLock lock(mutex_);
  note(Actor::kHost, memory, access);
}

void FakeDevice::declare(Stream stream, std::span<const std::byte> memory, Access access) {
  const MutexLock lock(mutex_);
  order_.submit(actor_of(stream));
  note(actor_of(stream), memory, access);
}

}  // namespace sluice::test
