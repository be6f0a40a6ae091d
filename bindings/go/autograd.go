package tensorrt

import (
	"runtime"
	"unsafe"

	"tensorrt/internal/capi"
)

// --- modes of the thread ---

func withMode(set func(bool) bool, mode bool, fn func() error) error {
	runtime.LockOSThread()
	before := set(mode)
	defer func() {
		set(before)
		runtime.UnlockOSThread()
	}()
	return fn()
}

// NoGrad runs fn, in which operators record no gradients, on its thread.
func NoGrad(fn func() error) error { return withMode(capi.Trt_set_grad_mode, false, fn) }

// EnableGrad runs fn, in which operators record gradients, on its thread: for use inside of NoGrad.
func EnableGrad(fn func() error) error { return withMode(capi.Trt_set_grad_mode, true, fn) }

// InferenceMode runs fn on its thread. Tensors made in it can never take part in recording, which saves bookkeeping.
func InferenceMode(fn func() error) error { return withMode(capi.Trt_set_inference_mode, true, fn) }

// IsGradEnabled tells whether operators record gradients here.
func IsGradEnabled() bool { return capi.Trt_grad_mode() }

// IsInferenceMode tells whether inference mode is on here.
func IsInferenceMode() bool { return capi.Trt_inference_mode() }

// WithDefaultDType runs fn on its thread, in which tensors that are made without a dtype have this floating-point one.
func WithDefaultDType(dtype DType, fn func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := capi.Trt_get_default_dtype()
	if err := statusError(capi.Trt_set_default_dtype(dtype.c())); err != nil {
		return err
	}
	defer capi.Trt_set_default_dtype(before)
	return fn()
}

// DefaultDType is the default floating-point dtype here, float32 at first.
func DefaultDType() DType { return DType(capi.Trt_get_default_dtype() + 1) }

// --- gradients ---

// RequiresGrad tells whether gradients flow to this tensor.
func (t *Tensor) RequiresGrad() bool { return metadata(t, capi.Trt_tensor_requires_grad) }

// SetRequiresGrad asks for gradients of a leaf of floating-point dtype.
func (t *Tensor) SetRequiresGrad(requires bool) error {
	return t.with("SetRequiresGrad", func(h uintptr) error { return statusError(capi.Trt_tensor_set_requires_grad(h, requires)) })
}

// IsLeaf tells whether no operator of the graph made it.
func (t *Tensor) IsLeaf() bool { return metadata(t, capi.Trt_tensor_is_leaf) }

// GradFn is the name of the node that made the tensor, "AddBackward0"; "" for a leaf.
func (t *Tensor) GradFn() string {
	return metadata(t, func(h uintptr) string {
		var p uintptr
		if statusError(capi.Trt_tensor_grad_fn_name(h, unsafe.Pointer(&p))) != nil {
			return ""
		}
		s, _ := capi.TakeString(p)
		return s
	})
}

// Node is a node of the graph that a backward pass goes through. It keeps what lies behind it.
type Node struct{ o *object }

// Edge leads from a node to the one that the gradient of an argument goes to.
type Edge struct {
	Node  *Node // nil where no gradient is needed
	Input int   // which of that node's results it is
}

// newNode makes a node by a call that writes its handle; nil where there is none.
func newNode(f func(out unsafe.Pointer) error) (*Node, error) {
	var h uintptr
	if err := f(unsafe.Pointer(&h)); err != nil || h == 0 {
		return nil, err
	}
	return &Node{own(h, capi.Trt_node_release)}, nil
}

func (n *Node) with(op string, f func(h uintptr) error) error {
	var o *object
	if n != nil {
		o = n.o
	}
	return o.call(op, "node", f)
}

// GradNode is the node that made the tensor; nil for a leaf.
func (t *Tensor) GradNode() (*Node, error) {
	return newNode(func(out unsafe.Pointer) error {
		return t.with("GradNode", func(h uintptr) error { return statusError(capi.Trt_tensor_grad_fn(h, out)) })
	})
}

