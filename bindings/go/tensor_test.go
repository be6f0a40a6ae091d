package tensorrt

import (
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"

	"tensorrt/internal/capi"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T any](t *testing.T, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// fails checks code and a part of the message.
func fails(t *testing.T, err error, code Code, parts ...string) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Fatalf("got %v, want %v", err, code)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Fatalf("%q is not in %q", p, err)
		}
	}
}

func TestSlices(t *testing.T) {
	x := must(FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3))
	defer x.Close()
	equal(t, x.Shape(), []int{2, 3})
	equal(t, x.Strides(), []int{3, 1})
	equal(t, x.DType(), Float32)
	equal(t, x.Device(), CPU)
	equal(t, x.Numel(), 6)
	equal(t, must(x.Size(-1)), 3)
	equal(t, must(ToSlice[int64](must(x.Transpose(0, 1)))), []int64{1, 4, 2, 5, 3, 6})
	equal(t, must(ToSlice[bool](must(FromSlice([]bool{true, false})))), []bool{true, false})
	type celsius float64
	type kind int16
	equal(t, must(FromSlice([]celsius{1})).DType(), Float64)
	equal(t, must(FromSlice([]kind{1})).DType(), Int16)
	equal(t, must(FromSlice([]int{7})).DType(), Int64)
	equal(t, must(FromSlice([]int{}, 0, 3)).Shape(), []int{0, 3})
	equal(t, must(must(FromScalar(2.5, NoDType)).Item()), 2.5)
	equal(t, must(must(FromScalar(true, NoDType)).ItemScalar()), Scalar(true))
	equal(t, must(must(FromScalar(3, Int8)).ItemScalar()), Scalar(int64(3)))

	type wave complex64
	z := must(FromSlice([]complex128{1 + 2i, -3i, 4, 0}, 2, 2))
	equal(t, z.DType(), Complex128)
	equal(t, must(ToSlice[complex64](must(z.Transpose(0, 1)))), []complex64{1 + 2i, 4, -3i, 0})
	equal(t, must(FromSlice([]wave{2i})).DType(), Complex64)
	equal(t, must(ToSlice[wave](must(must(FromSlice([]complex64{1i})).MulScalar(2i)))), []wave{-2})
	equal(t, must(ToSlice[complex128](must(FromSlice([]int16{3})))), []complex128{3})
	check(t, WithData(z, func(data []complex128) error {
		data[3] = data[0] * 1i
		return nil
	}))
	equal(t, must(z.Reshape([]int{4})).String(), "tensor([ 1.+2.j,  0.-3.j,  4.+0.j, -2.+1.j], dtype=trt.complex128)")
	equal(t, must(FromFunc([]int{2}, func(data []complex64) error {
		data[1] = 5i
		return nil
	})).DType(), Complex64)

	data := make([]float64, 6)
	check(t, CopyTo(x, data))
	equal(t, data, []float64{1, 2, 3, 4, 5, 6})
	fails(t, CopyTo(x, data[:5]), InvalidArgument)
	check(t, WithData(x, func(data []float32) error {
		data[0] = 10
		return nil
	}))
	equal(t, must(ToSlice[float32](x))[0], float32(10))
	fails(t, WithData(x, func([]float64) error { return nil }), InvalidArgument, "float32")
	fails(t, WithData(must(x.Transpose(0, 1)), func([]float32) error { return nil }), InvalidArgument, "contiguous")

	_, err := FromSlice([]float32{1, 2, 3}, 2, 2)
	fails(t, err, InvalidArgument, "4 elements", "3")
	_, err = FromSlice([]float32{1}, math.MaxInt, math.MaxInt)
	fails(t, err, InvalidArgument)
	_, err = FromSlice([]float32{1}, -1)
	fails(t, err, InvalidArgument)

	y := must(FromFunc([]int{2, 2}, func(data []int32) error {
		for i := range data {
			data[i] = int32(i * i)
		}
		return nil
	}))
	equal(t, must(ToSlice[int32](y)), []int32{0, 1, 4, 9})
	stop := errors.New("stop")
	_, err = FromFunc([]int{2}, func(data []int32) error { return stop })
	if err != stop {
		t.Fatal(err)
	}
	_, err = FromFunc([]int{2}, func(data []int32) error { panic("no") })
	var panicked *PanicError
	if !errors.As(err, &panicked) || panicked.Value != "no" {
		t.Fatal(err)
	}
}

