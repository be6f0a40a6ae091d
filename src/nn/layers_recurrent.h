// Recurrent layers as modules. Module::operator() gives their output alone; recurrent() takes and gives states too.
#pragma once

#include "nn/layers.h"

namespace trt::nn {

enum class RecurrentKind { kTanh, kRelu, kLstm, kGru };

struct RecurrentOptions : ParameterOptions {
  int64_t num_layers = 1;
  int64_t proj_size = 0;  // LSTM only; 0: none
  double dropout = 0;     // between layers, in training
  bool bias = true;
  bool batch_first = false;
  bool bidirectional = false;
};

struct RecurrentResult {
  Tensor output, hidden, cell;  // cell: LSTM only
};

// x [t, n, input_size] ([n, t, ...] with batch_first), or [t, input_size] for one sample. Parameters in the order and with the names of PyTorch.
ModulePtr recurrent_layers(RecurrentKind kind, int64_t input_size, int64_t hidden_size, const RecurrentOptions& options);
// One step: x [n, input_size] or [input_size]. Only `bias` of the options and those of parameters count.
ModulePtr recurrent_cell(RecurrentKind kind, int64_t input_size, int64_t hidden_size, const RecurrentOptions& options);
// Runs a module that one of those two made, with its hooks. Undefined states: zeros. Throws kInvalidArgument for other modules.
RecurrentResult run_recurrent(Module& module, const Tensor& input, const Tensor& hidden, const Tensor& cell);

}  // namespace trt::nn