// Close releases the node.
func (n *Node) Close() error {
	if n == nil {
		return nil
	}
	return n.o.close()
}

// Name is "AddBackward0" and the like.
func (n *Node) Name() string {
	var v string
	_ = n.with("Name", func(h uintptr) error { v = capi.Trt_node_name(h); return nil })
	return v
}

// Same tells whether two objects stand for one node.
func (n *Node) Same(other *Node) bool {
	same := false
	_ = n.with("Same", func(h uintptr) error {
		return other.with("Same", func(g uintptr) error { same = h == g; return nil })
	})
	return same
}

// NextFunctions are the node's edges, one for each argument that could need a gradient.
func (n *Node) NextFunctions() (edges []Edge, err error) {
	err = n.with("NextFunctions", func(h uintptr) error {
		for i := 0; i < capi.Trt_node_next_count(h); i++ {
			next, err := newNode(func(out unsafe.Pointer) error { return statusError(capi.Trt_node_next(h, i, out)) })
			if err != nil {
				return err
			}
			edges = append(edges, Edge{next, capi.Trt_node_next_input(h, i)})
		}
		return nil
	})
	return edges, err
}

// Variable is the leaf of a node AccumulateGrad; nil for another node.
func (n *Node) Variable() (t *Tensor, err error) {
	err = n.with("Variable", func(h uintptr) error {
		w := capi.Trt_node_variable(h)
		if w&1 != 0 {
			return statusError(w &^ 1)
		}
		if w != 0 {
			t = adopt(w | wordSpecial)
		}
		return nil
	})
	return t, err
}

// Grad is the accumulated gradient, nil when there is none.
func (t *Tensor) Grad() (*Tensor, error) {
	h := t.enter()
	w := capi.Trt_tensor_grad(h)
	t.exit(h)
	if w&1 != 0 {
		return nil, failure(w&^1, "Grad", t)
	}
	return adopt(w), nil
}

// SetGrad sets the gradient, of the same shape, dtype and device; nil drops it.
func (t *Tensor) SetGrad(grad *Tensor) error {
	return t.with("SetGrad", func(h uintptr) error {
		if grad == nil {
			return statusError(capi.Trt_tensor_set_grad(h, 0))
		}
		return grad.with("SetGrad", func(g uintptr) error { return statusError(capi.Trt_tensor_set_grad(h, g)) })
	})
}

// RetainGrad keeps the gradient of a tensor that is not a leaf.
func (t *Tensor) RetainGrad() error {
	return t.with("RetainGrad", func(h uintptr) error { return statusError(capi.Trt_tensor_retain_grad(h)) })
}

// RetainsGrad tells whether RetainGrad was called.
func (t *Tensor) RetainsGrad() bool { return metadata(t, capi.Trt_tensor_retains_grad) }

// Detach gives the same elements without history; memory and version counter are shared.
func (t *Tensor) Detach() (*Tensor, error) {
	h := t.enter()
	w := capi.Trt_tensor_detach(h)
	t.exit(h)
	if w&1 != 0 {
		return nil, failure(w&^1, "Detach", t)
	}
	return adopt(w | wordSpecial), nil
}

// DetachInPlace drops the history of the tensor itself: it becomes a leaf that requires no gradients. A view cannot be detached so.
func (t *Tensor) DetachInPlace() error {
	return t.with("DetachInPlace", func(h uintptr) error { return statusError(capi.Trt_tensor_detach_(h)) })
}

// SetData makes the tensor refer to the elements of another one, of the same dtype; as PyTorch's x.data = data.
func (t *Tensor) SetData(data *Tensor) error {
	return t.with("SetData", func(h uintptr) error {
		return data.with("SetData", func(d uintptr) error { return statusError(capi.Trt_tensor_set_data(h, d)) })
	})
}

// BackwardOptions are the arguments of Backward that have a default.
type BackwardOptions struct {
	Grads       []*Tensor // one for each output; nil stands for 1 where the output has one element
	Inputs      []*Tensor // accumulates in these only; nil: in all leaves
	RetainGraph bool      // keeps the graph for another pass
	CreateGraph bool      // records the pass itself, for higher derivatives
}

