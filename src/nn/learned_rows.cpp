#include <sluice/nn/learned_rows.h>

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

// A gradient as tables take it.
torch::Tensor on_host(const torch::Tensor& gradient) {
  return gradient.to(torch::kCPU).contiguous();
}

}  // namespace

bool LearnedRows::any() const {
  return std::ranges::any_of(tables_, [](const Table& table) { return table.rows != nullptr; });
}

void LearnedRows::begin(const Batch& batch, Gradients gradients) {
  gradients_ = gradients;
  const torch::NoGradGuard no_grad;
  for (std::size_t type = 0; type < tables_.size(); ++type) {
    steps_[type] = {};
    if (!has(type) || type >= batch.nodes.size() || batch.nodes[type].ids.empty()) continue;
    Step& step = steps_[type];
    const BatchNodes& nodes = batch.nodes[type];
    step.ids = nodes.ids.space() == MemorySpace::kHost ? nodes.ids : as_array(as_tensor(nodes.ids));
    step.repeats = !nodes.times.empty();
    step.rows = of(type, ids_of(step.ids));
    if (gradients == Gradients::kWanted) step.rows.requires_grad_();
  }
}

torch::Tensor LearnedRows::of(std::size_t type, std::span<const std::uint64_t> nodes) const {
  torch::Tensor rows = torch::empty({static_cast<std::int64_t>(nodes.size()), dim(type)});
  tables_.at(type).rows->gather(nodes, floats_of(rows)).or_throw();
  return rows.to(device_);
}

const torch::Tensor& LearnedRows::rows(std::size_t type) const {
  if (has(type) && steps_[type].rows.defined()) return steps_[type].rows;
  throw Error(ErrorCode::kInternal, "learned rows of a mini-batch that was not begun");
}

torch::Tensor LearnedRows::all(std::size_t type) {
  Step& step = steps_.at(type);
  if (step.all.defined()) return step.all;
  const std::span<float> values = tables_.at(type).rows->resident();
  if (values.empty())
    throw Error(ErrorCode::kUsage,
                fmt::format("learned rows of '{}' are not in memory, and a step wants all of them",
                            tables_[type].name),
                "choose a loss beside some candidates, task.loss = \"softmax\" for one");
  step.all = torch::from_blob(values.data(), {count(type), dim(type)}).to(device_);
  if (gradients_ == Gradients::kWanted) step.all.requires_grad_();
  return step.all;
}

torch::Tensor LearnedRows::tile(std::size_t type, std::int64_t first, std::int64_t wanted) const {
  RowTable& table = *tables_.at(type).rows;
  const std::int64_t columns = dim(type);
  if (const std::span<float> values = table.resident(); !values.empty())
    return torch::from_blob(values.data() + first * columns, {wanted, columns}).to(device_);
  torch::Tensor rows = torch::empty({wanted, columns});
  table.gather_range(static_cast<std::uint64_t>(first), floats_of(rows)).or_throw();
  return rows.to(device_);
}

void LearnedRows::step() {
  const torch::NoGradGuard no_grad;
  for (std::size_t type = 0; type < tables_.size(); ++type)
    if (has(type)) update(type, steps_[type]);
  end();
}

void LearnedRows::update(std::size_t type, Step& step) {
  RowTable& table = *tables_[type].rows;
  const auto gradient_of = [](const torch::Tensor& leaf) {
    return leaf.defined() ? leaf.grad() : torch::Tensor();
  };
  torch::Tensor own = gradient_of(step.rows), all = gradient_of(step.all);
  if (!own.defined() && !all.defined()) return;
  const auto ids = [&] { return as_tensor(step.ids).view(torch::kInt64); };
  if (all.defined()) {
    all = on_host(all);
    if (own.defined()) all.index_add_(0, ids(), on_host(own));
    return table.update_range(0, floats_of(all)).or_throw();
  }
  own = on_host(own);
  if (!step.repeats) return table.update(ids_of(step.ids), floats_of(own)).or_throw();
  // Rows of a node at several times are one row.
  const auto [distinct, places] = at::_unique(ids(), /*sorted=*/true, /*return_inverse=*/true);
  torch::Tensor sums = torch::zeros({distinct.size(0), own.size(1)});
  sums.index_add_(0, places, own);
  const Array nodes = as_array(distinct.view(torch::kUInt64));
  table.update(ids_of(nodes), floats_of(sums)).or_throw();
}

void LearnedRows::end() {
  for (Step& step : steps_) step = {};
}

NamedTensors LearnedRows::weights() const {
  NamedTensors all;
  for (const Table& table : tables_) {
    if (!table.rows) continue;
    for (const auto& [name, array] : table.rows->kept())
      if (name == "rows") all.emplace("rows." + table.name, as_tensor(array));
  }
  return all;
}

NamedTensors LearnedRows::state() const {
  NamedTensors all;
  for (const Table& table : tables_) {
    if (!table.rows) continue;
    for (const auto& [name, array] : table.rows->kept())
      if (name != "rows") all.emplace(table.name + "." + name, as_tensor(array));
  }
  return all;
}

}  // namespace sluice::nn
