#include <sluice/nn/learned_rows.h>

#include "nn/add_rows.h"
#include "nn/rows_on_device.h"

#include <sluice/error.h>
#include <sluice/nn/tensor_view.h>

#include <fmt/format.h>

#include <algorithm>

namespace sluice::nn {
namespace {

std::span<float> floats_of(torch::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

std::span<const std::uint64_t> ids_of(const Array& ids) {
  return ids.as<std::uint64_t>();
}

Array host_ids(const BatchNodes& nodes) {
  return nodes.ids.space() == MemorySpace::kHost ? nodes.ids : as_array(as_tensor(nodes.ids));
}

torch::Tensor ids_tensor(const Array& ids) {
  return as_tensor(ids).view(torch::kInt64);
}

torch::Tensor gradient_of(const torch::Tensor& leaf) {
  return leaf.defined() ? leaf.grad() : torch::Tensor();
}

// A gradient as tables take it.
torch::Tensor on_host(const torch::Tensor& gradient) {
  return gradient.to(torch::kCPU).contiguous();
}

}  // namespace

LearnedRows::LearnedRows(std::vector<Table> tables,
                         torch::Device device,
                         const kernels::KernelTable* kernels)
    : tables_(std::move(tables)), kept_(tables_.size()), device_(device), steps_(tables_.size()) {
  if (kernels == nullptr) return;
  for (std::size_t type = 0; type < tables_.size(); ++type)
    if (tables_[type].rows) kept_[type] = RowsOnDevice::make(tables_[type].rows, device_, *kernels);
}

bool LearnedRows::any() const {
  return std::ranges::any_of(tables_, [](const Table& table) { return table.rows != nullptr; });
}

bool LearnedRows::resident(std::size_t type) const {
  return has(type) && (kept(type) || tables_[type].rows->in_place().data != nullptr);
}

bool LearnedRows::looks_ahead() const {
  for (std::size_t type = 0; type < tables_.size(); ++type)
    if (has(type) && !kept(type) && tables_[type].rows->looks_ahead()) return true;
  return false;
}

std::uint64_t LearnedRows::device_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& rows : kept_)
    if (rows) bytes += rows->bytes();
  return bytes;
}

bool LearnedRows::wants_more() const {
  for (std::size_t type = 0; type < tables_.size(); ++type)
    if (has(type) && !kept(type) && tables_[type].rows->looks_ahead() &&
        !tables_[type].rows->wants_more())
      return false;
  return true;
}

// Each table is told of each mini-batch, also of one without nodes of its type: what it was told of
// before that is over then.
void LearnedRows::expect(const Batch& batch) {
  for (std::size_t type = 0; type < tables_.size(); ++type) {
    if (!has(type) || kept(type)) continue;
    const Array ids = takes(type, batch) ? host_ids(batch.nodes[type]) : Array();
    tables_[type].rows->expect(takes(type, batch) ? ids_of(ids) : std::span<const std::uint64_t>());
  }
  expected_.push_back(&batch);
}

void LearnedRows::forget() {
  expected_.clear();
  for (std::size_t type = 0; type < tables_.size(); ++type)
    if (has(type) && !kept(type)) tables_[type].rows->forget();
}

// One out of turn ends what was announced, which tables take in its order.
void LearnedRows::begin(const Batch& batch, Gradients gradients) {
  gradients_ = gradients;
  const torch::NoGradGuard no_grad;
  if (expected_.empty() || expected_.front() != &batch) {
    forget();
    expect(batch);
  }
  expected_.erase(expected_.begin());
  for (std::size_t type = 0; type < tables_.size(); ++type) {
    steps_[type] = {};
    if (has(type) && !kept(type)) tables_[type].rows->begin();
    if (!takes(type, batch)) continue;
    Step& step = steps_[type];
    const BatchNodes& nodes = batch.nodes[type];
    if (kept(type)) {
      step.ids = nodes.ids;
      step.repeated = !nodes.times.empty();
      step.rows = kept(type)->values().index_select(0, ids_tensor(step.ids));
    } else {
      step.ids = host_ids(nodes);
      torch::Tensor rows = torch::empty({step.ids.numel(), dim(type)});
      tables_[type].rows->gather(ids_of(step.ids), floats_of(rows));
      step.rows = rows.to(device_);
    }
    if (gradients == Gradients::kWanted) step.rows.requires_grad_();
  }
}

