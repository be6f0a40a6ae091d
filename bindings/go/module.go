package tensorrt

import (
	"unsafe"

	"tensorrt/internal/capi"
)

// Module is a layer or a network: named parameters, buffers and children, a train/eval mode, and a forward function from one tensor to one. Forward of
// one module in many goroutines at once is safe in eval mode.
type Module struct{ o *object }

func adoptModule(h uintptr) *Module {
	return &Module{own(h, capi.Trt_module_release)}
}

func (m *Module) object() *object {
	if m == nil {
		return nil
	}
	return m.o
}

func (m *Module) with(op string, f func(h uintptr) error) error {
	return m.object().call(op, "module", f)
}

// newModule makes a module by a call that writes its handle.
func newModule(f func(out unsafe.Pointer) uintptr) (*Module, error) {
	var h uintptr
	if err := statusError(f(unsafe.Pointer(&h))); err != nil {
		return nil, err
	}
	return adoptModule(h), nil
}

// Close releases the module; a network that it is a part of keeps it.
func (m *Module) Close() error { return m.object().close() }

// Forward runs the module.
func (m *Module) Forward(input *Tensor) (*Tensor, error) {
	m0 := m.object().enter()
	h := input.enter()
	w := closedArgument
	if m0 != 0 || m.object() == nil {
		w = capi.Trt_module_forward(m0, h)
	}
	input.exit(h)
	m.object().exit(m0)
	if w&1 != 0 {
		return nil, failure(w&^1, "Forward", input)
	}
	// It may be the input itself.
	return adopt(w | wordSpecial), nil
}

// ForwardRecurrent runs a recurrent layer or cell from given states; nil stands for zeros, and cell is for an LSTM only. It gives the output, the last
// hidden states, and the last cells (nil where there are none).
func (m *Module) ForwardRecurrent(input, hidden, cell *Tensor) (output, lastHidden, lastCell *Tensor, err error) {
	m0 := m.object().enter()
	h0, h1, h2 := input.enter(), hidden.enter(), cell.enter()
	w := closedArgument
	var out [3]uintptr
	if m0 != 0 || m.object() == nil {
		w = capi.Trt_recurrent_forward(m0, h0, h1, h2, unsafe.Pointer(&out[0]), unsafe.Pointer(&out[1]), unsafe.Pointer(&out[2]))
	}
	cell.exit(h2)
	hidden.exit(h1)
	input.exit(h0)
	m.object().exit(m0)
	if w != 0 {
		return nil, nil, nil, failure(w&^1, "ForwardRecurrent", input, hidden, cell)
	}
	if out[2] == 0 {
		capi.Describe(out[:2])
		return adopt(out[0]), adopt(out[1]), nil, nil
	}
	capi.Describe(out[:])
	return adopt(out[0]), adopt(out[1]), adopt(out[2]), nil
}

// ForwardWith runs a module of several inputs or outputs, such as attention. Optional inputs may be nil, or be missing at the end. It gives the first
// `outputs` outputs, or fewer where the module has none.
func (m *Module) ForwardWith(outputs int, inputs ...*Tensor) ([]*Tensor, error) {
	if outputs < 0 {
		return nil, invalid("ForwardWith", "the number of outputs must be positive, got %d", outputs)
	}
	m0 := m.object().enter()
	handles, ok := enterAll(inputs)
	w := closedArgument
	var out uintptr
	if ok && (m0 != 0 || m.object() == nil) {
		w = capi.Trt_module_forward_with(m0, first(handles), len(handles), outputs, unsafe.Pointer(&out))
	}
	exitAll(inputs, handles)
	m.object().exit(m0)
	if w != 0 {
		return nil, failure(w&^1, "ForwardWith", inputs...)
	}
	return adoptList(out), nil
}

// ForwardPreHook sees the input of a module before it computes. It returns nil, or another input. What it is given is closed afterwards (Share gives a
// handle that stays).
type ForwardPreHook func(m *Module, input *Tensor) (*Tensor, error)

// ForwardHook sees input and output of a module after it computed. It returns nil, or another output.
type ForwardHook func(m *Module, input, output *Tensor) (*Tensor, error)

