package tensorrt

import (
	"math"
	"sort"
	"unsafe"

	"tensorrt/internal/capi"
)

// Optimizer updates parameters, in groups, by their gradients. Its calls, and those of schedulers, need external synchronization.
type Optimizer struct{ o *object }

func (o *Optimizer) object() *object {
	if o == nil {
		return nil
	}
	return o.o
}

func (o *Optimizer) with(op string, f func(h uintptr) error) error {
	return o.object().call(op, "optimizer", f)
}

func newOptimizer(op string, params []*Tensor, create func(params unsafe.Pointer, count int, out unsafe.Pointer) uintptr) (*Optimizer, error) {
	var h uintptr
	err := withAll(op, params, func(p []uintptr) error { return statusError(create(first(p), len(p), unsafe.Pointer(&h))) })
	if err != nil {
		return nil, err
	}
	return &Optimizer{own(h, capi.Trt_optimizer_release)}, nil
}

// SGDOptions are the options of NewSGD.
type SGDOptions struct {
	LR          Optional[float64] // 1e-3
	Momentum    float64
	Dampening   float64
	Nesterov    bool // needs momentum and no dampening
	Maximize    bool
	WeightDecay float64 // L2, added to the gradient
}

// NewSGD makes stochastic gradient descent over the parameters, which form group 0.
func NewSGD(params []*Tensor, options ...SGDOptions) (*Optimizer, error) {
	o, err := pick("NewSGD", options)
	if err != nil {
		return nil, err
	}
	c := new(capi.SGDOptions)
	capi.Trt_sgd_options_init(unsafe.Pointer(c))
	c.LR, c.Momentum, c.Dampening, c.Nesterov, c.Maximize, c.WeightDecay = o.LR.or(c.LR), o.Momentum, o.Dampening, o.Nesterov, o.Maximize, o.WeightDecay
	return newOptimizer("NewSGD", params, func(p unsafe.Pointer, n int, out unsafe.Pointer) uintptr {
		return capi.Trt_sgd_create(p, n, unsafe.Pointer(c), out)
	})
}

// AdamOptions are the options of NewAdam and NewAdamW.
type AdamOptions struct {
	LR          Optional[float64] // 1e-3
	Beta1       Optional[float64] // 0.9
	Beta2       Optional[float64] // 0.999
	Eps         Optional[float64] // 1e-8
	AMSGrad     bool
	Maximize    bool
	WeightDecay Optional[float64] // Adam: 0, L2, added to the gradient; AdamW: 0.01, decoupled
}

func adam(op string, params []*Tensor, options []AdamOptions, init func(unsafe.Pointer),
	create func(params unsafe.Pointer, count int, options, out unsafe.Pointer) uintptr) (*Optimizer, error) {
	o, err := pick(op, options)
	if err != nil {
		return nil, err
	}
	c := new(capi.AdamOptions)
	init(unsafe.Pointer(c))
	c.LR, c.Beta1, c.Beta2, c.Eps = o.LR.or(c.LR), o.Beta1.or(c.Beta1), o.Beta2.or(c.Beta2), o.Eps.or(c.Eps)
	c.AMSGrad, c.Maximize, c.WeightDecay = o.AMSGrad, o.Maximize, o.WeightDecay.or(c.WeightDecay)
	return newOptimizer(op, params, func(p unsafe.Pointer, n int, out unsafe.Pointer) uintptr { return create(p, n, unsafe.Pointer(c), out) })
}

// NewAdam makes Adam over the parameters, which form group 0.
func NewAdam(params []*Tensor, options ...AdamOptions) (*Optimizer, error) {
	return adam("NewAdam", params, options, capi.Trt_adam_options_init, capi.Trt_adam_create)
}

// NewAdamW makes AdamW over the parameters, which form group 0.
func NewAdamW(params []*Tensor, options ...AdamOptions) (*Optimizer, error) {
	return adam("NewAdamW", params, options, capi.Trt_adamw_options_init, capi.Trt_adamw_create)
}

// Close releases the optimizer; its schedulers keep it.
func (o *Optimizer) Close() error { return o.object().close() }

// TypeName is the kind of optimizer, "AdamW".
func (o *Optimizer) TypeName() string {
	var v string
	_ = o.with("TypeName", func(h uintptr) error { v = capi.Trt_optimizer_type_name(h); return nil })
	return v
}

// String is the groups and their options.
func (o *Optimizer) String() string {
	s, err := textOf(func(out unsafe.Pointer) error {
		return o.with("String", func(h uintptr) error { return statusError(capi.Trt_optimizer_to_string(h, out)) })
	})
	if err != nil {
		return "<" + err.Error() + ">"
	}
	return s
}

