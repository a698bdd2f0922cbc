#include "train/weights_file.h"

#include "core/json_text.h"
#include "storage/checkpoint/safetensors.h"
#include "storage/embedding/generation_reader.h"

#include <sluice/nn/tensor_view.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

namespace sluice {
namespace {

constexpr const char* kRowsPrefix = "rows.";

// "format" is what PyTorch's own files say; some readers ask for it.
std::map<std::string, std::string> weights_metadata(const std::string& model,
                                                    const std::string& task,
                                                    const std::vector<std::string>& classes,
                                                    std::uint64_t epoch) {
  std::map<std::string, std::string> metadata{
      {"format", "pt"}, {"model", model}, {"task", task}, {"epoch", std::to_string(epoch)}};
  if (!classes.empty()) metadata["classes"] = json_text(nlohmann::json(classes));
  return metadata;
}

}  // namespace

void save_weights(const std::filesystem::path& path, const Parts& parts, const RunState& state) {
  SafetensorsContent content;
  content.metadata = weights_metadata(parts.options.model.type,
                                      parts.options.task.type,
                                      parts.task->class_names(),
                                      state.best ? state.best->epoch : state.epoch);
  for (const auto& [name, tensor] : parts.weights())
    content.tensors.push_back({name, nn::as_array(tensor)});
  std::vector<StreamedRows> streamed;
  for (const RowTables::Table& table : parts.tables.tables()) {
    if (!table.rows) continue;
    streamed.push_back({kRowsPrefix + table.name,
                        table.rows->rows(),
                        static_cast<std::uint64_t>(table.rows->dim()),
                        [rows = table.rows](std::uint64_t first, std::span<float> out) {
                          rows->read_range(first, out);
                        }});
  }
  write_safetensors(path, content, streamed);
}

WeightsReport export_weights(const std::filesystem::path& checkpoint,
                             const std::filesystem::path& out) {
  StoredWeights stored = read_weights(checkpoint);
  std::vector<StreamedRows> streamed;
  for (const auto& [type, generation] : stored.rows) {
    const auto rows =
        std::make_shared<GenerationReader>(rows_folder(checkpoint) / type, generation);
    streamed.push_back(
        {kRowsPrefix + type,
         rows->rows(),
         rows->dim(),
         [rows](std::uint64_t first, std::span<float> to) { rows->read(first, to); }});
  }
  WeightsReport report{
      out.string(), checkpoint.string(), stored.epoch, stored.tensors.size() + streamed.size(), 0};
  SafetensorsContent content{
      weights_metadata(stored.model, stored.task, stored.classes, stored.epoch),
      std::move(stored.tensors)};
  report.bytes = write_safetensors(out, content, streamed);
  return report;
}

void check_weights_name(const std::filesystem::path& out) {
  if (out.extension() == ".safetensors") return;
  throw Error(ErrorCode::kUsage,
              "weights are written as safetensors, and this name does not end in .safetensors",
              "for example --out weights.safetensors",
              Place{out.string(), -1, -1, -1});
}

}  // namespace sluice
