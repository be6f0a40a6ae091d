/**
 * Tensors, gradients and models: PyTorch's semantics on a native library without an interpreter.
 *
 * <p>{@link org.libtensorrt.Tensor} has the operators; {@link org.libtensorrt.TensorScope} closes what a computation leaves behind;
 * {@link org.libtensorrt.Module} and {@link org.libtensorrt.Layers} make networks, {@link org.libtensorrt.Optimizer} and
 * {@link org.libtensorrt.LRScheduler} train them, {@link org.libtensorrt.DataLoader} feeds them, {@link org.libtensorrt.StateDict} and
 * {@link org.libtensorrt.Safetensors} save them.
 *
 * <p>Every {@link org.libtensorrt.NativeObject} holds native memory: close it, or let the garbage collector find it. Errors are
 * {@link org.libtensorrt.TensorException}s.
 */
package org.libtensorrt;