func TestOperators(t *testing.T) {
	x := must(FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3))
	y := must(FromSlice([]float32{1, 1, 2}))
	equal(t, must(ToSlice[float32](must(x.Add(y)))), []float32{2, 3, 5, 5, 6, 8})
	equal(t, must(ToSlice[float32](must(x.Add(y, AddOptions{Alpha: 2})))), []float32{3, 4, 7, 6, 7, 10})
	equal(t, must(ToSlice[float32](must(x.Add(y, AddOptions{Alpha: 0})))), []float32{1, 2, 3, 4, 5, 6})
	equal(t, must(must(x.Sum()).Item()), 21.0)
	rows := must(x.Sum(SumOptions{Dim: []int{1}, Keepdim: true}))
	equal(t, rows.Shape(), []int{2, 1})
	values, indices, err := x.MaxDim(1)
	check(t, err)
	equal(t, must(ToSlice[float32](values)), []float32{3, 6})
	equal(t, must(ToSlice[int64](indices)), []int64{2, 2})
	parts := must(x.Split(2, SplitOptions{Dim: 1}))
	equal(t, len(parts), 2)
	equal(t, parts[1].Shape(), []int{2, 1})
	equal(t, must(Cat(parts, CatOptions{Dim: 1})).Shape(), []int{2, 3})
	equal(t, must(x.Equal(must(x.Clone()))), true)
	equal(t, must(x.MulScalar(2)).DType(), Float32)
	ints := must(FromSlice([]int64{1, 2}))
	equal(t, must(ints.MulScalar(2)).DType(), Int64)
	equal(t, must(ints.MulScalar(2.0)).DType(), Float32)
	equal(t, must(must(ints.DivTensorMode(ints, "floor")).ItemSumForTest()), 2)
	equal(t, must(ToSlice[float32](must(x.Clamp(ClampOptions{Min: 2.5, Max: 5})))), []float32{2.5, 2.5, 3, 4, 5, 5})
	equal(t, must(x.Argmax()).Shape(), []int{})
	equal(t, must(x.Argmax(ArgmaxOptions{Dim: Some(0)})).Shape(), []int{3})
	equal(t, must(x.Reshape([]int{3, -1})).Shape(), []int{3, 2})
	sorted, _, err := y.Sort(SortOptions{Descending: true})
	check(t, err)
	equal(t, must(ToSlice[float32](sorted)), []float32{2, 1, 1})

	check(t, x.Add_(y))
	equal(t, must(ToSlice[float32](x)), []float32{2, 3, 5, 5, 6, 8})
	out := must(Zeros([]int{1}))
	check(t, x.SubOut(y, out))
	equal(t, must(ToSlice[float32](out)), []float32{1, 2, 3, 4, 5, 6})
	equal(t, must(Zeros([]int{2}, ZerosOptions{DType: Float64})).DType(), Float64)
	equal(t, must(Zeros([]int{2}, ZerosOptions{Device: Meta})).Device(), Meta)
	equal(t, must(Full([]int{2}, 7)).DType(), Int64)

	g := must(NewGenerator(5))
	a := must(Rand([]int{3}, RandOptions{Generator: g}))
	check(t, g.Seed(5))
	b := must(Rand([]int{3}, RandOptions{Generator: g}))
	equal(t, must(a.Equal(b)), true)
	seed, offset, err := g.State()
	check(t, err)
	equal(t, seed, uint64(5))
	a = must(Rand([]int{3}, RandOptions{Generator: g}))
	check(t, g.SetState(seed, offset))
	equal(t, must(a.Equal(must(Rand([]int{3}, RandOptions{Generator: g})))), true)
	check(t, g.Close())
	_, err = Rand([]int{3}, RandOptions{Generator: g})
	if !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
}