// Backward accumulates the gradients of the outputs in the leaves.
func Backward(outputs []*Tensor, options ...BackwardOptions) error {
	o, err := pick("Backward", options)
	if err != nil {
		return err
	}
	return withAll("Backward", outputs, func(outputs []uintptr) error {
		return withAll("Backward", o.Grads, func(grads []uintptr) error {
			return withAll("Backward", o.Inputs, func(inputs []uintptr) error {
				return statusError(capi.Trt_backward(first(outputs), len(outputs), first(grads), len(grads), first(inputs), len(inputs),
					o.RetainGraph || o.CreateGraph, o.CreateGraph))
			})
		})
	})
}

// Backward is the function Backward of one output.
func (t *Tensor) Backward(options ...BackwardOptions) error {
	if len(options) == 0 {
		return t.with("Backward", func(h uintptr) error { return statusError(capi.Trt_tensor_backward(h)) })
	}
	return Backward([]*Tensor{t}, options...)
}

// GradOptions are the arguments of Grad that have a default.
type GradOptions struct {
	Grads       []*Tensor // one for each output; nil stands for 1 where the output has one element
	RetainGraph bool      // keeps the graph for another pass
	CreateGraph bool      // records the pass itself, for higher derivatives
	AllowUnused bool      // an input that does not reach the outputs gives nil instead of an error
}

// Grad gives the gradients of the outputs by the inputs, and changes no tensor's own.
func Grad(outputs, inputs []*Tensor, options ...GradOptions) ([]*Tensor, error) {
	o, err := pick("Grad", options)
	if err != nil {
		return nil, err
	}
	out := make([]uintptr, len(inputs))
	err = withAll("Grad", outputs, func(outputs []uintptr) error {
		return withAll("Grad", inputs, func(inputs []uintptr) error {
			return withAll("Grad", o.Grads, func(grads []uintptr) error {
				return statusError(capi.Grad(outputs, inputs, grads, o.RetainGraph || o.CreateGraph, o.CreateGraph, o.AllowUnused, out))
			})
		})
	})
	if err != nil {
		return nil, err
	}
	return adoptAll(out), nil
}

func adoptAll(handles []uintptr) []*Tensor {
	capi.Describe(handles)
	tensors := make([]*Tensor, len(handles))
	for i, w := range handles {
		tensors[i] = adopt(w)
	}
	return tensors
}

// pick gives the one struct of options, or the zero one.
func pick[T any](op string, options []T) (o T, err error) {
	if len(options) > 1 {
		return o, tooManyOptions(op)
	}
	if len(options) == 1 {
		o = options[0]
	}
	return o, nil
}

// --- hooks ---

// Hook sees the gradient of a tensor in every backward pass. It returns nil, or a replacement of the same shape. The gradient is closed
// afterwards (Share gives a handle that stays).
type Hook func(grad *Tensor) (*Tensor, error)

// HookHandle removes a hook.
type HookHandle struct {
	tensor *Tensor
	id     uint64
}

// AddHook adds a hook. It must not refer to t itself, or neither is ever freed.
func (t *Tensor) AddHook(hook Hook) (*HookHandle, error) {
	if hook == nil {
		return nil, invalid("AddHook", "the hook is nil")
	}
	var id uint64
	handle := new(HookHandle)
	err := t.with("AddHook", func(h uintptr) error {
		if err := statusError(capi.AddHook(h, hook, &id)); err != nil {
			return err
		}
		// A handle of its own: the tensor of the caller may be closed before.
		handle.tensor, handle.id = adoptRaw(capi.Retain(h)), id
		return nil
	})
	if err != nil {
		return nil, err
	}
	return handle, nil
}

// Remove removes the hook. The second time is an error (NotFound).
func (h *HookHandle) Remove() error {
	return h.tensor.with("Remove", func(tensor uintptr) error { return statusError(capi.Trt_tensor_remove_hook(tensor, h.id)) })
}