torch::Tensor LearnedRows::of(std::size_t type, std::span<const std::uint64_t> nodes) const {
  if (has(type) && kept(type)) {
    const torch::Tensor ids = torch::from_blob(const_cast<std::uint64_t*>(nodes.data()),
                                               {static_cast<std::int64_t>(nodes.size())},
                                               torch::kInt64);
    return kept(type)->values().index_select(0, ids.to(device_));
  }
  torch::Tensor rows = torch::empty({static_cast<std::int64_t>(nodes.size()), dim(type)});
  tables_.at(type).rows->read(nodes, floats_of(rows));
  return rows.to(device_);
}

// A view of rows in memory: each ends where its optimiser's state begins.
torch::Tensor LearnedRows::lying(std::size_t type, std::int64_t first, std::int64_t wanted) const {
  const RowsInPlace all = tables_.at(type).rows->in_place();
  const auto stride = static_cast<std::int64_t>(all.stride);
  return torch::from_blob(all.data + first * stride, {wanted, dim(type)}, {stride, 1});
}

const torch::Tensor& LearnedRows::rows(std::size_t type) const {
  if (has(type) && steps_[type].rows.defined()) return steps_[type].rows;
  throw Error(ErrorCode::kInternal, "learned rows of a mini-batch that was not begun");
}

torch::Tensor LearnedRows::all(std::size_t type) {
  Step& step = steps_.at(type);
  if (step.all.defined()) return step.all;
  if (!resident(type))
    throw Error(ErrorCode::kUsage,
                fmt::format("learned rows of '{}' are not in memory, and a step wants all of them",
                            tables_[type].name),
                "set storage.embeddings = \"memory\", or choose a loss beside some candidates, "
                "task.loss = \"softmax\" for one");
  step.all = kept(type) ? kept(type)->values() : lying(type, 0, count(type)).to(device_);
  if (gradients_ == Gradients::kWanted) step.all.requires_grad_();
  return step.all;
}

torch::Tensor LearnedRows::tile(std::size_t type, std::int64_t first, std::int64_t wanted) const {
  if (has(type) && kept(type)) return kept(type)->values().narrow(0, first, wanted);
  if (resident(type)) return lying(type, first, wanted).to(device_);
  torch::Tensor rows = torch::empty({wanted, dim(type)});
  tables_.at(type).rows->read_range(static_cast<std::uint64_t>(first), floats_of(rows));
  return rows.to(device_);
}

void LearnedRows::step() {
  const torch::NoGradGuard no_grad;
  for (std::size_t type = 0; type < tables_.size(); ++type)
    if (has(type)) update(type, steps_[type]);
  end();
}

void LearnedRows::update(std::size_t type, Step& step) {
  if (kept(type)) return update_kept(*kept(type), step);
  RowTable& table = *tables_[type].rows;
  torch::Tensor own = gradient_of(step.rows), all = gradient_of(step.all);
  if (!own.defined() && !all.defined()) return;
  if (all.defined()) {
    all = on_host(all);
    if (own.defined()) add_rows(all, ids_tensor(step.ids), on_host(own));
    return table.update_range(0, floats_of(all));
  }
  own = on_host(own);
  table.update(ids_of(step.ids), floats_of(own));  // a node at several times is one row
}

// The same where the rows are kept: nothing is copied.
void LearnedRows::update_kept(RowsOnDevice& rows, const Step& step) {
  const torch::Tensor own = gradient_of(step.rows), all = gradient_of(step.all);
  if (all.defined()) {
    if (own.defined()) add_rows(all, ids_tensor(step.ids), own);
    rows.step_all(all);
  } else if (own.defined()) {
    rows.step(ids_tensor(step.ids), own, step.repeated ? RowRepeats::kMay : RowRepeats::kNone);
  }
}

void LearnedRows::end() {
  for (Step& step : steps_) step = {};
}

NamedTensors LearnedRows::in_place() const {
  NamedTensors all;
  for (std::size_t type = 0; type < tables_.size(); ++type)
    if (resident(type)) all.emplace("rows." + tables_[type].name, lying(type, 0, count(type)));
  return all;
}

}  // namespace sluice::nn