// AddGroup adds a group with its own options by name ("lr", "weight_decay", ...); the others are those given at creation.
func (o *Optimizer) AddGroup(params []*Tensor, options map[string]float64) error {
	names := make([]string, 0, len(options))
	for n := range options {
		names = append(names, n)
	}
	sort.Strings(names)
	values := make([]float64, len(names))
	for i, n := range names {
		values[i] = options[n]
	}
	if err := checkText("AddGroup", names...); err != nil {
		return err
	}
	texts := capi.NewTexts(names)
	defer texts.Free()
	return o.with("AddGroup", func(h uintptr) error {
		return withAll("AddGroup", params, func(p []uintptr) error { return statusError(capi.AddGroup(h, p, texts, values)) })
	})
}

// GroupCount is the number of groups.
func (o *Optimizer) GroupCount() int {
	var v int
	_ = o.with("GroupCount", func(h uintptr) error { v = capi.Trt_optimizer_group_count(h); return nil })
	return v
}

// GroupParameters are the parameters of a group.
func (o *Optimizer) GroupParameters(group int) ([]*Tensor, error) {
	var list uintptr
	if err := o.with("GroupParameters", func(h uintptr) error {
		return statusError(capi.Trt_optimizer_group_parameters(h, group, unsafe.Pointer(&list)))
	}); err != nil {
		return nil, err
	}
	return adoptList(list), nil
}

// Option is the value of an option of a group; bools are 0 or 1.
func (o *Optimizer) Option(group int, name string) (float64, error) {
	if err := checkText("Option", name); err != nil {
		return 0, err
	}
	var v float64
	err := o.with("Option", func(h uintptr) error {
		return statusError(capi.Trt_optimizer_get_option(h, group, name, unsafe.Pointer(&v)))
	})
	return v, err
}

// SetOption sets an option of a group, from the next step on.
func (o *Optimizer) SetOption(group int, name string, value float64) error {
	if err := checkText("SetOption", name); err != nil {
		return err
	}
	return o.with("SetOption", func(h uintptr) error { return statusError(capi.Trt_optimizer_set_option(h, group, name, value)) })
}

// LR is the learning rate of a group.
func (o *Optimizer) LR(group int) (float64, error) {
	var v float64
	err := o.with("LR", func(h uintptr) error { return statusError(capi.Trt_optimizer_get_lr(h, group, unsafe.Pointer(&v))) })
	return v, err
}

// SetLR sets the learning rate of all groups.
func (o *Optimizer) SetLR(lr float64) error {
	return o.with("SetLR", func(h uintptr) error { return statusError(capi.Trt_optimizer_set_lr(h, lr)) })
}

// Step updates every parameter that has a gradient.
func (o *Optimizer) Step() error {
	return o.with("Step", func(h uintptr) error { return statusError(capi.Trt_optimizer_step(h)) })
}

// ZeroGrad drops the gradients of all parameters.
func (o *Optimizer) ZeroGrad() error {
	return o.with("ZeroGrad", func(h uintptr) error { return statusError(capi.Trt_optimizer_zero_grad(h, true)) })
}

// StateDict is all of the optimizer but the parameters. The tensors share its memory.
func (o *Optimizer) StateDict() (*StateDict, error) {
	return newStateDict(func(out unsafe.Pointer) error {
		return o.with("StateDict", func(h uintptr) error { return statusError(capi.Trt_optimizer_state_dict(h, out)) })
	})
}

// LoadStateDict copies a state dict into an optimizer of the same type with the same groups. On failure nothing has changed.
func (o *Optimizer) LoadStateDict(dict *StateDict) error {
	return o.with("LoadStateDict", func(h uintptr) error {
		return dict.with("LoadStateDict", func(d uintptr) error { return statusError(capi.Trt_optimizer_load_state_dict(h, d)) })
	})
}

// ClipGradOptions are the arguments of ClipGradNorm that have a default.
type ClipGradOptions struct {
	NormType         Optional[float64] // 2; positive, or infinity for the largest magnitude
	ErrorIfNonfinite bool              // a norm that is infinite or NaN is FailedPrecondition
}

// ClipGradNorm scales the gradients so that the norm of all of them together is at most maxNorm, and gives the norm before.
func ClipGradNorm(params []*Tensor, maxNorm float64, options ...ClipGradOptions) (float64, error) {
	o, err := pick("ClipGradNorm", options)
	if err != nil {
		return 0, err
	}
	var v float64
	err = withAll("ClipGradNorm", params, func(p []uintptr) error {
		return statusError(capi.Trt_clip_grad_norm(first(p), len(p), maxNorm, o.NormType.or(2), o.ErrorIfNonfinite, unsafe.Pointer(&v)))
	})
	return v, err
}

