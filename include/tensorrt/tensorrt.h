/**
 * @file tensorrt.h
 * The whole C API. (libtensorrt: a tensor runtime; not NVIDIA's TensorRT.)
 */
#ifndef TENSORRT_TENSORRT_H
#define TENSORRT_TENSORRT_H

#include "tensorrt/autograd.h"
#include "tensorrt/base.h"
#include "tensorrt/data.h"
#include "tensorrt/dispatcher.h"
#include "tensorrt/io.h"
#include "tensorrt/nn.h"
#include "tensorrt/ops.h"
#include "tensorrt/optim.h"
#include "tensorrt/tensor.h"

#endif