// --- functions of the host ---

// Context carries what a Function saves in Forward to Backward.
type Context struct {
	// Value is anything.
	Value any

	saved    []*Tensor
	versions []int
	outputs  []int // which output of Forward a saved tensor is, -1: none
	needs    []bool
}

// Save keeps tensors for Backward. They must not be changed in place meanwhile.
func (c *Context) Save(tensors ...*Tensor) error {
	for _, t := range tensors {
		kept, err := t.Share()
		if err != nil {
			return err
		}
		c.saved = append(c.saved, keepAcrossScopes(kept))
		c.versions = append(c.versions, kept.Version())
		c.outputs = append(c.outputs, -1)
	}
	return nil
}

// findOutputs notes which saved tensors are outputs. Those have a history only when they have left Forward, and then they must not be kept: it owns the context.
func (c *Context) findOutputs(inputs, outputs []*Tensor) {
	for i, t := range c.saved {
		if indexOf(t, inputs) < 0 {
			c.outputs[i] = indexOf(t, outputs)
		}
	}
}

func indexOf(t *Tensor, list []*Tensor) int {
	h := t.enter()
	if h == 0 {
		return -1
	}
	defer t.exit(h)
	for i, other := range list {
		if other == nil {
			continue
		}
		g := other.enter()
		other.exit(g)
		if g == h {
			return i
		}
	}
	return -1
}

// Saved gives them, in Backward. An output of the function is a new tensor with the history of the function's result, so that gradients of gradients are complete.
func (c *Context) Saved() ([]*Tensor, error) {
	for i, t := range c.saved {
		if t.Version() != c.versions[i] {
			return nil, &Error{Code: FailedPrecondition, Op: "Saved", Message: "Saved: a tensor that backward needs was changed in place"}
		}
	}
	found := append([]*Tensor(nil), c.saved...)
	for i, k := range c.outputs {
		if k < 0 {
			continue
		}
		err := c.saved[i].with("Saved", func(h uintptr) error {
			w := capi.Trt_custom_function_saved_output(h, k)
			if w&1 != 0 {
				return statusError(w &^ 1)
			}
			found[i] = adopt(w)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// NeedsInputGrad tells whether input i requires gradients.
func (c *Context) NeedsInputGrad(i int) bool { return i >= 0 && i < len(c.needs) && c.needs[i] }

// Function is a differentiable function of the host, PyTorch's autograd.Function.
type Function interface {
	// Forward computes the outputs; nothing is recorded.
	Forward(ctx *Context, inputs []*Tensor) ([]*Tensor, error)
	// Backward computes the gradients of the inputs (nil: none) from those of the outputs (nil: none came), which are closed afterwards.
	Backward(ctx *Context, grads []*Tensor) ([]*Tensor, error)
}

type backward struct {
	function Function
	context  *Context
}

// Destroy is called when the graph is freed.
func (b *backward) Destroy() {
	for _, t := range b.context.saved {
		t.Close()
	}
}

// Apply runs a Function. `name` is that of its node in the graph.
func Apply(name string, function Function, inputs ...*Tensor) ([]*Tensor, error) {
	if err := checkText("Apply", name); err != nil {
		return nil, err
	}
	if function == nil {
		return nil, invalid("Apply", "the function is nil")
	}
	ctx := &Context{needs: make([]bool, len(inputs))}
	for i, t := range inputs {
		ctx.needs[i] = t.RequiresGrad()
	}
	var outputs []*Tensor
	err := NoGrad(func() error {
		return protect(func() (err error) {
			outputs, err = function.Forward(ctx, inputs)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	ctx.findOutputs(inputs, outputs)
	out := make([]uintptr, len(outputs))
	err = withAll("Apply", inputs, func(in []uintptr) error {
		return withAll("Apply", outputs, func(results []uintptr) error {
			return statusError(capi.CustomFunction(name, in, results, &backward{function, ctx}, out))
		})
	})
	if err != nil {
		return nil, err
	}
	return adoptAll(out), nil
}
