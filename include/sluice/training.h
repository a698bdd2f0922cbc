// All of the API: sluice/sluice.h, and what needs LibTorch: models, layers, tasks, optimizers and
// the training tool. Link Sluice::sluice.
#pragma once

// IWYU pragma: begin_exports
#include <sluice/model.h>
#include <sluice/models/input_rows.h>
#include <sluice/models/layerwise.h>
#include <sluice/models/node_rows.h>
#include <sluice/models/pair_encoder.h>
#include <sluice/models/relation_first.h>
#include <sluice/models/stack.h>
#include <sluice/models/state_model.h>
#include <sluice/models/typed_stack.h>
#include <sluice/nn/attention.h>
#include <sluice/nn/batch_features.h>
#include <sluice/nn/block_ops.h>
#include <sluice/nn/decoder.h>
#include <sluice/nn/event_sequences.h>
#include <sluice/nn/gat_conv.h>
#include <sluice/nn/gcn_conv.h>
#include <sluice/nn/gin_conv.h>
#include <sluice/nn/hetero_sage_conv.h>
#include <sluice/nn/hgt_conv.h>
#include <sluice/nn/init.h>
#include <sluice/nn/layer_call.h>
#include <sluice/nn/learned_rows.h>
#include <sluice/nn/ledger_allocator.h>
#include <sluice/nn/linear.h>
#include <sluice/nn/mixer_layer.h>
#include <sluice/nn/pending_rows.h>
#include <sluice/nn/precision.h>
#include <sluice/nn/rgcn_conv.h>
#include <sluice/nn/sage_conv.h>
#include <sluice/nn/simple_hgn_conv.h>
#include <sluice/nn/state_rows.h>
#include <sluice/nn/tensor_view.h>
#include <sluice/nn/time_encoding.h>
#include <sluice/nn/union_block.h>
#include <sluice/optimizer.h>
#include <sluice/sluice.h>
#include <sluice/task.h>
#include <sluice/tasks/classification_metrics.h>
#include <sluice/tasks/continual_task.h>
#include <sluice/tasks/labelled_type.h>
#include <sluice/tasks/link_task.h>
#include <sluice/tasks/node_task.h>
#include <sluice/tasks/pair_model.h>
#include <sluice/train.h>
// IWYU pragma: end_exports
