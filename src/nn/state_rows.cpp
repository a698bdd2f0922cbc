#include <sluice/nn/state_rows.h>

#include <sluice/error.h>
#include <sluice/nn/tensor_view.h>

#include <algorithm>
#include <span>
#include <unordered_map>
#include <utility>

namespace sluice::nn {
namespace {

// A time's pieces, the lowest first: 22, 21 and 21 bits, the last with the sign. Each is a whole
// number that a float holds exactly, whatever adds it to zero on its way.
constexpr std::int64_t kLowBits = 22, kMiddleBits = 21;
constexpr std::int64_t kLow = std::int64_t{1} << kLowBits;
constexpr std::int64_t kMiddle = std::int64_t{1} << kMiddleBits;

Array host_nodes(const BatchNodes& nodes) {
  return nodes.ids.space() == MemorySpace::kHost ? nodes.ids : as_array(as_tensor(nodes.ids));
}

std::span<float> floats_in(torch::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

std::span<const std::uint64_t> numbers_in(const torch::Tensor& nodes) {
  return {reinterpret_cast<const std::uint64_t*>(nodes.data_ptr<std::int64_t>()),
          static_cast<std::size_t>(nodes.numel())};
}

// i64 [n, times] to f32 [n, 3 times].
torch::Tensor in_pieces(const torch::Tensor& times) {
  const torch::Tensor low = times.bitwise_and(kLow - 1);
  const torch::Tensor middle = times.bitwise_right_shift(kLowBits).bitwise_and(kMiddle - 1);
  const torch::Tensor high = times.bitwise_right_shift(kLowBits + kMiddleBits);
  return torch::cat({low, middle, high}, 1).to(torch::kFloat32);
}

torch::Tensor from_pieces(const torch::Tensor& pieces) {
  const auto parts = pieces.to(torch::kInt64).chunk(3, 1);
  return parts[0] + parts[1] * kLow + parts[2] * (kLow * kMiddle);
}

}  // namespace

// Rows that were written beside a table.
class StateRows::Apart {
 public:
  Apart(std::int64_t columns, MemoryLedger* ledger)
      : columns_(static_cast<std::size_t>(columns)), ledger_(ledger) {}

  static std::uint64_t bytes_of(std::uint64_t rows, std::int64_t columns) {
    const std::uint64_t blocks = (rows + kBlockRows - 1) / kBlockRows;
    return blocks * kBlockRows *
           (static_cast<std::uint64_t>(columns) * sizeof(float) + kBytesOfEntry);
  }

  void clear() {
    place_.clear();
    blocks_.clear();
    charge_ = {};
  }

  void put(std::span<const std::uint64_t> nodes, std::span<const float> rows) {
    for (std::size_t i = 0; i < nodes.size(); ++i)
      std::copy_n(rows.data() + i * columns_, columns_, row_of(nodes[i]));
  }

  // Those that were written, in the place of what `rows` has of them.
  void lay_over(std::span<const std::uint64_t> nodes, std::span<float> rows) const {
    if (place_.empty()) return;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto found = place_.find(nodes[i]);
      if (found != place_.end()) std::copy_n(at(found->second), columns_, &rows[i * columns_]);
    }
  }

 private:
  static constexpr std::size_t kBlockRows = 1024;
  static constexpr std::size_t kBytesOfEntry = 64;  // of the table by node

  float* at(std::size_t place) const {
    return blocks_[place / kBlockRows].get() + place % kBlockRows * columns_;
  }

  float* row_of(std::uint64_t node) {
    if (const auto found = place_.find(node); found != place_.end()) return at(found->second);
    const std::size_t place = place_.size();
    if (place == blocks_.size() * kBlockRows) add_block();
    place_.emplace(node, place);
    return at(place);
  }

  void add_block() {
    if (ledger_ != nullptr) {
      if (blocks_.empty()) charge_ = ledger_->charge("rows of state", 0).or_throw();
      charge_.resize(bytes_of(place_.size() + 1, static_cast<std::int64_t>(columns_))).or_throw();
    }
    blocks_.push_back(std::make_unique<float[]>(kBlockRows * columns_));
  }

