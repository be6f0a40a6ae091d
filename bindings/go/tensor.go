package tensorrt

import (
	"math"
	"unsafe"

	"tensorrt/internal/capi"
)

// Tensor is a strided, typed view of a storage: a handle to a tensor of the library. Its metadata never changes.
type Tensor struct {
	h     uintptr
	state int32
	kind  uint8
	index uint8 // in its slab
}

// The size of int is that of the library's numbers.
var _ [unsafe.Sizeof(int(0)) - 8]struct{}

// --- dtypes and devices ---

// DType is an element type. The zero value stands for "not given".
type DType int

// The element types.
const (
	NoDType  DType = 0
	UInt8    DType = 1
	Int8     DType = 2
	Int16    DType = 3
	Int32    DType = 4
	Int64    DType = 5
	Float16  DType = 6
	Float32  DType = 7
	Float64  DType = 8
	Bool     DType = 12
	BFloat16 DType = 16

	Complex64  DType = 10
	Complex128 DType = 11
)

// c is the library's number, of which ours is the next.
func (d DType) c() int { return int(d) - 1 }

// String is the dtype's name, "float32".
func (d DType) String() string { return capi.Trt_dtype_name(d.c()) }

// Size is the number of bytes of an element.
func (d DType) Size() int { return capi.Trt_dtype_size(d.c()) }

// Device is where a tensor's elements are. The zero value stands for "not given".
type Device struct{ kind, index int32 }

// The devices.
var (
	CPU  = Device{kind: 1}
	Meta = Device{kind: 3} // shapes and dtypes without data
)

// CUDA is the device of this number.
func CUDA(index int) Device { return Device{kind: 2, index: int32(index)} }

func (d Device) c() capi.Device {
	if d.kind == 0 {
		d = CPU
	}
	return capi.MakeDevice(d.kind-1, d.index)
}

// pointer is NULL where the device is not given.
func (d Device) pointer() unsafe.Pointer {
	if d.kind == 0 {
		return nil
	}
	c := d.c()
	return unsafe.Pointer(&c)
}

// --- arguments ---

// Scalar is a number or bool of any Go type; nil where none is given. As in PyTorch its kind counts in type promotion: an integer keeps
// an integer tensor's dtype, a floating-point number does not.
type Scalar any

func number(op string, v Scalar) (capi.Scalar, error) {
	switch v := v.(type) {
	case int:
		return capi.Int(int64(v)), nil
	case float64:
		return capi.Double(v), nil
	case bool:
		return capi.Bool(v), nil
	case float32:
		return capi.Double(float64(v)), nil
	case complex128:
		return capi.Complex(v), nil
	case complex64:
		return capi.Complex(complex128(v)), nil
	case int64:
		return capi.Int(v), nil
	case int32:
		return capi.Int(int64(v)), nil
	case int16:
		return capi.Int(int64(v)), nil
	case int8:
		return capi.Int(int64(v)), nil
	case uint8:
		return capi.Int(int64(v)), nil
	case uint16:
		return capi.Int(int64(v)), nil
	case uint32:
		return capi.Int(int64(v)), nil
	case uint64:
		if v <= math.MaxInt64 {
			return capi.Int(int64(v)), nil
		}
	case uint:
		if v <= math.MaxInt64 {
			return capi.Int(int64(v)), nil
		}
	}
	return capi.Scalar{}, invalid(op, "a number or bool is needed, got %v (%T)", v, v)
}

// Optional is an argument whose default is not its zero value.
type Optional[T any] struct {
	value T
	given bool
}

// Some gives an Optional argument.
func Some[T any](value T) Optional[T] { return Optional[T]{value, true} }

func (o Optional[T]) or(value T) T {
	if o.given {
		return o.value
	}
	return value
}

// pointer is NULL where nothing is given.
func (o Optional[T]) pointer() unsafe.Pointer {
	if !o.given {
		return nil
	}
	v := o.value
	return unsafe.Pointer(&v)
}

var noElements int64

// requiredList is the first element; NULL for an empty list.
func requiredList[T int | float64](v []T) unsafe.Pointer {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Pointer(&v[0])
}

// optionalList tells an empty list from none, which is NULL.
func optionalList[T int | float64](v []T) unsafe.Pointer {
	if len(v) == 0 && v != nil {
		return unsafe.Pointer(&noElements)
	}
	return requiredList(v)
}

func first(h []uintptr) unsafe.Pointer {
	if len(h) == 0 {
		return nil
	}
	return unsafe.Pointer(&h[0])
}

// enterAll enters every tensor of a list: whether none is closed.
func enterAll(tensors []*Tensor) (h []uintptr, ok bool) {
	h, ok = make([]uintptr, len(tensors)), true
	for i, t := range tensors {
		h[i] = t.enter()
		ok = ok && (h[i] != 0 || t == nil)
	}
	return h, ok
}

func exitAll(tensors []*Tensor, h []uintptr) {
	for i, t := range tensors {
		t.exit(h[i])
	}
}