// ClipGradValue limits every element of the gradients to [-value, value].
func ClipGradValue(params []*Tensor, value float64) error {
	return withAll("ClipGradValue", params, func(p []uintptr) error { return statusError(capi.Trt_clip_grad_value(first(p), len(p), value)) })
}

// --- schedulers ---

// LRScheduler sets learning rates. Call Step after the optimizer's.
type LRScheduler struct{ o *object }

func (s *LRScheduler) object() *object {
	if s == nil {
		return nil
	}
	return s.o
}

func (s *LRScheduler) with(op string, f func(h uintptr) error) error {
	return s.object().call(op, "scheduler", f)
}

func newScheduler(op string, optimizer *Optimizer, create func(optimizer uintptr, out unsafe.Pointer) uintptr) (*LRScheduler, error) {
	var h uintptr
	if err := optimizer.with(op, func(o uintptr) error { return statusError(create(o, unsafe.Pointer(&h))) }); err != nil {
		return nil, err
	}
	return &LRScheduler{own(h, capi.Trt_scheduler_release)}, nil
}

// Close releases the scheduler.
func (s *LRScheduler) Close() error { return s.object().close() }

// TypeName is the kind of scheduler, "StepLR".
func (s *LRScheduler) TypeName() string {
	var v string
	_ = s.with("TypeName", func(h uintptr) error { v = capi.Trt_scheduler_type_name(h); return nil })
	return v
}

// Step sets the next learning rates.
func (s *LRScheduler) Step() error {
	return s.with("Step", func(h uintptr) error { return statusError(capi.Trt_scheduler_step(h)) })
}

// LastEpoch is the number of steps taken.
func (s *LRScheduler) LastEpoch() int {
	var v int
	_ = s.with("LastEpoch", func(h uintptr) error { v = capi.Trt_scheduler_last_epoch(h); return nil })
	return v
}

// LastLR is the learning rate that the scheduler set last for a group.
func (s *LRScheduler) LastLR(group int) (float64, error) {
	var v float64
	err := s.with("LastLR", func(h uintptr) error { return statusError(capi.Trt_scheduler_last_lr(h, group, unsafe.Pointer(&v))) })
	return v, err
}

// StateDict is the scheduler's position, not its options.
func (s *LRScheduler) StateDict() (*StateDict, error) {
	return newStateDict(func(out unsafe.Pointer) error {
		return s.with("StateDict", func(h uintptr) error { return statusError(capi.Trt_scheduler_state_dict(h, out)) })
	})
}

// LoadStateDict copies a position into a scheduler of the same type. On failure nothing has changed.
func (s *LRScheduler) LoadStateDict(dict *StateDict) error {
	return s.with("LoadStateDict", func(h uintptr) error {
		return dict.with("LoadStateDict", func(d uintptr) error { return statusError(capi.Trt_scheduler_load_state_dict(h, d)) })
	})
}

// NewStepLR multiplies by gamma every stepSize steps.
func NewStepLR(optimizer *Optimizer, stepSize int, gamma float64) (*LRScheduler, error) {
	return newScheduler("NewStepLR", optimizer, func(o uintptr, out unsafe.Pointer) uintptr { return capi.Trt_step_lr_create(o, stepSize, gamma, out) })
}

// NewMultiStepLR multiplies by gamma at each milestone.
func NewMultiStepLR(optimizer *Optimizer, milestones []int, gamma float64) (*LRScheduler, error) {
	return newScheduler("NewMultiStepLR", optimizer, func(o uintptr, out unsafe.Pointer) uintptr {
		return capi.Trt_multi_step_lr_create(o, requiredList(milestones), len(milestones), gamma, out)
	})
}

// NewExponentialLR multiplies by gamma every step.
func NewExponentialLR(optimizer *Optimizer, gamma float64) (*LRScheduler, error) {
	return newScheduler("NewExponentialLR", optimizer, func(o uintptr, out unsafe.Pointer) uintptr { return capi.Trt_exponential_lr_create(o, gamma, out) })
}

// NewConstantLR multiplies by factor for the first totalIters steps.
func NewConstantLR(optimizer *Optimizer, factor float64, totalIters int) (*LRScheduler, error) {
	return newScheduler("NewConstantLR", optimizer, func(o uintptr, out unsafe.Pointer) uintptr {
		return capi.Trt_constant_lr_create(o, factor, totalIters, out)
	})
}

// NewLinearLR multiplies by a factor that goes linearly from startFactor to endFactor in totalIters steps.
func NewLinearLR(optimizer *Optimizer, startFactor, endFactor float64, totalIters int) (*LRScheduler, error) {
	return newScheduler("NewLinearLR", optimizer, func(o uintptr, out unsafe.Pointer) uintptr {
		return capi.Trt_linear_lr_create(o, startFactor, endFactor, totalIters, out)
	})
}

