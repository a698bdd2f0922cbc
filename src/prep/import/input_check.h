// What is looked at in the files of a spec before any work is done. Private to importing and
// appending.
#pragma once

#include "prep/import/graph_spec.h"
#include "prep/prep_context.h"

#include <filesystem>

namespace sluice {

/// Throws Error where a file is missing, or of a format that does not go with what it is for.
void check_files(const GraphSpec& spec,
                 const TableFormats& formats,
                 const std::filesystem::path& root);

/// Throws Error where a file of edges holds a matrix; warns of what formats find doubtful.
void check_contents(const GraphSpec& spec,
                    const TableFormats& formats,
                    const std::filesystem::path& root,
                    const PrepContext& context);

}  // namespace sluice
