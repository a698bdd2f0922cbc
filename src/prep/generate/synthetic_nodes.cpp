#include "prep/generate/synthetic_nodes.h"

#include "core/interrupt.h"
#include "prep/features/feature_encoder.h"
#include "prep/generate/normal_draw.h"
#include "storage/io/disk_space.h"

#include <sluice/array.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

namespace sluice {
namespace {

constexpr std::uint64_t kChunkBytes = 8 << 20;

class NodeWriter {
 public:
  NodeWriter(DatasetWriter& writer,
             const std::string& type,
             std::uint64_t count,
             const SyntheticNodeOptions& options,
             const ClassOf& class_of,
             RandomKey key,
             PrepContext& context)
      : writer_(writer), options_(options), class_of_(class_of), key_(key), context_(context) {
    node_.name = type;
    node_.count = count;
  }

  void write() {
    if (options_.features > 0) write_features();
    write_labels();
    writer_.schema().nodes.push_back(node_);
    write_split_by_draw();
  }

 private:
  // Calls make(first, last, out) over all nodes in chunks of rows, in parallel pieces, and
  // append(out) in order.
  template <class T, class Make, class Append>
  void stream_rows(const char* label, std::size_t width, const Make& make, const Append& append) {
    const std::uint64_t chunk = std::max<std::uint64_t>(1, kChunkBytes / (width * sizeof(T)));
    Array rows = Array::make(dtype_of<T>,
                             {static_cast<std::int64_t>(std::min(chunk, node_.count)),
                              static_cast<std::int64_t>(width)},
                             &context_.ledger,
                             "generator")
                     .or_throw();
    Progress progress(context_.progress, label, node_.count, "rows");
    for (std::uint64_t first = 0; first < node_.count; first += chunk) {
      throw_if_interrupted();
      const std::uint64_t last = std::min(node_.count, first + chunk);
      const std::span<T> out = rows.as<T>().first((last - first) * width);
      constexpr std::size_t kGrain = 1024;
      context_.arena.for_ranges(last - first, kGrain, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) make(first + i, out.subspan(i * width, width));
      });
      append(std::as_bytes(out));
      progress.add(last - first);
    }
  }

  void write_features() {
    FeatureSchema schema;
    schema.rows = node_.count;
    schema.dtype = options_.storage.stored(DType::kF32);
    schema.dim = static_cast<std::uint32_t>(options_.features);
    FeatureEncoding encoding{schema.dtype, schema.dim};
    if (schema.dtype == DType::kI8 && options_.storage.stochastic())
      encoding.draws = key_.with("rounding");
    FeatureEncoder encoder(encoding, context_);
    require_space(writer_.staging().path(),
                  Manifest::layout_of(schema).file_bytes(),
                  fmt::format("the features of '{}'", node_.name));
    const std::vector<float> centres = make_centres(schema.dim);
    auto file = writer_.create(node_path(node_.name, schema.name + ".bin"));
    FeatureWriter rows(*file, Manifest::layout_of(schema));
    const RandomKey noise = key_.with("features");
    stream_rows<float>(
        "features",
        schema.dim,
        [&](std::uint64_t node, std::span<float> out) {
          const RandomKey row = noise.with(node);
          const float* centre = &centres[std::size_t{class_of_(node)} * schema.dim];
          for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = centre[i] + normal_draw(row.draw(i));
        },
        [&](std::span<const std::byte> values) {
          const auto encoded = encoder.encode(rows.rows(), DType::kF32, values);
          if (encoded.refused < values.size() / sizeof(float))
            throw Error(ErrorCode::kInternal, "a generated feature does not fit its dtype");
          rows.append_rows(encoded.bytes);
        });
    writer_.add(std::move(file));
    node_.features.push_back(schema);
  }

  // Centres of length `signal`: two classes are signal * sqrt(2) apart, against noise of deviation
  // 1 a dimension.
  std::vector<float> make_centres(std::uint32_t dim) const {
    const auto classes = static_cast<std::size_t>(options_.classes);
    std::vector<float> centres(classes * dim);
    const RandomKey key = key_.with("centres");
    const auto scale = static_cast<float>(options_.signal / std::sqrt(static_cast<double>(dim)));
    for (std::size_t i = 0; i < centres.size(); ++i) centres[i] = scale * normal_draw(key.draw(i));
    return centres;
  }

