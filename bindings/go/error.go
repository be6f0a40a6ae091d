package tensorrt

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"tensorrt/internal/capi"
)

// Code is the kind of an Error. A code is an error itself, so that errors.Is(err, OutOfMemory) asks for it.
type Code int

// The codes of the library.
const (
	InvalidArgument    Code = 1  // wrong shape, rank, dtype, device, option value, or none where one is needed
	OutOfRange         Code = 2  // an index or dimension outside its range
	OutOfMemory        Code = 3  // the system or the limit refused memory
	NotSupported       Code = 4  // no kernel for this dtype or device
	NotFound           Code = 5  // no such operator, file, key or plug-in
	IO                 Code = 6  // reading or writing failed
	DataError          Code = 7  // a file's content is not what its format demands
	FailedPrecondition Code = 8  // the object's state forbids the call
	Cancelled          Code = 9  // cancelled
	CallbackError      Code = 10 // a function of the host failed
	Internal           Code = 11 // a fault of the library
	Unavailable        Code = 12 // a thread, library or plug-in cannot be had now
	EndOfData          Code = 13 // an iterator has no further item
)

// String is the code's name, "INVALID_ARGUMENT".
func (c Code) String() string { return capi.Trt_code_name(int(c)) }

// Error is the code's name.
func (c Code) Error() string { return c.String() }

// Error is an error of the library.
type Error struct {
	Code    Code
	Op      string // the operator or function that failed; "" where none applies
	Message string // names operator, shapes and dtypes
	cause   error
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// Unwrap gives ErrClosed where a closed object was used.
func (e *Error) Unwrap() error { return e.cause }

// Is tells whether target is the code of the error.
func (e *Error) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == e.Code
}

// ErrClosed is wrapped by the error of a call that was given a closed object.
var ErrClosed = errors.New("the object is closed")

// PanicError is the error of a Go function that panicked when the library called it.
type PanicError struct {
	Value any
	Stack []byte
}

// Error tells what the panic was.
func (e *PanicError) Error() string { return fmt.Sprintf("panic in a callback: %v", e.Value) }

// Unwrap gives the panic's value where it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// protect runs f and turns a panic into an error.
func protect(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{v, debug.Stack()}
		}
	}()
	return f()
}

func invalid(op, format string, args ...any) error {
	return &Error{Code: InvalidArgument, Op: op, Message: op + ": " + fmt.Sprintf(format, args...)}
}

func tooManyOptions(op string) error { return invalid(op, "at most one struct of options is taken") }

func closed(op, what string) error {
	return &Error{Code: FailedPrecondition, Op: op, Message: op + ": a closed " + what + " was given", cause: ErrClosed}
}

// closedArgument stands for the status of a call that was not made because an argument is closed.
const closedArgument = ^uintptr(0)

// failure makes the error of a status, which it releases. The tensors are the call's: a closed one went in as NULL.
func failure(status uintptr, op string, tensors ...*Tensor) error {
	if status == closedArgument&^1 {
		return closed(op, "object")
	}
	for _, t := range tensors {
		if t.Closed() {
			capi.Trt_status_release(status)
			return closed(op, "tensor")
		}
	}
	return statusError(status)
}

// statusError is failure without arguments; nil for 0.
func statusError(status uintptr) error {
	if status == 0 {
		return nil
	}
	defer capi.Trt_status_release(status)
	if err, ok := capi.StatusValue(status).(error); ok {
		// Where the library's own error happened was added on its way out of the modules.
		if e, ok := err.(*Error); ok && e.Message != capi.Trt_status_message(status) {
			copied := *e
			copied.Message = capi.Trt_status_message(status)
			return &copied
		}
		return err
	}
	return &Error{Code: Code(capi.Trt_status_code(status)), Op: capi.Trt_status_op(status), Message: capi.Trt_status_message(status)}
}

// statusOf makes the status of an error, which carries the error itself; 0 for nil.
func statusOf(err error) uintptr {
	if err == nil {
		return 0
	}
	code := CallbackError
	var e *Error
	if errors.As(err, &e) && e.Code > 0 {
		code = e.Code
	}
	return capi.NewStatus(int(code), err.Error(), err)
}

// checkText refuses a text that C would cut off.
func checkText(op string, texts ...string) error {
	for _, s := range texts {
		if strings.IndexByte(s, 0) >= 0 {
			return invalid(op, "a text must not contain NUL, got %q", s)
		}
	}
	return nil
}

// optionalText is what the library takes for a text that need not be given.
func optionalText(s string) string {
	if s == "" {
		return capi.Null
	}
	return s
}
