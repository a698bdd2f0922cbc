#include "core/log.h"

#include <spdlog/sinks/null_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

namespace sluice {

std::shared_ptr<Logger> make_logger(Verbosity verbosity) {
  auto logger =
      std::make_shared<Logger>("sluice", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_pattern("%H:%M:%S %^%l%$ %v");
  switch (verbosity) {
    case Verbosity::kQuiet:
      logger->set_level(spdlog::level::warn);
      break;
    case Verbosity::kNormal:
      logger->set_level(spdlog::level::info);
      break;
    case Verbosity::kVerbose:
      logger->set_level(spdlog::level::debug);
      break;
  }
  return logger;
}

std::shared_ptr<Logger> make_silent_logger() {
  return std::make_shared<Logger>("silent", std::make_shared<spdlog::sinks::null_sink_mt>());
}

}  // namespace sluice