  std::size_t columns_;
  MemoryLedger* ledger_;
  Charge charge_;
  std::unordered_map<std::uint64_t, std::size_t> place_;
  std::vector<std::unique_ptr<float[]>> blocks_;
};

StateRows::StateRows(std::vector<Table> tables, StateShape shape, torch::Device device)
    : tables_(std::move(tables)), shape_(shape), device_(device), states_(tables_.size()) {
  for (const Table& table : tables_) {
    if (!table.rows || table.rows->dim() == shape_.columns()) continue;
    throw Error(ErrorCode::kInternal,
                "rows of state of '" + table.name + "' are of another width than their model's");
  }
}

StateRows::~StateRows() = default;

bool StateRows::looks_ahead() const {
  return std::ranges::any_of(
      tables_, [](const Table& table) { return table.rows && table.rows->looks_ahead(); });
}

void StateRows::go_to(std::uint64_t epoch) {
  epoch_ = epoch;
  for (const auto& each : apart_) each->clear();
}

void StateRows::keep_apart(MemoryLedger* ledger) {
  apart_.clear();
  for (std::size_t type = 0; type < tables_.size(); ++type)
    apart_.push_back(std::make_unique<Apart>(shape_.columns(), ledger));
}

std::uint64_t StateRows::apart_bytes(std::uint64_t nodes) const {
  return Apart::bytes_of(nodes, shape_.columns());
}

// Each table is told of each mini-batch, also of one without nodes of its type.
void StateRows::expect(const Batch& batch) {
  for (std::size_t type = 0; type < tables_.size(); ++type) {
    if (!has(type)) continue;
    const Array ids = host_nodes(batch.nodes.at(type));
    tables_[type].rows->expect(ids.empty() ? std::span<const std::uint64_t>()
                                           : ids.as<std::uint64_t>());
  }
  expected_.push_back(&batch);
}

bool StateRows::wants_more() const {
  return std::ranges::none_of(tables_, [](const Table& table) {
    return table.rows && table.rows->looks_ahead() && !table.rows->wants_more();
  });
}

void StateRows::forget() {
  expected_.clear();
  for (const Table& table : tables_)
    if (table.rows) table.rows->forget();
}

// One out of turn ends what was announced, which tables take in its order.
void StateRows::begin(const Batch& batch) {
  const torch::NoGradGuard no_grad;
  if (expected_.empty() || expected_.front() != &batch) {
    forget();
    expect(batch);
  }
  expected_.erase(expected_.begin());
  for (std::size_t type = 0; type < tables_.size(); ++type) {
    states_[type] = {};
    if (has(type)) tables_[type].rows->begin();
    if (!has(type) || batch.nodes.at(type).ids.empty()) continue;
    const Array ids = host_nodes(batch.nodes[type]);
    torch::Tensor rows = torch::empty({ids.numel(), shape_.columns()});
    const auto nodes = std::as_const(ids).as<std::uint64_t>();
    tables_[type].rows->gather(nodes, floats_in(rows));
    if (!apart_.empty()) apart_[type]->lay_over(nodes, floats_in(rows));
    states_[type] = unpacked(rows.to(device_));
  }
}

const NodeStates& StateRows::of(std::size_t type) const {
  if (type < states_.size() && states_[type].known.defined()) return states_[type];
  throw Error(ErrorCode::kInternal, "rows of state of a mini-batch that was not begun");
}

void StateRows::write(std::size_t type, const torch::Tensor& nodes, const NodeStates& states) {
  if (nodes.numel() == 0) return;
  const torch::NoGradGuard no_grad;
  const torch::Tensor numbers = nodes.contiguous();
  torch::Tensor rows = packed(states);
  if (apart_.empty()) {
    tables_.at(type).rows->update(numbers_in(numbers), floats_in(rows));
  } else {
    apart_.at(type)->put(numbers_in(numbers), floats_in(rows));
  }
}

void StateRows::end() {
  for (NodeStates& states : states_) states = {};
}

torch::Tensor StateRows::packed(const NodeStates& states) const {
  std::vector<torch::Tensor> parts;
  const std::int64_t count = states.values.size(0);
  parts.push_back(torch::full({count, 1}, mark()));
  parts.push_back(states.values.detach().to(torch::kCPU).to(torch::kFloat32));
  if (shape_.times != 0) parts.push_back(in_pieces(states.times.to(torch::kCPU)));
  return torch::cat(parts, 1).contiguous();
}

NodeStates StateRows::unpacked(const torch::Tensor& rows) const {
  NodeStates states;
  states.known = rows.select(1, 0).eq(mark());
  const torch::Tensor mask = states.known.unsqueeze(1);
  const torch::Tensor values = rows.narrow(1, 1, shape_.values);
  states.values = torch::where(mask, values, torch::zeros_like(values));
  const torch::Tensor pieces = rows.narrow(1, 1 + shape_.values, 3 * shape_.times);
  // What is not of this epoch may be anything, so it is zero before it becomes a number.
  states.times = from_pieces(torch::where(mask, pieces, torch::zeros_like(pieces)));
  return states;
}

}  // namespace sluice::nn
