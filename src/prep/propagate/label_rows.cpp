#include "prep/propagate/label_rows.h"

#include "core/interrupt.h"
#include "prep/features/elements.h"
#include "storage/format/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice {
namespace {

constexpr std::uint16_t kOne = 0x3c00;  // 1.0 as f16

// Ids of files are used as places from here on.
void check_training_ids(const Dataset& dataset,
                        const std::string& split,
                        std::span<const std::uint64_t> ids,
                        std::uint64_t nodes) {
  const auto beyond = std::ranges::find_if(ids, [nodes](std::uint64_t id) { return id >= nodes; });
  if (beyond == ids.end()) return;
  const std::filesystem::path file =
      std::filesystem::path(dataset.path()) / split_path(split, "train");
  throw Error(ErrorCode::kData,
              fmt::format("split '{}' trains on node {} of {}", split, *beyond, nodes),
              "the dataset is damaged: restore it from a copy or prepare it again",
              Place{file.string(), -1, -1, -1});
}

}  // namespace

LabelRows::LabelRows(const Dataset& dataset,
                     const NodeTypeSchema& node,
                     const PropagationOptions& options,
                     MemoryLedger& ledger)
    : kind_(node.labels->kind),
      num_parts_(static_cast<std::uint32_t>(options.parts)),
      classes_(label_columns(node)),
      labels_(dataset.labels(node.name)),
      parts_(
          Array::make(DType::kU8, {static_cast<std::int64_t>(node.count)}, &ledger, "label parts")
              .or_throw()) {
  const std::span<std::uint8_t> parts = parts_.as<std::uint8_t>();
  std::ranges::fill(parts, static_cast<std::uint8_t>(num_parts_));
  const RandomKey key = RandomKey(options.seed).with("label parts");
  const Split split = dataset.split(options.split);
  const std::span<const std::uint64_t> training = split.train.as<std::uint64_t>();
  check_training_ids(dataset, options.split, training, node.count);
  for (const std::uint64_t id : training) {
    if (kind_ == LabelKind::kClass && labels_.as<std::int32_t>()[id] < 0) continue;
    parts[id] = static_cast<std::uint8_t>(key.below(num_parts_, id));
  }
  if (options.predictions.empty()) return;
  predicted_ = std::make_unique<PredictedScores>(dataset, node, options.predictions, ledger);
  shares_.resize(classes_);
  for (std::uint64_t id = 0; id < node.count; ++id)
    if (parts[id] == num_parts_)
      parts[id] = static_cast<std::uint8_t>(key.below(num_parts_, id) | kPredicted);
}

std::uint64_t LabelRows::stored_bytes() const {
  return predicted_ ? predicted_->stored_bytes() : 0;
}

bool LabelRows::has_class(std::uint64_t node, std::uint32_t of) const {
  if (kind_ == LabelKind::kClass)
    return static_cast<std::uint32_t>(labels_.as<std::int32_t>()[node]) == of;
  const std::uint64_t row_bytes = (std::uint64_t{classes_} + 7) / 8;
  return (labels_.as<std::uint8_t>()[node * row_bytes + of / 8] >> (of % 8) & 1) != 0;
}

// What a node shows of each class, as f16.
void LabelRows::show(std::uint64_t node, std::span<std::uint16_t> out) {
  if ((parts_.as<std::uint8_t>()[node] & kPredicted) == 0) {
    for (std::uint32_t of = 0; of < classes_; ++of) out[of] = has_class(node, of) ? kOne : 0;
    return;
  }
  predicted_->probabilities(node, shares_);
  convert_elements(DType::kF64,
                   std::as_bytes(std::span<const double>(shares_)),
                   DType::kF16,
                   std::as_writable_bytes(out));
}

