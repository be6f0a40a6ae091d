package tensorrt

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
)

func leaf(values ...float32) *Tensor {
	x := must(FromSlice(values))
	if err := x.SetRequiresGrad(true); err != nil {
		panic(err)
	}
	return x
}

func TestBackward(t *testing.T) {
	x := leaf(1, 2, 3)
	y := must(x.Mul(x))
	equal(t, y.GradFn(), "MulBackward0")
	equal(t, y.IsLeaf(), false)
	equal(t, x.GradFn(), "")
	check(t, must(y.Sum()).Backward())
	equal(t, must(ToSlice[float32](must(x.Grad()))), []float32{2, 4, 6})
	check(t, x.SetGrad(nil))
	if g := must(x.Grad()); g != nil {
		t.Fatal(g)
	}
	err := y.Backward()
	fails(t, err, InvalidArgument)

	// Second derivatives.
	cube := must(must(must(x.Mul(x)).Mul(x)).Sum())
	first := must(Grad([]*Tensor{cube}, []*Tensor{x}, GradOptions{CreateGraph: true}))
	second := must(Grad([]*Tensor{must(first[0].Sum())}, []*Tensor{x}))
	equal(t, must(ToSlice[float32](second[0])), []float32{6, 12, 18})
	unused := leaf(1)
	_, err = Grad([]*Tensor{must(x.Sum())}, []*Tensor{unused})
	fails(t, err, FailedPrecondition, "allow_unused")
	none := must(Grad([]*Tensor{must(x.Sum())}, []*Tensor{unused}, GradOptions{AllowUnused: true}))
	if none[0] != nil {
		t.Fatal(none)
	}
	check(t, Backward([]*Tensor{must(x.Mul(x))}, BackwardOptions{Grads: []*Tensor{must(FromSlice([]float32{1, 0, 2}))}}))
	equal(t, must(ToSlice[float32](must(x.Grad()))), []float32{2, 0, 12})
}

func TestNodes(t *testing.T) {
	x, y := leaf(1, 2), must(FromSlice([]float32{3, 4}))
	if n := must(x.GradNode()); n != nil {
		t.Fatal(n)
	}
	sum := must(must(must(x.Mul(y)).Sum()).GradNode())
	equal(t, sum.Name(), "SumBackward0")
	edges := must(sum.NextFunctions())
	mul := edges[0].Node
	check(t, sum.Close())
	equal(t, mul.Name(), "MulBackward0")
	equal(t, edges[0].Input, 0)
	if v := must(mul.Variable()); v != nil {
		t.Fatal(v)
	}
	edges = must(mul.NextFunctions())
	if len(edges) != 2 || edges[1].Node != nil {
		t.Fatal(edges)
	}
	equal(t, edges[0].Node.Name(), "AccumulateGrad")
	equal(t, must(ToSlice[float32](must(edges[0].Node.Variable()))), []float32{1, 2})
	equal(t, edges[0].Node.Same(must(mul.NextFunctions())[0].Node), true)
	equal(t, edges[0].Node.Same(mul), false)
	check(t, mul.Close())
	_, err := mul.NextFunctions()
	fails(t, err, FailedPrecondition)
	var none *Node
	equal(t, none.Name(), "")
	check(t, none.Close())
}

func TestModes(t *testing.T) {
	x := leaf(1, 2)
	stop := errors.New("stop")
	err := NoGrad(func() error {
		if IsGradEnabled() {
			t.Error("recording")
		}
		if must(x.Mul(x)).RequiresGrad() {
			t.Error("recorded")
		}
		check(t, EnableGrad(func() error {
			if !must(x.Mul(x)).RequiresGrad() {
				t.Error("not recorded")
			}
			return nil
		}))
		return stop
	})
	if err != stop {
		t.Fatal(err)
	}
	check(t, InferenceMode(func() error {
		if !IsInferenceMode() || must(x.Mul(x)).RequiresGrad() {
			t.Error("no inference mode")
		}
		return nil
	}))
	if !IsGradEnabled() || IsInferenceMode() {
		t.Fatal("the mode is still on")
	}
	func() {
		defer func() { _ = recover() }()
		_ = NoGrad(func() error { panic("out") })
	}()
	if !IsGradEnabled() {
		t.Fatal("the mode is still on after a panic")
	}
	check(t, WithDefaultDType(Float64, func() error {
		equal(t, must(Zeros([]int{1})).DType(), Float64)
		return nil
	}))
	equal(t, DefaultDType(), Float32)
	fails(t, WithDefaultDType(Int8, func() error { return nil }), InvalidArgument)
	// A goroutine that moves between threads sees none of a mode that another one set.
	done := make(chan bool)
	check(t, NoGrad(func() error {
		go func() { done <- IsGradEnabled() }()
		if !<-done {
			t.Error("the mode leaked")
		}
		return nil
	}))
}