// AddForwardPreHook adds a hook that runs whenever the module is run, also as a part of another one. Hooks run in the order in which they were
// added; they must not keep the module. Adding and removing need external synchronization with every use of the module.
func (m *Module) AddForwardPreHook(hook ForwardPreHook) (*ModuleHookHandle, error) {
	return m.addHook("AddForwardPreHook", true, hook == nil, hook)
}

// AddForwardHook adds a hook after the module's forward function, likewise.
func (m *Module) AddForwardHook(hook ForwardHook) (*ModuleHookHandle, error) {
	return m.addHook("AddForwardHook", false, hook == nil, hook)
}

func (m *Module) addHook(op string, before, missing bool, hook any) (*ModuleHookHandle, error) {
	if missing {
		return nil, invalid(op, "the hook is nil")
	}
	var id uint64
	handle := new(ModuleHookHandle)
	err := m.with(op, func(h uintptr) error {
		if err := statusError(capi.AddModuleHook(h, before, hook, &id)); err != nil {
			return err
		}
		// A handle of its own: the module of the caller may be closed before.
		handle.module, handle.id = adoptModule(capi.RetainModule(h)), id
		return nil
	})
	if err != nil {
		return nil, err
	}
	return handle, nil
}

// ModuleHookHandle removes a hook of a module.
type ModuleHookHandle struct {
	module *Module
	id     uint64
}

// Remove removes the hook. The second time is an error (NotFound).
func (h *ModuleHookHandle) Remove() error {
	return h.module.with("Remove", func(module uintptr) error { return statusError(capi.Trt_module_remove_hook(module, h.id)) })
}

// Train sets training mode, that of a new module, in the whole tree.
func (m *Module) Train() error { return m.SetTraining(true) }

// Eval sets eval mode in the whole tree.
func (m *Module) Eval() error { return m.SetTraining(false) }

// SetTraining sets training mode or eval mode.
func (m *Module) SetTraining(training bool) error {
	return m.with("SetTraining", func(h uintptr) error { return statusError(capi.Trt_module_train(h, training)) })
}

// IsTraining tells whether the module is in training mode.
func (m *Module) IsTraining() bool {
	var v bool
	_ = m.with("IsTraining", func(h uintptr) error { v = capi.Trt_module_is_training(h); return nil })
	return v
}

// TypeName is the kind of module, "Conv2d".
func (m *Module) TypeName() string {
	var v string
	_ = m.with("TypeName", func(h uintptr) error { v = capi.Trt_module_type_name(h); return nil })
	return v
}

// String is the tree as PyTorch prints it.
func (m *Module) String() string {
	s, err := textOf(func(out unsafe.Pointer) error {
		return m.with("String", func(h uintptr) error { return statusError(capi.Trt_module_to_string(h, out)) })
	})
	if err != nil {
		return "<" + err.Error() + ">"
	}
	return s
}

// textOf takes the text that a call gives.
func textOf(f func(out unsafe.Pointer) error) (string, error) {
	var p uintptr
	if err := f(unsafe.Pointer(&p)); err != nil {
		return "", err
	}
	s, _ := capi.TakeString(p)
	return s, nil
}

// ParameterCount is the number of elements of all parameters.
func (m *Module) ParameterCount() int {
	var v int
	_ = m.with("ParameterCount", func(h uintptr) error { v = capi.Trt_module_parameter_count(h); return nil })
	return v
}

// TrainableParameterCount is the same of the parameters that require gradients.
func (m *Module) TrainableParameterCount() int {
	var v int
	_ = m.with("TrainableParameterCount", func(h uintptr) error { v = capi.Trt_module_trainable_parameter_count(h); return nil })
	return v
}

// Parameters are the parameters of the tree, each once.
func (m *Module) Parameters() ([]*Tensor, error) {
	var list uintptr
	if err := m.with("Parameters", func(h uintptr) error { return statusError(capi.Trt_module_parameters(h, unsafe.Pointer(&list))) }); err != nil {
		return nil, err
	}
	return adoptList(list), nil
}

