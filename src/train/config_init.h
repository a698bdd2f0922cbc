// Configs as text for people: every key with its meaning, in TOML that binds back.
#pragma once

#include <sluice/options.h>
#include <sluice/train.h>

#include <filesystem>
#include <string>

namespace sluice {

/// The schema's values as TOML, each key under a comment with its help, type, unit and range.
std::string commented_toml(const Schema& schema);

/// A commented config that fits a dataset and this machine: budget by the memory granted (below
/// `root`). Throws Error where the dataset cannot be opened or has not what the task needs.
/// @param task of the registry; empty: by the labels of nodes, else links at times where edges have
/// them
/// @param model of the registry; empty: what configs begin with, or an encoder of events
std::string config_for(const std::string& dataset,
                       const TrainRegistry& registry,
                       const std::string& task = {},
                       const std::string& model = {},
                       const std::filesystem::path& root = "/");

}  // namespace sluice