// with runs f with the handle.
func (t *Tensor) with(op string, f func(h uintptr) error) error {
	h := t.enter()
	if h == 0 {
		if t == nil {
			return invalid(op, "the tensor is nil")
		}
		return closed(op, "tensor")
	}
	defer t.exit(h)
	return f(h)
}

// withAll is with for a list.
func withAll(op string, tensors []*Tensor, f func(h []uintptr) error) error {
	h, ok := enterAll(tensors)
	defer exitAll(tensors, h)
	if !ok {
		return closed(op, "tensor")
	}
	return f(h)
}

// wordResult is what a call's word says.
func wordResult(w uintptr) (*Tensor, error) {
	if w&1 != 0 {
		return nil, statusError(w &^ 1)
	}
	return adopt(w), nil
}

// --- from and to Go ---

// Element is a Go type with a dtype.
type Element interface {
	~uint8 | ~int8 | ~int16 | ~int32 | ~int64 | ~int | ~float32 | ~float64 | ~complex64 | ~complex128 | ~bool
}

// dtypeOf is the dtype of T. An int is an int64.
func dtypeOf[T Element]() DType {
	var zero T
	switch any(zero).(type) {
	case uint8:
		return UInt8
	case int8:
		return Int8
	case int16:
		return Int16
	case int32:
		return Int32
	case int64, int:
		return Int64
	case float32:
		return Float32
	case float64:
		return Float64
	case complex64:
		return Complex64
	case complex128:
		return Complex128
	case bool:
		return Bool
	}
	return namedDType(any(zero), unsafe.Sizeof(zero))
}

// FromSlice makes a contiguous tensor with a copy of data; without a shape it has one dimension.
func FromSlice[T Element](data []T, shape ...int) (*Tensor, error) {
	if len(shape) == 0 {
		shape = []int{len(data)}
	}
	n := 1
	for _, s := range shape {
		if s < 0 || (s > 0 && n > math.MaxInt/s) {
			return nil, invalid("FromSlice", "bad shape %v", shape)
		}
		n *= s
	}
	if n != len(data) {
		return nil, invalid("FromSlice", "the shape %v needs %d elements, got %d", shape, n, len(data))
	}
	var p unsafe.Pointer
	if n > 0 {
		p = unsafe.Pointer(&data[0])
	}
	return wordResult(capi.FromData(p, shape, dtypeOf[T]().c()))
}

// FromScalar makes a 0-d tensor of a number; without a dtype it has the number's own.
func FromScalar(value Scalar, dtype DType) (*Tensor, error) {
	s, err := number("FromScalar", value)
	if err != nil {
		return nil, err
	}
	return wordResult(capi.Trt_tensor_from_scalar(s, dtype.c()))
}

// FromFunc makes a contiguous tensor whose elements fill writes, without copying them: data is the tensor's own memory, zeros at first, and valid
// while fill runs.
func FromFunc[T Element](shape []int, fill func(data []T) error) (*Tensor, error) {
	var zero T
	n := 1
	for _, s := range shape {
		if s < 0 || (s > 0 && n > math.MaxInt/16/s) {
			return nil, invalid("FromFunc", "bad shape %v", shape)
		}
		n *= s
	}
	p := capi.Malloc(n * int(unsafe.Sizeof(zero)))
	if p == 0 {
		return nil, &Error{Code: OutOfMemory, Op: "FromFunc", Message: "FromFunc: no memory"}
	}
	data := unsafe.Slice(*(**T)(unsafe.Pointer(&p)), n)
	if err := protect(func() error { return fill(data) }); err != nil {
		capi.Free(p)
		return nil, err
	}
	return wordResult(capi.FromMalloc(p, shape, dtypeOf[T]().c()))
}

// ToSlice copies all elements, row-major, converted to T.
func ToSlice[T Element](t *Tensor) ([]T, error) {
	var data []T
	err := t.with("ToSlice", func(h uintptr) error {
		data = make([]T, capi.Trt_tensor_numel(h))
		return copyToHost(h, data)
	})
	if err != nil {
		return nil, err
	}
	return data, nil
}

// CopyTo copies all elements, row-major, converted to T, into data, which has as many.
func CopyTo[T Element](t *Tensor, data []T) error {
	return t.with("CopyTo", func(h uintptr) error { return copyToHost(h, data) })
}

func copyToHost[T Element](h uintptr, data []T) error {
	var p unsafe.Pointer
	if len(data) > 0 {
		p = unsafe.Pointer(&data[0])
	}
	return statusError(capi.CopyToHost(h, p, dtypeOf[T]().c(), len(data)))
}

