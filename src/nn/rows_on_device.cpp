#include "nn/rows_on_device.h"

#include "kernels/table.h"
#include "nn/function_support.h"

#include <utility>

namespace sluice::nn {
namespace {

// The distinct of some ids, and where each stands among them.
struct RowPlaces {
  torch::Tensor ids;      // i64 [n]
  torch::Tensor offsets;  // i64 [n + 1]
  torch::Tensor items;    // i32: the places of each id, ascending
};

torch::Tensor counted_to(std::int64_t count, torch::ScalarType type, torch::Device device) {
  return torch::arange(count, torch::TensorOptions().dtype(type).device(device));
}

RowPlaces places_of(const torch::Tensor& ids, RowRepeats repeats) {
  const std::int64_t count = ids.numel();
  if (repeats == RowRepeats::kNone)
    return {ids,
            counted_to(count + 1, torch::kInt64, ids.device()),
            counted_to(count, torch::kInt32, ids.device())};
  const auto [sorted, order] = ids.sort(/*stable=*/true, /*dim=*/0, /*descending=*/false);
  const auto [distinct, inverse, counts] =
      torch::unique_consecutive(sorted, /*return_inverse=*/false, /*return_counts=*/true);
  return {distinct,
          torch::cat({torch::zeros({1}, counts.options()), counts.cumsum(0)}),
          order.to(torch::kInt32)};
}

}  // namespace

std::shared_ptr<RowsOnDevice> RowsOnDevice::make(std::shared_ptr<RowTable> table,
                                                 torch::Device device,
                                                 const kernels::KernelTable& kernels) {
  std::shared_ptr<RowsOnDevice> made(new RowsOnDevice(std::move(table), device, kernels));
  made->home_ = made->table_->lend(*made);
  return made->home_.data == nullptr ? nullptr : made;
}

// Steps that nobody asked for yet are the table's all the same; an error of the device was met
// before.
RowsOnDevice::~RowsOnDevice() {
  try {
    table_->take_back(*this);
  } catch (...) {
  }
}

std::uint64_t RowsOnDevice::bytes() const {
  return table_->rows() * (home_.stride * sizeof(float) + sizeof(std::int64_t));
}

// The rows where the table has them.
torch::Tensor RowsOnDevice::lent() const {
  return torch::from_blob(
      home_.data,
      {static_cast<std::int64_t>(table_->rows()), static_cast<std::int64_t>(home_.stride)});
}

void RowsOnDevice::take() {
  if (rows_.defined()) return;
  const torch::NoGradGuard no_grad;
  home_ = table_->lend(*this);
  const torch::Tensor from = lent();
  rows_ = torch::empty(from.sizes(), from.options().device(device_)).copy_(from);
  begins_ = counted_to(from.size(0), torch::kInt64, device_)
                .mul_(static_cast<std::int64_t>(home_.stride * sizeof(float)))
                .add_(reinterpret_cast<std::int64_t>(rows_.data_ptr<float>()));
}

torch::Tensor RowsOnDevice::values() {
  take();
  return rows_.narrow(1, 0, table_->dim()).detach();
}

void RowsOnDevice::step(const torch::Tensor& ids,
                        const torch::Tensor& gradients,
                        RowRepeats repeats) {
  take();
  const RowPlaces places = places_of(ids, repeats);
  const torch::Tensor given = gradients.contiguous();
  const torch::Tensor sums = torch::empty({places.ids.numel(), table_->dim()}, given.options());
  kernels::on(executor_).segment_sum(executor_,
                                     {places.offsets.data_ptr<std::int64_t>(),
                                      places.items.data_ptr<std::int32_t>(),
                                      places.ids.numel()},
                                     {},
                                     rows_of(given),
                                     rows_of(sums));
  update(begins_.index_select(0, places.ids), sums);
}

void RowsOnDevice::step_all(const torch::Tensor& gradients) {
  take();
  update(begins_, gradients.contiguous());
}

// LibTorch's memory is used again in the order of its stream, which is the kernels' too.
void RowsOnDevice::update(const torch::Tensor& begins, const torch::Tensor& gradients) {
  stepped_ = true;
  table_->step(executor_,
               {reinterpret_cast<float* const*>(begins.data_ptr<std::int64_t>()),
                gradients.data_ptr<float>(),
                begins.numel(),
                static_cast<std::uint32_t>(table_->dim())});
}

bool RowsOnDevice::give_back() {
  if (!stepped_) return false;
  const torch::NoGradGuard no_grad;
  lent().copy_(rows_);
  stepped_ = false;
  return true;
}

void RowsOnDevice::forget() {
  rows_.reset();
  begins_.reset();
  stepped_ = false;
}

}  // namespace sluice::nn
