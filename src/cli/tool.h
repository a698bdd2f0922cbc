// What both tools share: how a command runs, how it fails, and how it prints.
#pragma once

#include <sluice/error.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json_fwd.hpp>

namespace sluice::cli {

enum class Output { kText, kJson };

/// Runs `command`; turns whatever it throws into one message and its exit code. Errors go to stderr
/// as text, and with Output::kJson to stdout as {"error": {"code", "message", "hint"}}.
int run_command(Output output, const std::function<void()>& command);

/// Prints an error as run_command does; returns its exit code.
int print_error(Output output, const Error& error);

/// Parses the command line: prints help or version and returns 0, prints what is wrong and returns
/// 2, or returns -1.
int parse(CLI::App& app, int argc, char** argv);

/// The first that a tool does: where the processor lacks what Sluice needs, or SLUICE_MAX_CPU_ISA
/// makes no sense, says so and returns the exit code; else -1.
int check_processor(int argc, char** argv);

/// What was printed is written. Throws kIo where it cannot be.
void flush_output();

/// One JSON object on one line of stdout.
void print_json(const nlohmann::ordered_json& object);

}  // namespace sluice::cli
