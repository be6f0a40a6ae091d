package tensorrt

import (
	"math"
	"unsafe"

	"tensorrt/internal/capi"
)

// Operators are the names of the operator table, with overloads ("add.Scalar"), sorted.
func Operators() []string {
	names := make([]string, capi.Trt_op_count())
	for i := range names {
		names[i] = capi.Trt_op_name(i)
	}
	return names
}

// OperatorSchema is the signature of an operator in PyTorch's grammar.
func OperatorSchema(name string) (string, error) {
	if err := checkText("OperatorSchema", name); err != nil {
		return "", err
	}
	return textOf(func(out unsafe.Pointer) error { return statusError(capi.Trt_op_schema(name, out)) })
}

// DispatcherDump is the dispatch table of an operator, one line a key.
func DispatcherDump(name string) (string, error) {
	if err := checkText("DispatcherDump", name); err != nil {
		return "", err
	}
	return textOf(func(out unsafe.Pointer) error { return statusError(capi.Trt_dispatcher_dump(name, out)) })
}

// boxed is the arguments of a CallOperator on their way to C.
type boxed struct {
	kinds  []int
	words  []uint64
	counts []int
	memory []uintptr // of C, freed after the call
	leave  []func()
}

func (b *boxed) free() {
	for _, p := range b.memory {
		capi.Free(p)
	}
	for _, f := range b.leave {
		f()
	}
}

func (b *boxed) put(kind int, word uint64, count int) {
	b.kinds, b.words, b.counts = append(b.kinds, kind), append(b.words, word), append(b.counts, count)
}

func (b *boxed) list(kind int, words []uint64) error {
	p := capi.Malloc(8 * len(words))
	if p == 0 {
		return &Error{Code: OutOfMemory, Op: "CallOperator", Message: "CallOperator: no memory"}
	}
	b.memory = append(b.memory, p)
	copy(unsafe.Slice(*(**uint64)(unsafe.Pointer(&p)), len(words)), words)
	b.put(kind, uint64(p), len(words))
	return nil
}

func (b *boxed) tensor(t *Tensor) (uint64, error) {
	h := t.enter()
	if h == 0 && t != nil {
		return 0, closed("CallOperator", "tensor")
	}
	b.leave = append(b.leave, func() { t.exit(h) })
	return uint64(h), nil
}

func (b *boxed) add(v any) error {
	switch v := v.(type) {
	case nil:
		b.put(0, 0, 0)
	case *Tensor:
		h, err := b.tensor(v)
		if err != nil {
			return err
		}
		if h == 0 {
			b.put(0, 0, 0)
		} else {
			b.put(1, h, 0)
		}
	case DType:
		b.put(6, uint64(v.c()), 0)
	case Device:
		c := v.c()
		kind, index := capi.DeviceParts(c)
		b.put(7, uint64(uint32(kind))|uint64(uint32(index))<<32, 0)
	case string:
		if err := checkText("CallOperator", v); err != nil {
			return err
		}
		p := capi.CString(v)
		b.memory = append(b.memory, p)
		b.put(5, uint64(p), 0)
	case *Generator:
		h := v.enter()
		if h == 0 && v != nil {
			return closed("CallOperator", "generator")
		}
		b.leave = append(b.leave, func() { v.exit(h) })
		b.put(8, uint64(h), 0)
	case []*Tensor:
		words := make([]uint64, len(v))
		for i, t := range v {
			var err error
			if words[i], err = b.tensor(t); err != nil {
				return err
			}
		}
		return b.list(9, words)
	case []int:
		words := make([]uint64, len(v))
		for i, n := range v {
			words[i] = uint64(n)
		}
		return b.list(10, words)
	case []float64:
		words := make([]uint64, len(v))
		for i, n := range v {
			words[i] = math.Float64bits(n)
		}
		return b.list(11, words)
	default:
		s, err := number("CallOperator", v)
		if err != nil {
			return err
		}
		kind, bits := capi.Unpack(s)
		if kind == 3 {
			return invalid("CallOperator", "complex numbers cannot be passed by an operator's name")
		}
		b.put([]int{2, 3, 4}[kind], bits, 0)
	}
	return nil
}

// CallOperator calls an operator by its name in the table, for hosts that know it only at run time. `args` fill the schema's arguments from the left, `named` the
// others; missing ones take their defaults. An argument is nil, a *Tensor, bool, number, string, DType, Device, *Generator, []*Tensor, []int or
// []float64; a result is nil, a *Tensor, []*Tensor, bool, int or float64.
func CallOperator(name string, args []any, named map[string]any) ([]any, error) {
	var b boxed
	defer b.free()
	if err := checkText("CallOperator", name); err != nil {
		return nil, err
	}
	names := make([]uintptr, 0, len(args)+len(named))
	for _, v := range args {
		if err := b.add(v); err != nil {
			return nil, err
		}
		names = append(names, 0)
	}
	for k, v := range named {
		if err := checkText("CallOperator", k); err != nil {
			return nil, err
		}
		if err := b.add(v); err != nil {
			return nil, err
		}
		p := capi.CString(k)
		b.memory = append(b.memory, p)
		names = append(names, p)
	}
	values, status := capi.CallOperator(name, b.kinds, b.words, b.counts, names)
	if status != 0 {
		return nil, statusError(status)
	}
	defer values.Release()
	results := make([]any, values.Len())
	for i := range results {
		kind, word, count := values.Get(i)
		switch kind {
		case 1:
			results[i] = adopt(values.Tensor(i, 0) | wordSpecial)
		case 2:
			results[i] = word != 0
		case 3:
			results[i] = int(word)
		case 4:
			results[i] = math.Float64frombits(word)
		case 9:
			tensors := make([]*Tensor, count)
			for j := range tensors {
				tensors[j] = adopt(values.Tensor(i, j) | wordSpecial)
			}
			results[i] = tensors
		}
	}
	return results, nil
}
