// In which order a model's first layer went through node types in this session, and what both
// orders take (sluice/models/relation_first.h).
#pragma once

#include <sluice/model.h>
#include <sluice/models/relation_first.h>

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>

namespace sluice {

struct ExecutionReport {
  models::Execution order = models::Execution::kPlain;
  models::ExecutionFigures figures;
};

/// Nothing for a model that has no choice.
std::optional<ExecutionReport> execution_of(const Model& model);

nlohmann::ordered_json to_json(const ExecutionReport& report);
/// A line of a report.
std::string to_text(const ExecutionReport& report);

}  // namespace sluice
