// RowsOnDevice: the rows of a table in memory, lent to a device: copied there once, with what their
// optimiser keeps, read and stepped there by the kernels of the device, and copied back when
// somebody asks the table for them. Internal to src/nn. Used by one thread at a time.
#pragma once

#include <sluice/executor.h>
#include <sluice/row_table.h>

#include <torch/torch.h>

#include <cstdint>
#include <memory>

namespace sluice::nn {

/// Whether a row may be among a step's more than once.
enum class RowRepeats { kNone, kMay };

class RowsOnDevice final : public RowBorrower {
 public:
  /// Null: the table lends none. @param kernels of the device
  static std::shared_ptr<RowsOnDevice> make(std::shared_ptr<RowTable> table,
                                            torch::Device device,
                                            const kernels::KernelTable& kernels);
  RowsOnDevice(const RowsOnDevice&) = delete;
  RowsOnDevice& operator=(const RowsOnDevice&) = delete;
  ~RowsOnDevice() override;

  /// That all rows take on the device.
  std::uint64_t bytes() const;
  /// f32 [rows, dim] over where they lie, each its stride from the next: not to be written to.
  torch::Tensor values();
  /// One step of each of these rows, i64 [n], by the sum of its gradients, f32 [n, dim], in the
  /// order of `ids`.
  void step(const torch::Tensor& ids, const torch::Tensor& gradients, RowRepeats repeats);
  /// One step of all rows.
  void step_all(const torch::Tensor& gradients);

  bool give_back() override;
  void forget() override;

 private:
  RowsOnDevice(std::shared_ptr<RowTable> table,
               torch::Device device,
               const kernels::KernelTable& kernels)
      : table_(std::move(table)), device_(device), executor_{nullptr, &kernels} {}

  void take();
  torch::Tensor lent() const;
  void update(const torch::Tensor& begins, const torch::Tensor& gradients);

  const std::shared_ptr<RowTable> table_;
  const torch::Device device_;
  const kernels::Executor executor_;
  RowsInPlace home_;      // where they were lent from
  torch::Tensor rows_;    // f32 [rows, stride]; undefined: nothing is lent
  torch::Tensor begins_;  // i64 [rows]: the addresses of the rows on the device
  bool stepped_ = false;  // since they were given back
};

}  // namespace sluice::nn
