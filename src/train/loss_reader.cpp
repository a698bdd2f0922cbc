#include "train/loss_reader.h"

#include <utility>

namespace sluice {

LossReader::LossReader(std::shared_ptr<ComputeDevice> device) : device_(std::move(device)) {
  if (!device_) return;
  landing_ = AlignedBuffer::make(kPending * sizeof(float), nullptr, "losses", device_).or_throw();
  for (auto& event : copied_) event = device_->make_event().or_throw();
}

void LossReader::push(const torch::Tensor& loss, double seeds) {
  const std::size_t slot = next_slot_;
  next_slot_ = (next_slot_ + 1) % kPending;
  pending_.push_back({loss, seeds, slot});
  if (!device_) return;
  const std::span<std::byte> to = landing_.bytes().subspan(slot * sizeof(float), sizeof(float));
  device_
      ->copy_out(Stream::kCompute, reinterpret_cast<const std::byte*>(loss.data_ptr<float>()), to)
      .or_throw();
  device_->record(*copied_[slot], Stream::kCompute).or_throw();
}

void LossReader::settle(std::size_t leave, double& sum) {
  while (pending_.size() > leave) {
    const Pending oldest = std::move(pending_.front());
    pending_.pop_front();
    double value = 0;
    if (device_) {
      device_->synchronize(*copied_[oldest.slot]).or_throw();
      value = static_cast<double>(reinterpret_cast<const float*>(landing_.data())[oldest.slot]);
    } else {
      value = oldest.loss.item<double>();
    }
    sum += value * oldest.seeds;
  }
}

}  // namespace sluice
