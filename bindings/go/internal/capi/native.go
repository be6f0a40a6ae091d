package capi

/*
#include "trtgo.h"
*/
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// Null stands for a text that is not given.
const Null = "\x00"

// Scalar is a trt_scalar.
type Scalar = C.trt_scalar

// Device is a trt_device.
type Device = C.trt_device

func scalar(kind C.int32_t, bits uint64) Scalar {
	var s Scalar
	s.kind = kind
	*(*uint64)(unsafe.Pointer(&s.value)) = bits
	return s
}

// Int is a whole number.
func Int(v int64) Scalar { return scalar(C.TRT_SCALAR_INT, uint64(v)) }

// Double is a floating-point number.
func Double(v float64) Scalar { return scalar(C.TRT_SCALAR_DOUBLE, *(*uint64)(unsafe.Pointer(&v))) }

// Bool is a truth value.
func Bool(v bool) Scalar {
	if v {
		return scalar(C.TRT_SCALAR_BOOL, 1)
	}
	return scalar(C.TRT_SCALAR_BOOL, 0)
}

// Complex is a complex number.
func Complex(v complex128) Scalar {
	var s Scalar
	s.kind = C.TRT_SCALAR_COMPLEX
	*(*complex128)(unsafe.Pointer(&s.value)) = v
	return s
}

// Unpack gives the kind (0 bool, 1 int, 2 double, 3 complex) and the bits of a Scalar, of a complex one those of the real part.
func Unpack(s Scalar) (int, uint64) { return int(s.kind), *(*uint64)(unsafe.Pointer(&s.value)) }

// UnpackComplex gives the value of a complex Scalar.
func UnpackComplex(s Scalar) complex128 { return *(*complex128)(unsafe.Pointer(&s.value)) }

// MakeDevice makes a Device.
func MakeDevice(kind, index int32) Device {
	return Device{_type: C.int32_t(kind), index: C.int32_t(index)}
}

// DeviceParts gives type and index.
func DeviceParts(d Device) (kind, index int32) { return int32(d._type), int32(d.index) }

func word(s *C.trt_status) uintptr { return uintptr(unsafe.Pointer(s)) }

func tensor(h uintptr) *C.trt_tensor { return *(**C.trt_tensor)(unsafe.Pointer(&h)) }

func handles(h []uintptr) *C.uintptr_t {
	if len(h) == 0 {
		return nil
	}
	return (*C.uintptr_t)(unsafe.Pointer(&h[0]))
}

func ints(v []int) *C.int64_t {
	if len(v) == 0 {
		return nil
	}
	return (*C.int64_t)(unsafe.Pointer(&v[0]))
}

// Release releases tensors.
func Release(h []uintptr) {
	if len(h) > 0 {
		C.trtgo_release(handles(h), C.size_t(len(h)))
	}
}

// Describe replaces handles by the words that a call would return for them.
func Describe(h []uintptr) {
	if len(h) > 0 {
		C.trtgo_describe(handles(h), C.size_t(len(h)))
	}
}

// Retain gives another handle to a tensor.
func Retain(h uintptr) uintptr { return uintptr(C.trtgo_retain(C.uintptr_t(h))) }

// RetainModule gives another handle to a module.
func RetainModule(h uintptr) uintptr { return uintptr(C.trtgo_retain_module(C.uintptr_t(h))) }

// TakeList gives the words of a list's tensors and releases the list.
func TakeList(list uintptr) []uintptr {
	words := make([]uintptr, int(C.trtgo_list_size(C.uintptr_t(list))))
	C.trtgo_list_take(C.uintptr_t(list), handles(words))
	return words
}

// borrowed copies a text of C; "" for NULL.
func borrowed(p uintptr) string { return C.GoString(*(**C.char)(unsafe.Pointer(&p))) }

// TakeString gives the text that the library made and frees it; whether there is one.
func TakeString(p uintptr) (string, bool) {
	if p == 0 {
		return "", false
	}
	s := *(**C.char)(unsafe.Pointer(&p))
	defer C.trt_string_release(s)
	return C.GoString(s), true
}