// ItemSumForTest is the sum as an integer.
func (t *Tensor) ItemSumForTest() (int, error) {
	s, err := t.Sum()
	if err != nil {
		return 0, err
	}
	return s.ItemInt()
}

func TestErrors(t *testing.T) {
	x := must(FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3))
	_, err := x.Matmul(x)
	fails(t, err, InvalidArgument, "matmul", "[2, 3]")
	var e *Error
	if !errors.As(err, &e) || e.Op == "" || e.Code != InvalidArgument || e.Code.String() != "INVALID_ARGUMENT" {
		t.Fatalf("%#v", err)
	}
	if errors.Is(err, OutOfRange) {
		t.Fatal("wrong code")
	}
	_, err = x.Add(nil)
	fails(t, err, InvalidArgument)
	_, err = (*Tensor)(nil).Add(x)
	fails(t, err, InvalidArgument)
	_, err = x.AddScalar("two")
	fails(t, err, InvalidArgument, "two")
	_, err = x.AddScalar(nil)
	fails(t, err, InvalidArgument)
	_, err = x.AddScalar(uint64(math.MaxUint64))
	fails(t, err, InvalidArgument)
	_, err = x.Sum(SumOptions{}, SumOptions{})
	fails(t, err, InvalidArgument, "one struct")
	_, err = x.Sum(SumOptions{Dim: []int{7}})
	fails(t, err, OutOfRange)
	_, err = MseLoss(x, x, MseLossOptions{Reduction: "me\x00an"})
	fails(t, err, InvalidArgument, "NUL")
	_, err = MseLoss(x, x, MseLossOptions{Reduction: strings.Repeat("long", 100)})
	fails(t, err, InvalidArgument, "longlong")
	_, err = Cat(nil)
	fails(t, err, InvalidArgument)
	_, err = Cat([]*Tensor{x, nil})
	fails(t, err, InvalidArgument)
	_, err = LoadStateDict("/nothing/here")
	fails(t, err, NotFound, "/nothing/here")
	equal(t, (*Tensor)(nil).Shape(), nil)
	equal(t, (*Tensor)(nil).String(), "<nil>")
	equal(t, DType(99).String(), "undefined")

	// What is closed is refused everywhere, also where none would be allowed.
	closedTensor := must(x.Clone())
	check(t, closedTensor.Close())
	check(t, closedTensor.Close())
	_, err = x.Add(closedTensor)
	if !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	_, err = Linear(x, x, LinearOptions{Bias: closedTensor})
	if !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	_, err = Cat([]*Tensor{x, closedTensor})
	if !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	_, err = closedTensor.Item()
	if !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	equal(t, closedTensor.Shape(), nil)
	var nobody *Module
	_, err = nobody.Forward(x)
	fails(t, err, InvalidArgument)
	check(t, nobody.Close())
	fails(t, nobody.Train(), InvalidArgument)
}