// NamedParameters are the parameters with their names.
func (m *Module) NamedParameters() (*StateDict, error) {
	return newStateDict(func(out unsafe.Pointer) error {
		return m.with("NamedParameters", func(h uintptr) error { return statusError(capi.Trt_module_named_parameters(h, out)) })
	})
}

// NamedBuffers are the buffers with their names.
func (m *Module) NamedBuffers() (*StateDict, error) {
	return newStateDict(func(out unsafe.Pointer) error {
		return m.with("NamedBuffers", func(h uintptr) error { return statusError(capi.Trt_module_named_buffers(h, out)) })
	})
}

// Parameter is the parameter of a name, "0.weight".
func (m *Module) Parameter(name string) (*Tensor, error) {
	return m.named("Parameter", name, capi.Trt_module_parameter)
}

// Buffer is the buffer of a name, "1.running_mean".
func (m *Module) Buffer(name string) (*Tensor, error) {
	return m.named("Buffer", name, capi.Trt_module_buffer)
}

func (m *Module) named(op, name string, f func(h uintptr, name string) uintptr) (*Tensor, error) {
	if err := checkText(op, name); err != nil {
		return nil, err
	}
	var t *Tensor
	err := m.with(op, func(h uintptr) (err error) {
		t, err = wordResult(f(h, name))
		return err
	})
	return t, err
}

// Submodule is a module of the tree, "features.0"; "" is the module itself.
func (m *Module) Submodule(name string) (*Module, error) {
	if err := checkText("Submodule", name); err != nil {
		return nil, err
	}
	var out uintptr
	if err := m.with("Submodule", func(h uintptr) error { return statusError(capi.Trt_module_submodule(h, name, unsafe.Pointer(&out))) }); err != nil {
		return nil, err
	}
	return adoptModule(out), nil
}

// Child is a module of the next level with its name.
type Child struct {
	Name   string
	Module *Module
}

// Children are the modules of the next level.
func (m *Module) Children() ([]Child, error) {
	var children []Child
	err := m.with("Children", func(h uintptr) error {
		for i := 0; i < capi.Trt_module_child_count(h); i++ {
			children = append(children, Child{capi.Trt_module_child_name(h, i), adoptModule(capi.RetainModule(capi.Trt_module_child(h, i)))})
		}
		return nil
	})
	return children, err
}

// RegisterParameter adds a parameter: a leaf of a floating-point dtype, which from now on requires gradients.
func (m *Module) RegisterParameter(name string, t *Tensor) error {
	return m.register("RegisterParameter", name, t, capi.Trt_module_register_parameter)
}

// RegisterBuffer adds a buffer; only persistent ones are part of the state dict.
func (m *Module) RegisterBuffer(name string, t *Tensor, persistent bool) error {
	return m.register("RegisterBuffer", name, t, func(h uintptr, name string, t uintptr) uintptr {
		return capi.Trt_module_register_buffer(h, name, t, persistent)
	})
}

// SetParameter replaces a parameter by a tensor of the same shape and dtype; the same tensor in two places ties weights.
func (m *Module) SetParameter(name string, t *Tensor) error {
	return m.register("SetParameter", name, t, capi.Trt_module_set_parameter)
}

func (m *Module) register(op, name string, t *Tensor, f func(h uintptr, name string, t uintptr) uintptr) error {
	if err := checkText(op, name); err != nil {
		return err
	}
	if m != nil && t == nil {
		return invalid(op, "the tensor '%s' for %s is nil", name, m.TypeName())
	}
	return m.with(op, func(h uintptr) error {
		return t.with(op, func(t uintptr) error { return statusError(f(h, name, t)) })
	})
}

// RegisterChild adds a child. A module cannot become a part of itself.
func (m *Module) RegisterChild(name string, child *Module) error {
	if err := checkText("RegisterChild", name); err != nil {
		return err
	}
	if m != nil && child == nil {
		return invalid("RegisterChild", "the child '%s' for %s is nil", name, m.TypeName())
	}
	return m.with("RegisterChild", func(h uintptr) error {
		return child.with("RegisterChild", func(c uintptr) error { return statusError(capi.Trt_module_register_child(h, name, c)) })
	})
}