// Shape gives sizes (0) or strides (1) of a tensor.
func Shape(h uintptr, what int) []int {
	var few [8]int
	n := int(C.trtgo_shape(C.uintptr_t(h), C.int(what), (*C.int64_t)(unsafe.Pointer(&few[0])), 8))
	v := make([]int, n)
	if n <= 8 {
		copy(v, few[:n])
	} else {
		C.trtgo_shape(C.uintptr_t(h), C.int(what), ints(v), C.int64_t(n))
	}
	return v
}

// FileSizes gives the sizes of a tensor in a safetensors file.
func FileSizes(h uintptr, index int) []int {
	v := make([]int, Trt_safetensors_ndim(h, index))
	C.trtgo_file_sizes(C.uintptr_t(h), C.size_t(index), ints(v))
	return v
}

// SetScope sets the scope of this thread and gives the one before.
func SetScope(number uintptr) uintptr { return uintptr(C.trtgo_set_scope(C.uintptr_t(number))) }

// NewStatus makes the status of an error of Go, which carries a value.
func NewStatus(code int, message string, value any) uintptr {
	var p *C.char
	if len(message) > 0 {
		b := []byte(message)
		p = (*C.char)(unsafe.Pointer(&b[0]))
	}
	return word(C.trtgo_status(C.int(code), p, C.size_t(len(message)), C.uintptr_t(cgo.NewHandle(carried{value}))))
}

// carried is what the handle in a status stands for.
type carried struct{ value any }

// StatusValue is what NewStatus put into a status; nil for others.
func StatusValue(status uintptr) any {
	h := cgo.Handle(C.trtgo_status_handle(C.uintptr_t(status)))
	if h == 0 {
		return nil
	}
	return h.Value().(carried).value
}

// FromData copies a slice's elements, the first of which is *data, into a new tensor.
func FromData(data unsafe.Pointer, sizes []int, dtype int) uintptr {
	return uintptr(C.trtgo_tensor_from_data(data, ints(sizes), C.size_t(len(sizes)), C.int(dtype)))
}

// Malloc takes memory of C, cleared; 0 when there is none.
func Malloc(bytes int) uintptr { return uintptr(C.trtgo_malloc(C.size_t(bytes))) }

// Free gives it back.
func Free(p uintptr) { C.trtgo_free(C.uintptr_t(p)) }

// FromMalloc makes a tensor of memory from Malloc, which then belongs to it.
func FromMalloc(p uintptr, sizes []int, dtype int) uintptr {
	return uintptr(C.trtgo_tensor_from_malloc(C.uintptr_t(p), ints(sizes), C.size_t(len(sizes)), C.int(dtype)))
}

// CopyToHost copies all elements to *data.
func CopyToHost(h uintptr, data unsafe.Pointer, dtype, count int) uintptr {
	return word(C.trt_tensor_copy_to_host(tensor(h), data, C.trt_dtype(dtype), C.int64_t(count)))
}

// Data is the address of the first element.
func Data(h uintptr) unsafe.Pointer { return C.trt_tensor_data(tensor(h)) }

// Grad is trt_grad; out holds a handle for each input.
func Grad(outputs, inputs, grads []uintptr, retain, create, unused bool, out []uintptr) uintptr {
	return word(C.trtgo_grad(handles(outputs), C.size_t(len(outputs)), handles(inputs), C.size_t(len(inputs)), handles(grads), C.size_t(len(grads)),
		C.bool(retain), C.bool(create), C.bool(unused), handles(out)))
}

// Texts are C strings for one call.
type Texts struct{ p []uintptr }

// NewTexts copies texts.
func NewTexts(texts []string) Texts {
	p := make([]uintptr, len(texts))
	for i, s := range texts {
		p[i] = uintptr(unsafe.Pointer(C.CString(s)))
	}
	return Texts{p}
}