// NewPolynomialLR goes to zero in totalIters steps along (1 - t / totalIters)^power.
func NewPolynomialLR(optimizer *Optimizer, totalIters int, power float64) (*LRScheduler, error) {
	return newScheduler("NewPolynomialLR", optimizer, func(o uintptr, out unsafe.Pointer) uintptr {
		return capi.Trt_polynomial_lr_create(o, totalIters, power, out)
	})
}

// NewCosineAnnealingLR goes along half a cosine to etaMin in tMax steps, then up again.
func NewCosineAnnealingLR(optimizer *Optimizer, tMax int, etaMin float64) (*LRScheduler, error) {
	return newScheduler("NewCosineAnnealingLR", optimizer, func(o uintptr, out unsafe.Pointer) uintptr {
		return capi.Trt_cosine_annealing_lr_create(o, tMax, etaMin, out)
	})
}

// OneCycleOptions are the options of NewOneCycleLR.
type OneCycleOptions struct {
	Linear         bool              // straight lines instead of cosines
	CycleMomentum  Optional[bool]    // true; false leaves the momentum alone
	ThreePhase     bool              // up, down to the beginning, then to the end
	PctStart       Optional[float64] // 0.3, the part of the cycle that goes up
	BaseMomentum   Optional[float64] // 0.85, the momentum (Adam: beta1) at the peak
	MaxMomentum    Optional[float64] // 0.95, at the ends
	DivFactor      Optional[float64] // 25: the cycle begins at maxLR / DivFactor
	FinalDivFactor Optional[float64] // 1e4: and ends at its beginning / FinalDivFactor
}

// NewOneCycleLR goes up to maxLR and down again in totalSteps steps, the momentum the other way. Step after every batch.
func NewOneCycleLR(optimizer *Optimizer, maxLR float64, totalSteps int, options ...OneCycleOptions) (*LRScheduler, error) {
	o, err := pick("NewOneCycleLR", options)
	if err != nil {
		return nil, err
	}
	c := new(capi.OneCycleOptions)
	capi.Trt_one_cycle_options_init(unsafe.Pointer(c))
	c.MaxLR, c.TotalSteps, c.Linear, c.ThreePhase = maxLR, int64(totalSteps), o.Linear, o.ThreePhase
	c.CycleMomentum, c.PctStart = o.CycleMomentum.or(c.CycleMomentum), o.PctStart.or(c.PctStart)
	c.BaseMomentum, c.MaxMomentum = o.BaseMomentum.or(c.BaseMomentum), o.MaxMomentum.or(c.MaxMomentum)
	c.DivFactor, c.FinalDivFactor = o.DivFactor.or(c.DivFactor), o.FinalDivFactor.or(c.FinalDivFactor)
	return newScheduler("NewOneCycleLR", optimizer, func(o uintptr, out unsafe.Pointer) uintptr {
		return capi.Trt_one_cycle_lr_create(o, unsafe.Pointer(c), out)
	})
}

// LRFunc gives the factor for the base learning rate of a group after `epoch` steps. An error fails the step.
type LRFunc func(epoch, group int) (float64, error)

// NewLambdaLR multiplies by a factor that the host computes; fn is called here (epoch 0) and in each step.
func NewLambdaLR(optimizer *Optimizer, fn LRFunc) (*LRScheduler, error) {
	if fn == nil {
		return nil, invalid("NewLambdaLR", "the function is nil")
	}
	return newScheduler("NewLambdaLR", optimizer, func(o uintptr, out unsafe.Pointer) uintptr { return capi.LambdaLR(o, fn, (*uintptr)(out)) })
}

// NewSequentialLR runs schedulers[0] until step milestones[0], then schedulers[1] from its beginning, and so on; one milestone fewer than schedulers.
func NewSequentialLR(optimizer *Optimizer, schedulers []*LRScheduler, milestones []int) (*LRScheduler, error) {
	handles := make([]uintptr, len(schedulers))
	for i, s := range schedulers {
		handles[i] = s.object().enter()
		defer s.object().exit(handles[i])
		if handles[i] == 0 && s != nil {
			return nil, closed("NewSequentialLR", "scheduler")
		}
	}
	return newScheduler("NewSequentialLR", optimizer, func(o uintptr, out unsafe.Pointer) uintptr {
		return capi.Trt_sequential_lr_create(o, first(handles), len(handles), requiredList(milestones), len(milestones), out)
	})
}

// Infinity is the NormType of the largest magnitude.
var Infinity = math.Inf(1)
