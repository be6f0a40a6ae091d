// Package tensorrt is the Go binding of libtensorrt: tensors, gradients and models inside a Go program. (The name is short for tensor
// run-time; this is not NVIDIA's TensorRT.)
//
// # Operators
//
// Every operator of the library is a method of *Tensor, or a function where its first argument is no tensor named self. Names and arguments
// are PyTorch's: x.Add(y), x.Add_(y) in place, x.AddOut(y, out) into a given tensor; the second part of a name is the overload, x.AddScalar(2).
// Arguments without a default are parameters; those with one are fields of a struct of options, of which a call may give one:
//
//	y, err := x.Sum()
//	y, err := x.Sum(tensorrt.SumOptions{Dim: []int{1}, Keepdim: true})
//
// The zero value of a field is the operator's default. Where an explicit zero means something else the field is an Optional, set with Some. Modules,
// optimizers and loaders take their options in the same manner.
//
// # Errors
//
// Nothing panics. An error of the library is an *Error; errors.Is(err, tensorrt.OutOfMemory) asks for its code. An error that a Go function
// returned to the library (a hook, a dataset, ...) arrives at the outer caller as the same value; a panic in it arrives as a *PanicError. Such a
// function must not call runtime.Goexit, as t.Fatal does: the library's frames below it would never end.
//
// # Memory
//
// A tensor, module and so on is released by Close; that is safe at any time, also twice, in another goroutine and during a call, which then ends
// first. What is never closed is released after the garbage collector has found it unreachable: the package counts the native memory and starts a
// collection when much of it has been made. InScope closes all tensors that a function made.
//
// # Threads
//
// Grad mode, inference mode, the default dtype and scopes belong to a thread of the operating system. NoGrad, InferenceMode and so on lock
// the calling goroutine to its thread while their function runs; goroutines that it starts are not in the mode.
//
// The library keeps memory for each thread that computed: lists of free blocks, a few MiB at most, and buffers of the products. Goroutines wander
// over threads, so that a program with many that compute holds more of it than one whose workers stay on theirs (runtime.LockOSThread).
//
// WithContext lets a context cancel what the library computes.
//
// Any number of goroutines may use one tensor, or one module in eval mode, for reading. Writing needs external synchronization.
package tensorrt
