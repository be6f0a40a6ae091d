/**
 * @file tensorrt.hpp
 * The C++ wrapper: header-only, over the C ABI alone, so that a compiler newer or older than the library's can use it.
 * C++17.
 *
 * It looks like libtorch where it can: trt::Tensor with operators, methods and indexing, trt::nn, trt::optim,
 * DataLoader, NoGradGuard. Errors are thrown as trt::Error. Copying a Tensor, Module, Optimizer copies a reference.
 * Thread safety is that of the C functions underneath; behaviour, shapes and errors are documented there. A trt_scope
 * must not be open where handles are made: the wrapper's objects release theirs themselves. Every class has get() for
 * what is to be passed to C functions.
 *
 *     auto x = trt::randn({8, 3}), y = trt::tensor({0, 1, 1, 0, 1, 0, 0, 1});
 *     auto net = trt::nn::Sequential{trt::nn::Linear(3, 16), trt::nn::ReLU(), trt::nn::Linear(16, 2)};
 *     trt::optim::AdamW optimizer(net->parameters(), trt::optim::AdamWOptions(1e-2).weight_decay(0.1));
 *     auto loss = trt::cross_entropy(net(x), y);
 *     loss.backward();
 *     optimizer.step();
 *
 * examples/cpp shows a whole program.
 */
#ifndef TENSORRT_TENSORRT_HPP
#define TENSORRT_TENSORRT_HPP

#include "tensorrt/attention.hpp"
#include "tensorrt/autograd.hpp"
#include "tensorrt/base.hpp"
#include "tensorrt/data.hpp"
#include "tensorrt/dispatcher.hpp"
#include "tensorrt/functional.hpp"
#include "tensorrt/indexing.hpp"
#include "tensorrt/io.hpp"
#include "tensorrt/layers.hpp"
#include "tensorrt/layers_nd.hpp"
#include "tensorrt/loss.hpp"
#include "tensorrt/nn.hpp"
#include "tensorrt/ops.hpp"
#include "tensorrt/optim.hpp"
#include "tensorrt/tensor.hpp"

#endif