  void write_labels() {
    const auto classes = static_cast<std::uint32_t>(options_.classes);
    auto file = writer_.create(node_path(node_.name, "labels.bin"));
    const auto append = [&](std::span<const std::byte> bytes) { file->append(bytes); };
    switch (options_.labels) {
      case LabelKind::kClass:
        stream_rows<std::int32_t>(
            "labels",
            1,
            [&](std::uint64_t node, std::span<std::int32_t> out) {
              out[0] = static_cast<std::int32_t>(class_of_(node));
            },
            append);
        break;
      case LabelKind::kMultiLabel:
        write_multi_labels(append);
        break;
      case LabelKind::kRegression: {
        const RandomKey values = key_.with("targets");
        const RandomKey noise = key_.with("target noise");
        const auto deviation = static_cast<float>(options_.target_noise);
        stream_rows<float>(
            "labels",
            1,
            [&](std::uint64_t node, std::span<float> out) {
              out[0] = normal_draw(values.draw(class_of_(node))) +
                       deviation * normal_draw(noise.draw(node));
            },
            append);
        break;
      }
    }
    writer_.add(std::move(file));
    node_.labels =
        LabelSchema{options_.labels, options_.labels == LabelKind::kRegression ? 1 : classes};
  }

  // Every class has a pattern of labels of its own, each label with a chance of 3 in 10.
  template <class Append>
  void write_multi_labels(const Append& append) {
    const auto classes = static_cast<std::uint64_t>(options_.classes);
    const RandomKey pattern = key_.with("label patterns");
    stream_rows<std::uint8_t>(
        "labels",
        (classes + 7) / 8,
        [&](std::uint64_t node, std::span<std::uint8_t> out) {
          std::fill(out.begin(), out.end(), std::uint8_t{0});
          const RandomKey row = pattern.with(class_of_(node));
          for (std::uint64_t label = 0; label < classes; ++label) {
            if (row.uniform(label) < 0.3) {
              out[label / 8] = static_cast<std::uint8_t>(out[label / 8] | (1u << (label % 8)));
            }
          }
        },
        append);
  }

  // Each node draws its part for itself, and ids are written as they come: nothing grows with the
  // graph.
  void write_split_by_draw() {
    if (options_.train <= 0) return;
    const RandomKey key = key_.with("split");
    const std::array<const char*, 3> names{"train", "valid", "test"};
    const std::array<double, 3> upto{options_.train,
                                     options_.train + options_.valid,
                                     options_.train + options_.valid + options_.test};
    std::array<std::unique_ptr<DataFileWriter>, 3> files;
    for (std::size_t part = 0; part < 3; ++part)
      files[part] = writer_.create(split_path("default", names[part]));
    std::array<std::uint64_t, 3> counts{};
    for (std::uint64_t node = 0; node < node_.count; ++node) {
      const double u = key.uniform(node);
      const auto part =
          static_cast<std::size_t>(std::upper_bound(upto.begin(), upto.end(), u) - upto.begin());
      if (part == 3) continue;
      files[part]->append_values(std::span<const std::uint64_t>(&node, 1));
      ++counts[part];
    }
    if (counts[0] == 0) {
      throw Error(ErrorCode::kData,
                  "no node was drawn for training",
                  "raise train, or the number of nodes");
    }
    for (auto& file : files) writer_.add(std::move(file));
    writer_.schema().splits.push_back({"default", node_.name, counts[0], counts[1], counts[2]});
  }

  DatasetWriter& writer_;
  SyntheticNodeOptions options_;
  const ClassOf& class_of_;
  RandomKey key_;
  PrepContext& context_;
  NodeTypeSchema node_;
};

}  // namespace

void SyntheticNodeOptions::describe(Schema& schema) {
  schema.field("features", features).help("features a node; 0: none").range(0, 1 << 20);
  schema.field("classes", classes).help("hidden classes").range(1, 1e6);
  schema.field("signal", signal)
      .help(
          "length of a class's centre against feature noise of deviation 1: larger is easier to "
          "learn from features alone")
      .range(0, 1e3);
  storage.describe(schema);
  schema.choice<LabelKind>(
      "labels",
      labels,
      {{"class", LabelKind::kClass, "the hidden class"},
       {"multi_label", LabelKind::kMultiLabel, "a fixed set of labels a class"},
       {"regression", LabelKind::kRegression, "a fixed value a class, plus noise"}});
  schema.field("target_noise", target_noise)
      .help("deviation of the noise on regression targets")
      .range(0, 1e3);
  schema.field("train", train).help("share of the nodes to train on").range(0, 1);
  schema.field("valid", valid).help("share of the nodes to validate on").range(0, 1);
  schema.field("test", test).help("share of the nodes to test on").range(0, 1);
}

void write_synthetic_nodes(DatasetWriter& writer,
                           const std::string& type,
                           std::uint64_t count,
                           const SyntheticNodeOptions& options,
                           const ClassOf& class_of,
                           RandomKey key,
                           PrepContext& context) {
  if (options.train + options.valid + options.test > 1 + 1e-9) {
    throw Error(
        ErrorCode::kUsage, "train, valid and test shares sum to more than 1", "lower one of them");
  }
  options.storage.check("generate");
  writer.stage("nodes-" + type,
               [&] { NodeWriter(writer, type, count, options, class_of, key, context).write(); });
}

}  // namespace sluice
