// Fills the operator table. Called once, in this order, by the library's initializer (capi/library.cpp).
#pragma once

namespace trt {

void register_operators();
void register_autograd();

}  // namespace trt