// ZeroGrad drops the gradients of all parameters.
func (m *Module) ZeroGrad() error {
	return m.with("ZeroGrad", func(h uintptr) error { return statusError(capi.Trt_module_zero_grad(h, true)) })
}

// SetRequiresGrad sets requires_grad of all parameters: false freezes the tree.
func (m *Module) SetRequiresGrad(requires bool) error {
	return m.with("SetRequiresGrad", func(h uintptr) error { return statusError(capi.Trt_module_set_requires_grad(h, requires)) })
}

// To converts floating-point parameters and buffers to a floating-point dtype. The tensors keep their identity.
func (m *Module) To(dtype DType) error {
	return m.with("To", func(h uintptr) error { return statusError(capi.Trt_module_to_dtype(h, dtype.c())) })
}

// ResetParameters draws all parameters anew (generator nil: the default one) and resets running statistics.
func (m *Module) ResetParameters(generator *Generator) error {
	return m.with("ResetParameters", func(h uintptr) error {
		return generator.with("ResetParameters", func(g uintptr) error { return statusError(capi.Trt_module_reset_parameters(h, g)) })
	})
}

type visit func(m *Module) error

// Apply calls fn for every module of the tree, each once, children before their parents. The module given is closed afterwards.
func (m *Module) Apply(fn func(m *Module) error) error {
	return m.with("Apply", func(h uintptr) error { return statusError(capi.Apply(h, visit(fn))) })
}

// StateDict gives parameters and persistent buffers. The tensors share the module's memory and have no history.
func (m *Module) StateDict() (*StateDict, error) {
	return newStateDict(func(out unsafe.Pointer) error {
		return m.with("StateDict", func(h uintptr) error { return statusError(capi.Trt_module_state_dict(h, out)) })
	})
}

// LoadStateDict copies the values of a state dict into the module, converting dtypes. With strict, missing and unexpected names are errors. On
// failure nothing has changed.
func (m *Module) LoadStateDict(dict *StateDict, strict bool) error {
	return m.with("LoadStateDict", func(h uintptr) error {
		return dict.with("LoadStateDict", func(d uintptr) error { return statusError(capi.Trt_module_load_state_dict(h, d, strict)) })
	})
}

// CompareStateDict tells in a text what a strict LoadStateDict would refuse; "" when nothing.
func (m *Module) CompareStateDict(dict *StateDict) (string, error) {
	return textOf(func(out unsafe.Pointer) error {
		return m.with("CompareStateDict", func(h uintptr) error {
			return dict.with("CompareStateDict", func(d uintptr) error { return statusError(capi.Trt_module_compare_state_dict(h, d, out)) })
		})
	})
}

// --- containers and modules of the host ---

// NewSequential runs modules in order; children are named "0", "1", ... The given modules may be closed.
func NewSequential(modules ...*Module) (*Module, error) {
	handles := make([]uintptr, len(modules))
	for i, m := range modules {
		handles[i] = m.object().enter()
		defer m.object().exit(handles[i])
		if m == nil {
			return nil, invalid("NewSequential", "module %d is nil", i)
		}
		if handles[i] == 0 {
			return nil, closed("NewSequential", "module")
		}
	}
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_sequential_create(first(handles), len(handles), out) })
}

type forward func(input *Tensor) (*Tensor, error)

// ModuleForward is the forward function of a module of the host. It is called in every goroutine that calls Forward. Both arguments are closed
// afterwards (Share gives a handle that stays); the result stays the host's.
type ModuleForward func(self *Module, input *Tensor) (*Tensor, error)

// NewModule makes a module of the host's own. Parameters, buffers and children are registered with it. The function must not refer to the module
// other than by `self`: neither would ever be released.
func NewModule(typeName string, fn ModuleForward) (*Module, error) {
	if err := checkText("NewModule", typeName); err != nil {
		return nil, err
	}
	if fn == nil {
		return nil, invalid("NewModule", "the function is nil")
	}
	return newModule(func(out unsafe.Pointer) uintptr { return capi.CustomModule(typeName, fn, (*uintptr)(out)) })
}
