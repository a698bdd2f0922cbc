// [pretrained]: a run whose model is the encoder of another run, which learned without labels, with
// one matrix behind it.
#pragma once

#include "train/parts.h"

#include <memory>

namespace sluice {

/// The model of a run: that of [model], or, with [pretrained], a Readout over it.
std::shared_ptr<Model> make_run_model(const RunOptions& options, const ModelContext& context);

/// Fills in what follows from the run that the encoder comes from: its path in full, and how wide
/// its embeddings are. Does nothing where that is known, or without [pretrained]. Throws kUsage for
/// a run of another task or model.
void resolve_pretrained(RunOptions& options);

/// Puts the encoder's weights into the parts' model; nothing without [pretrained]. Throws Error:
/// kUsage where weights are of other shapes, kData where the checkpoint is damaged.
void take_pretrained(Parts& parts);

}  // namespace sluice