func TestTable(t *testing.T) {
	if n := len(Operators()); n < 500 {
		t.Fatal(n)
	}
	equal(t, must(OperatorSchema("mul")), "mul(Tensor self, Tensor other) -> Tensor")
	_, err := OperatorSchema("no_such")
	fails(t, err, NotFound, "no_such")
	if s := must(DispatcherDump("mul")); !strings.Contains(s, "CPU") {
		t.Fatal(s)
	}
	x := must(FromSlice([]float32{1, 2, 3, 4}, 2, 2))
	got := must(CallOperator("add", []any{x, x}, map[string]any{"alpha": 2.5}))
	equal(t, must(ToSlice[float32](got[0].(*Tensor))), []float32{3.5, 7, 10.5, 14})
	got = must(CallOperator("max.dim", []any{x, 1}, map[string]any{"keepdim": true}))
	equal(t, got[1].(*Tensor).Shape(), []int{2, 1})
	got = must(CallOperator("cat", []any{[]*Tensor{x, x}, 1}, nil))
	equal(t, got[0].(*Tensor).Shape(), []int{2, 4})
	got = must(CallOperator("unbind", []any{x}, nil))
	equal(t, len(got[0].([]*Tensor)), 2)
	equal(t, must(CallOperator("equal", []any{x, x}, nil))[0], any(true))
	got = must(CallOperator("zeros", []any{[]int{2}}, map[string]any{"dtype": Float64, "device": CPU}))
	equal(t, got[0].(*Tensor).DType(), Float64)
	got = must(CallOperator("mse_loss", []any{x, x, "none"}, nil))
	equal(t, got[0].(*Tensor).Shape(), []int{2, 2})
	_, err = CallOperator("add", []any{x, "text"}, nil)
	fails(t, err, InvalidArgument)
	_, err = CallOperator("add", []any{struct{}{}}, nil)
	fails(t, err, InvalidArgument)
	_, err = CallOperator("add", nil, map[string]any{"speed": 1})
	fails(t, err, InvalidArgument)
	y := must(Ones([]int{4}))
	check(t, y.SetData(must(Zeros([]int{3}))))
	equal(t, y.Shape(), []int{3})
	check(t, y.SetRequiresGrad(true))
	z := must(y.Neg())
	check(t, z.DetachInPlace())
	equal(t, z.RequiresGrad(), false)
}

func TestString(t *testing.T) {
	equal(t, must(FromSlice([]float32{1, 2.5})).String(), "tensor([1.0000, 2.5000])")
	equal(t, fmt.Sprint(must(NewReLU())), "ReLU()")
	if !strings.Contains(must(BuildInfo()), Version()) {
		t.Fatal(must(BuildInfo()))
	}
}

func TestStructs(t *testing.T) {
	offsets := capi.FieldOffsets()
	for i := 0; i < len(offsets); i += 2 {
		equal(t, offsets[i], offsets[i+1])
	}
}

// No path through SWIG's code panics.
func TestNoPanicInWrapper(t *testing.T) {
	text, err := os.ReadFile("internal/capi/capi.go")
	check(t, err)
	for _, word := range []string{"panic", "No match for"} {
		if strings.Contains(string(text), word) {
			t.Errorf("capi.go contains %q", word)
		}
	}
}

func TestThreads(t *testing.T) {
	x := must(FromSlice(make([]float32, 1000)))
	var wait sync.WaitGroup
	for g := 0; g < 8; g++ {
		wait.Add(1)
		go func(g int) {
			defer wait.Done()
			for i := 0; i < 200; i++ {
				y, err := x.AddScalar(g)
				if err != nil {
					t.Error(err)
					return
				}
				z, err := y.Mul(x)
				if err != nil {
					t.Error(err)
					return
				}
				y.Close()
				z.Close()
			}
		}(g)
	}
	wait.Wait()
	// Closing while others use it: each call succeeds or is refused.
	for i := 0; i < 200; i++ {
		for _, n := range []int{4, 5000} {
			shared := must(FromSlice(make([]float32, n)))
			for g := 0; g < 4; g++ {
				wait.Add(1)
				go func(g int) {
					defer wait.Done()
					if g == 2 {
						shared.Close()
					}
					y, err := shared.AddScalar(1)
					if err != nil && !errors.Is(err, ErrClosed) {
						t.Error(err)
					}
					y.Close()
				}(g)
			}
			wait.Wait()
		}
	}
}

func TestLog(t *testing.T) {
	var mutex sync.Mutex
	var lines []string
	check(t, SetLog(func(level LogLevel, message string) {
		mutex.Lock()
		defer mutex.Unlock()
		lines = append(lines, message)
	}))
	check(t, SetLogLevel(LogDebug))
	check(t, SetNumThreads(NumThreads()))
	check(t, EmptyMemoryCache(CPU))
	x := must(Rand([]int{64, 64}))
	must(x.Matmul(x))
	check(t, SetLogLevel(LogWarning))
	check(t, SetLog(nil))
	fails(t, SetLogLevel(99), InvalidArgument)
	fails(t, SetNumThreads(0), InvalidArgument)
	fails(t, SetNumThreads(1<<40), InvalidArgument)
}