func TestHooks(t *testing.T) {
	x := leaf(1, 2)
	y := must(x.Mul(x))
	calls := 0
	var kept *Tensor
	hook := must(y.AddHook(func(grad *Tensor) (*Tensor, error) {
		calls++
		kept = grad
		return grad.MulScalar(10)
	}))
	check(t, must(y.Sum()).Backward(BackwardOptions{RetainGraph: true}))
	equal(t, must(ToSlice[float32](must(x.Grad()))), []float32{20, 40})
	equal(t, kept.Closed(), true)
	check(t, hook.Remove())
	fails(t, hook.Remove(), NotFound)
	check(t, must(y.Sum()).Backward())
	equal(t, calls, 1)

	// Errors and panics of a hook.
	sentinel := errors.New("the hook's own error")
	for _, hook := range []Hook{
		func(*Tensor) (*Tensor, error) { return nil, fmt.Errorf("wrapped: %w", sentinel) },
		func(*Tensor) (*Tensor, error) { panic(sentinel) },
	} {
		y := must(x.Mul(x))
		must(y.AddHook(hook))
		err := must(y.Sum()).Backward()
		if !errors.Is(err, sentinel) {
			t.Fatalf("got %v", err)
		}
	}
	direct := must(x.Mul(x))
	must(direct.AddHook(func(*Tensor) (*Tensor, error) { return nil, sentinel }))
	if err := must(direct.Sum()).Backward(); err != sentinel {
		t.Fatalf("got %v", err)
	}
	// An error of the library inside a hook keeps its code.
	inner := must(x.Mul(x))
	must(inner.AddHook(func(grad *Tensor) (*Tensor, error) { return grad.Reshape([]int{7}) }))
	fails(t, must(inner.Sum()).Backward(), InvalidArgument, "7")
	// A hook of a wrong shape.
	wrong := must(x.Mul(x))
	must(wrong.AddHook(func(grad *Tensor) (*Tensor, error) { return Zeros([]int{5}) }))
	fails(t, must(wrong.Sum()).Backward(), InvalidArgument)
	_, err := x.AddHook(nil)
	fails(t, err, InvalidArgument)
}

// Square is x^2 with a gradient of its own.
type square struct{ err error }

func (s square) Forward(ctx *Context, in []*Tensor) ([]*Tensor, error) {
	if IsGradEnabled() {
		return nil, errors.New("recording in Forward")
	}
	if err := ctx.Save(in[0]); err != nil {
		return nil, err
	}
	y, err := in[0].Mul(in[0])
	return []*Tensor{y}, err
}

func (s square) Backward(ctx *Context, grads []*Tensor) ([]*Tensor, error) {
	if s.err != nil {
		return nil, s.err
	}
	saved, err := ctx.Saved()
	if err != nil {
		return nil, err
	}
	y, err := saved[0].MulScalar(2)
	if err != nil {
		return nil, err
	}
	g, err := y.Mul(grads[0])
	return []*Tensor{g}, err
}

