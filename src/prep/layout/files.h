// FilesLayout: any files, guessed from their names, extensions and first rows. The last one asked.
// What it guessed, and why, stands in the comments.
#pragma once

#include "prep/layout/layout.h"

namespace sluice {

class FilesLayout final : public Layout {
 public:
  explicit FilesLayout(Options /*options*/) {}
  std::optional<std::string> recognise(const FileSet& files) const override;
  Description describe(const FileSet& files) const override;
};

}  // namespace sluice