void LabelRows::read(std::uint64_t first_row, std::span<std::byte> out) {
  const std::uint64_t count = out.size() / row_bytes();
  std::memset(out.data(), 0, out.size());
  auto* const elements = reinterpret_cast<std::uint16_t*>(out.data());
  std::vector<std::uint16_t> shown(classes_);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint32_t own = part_of(first_row + i);
    if (own == num_parts_) continue;
    show(first_row + i, shown);
    std::uint16_t* const row = elements + i * columns();
    for (std::uint32_t part = 0; part <= num_parts_; ++part) {
      if (part == own) continue;
      row[part] = kOne;
      std::ranges::copy(shown, row + num_parts_ + 1 + std::size_t{part} * classes_);
    }
  }
}

namespace {

/// Goes through the rows of the products twice: for the largest mass, and to write.
class LabelJoin {
 public:
  LabelJoin(const PanelTable& products, const LabelRows& labels, const WalkPlace& place)
      : products_(products),
        labels_(labels),
        element_(size_of(products.dtype())),
        row_bytes_(products.shape().columns * element_),
        chunk_(std::min(chunk_rows(place.chunk_bytes, row_bytes_), products.shape().rows)) {
    MemoryLedger* const ledger = &place.context.ledger;
    const std::uint64_t bytes = chunk_ * row_bytes_;
    constexpr const char* kName = "propagated rows";
    rows_ = AlignedBuffer::make(bytes, ledger, kName).or_throw();
    room_ = AlignedBuffer::make(bytes, ledger, kName).or_throw();
    out_ = AlignedBuffer::make(chunk_ * labels.classes() * element_, ledger, kName).or_throw();
  }

  void write(FeatureWriter& to) {
    const double most = largest_mass();
    const std::uint32_t classes = labels_.classes();
    std::vector<double> values(classes);
    scan(products_.shape().panels(), [&](std::uint64_t first, std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::span<const std::byte> row = rows_.bytes().subspan(i * row_bytes_, row_bytes_);
        const std::uint32_t part = labels_.part_of(first + i);
        const double mass = value(row, part);
        const std::uint32_t begin = labels_.num_parts() + 1 + part * classes;
        for (std::uint32_t of = 0; of < classes; ++of)
          values[of] = mass > 0 ? value(row, begin + of) * (most / mass) : 0;
        convert_elements(DType::kF64,
                         std::as_bytes(std::span(values)),
                         products_.dtype(),
                         out_.bytes().subspan(i * classes * element_, classes * element_));
      }
      to.append_rows(out_.bytes().first(count * classes * element_));
    });
  }

 private:
  double value(std::span<const std::byte> row, std::uint32_t column) const {
    return element_as_double(products_.dtype(), row, column);
  }

  // The columns of masses are the first ones: only their panels are read.
  double largest_mass() {
    const std::uint32_t panels = labels_.num_parts() / products_.shape().panel + 1;
    const std::uint32_t last = panels - 1;
    const std::size_t bytes =
        (products_.shape().begin(last) + products_.shape().width(last)) * element_;
    double most = 0;
    scan(panels, [&](std::uint64_t first, std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i)
        most = std::max(most,
                        value(rows_.bytes().subspan(i * bytes, bytes), labels_.part_of(first + i)));
    });
    return most;
  }

  template <class Take>
  void scan(std::uint32_t panels, const Take& take) {
    const std::uint64_t rows = products_.shape().rows;
    for (std::uint64_t first = 0; first < rows; first += chunk_) {
      throw_if_interrupted();
      const std::uint64_t count = std::min(chunk_, rows - first);
      products_.read_rows(first, count, panels, room_.bytes(), rows_.bytes());
      take(first, count);
    }
  }

  const PanelTable& products_;
  const LabelRows& labels_;
  std::size_t element_, row_bytes_;
  std::uint64_t chunk_;
  AlignedBuffer rows_, room_, out_;
};

}  // namespace

void write_label_table(const PanelTable& products,
                       const LabelRows& labels,
                       const WalkPlace& place,
                       FeatureWriter& to) {
  LabelJoin(products, labels, place).write(to);
}

}  // namespace sluice
