#include "pipeline/gpu/device_feed.h"

#include "kernels/float_rows.h"

#include <utility>
#include <vector>

namespace sluice {

std::vector<Array::Shape> DeviceFeed::shapes_of(std::span<const FeatureList> lists) const {
  std::vector<Array::Shape> shapes;
  shapes.reserve(lists.size());
  for (const FeatureList& list : lists) shapes.push_back(assembler_.shape_of(list));
  return shapes;
}

std::uint64_t DeviceFeed::slab_bytes(const Batch& batch) const {
  Batch copy = batch;  // its arrays are handles
  return BatchPacking(batch, shapes_of(assembler_.lists_of(copy)), Gather::kHost).slab_bytes();
}

void DeviceFeed::begin(std::uint64_t slot_bytes) {
  ring_->reserve({slot_bytes, slot_bytes});
  bytes_ = 0;
  gathered_ = 0;
  blocked_before_ = ring_->blocked();
}

std::optional<Ready> DeviceFeed::send(Batch batch,
                                      const Window& window,
                                      std::size_t index,
                                      Busy& busy) {
  const Gather gather =
      !options_.hash && assembler_.gpu_may_gather() ? Gather::kGpu : Gather::kHost;
  assembler_.add_derived(batch);
  assembler_.add_labels(batch);
  const std::vector<FeatureList> lists = assembler_.lists_of(batch);
  const BatchPacking packing(batch, shapes_of(lists), gather);
  Ready ready;
  {
    const Busy::Pause waiting(busy);
    ready.lease = ring_->acquire({packing.slab_bytes(), packing.device_bytes()});
  }
  if (!ready.lease) return std::nullopt;
  TransferRing::Slot& slot = *ready.lease;
  const std::span<std::byte> slab = slot.slab.bytes();
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (gather == Gather::kGpu) {
      assembler_.add_addresses(lists[i], window, index, packing.addresses(i, slab));
    } else {
      *lists[i].features = packing.features_in(slab.data(), i, MemorySpace::kHost, ready.lease);
    }
  }
  if (gather == Gather::kHost) assembler_.add_features(batch, window, index);
  if (options_.hash) ready.hash = hash_batch(batch);
  packing.pack(batch, slab);
  try {
    queue(lists, packing, gather, slot);
  } catch (...) {
    ring_->broken_off(slot);
    throw;
  }

  auto host = std::make_shared<Batch>();
  host->epoch = batch.epoch;
  host->index = batch.index;
  host->seeds = batch.seeds;
  host->queries = batch.queries;
  host->labels = batch.labels;
  Batch there = packing.on_device(batch, slot.memory.data(), ring_->device().space(), ready.lease);
  const std::vector<FeatureList> lists_there = assembler_.lists_of(there);
  for (std::size_t i = 0; i < lists_there.size(); ++i) {
    *lists_there[i].features =
        packing.features_in(slot.memory.data(), i, ring_->device().space(), ready.lease);
  }
  there.host = std::move(host);
  ready.batch = std::make_shared<const Batch>(std::move(there));
  return ready;
}

void DeviceFeed::queue(std::span<const FeatureList> lists,
                       const BatchPacking& packing,
                       Gather gather,
                       TransferRing::Slot& slot) {
  ComputeDevice& device = ring_->device();
  std::byte* const memory = slot.memory.data();
  device.copy_in(Stream::kCopy, slot.slab.bytes().first(packing.slab_bytes()), memory).or_throw();
  bytes_ += packing.slab_bytes();
  if (gather == Gather::kGpu) {
    const kernels::Executor executor{nullptr, &device.kernels(), device.handle(Stream::kCopy)};
    for (std::size_t i = 0; i < lists.size(); ++i) {
      const BatchPacking::Features& features = packing.features()[i];
      const FeatureStore& store = assembler_.store_of(lists[i]);
      kernels::float_rows(executor,
                          store.schema(),
                          reinterpret_cast<const std::byte* const*>(memory + features.addresses),
                          {reinterpret_cast<float*>(memory + features.offset),
                           features.shape[0],
                           features.shape[1]});
      bytes_ += static_cast<std::uint64_t>(features.shape[0]) * store.row_bytes();
    }
    reading_ = &slot;
    ++gathered_;
  }
  ring_->sent(slot);
}

void DeviceFeed::finish_window() {
  if (reading_ != nullptr) ring_->wait_until_sent(*std::exchange(reading_, nullptr));
}

}  // namespace sluice
