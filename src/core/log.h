// The log: spdlog to stderr, one logger a tool, handed down by reference.
#pragma once

#include <spdlog/spdlog.h>

#include <memory>

namespace sluice {

using Logger = spdlog::logger;

enum class Verbosity { kQuiet, kNormal, kVerbose };

/// A logger that writes "[time] level: text" lines to stderr (colours on a terminal only).
std::shared_ptr<Logger> make_logger(Verbosity verbosity);

/// A logger that says nothing, for tests and library use.
std::shared_ptr<Logger> make_silent_logger();

}  // namespace sluice
