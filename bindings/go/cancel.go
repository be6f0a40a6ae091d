package tensorrt

import (
	"context"
	"errors"
	"runtime"
	"unsafe"

	"tensorrt/internal/capi"
)

// WithContext runs fn on its thread, in which the library gives up once ctx is done, at the next point where nothing is half done: before an operator,
// between the nodes of a backward pass (which has changed no gradient then), while it waits for a batch (which comes next time). Goroutines that fn
// starts are not affected.
//
// The error of such a call matches Cancelled. When fn returns it, or one that wraps it, WithContext returns one that also matches the error of ctx:
//
//	err := tensorrt.WithContext(ctx, func() error { return loss.Backward() })
//	if errors.Is(err, context.DeadlineExceeded) { ... }
func WithContext(ctx context.Context, fn func() error) error {
	if ctx == nil {
		return invalid("WithContext", "the context is nil")
	}
	if ctx.Done() == nil {
		return fn()
	}
	var h uintptr
	if err := statusError(capi.Trt_cancel_token_create(unsafe.Pointer(&h))); err != nil {
		return err
	}
	if ctx.Err() != nil {
		capi.Trt_cancel_token_cancel(h)
	}
	ended, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ctx.Done():
			capi.Trt_cancel_token_cancel(h)
		case <-ended:
		}
	}()
	runtime.LockOSThread()
	before := capi.Trt_cancel_token_set_current(h)
	defer func() {
		capi.Trt_cancel_token_set_current(before)
		runtime.UnlockOSThread()
		close(ended)
		<-watched
		capi.Trt_cancel_token_release(h)
	}()
	err := fn()
	if errors.Is(err, Cancelled) && capi.Trt_cancel_token_is_cancelled(h) {
		return &contextError{err, ctx.Err()}
	}
	return err
}

// contextError is an error of the library that came of a context.
type contextError struct{ err, cause error }

func (e *contextError) Error() string { return e.err.Error() + ": " + e.cause.Error() }

// Unwrap gives the library's error.
func (e *contextError) Unwrap() error { return e.err }

// Is matches the context's error, too.
func (e *contextError) Is(target error) bool { return errors.Is(e.cause, target) }
