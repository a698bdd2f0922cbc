#include "train/execution_report.h"

#include <sluice/models/typed_stack.h>
#include <sluice/units.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace sluice {
namespace {

const char* order_name(models::Execution order) {
  return order == models::Execution::kRelationFirst ? "relation_first" : "plain";
}

}  // namespace

std::optional<ExecutionReport> execution_of(const Model& model) {
  const auto* const stack = dynamic_cast<const models::TypedStack*>(&model);
  if (stack == nullptr || stack->relation_first() == nullptr) return std::nullopt;
  return ExecutionReport{stack->relation_first()->execution(), stack->relation_first()->figures()};
}

nlohmann::ordered_json to_json(const ExecutionReport& report) {
  const auto both = [&](auto of) {
    return nlohmann::ordered_json{{"plain", of(report.figures.plain)},
                                  {"relation_first", of(report.figures.relation_first)}};
  };
  using Bytes = models::ExecutionFigures::Bytes;
  return {{"order", order_name(report.order)},
          {"groups", report.figures.groups},
          {"input_bytes", both([](const Bytes& bytes) { return bytes.inputs; })},
          {"gathered_bytes", both([](const Bytes& bytes) { return bytes.gathered; })}};
}

std::string to_text(const ExecutionReport& report) {
  const models::ExecutionFigures& of = report.figures;
  return fmt::format(
      "  {:<16}  {}: inputs of the first layer {} plain, {} relation first in {} groups; gathered "
      "{} and {}\n",
      "execution",
      order_name(report.order),
      format_bytes(of.plain.inputs),
      format_bytes(of.relation_first.inputs),
      of.groups,
      format_bytes(of.plain.gathered),
      format_bytes(of.relation_first.gathered));
}

}  // namespace sluice