// WithData runs fn with the elements themselves: the memory of a contiguous tensor on the CPU whose dtype is that of T, valid while fn runs. Who
// writes to it goes past autograd.
func WithData[T Element](t *Tensor, fn func(data []T) error) error {
	return t.with("WithData", func(h uintptr) error {
		if d := DType(capi.Trt_tensor_dtype(h) + 1); d != dtypeOf[T]() {
			return invalid("WithData", "the tensor is %v, not %v", d, dtypeOf[T]())
		}
		if !capi.Trt_tensor_is_contiguous(h) {
			return invalid("WithData", "the tensor is not contiguous")
		}
		n, p := capi.Trt_tensor_numel(h), capi.Data(h)
		if n == 0 {
			return fn(nil)
		}
		if p == nil {
			return invalid("WithData", "the tensor has no memory of the host")
		}
		return fn(unsafe.Slice((*T)(p), n))
	})
}

// --- metadata: nil and closed tensors have the zero values ---

func metadata[T any](t *Tensor, f func(h uintptr) T) T {
	h := t.enter()
	if h == 0 {
		var zero T
		return zero
	}
	defer t.exit(h)
	return f(h)
}

// Shape is the list of sizes.
func (t *Tensor) Shape() []int {
	return metadata(t, func(h uintptr) []int { return capi.Shape(h, 0) })
}

// Strides are the steps between elements, in elements.
func (t *Tensor) Strides() []int {
	return metadata(t, func(h uintptr) []int { return capi.Shape(h, 1) })
}

// Dim is the number of dimensions.
func (t *Tensor) Dim() int { return metadata(t, capi.Trt_tensor_ndim) }

// Numel is the number of elements.
func (t *Tensor) Numel() int { return metadata(t, capi.Trt_tensor_numel) }

// Size is the size of a dimension; a negative one counts from the end.
func (t *Tensor) Size(dim int) (int, error) {
	var n int
	err := t.with("Size", func(h uintptr) error { return statusError(capi.Trt_tensor_size(h, dim, unsafe.Pointer(&n))) })
	return n, err
}

// DType is the element type.
func (t *Tensor) DType() DType {
	return metadata(t, func(h uintptr) DType { return DType(capi.Trt_tensor_dtype(h) + 1) })
}

// Device is where the elements are.
func (t *Tensor) Device() Device {
	return metadata(t, func(h uintptr) Device {
		kind, index := capi.DeviceParts(capi.Trt_tensor_device(h))
		return Device{kind + 1, index}
	})
}

// StorageOffset is the place of the first element in its storage, in elements.
func (t *Tensor) StorageOffset() int { return metadata(t, capi.Trt_tensor_storage_offset) }

// IsContiguous tells whether the elements lie row-major without gaps.
func (t *Tensor) IsContiguous() bool { return metadata(t, capi.Trt_tensor_is_contiguous) }

// Version tells how often tensors of the storage were changed in place.
func (t *Tensor) Version() int {
	return metadata(t, func(h uintptr) int { return int(capi.Trt_tensor_version(h)) })
}

// SharesStorage tells whether two tensors have one storage.
func (t *Tensor) SharesStorage(other *Tensor) bool {
	return metadata(t, func(a uintptr) bool {
		return metadata(other, func(b uintptr) bool { return capi.Trt_tensor_shares_storage(a, b) })
	})
}

// Item is the only element of a one-element tensor.
func (t *Tensor) Item() (float64, error) {
	var v float64
	err := t.with("Item", func(h uintptr) error { return statusError(capi.Trt_tensor_item_double(h, unsafe.Pointer(&v))) })
	return v, err
}

// ItemInt is the only element as an integer; a floating-point number is truncated.
func (t *Tensor) ItemInt() (int, error) {
	var v int
	err := t.with("ItemInt", func(h uintptr) error { return statusError(capi.Trt_tensor_item_int(h, unsafe.Pointer(&v))) })
	return v, err
}

// ItemScalar is the only element as a bool, int64, float64 or complex128.
func (t *Tensor) ItemScalar() (Scalar, error) {
	var s capi.Scalar
	if err := t.with("ItemScalar", func(h uintptr) error { return statusError(capi.Trt_tensor_item(h, unsafe.Pointer(&s))) }); err != nil {
		return nil, err
	}
	switch kind, bits := capi.Unpack(s); kind {
	case 0:
		return bits != 0, nil
	case 1:
		return int64(bits), nil
	case 3:
		return capi.UnpackComplex(s), nil
	default:
		return math.Float64frombits(bits), nil
	}
}

// String is the text that Python's print shows: values, shape where they do not tell it, dtype, history.
func (t *Tensor) String() string {
	if t == nil {
		return "<nil>"
	}
	var p uintptr
	if err := t.with("String", func(h uintptr) error { return statusError(capi.Trt_tensor_to_string(h, unsafe.Pointer(&p))) }); err != nil {
		return "<" + err.Error() + ">"
	}
	s, _ := capi.TakeString(p)
	return s
}

// Share gives another handle to the same tensor, to be closed on its own.
func (t *Tensor) Share() (*Tensor, error) {
	var other *Tensor
	err := t.with("Share", func(h uintptr) error {
		other = adoptRaw(capi.Retain(h))
		return nil
	})
	return other, err
}