// Free frees the copies.
func (t Texts) Free() {
	for _, p := range t.p {
		Free(p)
	}
}

// CString makes a text of C, which Free frees.
func CString(s string) uintptr { return uintptr(unsafe.Pointer(C.CString(s))) }

// Values are the results of CallOperator.
type Values struct {
	p *C.trt_value
	n C.size_t
}

// CallOperator is trt_op_call: of each argument the kind, the word that it is or points to, and the count; `names` are texts of C or 0.
func CallOperator(name string, kinds []int, words []uint64, counts []int, names []uintptr) (v Values, status uintptr) {
	p := CString(name)
	defer Free(p)
	var w *C.uint64_t
	if len(words) > 0 {
		w = (*C.uint64_t)(unsafe.Pointer(&words[0]))
	}
	var r C.trtgo_values
	status = word(C.trtgo_op_call(C.uintptr_t(p), ints(kinds), w, ints(counts), handles(names), C.size_t(len(kinds)), &r))
	return Values{r.values, r.count}, status
}

// Release releases them.
func (v Values) Release() { C.trt_values_release(v.p, v.n) }

// Len is the number of results.
func (v Values) Len() int { return int(v.n) }

// Get gives kind, word and count of a result.
func (v Values) Get(i int) (kind int, word uint64, count int) {
	at := unsafe.Slice(v.p, int(v.n))[i]
	return int(at.kind), *(*uint64)(unsafe.Pointer(&at.v)), int(at.count)
}

// Tensor is the word of a tensor, or of element j of a list: a new handle.
func (v Values) Tensor(i, j int) uintptr {
	return uintptr(C.trtgo_value_tensor(v.p, C.size_t(i), C.size_t(j)))
}

// StateDictSave is trt_state_dict_save.
func StateDictSave(dict uintptr, path string, keys, values Texts) uintptr {
	p := C.CString(path)
	defer C.trtgo_free(C.uintptr_t(uintptr(unsafe.Pointer(p))))
	return word(C.trtgo_state_dict_save(C.uintptr_t(dict), p, handles(keys.p), handles(values.p), C.size_t(len(keys.p))))
}

// AddGroup is trt_optimizer_add_group.
func AddGroup(optimizer uintptr, params []uintptr, names Texts, values []float64) uintptr {
	var v *C.double
	if len(values) > 0 {
		v = (*C.double)(unsafe.Pointer(&values[0]))
	}
	return word(C.trtgo_optimizer_add_group(C.uintptr_t(optimizer), handles(params), C.size_t(len(params)), handles(names.p), v, C.size_t(len(values))))
}

// --- callbacks ---

// The kinds of a Call.
const (
	Hook     = int(C.TRTGO_HOOK)
	Backward = int(C.TRTGO_BACKWARD)
	Forward  = int(C.TRTGO_FORWARD)
	Visit    = int(C.TRTGO_VISIT)
	Get      = int(C.TRTGO_GET)
	Map      = int(C.TRTGO_MAP)
	LR       = int(C.TRTGO_LR)
	Log      = int(C.TRTGO_LOG)

	ModuleHook = int(C.TRTGO_MODULE_HOOK)
)

// Call is what the library asks of Go. In and Out are memory of C, valid during the call.
type Call struct {
	Kind    int
	In      []uintptr // handles, borrowed
	Out     []uintptr // handles, the library's
	Index   int       // of a sample; the epoch; the log level
	Group   int       // of an optimizer
	Factor  float64   // of a learning rate: the result
	Module  uintptr   // borrowed
	Message string
}

// Dispatch is set by the facade: it calls the Go value of a handle and returns a status. It must not panic.
var Dispatch func(value any, c *Call) uintptr

