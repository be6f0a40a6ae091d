package tensorrt

import (
	"runtime"

	"tensorrt/internal/capi"
)

func init() { capi.Dispatch = dispatch }

// dispatch runs the Go function of a callback. Whatever goes wrong becomes a status.
func dispatch(value any, c *capi.Call) uintptr {
	return statusOf(protect(func() error {
		in := make([]*Tensor, len(c.In))
		for i, h := range c.In {
			if h != 0 {
				in[i] = adoptRaw(capi.Retain(h))
			}
		}
		// The tensors given are valid during the call.
		defer func() {
			for _, t := range in {
				t.Close()
			}
		}()
		switch f := value.(type) {
		case Hook:
			t, err := f(in[0])
			return giveAll(c, err, t)
		case *backward:
			grads, err := f.function.Backward(f.context, in)
			return giveAll(c, err, grads...)
		case forward:
			t, err := f(in[0])
			return giveAll(c, err, t)
		case ModuleForward:
			m := adoptModule(capi.RetainModule(c.Module))
			defer m.Close()
			t, err := f(m, in[0])
			return giveAll(c, err, t)
		case ForwardPreHook:
			m := adoptModule(capi.RetainModule(c.Module))
			defer m.Close()
			t, err := f(m, in[0])
			return giveAll(c, err, t)
		case ForwardHook:
			m := adoptModule(capi.RetainModule(c.Module))
			defer m.Close()
			t, err := f(m, in[0], in[1])
			return giveAll(c, err, t)
		case visit:
			m := adoptModule(capi.RetainModule(c.Module))
			defer m.Close()
			return f(m)
		case getSample:
			sample, err := f(c.Index)
			return giveAll(c, err, sample...)
		case MapFunc:
			sample, err := f(in)
			return giveAll(c, err, sample...)
		case LRFunc:
			var err error
			c.Factor, err = f(c.Index, c.Group)
			return err
		case LogFunc:
			f(LogLevel(c.Index), c.Message)
		}
		return nil
	}))
}

// giveAll hands tensors to the library: new handles, so that the host's own stay its own.
func giveAll(c *capi.Call, err error, tensors ...*Tensor) error {
	if err != nil {
		return err
	}
	if len(tensors) != len(c.Out) {
		return invalid("callback", "%d tensors are needed, got %d", len(c.Out), len(tensors))
	}
	return withAll("callback", tensors, func(h []uintptr) error {
		for i := range h {
			if h[i] != 0 {
				c.Out[i] = capi.Retain(h[i])
			}
		}
		return nil
	})
}

// keepAcrossScopes takes a tensor out of the scope that is open here, if any.
func keepAcrossScopes(t *Tensor) *Tensor {
	if t != nil && t.kind == scopeKind {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		number := capi.SetScope(0)
		capi.SetScope(number)
		if number != 0 {
			openScopes[number].Keep(t)
		}
	}
	return t
}