func TestFunction(t *testing.T) {
	x := leaf(1, 2, 3)
	y := must(Apply("SquareBackward", square{}, x))
	equal(t, len(y), 1)
	equal(t, y[0].GradFn(), "SquareBackward")
	check(t, must(y[0].Sum()).Backward())
	equal(t, must(ToSlice[float32](must(x.Grad()))), []float32{2, 4, 6})

	// The same inside of a scope, whose end is before the backward pass.
	check(t, x.SetGrad(nil))
	var sum *Tensor
	check(t, InScope(func(s *Scope) error {
		sum = s.Keep(must(must(Apply("SquareBackward", square{}, x))[0].Sum()))
		return nil
	}))
	check(t, sum.Backward())
	equal(t, must(ToSlice[float32](must(x.Grad()))), []float32{2, 4, 6})

	stop := errors.New("stop")
	if err := must(must(Apply("f", square{stop}, x))[0].Sum()).Backward(); err != stop {
		t.Fatal(err)
	}
	// An input that was changed in place.
	plain := must(FromSlice([]float32{1, 2, 3}))
	in := must(plain.Clone())
	check(t, in.SetRequiresGrad(true))
	y = must(Apply("f", square{}, in))
	check(t, NoGrad(func() error { return in.Add_(plain) }))
	err := must(y[0].Sum()).Backward()
	fails(t, err, FailedPrecondition, "in place")
	_, err = Apply("f", nil, x)
	fails(t, err, InvalidArgument)
	// Without gradients there is no node.
	y = must(Apply("f", square{}, plain))
	equal(t, y[0].RequiresGrad(), false)
}

// exponential and cube save an output, and an input that has a history.
type exponential struct{}

func (exponential) Forward(ctx *Context, in []*Tensor) ([]*Tensor, error) {
	y, err := in[0].Exp()
	if err != nil {
		return nil, err
	}
	return []*Tensor{y}, ctx.Save(y)
}

func (exponential) Backward(ctx *Context, grads []*Tensor) ([]*Tensor, error) {
	saved, err := ctx.Saved()
	if err != nil {
		return nil, err
	}
	g, err := grads[0].Mul(saved[0])
	return []*Tensor{g}, err
}

// What was saved takes part in the gradient of the gradient.
func TestSecondDerivatives(t *testing.T) {
	for _, c := range []struct {
		function Function
		x        float32
		square   bool
		expected []float32
	}{{exponential{}, 0, true, []float32{2, 4, 8}}, {square{}, 3, false, []float32{6, 2}}, {square{}, 1, true, []float32{4, 12, 24}}} {
		x := leaf(c.x)
		y := must(Apply("f", c.function, x))[0]
		if c.square {
			y = must(y.Mul(y))
		}
		for _, expected := range c.expected {
			y = must(Grad([]*Tensor{must(y.Sum())}, []*Tensor{x}, GradOptions{CreateGraph: true}))[0]
			equal(t, must(ToSlice[float32](y)), []float32{expected})
		}
	}
}

// What callbacks hold is let go of.
func TestCallbacksAreReleased(t *testing.T) {
	released := make(chan bool, 10)
	func() {
		x := leaf(1, 2)
		marker := new([16]byte)
		runtime.SetFinalizer(marker, func(*[16]byte) { released <- true })
		must(x.AddHook(func(grad *Tensor) (*Tensor, error) { marker[0]++; return nil, nil })).tensor.Close()
		check(t, must(must(x.Mul(x)).Sum()).Backward())
		x.Close()
	}()
	for i := 0; ; i++ {
		runtime.GC()
		select {
		case <-released:
			return
		default:
			if i == 200 {
				t.Fatal("the hook is still held")
			}
			runtime.Gosched()
		}
	}
}

func TestManyCallbackErrors(t *testing.T) {
	x := leaf(1)
	released := make(chan bool, 1)
	for i := 0; i < 3000; i++ {
		// Equal texts: it is the value that comes back.
		own := &ownError{"the same text"}
		if i == 0 {
			runtime.SetFinalizer(own, func(*ownError) { released <- true })
		}
		y := must(x.Mul(x))
		must(y.AddHook(func(*Tensor) (*Tensor, error) { return nil, own }))
		sum := must(y.Sum())
		if err := sum.Backward(); err != own {
			t.Fatalf("%d: got %v", i, err)
		}
		y.Close()
		sum.Close()
	}
	for i := 0; ; i++ {
		runtime.GC()
		select {
		case <-released:
			return
		default:
			if i == 200 {
				t.Fatal("the error is still held")
			}
			runtime.Gosched()
		}
	}
}

type ownError struct{ text string }

func (e *ownError) Error() string { return e.text }