//export trtgoCallback
func trtgoCallback(c *C.trtgo_call) C.uintptr_t {
	handle := cgo.Handle(c.handle)
	if c.kind == C.TRTGO_DESTROY {
		if d, ok := handle.Value().(interface{ Destroy() }); ok {
			d.Destroy()
		}
		handle.Delete()
		return 0
	}
	call := Call{Kind: int(c.kind), Index: int(c.index), Group: int(c.group), Module: uintptr(c.module)}
	if c.in != nil {
		call.In = unsafe.Slice((*uintptr)(unsafe.Pointer(c.in)), int(c.in_count))
	}
	if c.out != nil {
		call.Out = unsafe.Slice((*uintptr)(unsafe.Pointer(c.out)), int(c.out_count))
	}
	if c.message != nil {
		call.Message = C.GoString(c.message)
	}
	status := Dispatch(handle.Value(), &call)
	c.factor = C.double(call.Factor)
	return C.uintptr_t(status)
}

// SetLogCallback is trt_set_log_callback; nil switches it off.
func SetLogCallback(value any) uintptr {
	var h cgo.Handle
	if value != nil {
		h = cgo.NewHandle(value)
	}
	return word(C.trtgo_set_log_callback(C.uintptr_t(h)))
}

// AddHook is trt_tensor_add_hook.
func AddHook(h uintptr, value any, id *uint64) uintptr {
	return word(C.trtgo_tensor_add_hook(C.uintptr_t(h), C.uintptr_t(cgo.NewHandle(value)), (*C.uint64_t)(id)))
}

// AddModuleHook is trt_module_add_forward_pre_hook, or trt_module_add_forward_hook.
func AddModuleHook(module uintptr, before bool, value any, id *uint64) uintptr {
	return word(C.trtgo_module_add_hook(C.uintptr_t(module), C.bool(before), C.uintptr_t(cgo.NewHandle(value)), (*C.uint64_t)(id)))
}

// Apply is trt_module_apply.
func Apply(module uintptr, value any) uintptr {
	return word(C.trtgo_module_apply(C.uintptr_t(module), C.uintptr_t(cgo.NewHandle(value))))
}

// CustomModule is trt_custom_module_create.
func CustomModule(name string, value any, out *uintptr) uintptr {
	p := C.CString(name)
	defer C.trtgo_free(C.uintptr_t(uintptr(unsafe.Pointer(p))))
	return word(C.trtgo_custom_module_create(p, C.uintptr_t(cgo.NewHandle(value)), (*C.uintptr_t)(unsafe.Pointer(out))))
}

// DatasetFromCallback is trt_dataset_from_callback.
func DatasetFromCallback(size, fields int, value any, out *uintptr) uintptr {
	return word(C.trtgo_dataset_from_callback(C.int64_t(size), C.size_t(fields), C.uintptr_t(cgo.NewHandle(value)), (*C.uintptr_t)(unsafe.Pointer(out))))
}

// DatasetMap is trt_dataset_map.
func DatasetMap(dataset uintptr, fields int, value any, out *uintptr) uintptr {
	return word(C.trtgo_dataset_map(C.uintptr_t(dataset), C.size_t(fields), C.uintptr_t(cgo.NewHandle(value)), (*C.uintptr_t)(unsafe.Pointer(out))))
}

// LambdaLR is trt_lambda_lr_create.
func LambdaLR(optimizer uintptr, value any, out *uintptr) uintptr {
	return word(C.trtgo_lambda_lr_create(C.uintptr_t(optimizer), C.uintptr_t(cgo.NewHandle(value)), (*C.uintptr_t)(unsafe.Pointer(out))))
}

// CustomFunction is trt_custom_function; out holds a handle for each output.
func CustomFunction(name string, inputs, outputs []uintptr, value any, out []uintptr) uintptr {
	p := C.CString(name)
	defer C.trtgo_free(C.uintptr_t(uintptr(unsafe.Pointer(p))))
	return word(C.trtgo_custom_function(p, handles(inputs), C.size_t(len(inputs)), handles(outputs), C.size_t(len(outputs)), C.uintptr_t(cgo.NewHandle(value)), handles(out)))
}
