package tensorrt

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"tensorrt/internal/capi"
)

// Note [Ownership]
// A Tensor owns one handle. `state` counts the calls that use it now, and has closedBit once Close was called. Who finds both, closed and not used, sets
// droppedBit and by that alone owns the handle. Tensors come in three kinds:
//   - Small ones without a graph live in slabs of slabSize: one allocation and one finalizer for all of them, which makes a call cheap. Closed ones
//     are released reapEvery at a time. So a small tensor that lives long keeps at most slabSize-1 others (of at most 256 bytes each).
//   - Others have a finalizer of their own and are released at once.
//   - In a scope the scope holds the tensor and closes it; there is no finalizer.
// No Tensor has a pointer, so the collector need not look into them.

const (
	closedBit  = 1 << 30
	droppedBit = 1 << 29
	slabSize   = 64
	reapEvery  = 16

	// What a small tensor costs natively, headers and data.
	smallBytes = 512
)

// The kinds of a Tensor.
const (
	ownKind = iota
	slabKind
	scopeKind
)

// The parts of the word that a call returns; see trtgo_result in trtgo.h.
const (
	wordSpecial    = 2
	wordHandle     = 1<<48 - 8
	wordClassShift = 48
	wordClassMask  = 63
	wordScopeShift = 54
	wordOutOfSlabs = wordSpecial | (1<<10-1)<<wordScopeShift
)

type slab struct {
	tensors [slabSize]Tensor
	used    int
	dropped uint64 // the tensors that are to be released
}

var slabs = sync.Pool{New: func() any {
	s := new(slab)
	runtime.SetFinalizer(s, (*slab).finalize)
	made(slabSize * smallBytes)
	return s
}}

// slab is where a tensor of slabKind is.
func (t *Tensor) slab() *slab {
	return (*slab)(unsafe.Add(unsafe.Pointer(t), -int(t.index)*int(unsafe.Sizeof(Tensor{}))))
}

// adopt makes the Tensor of a call's word, which is none of an error; nil for 0.
func adopt(word uintptr) *Tensor {
	if word&wordOutOfSlabs != 0 || word == 0 {
		return adoptOther(word)
	}
	s := slabs.Get().(*slab)
	t := &s.tensors[s.used]
	t.h, t.kind, t.index = word&wordHandle, slabKind, uint8(s.used)
	s.used++
	if s.used < slabSize {
		slabs.Put(s)
	}
	return t
}

func adoptOther(word uintptr) *Tensor {
	if word == 0 {
		return nil
	}
	t := &Tensor{h: word & wordHandle}
	if number := word >> wordScopeShift; number != 0 {
		openScopes[number].hold(t)
		return t
	}
	runtime.SetFinalizer(t, (*Tensor).finalize)
	made(smallBytes + 1<<(word>>wordClassShift&wordClassMask))
	return t
}

// adoptRaw makes the Tensor of a handle that did not come as a word.
func adoptRaw(handle uintptr) *Tensor {
	word := [1]uintptr{handle}
	capi.Describe(word[:])
	return adopt(word[0])
}

// adoptList takes a trt_tensor_list apart and releases it.
func adoptList(list uintptr) []*Tensor {
	words := capi.TakeList(list)
	tensors := make([]*Tensor, len(words))
	for i, w := range words {
		if w != 0 {
			w |= wordSpecial // often views
		}
		tensors[i] = adopt(w)
	}
	return tensors
}

// enter gives the handle for a call, 0 when there is none to give. The call must be followed by exit.
func (t *Tensor) enter() uintptr {
	if t == nil {
		return 0
	}
	if atomic.AddInt32(&t.state, 1) >= closedBit {
		return t.refuse()
	}
	return t.h
}

func (t *Tensor) refuse() uintptr {
	t.leave()
	return 0
}

// exit ends what enter began.
func (t *Tensor) exit(h uintptr) {
	if h != 0 {
		t.leave()
	}
}

func (t *Tensor) leave() {
	if atomic.AddInt32(&t.state, -1) == closedBit {
		t.dropUnused()
	}
}

func (t *Tensor) dropUnused() {
	if atomic.CompareAndSwapInt32(&t.state, closedBit, closedBit|droppedBit) {
		t.drop()
	}
}

// closeState marks an object as closed: whether the caller now owns its handle.
func closeState(state *int32) bool {
	if atomic.CompareAndSwapInt32(state, 0, closedBit|droppedBit) {
		return true
	}
	for {
		old := atomic.LoadInt32(state)
		if old&closedBit != 0 {
			return false
		}
		if old == 0 {
			if atomic.CompareAndSwapInt32(state, 0, closedBit|droppedBit) {
				return true
			}
		} else if atomic.CompareAndSwapInt32(state, old, old|closedBit) {
			return false
		}
	}
}

// Close releases the tensor. It may be called at any time, also twice and on nil; using the tensor later is an error (ErrClosed).
func (t *Tensor) Close() error {
	if t != nil && closeState(&t.state) {
		t.drop()
	}
	return nil
}

// Closed tells whether Close was called; false for nil.
func (t *Tensor) Closed() bool { return t != nil && atomic.LoadInt32(&t.state)&closedBit != 0 }

// drop releases a tensor whose handle the caller owns.
func (t *Tensor) drop() {
	if t.kind == slabKind {
		s := t.slab()
		if n := atomic.AddUint64(&s.dropped, 1<<t.index); bits.OnesCount64(n) >= reapEvery {
			s.reap()
		}
		return
	}
	if t.kind == ownKind {
		runtime.SetFinalizer(t, nil)
	}
	capi.Trt_tensor_release(t.h)
	t.h = 0
}

func (t *Tensor) finalize() {
	if t.h != 0 {
		capi.Trt_tensor_release(t.h)
	}
	atomic.AddInt64(&pressure.released, 1)
}

// reap releases the dropped tensors of a slab.
func (s *slab) reap() {
	var handles [slabSize]uintptr
	n := 0
	for dropped := atomic.SwapUint64(&s.dropped, 0); dropped != 0; dropped &= dropped - 1 {
		t := &s.tensors[bits.TrailingZeros64(dropped)]
		handles[n], t.h = t.h, 0
		n++
	}
	capi.Release(handles[:n])
}

func (s *slab) finalize() {
	var handles [slabSize]uintptr
	n := 0
	for i := range s.tensors {
		if h := s.tensors[i].h; h != 0 {
			handles[n] = h
			n++
		}
	}
	capi.Release(handles[:n])
	atomic.AddInt64(&pressure.released, 1)
}

// --- collections ---

// Note [Native memory and the collector]
// The collector does not see native memory. So what is made is counted, by handles; when that reaches checkBytes the allocator's own number is
// asked for, and a collection runs when it has grown by more than half, and by at least growBytes, since the last one. On a busy machine the goroutine
// of the finalizers may lag behind: what it has yet to release must not be taken for memory in use, or each collection would allow for more
// garbage than the one before. So a check lowers the baseline to what it finds, and a collection that was not waited for to its end does not raise it.
const (
	checkBytes = 16 << 20
	growBytes  = 64 << 20
)

var pressure struct {
	made     int64 // since the last check
	released int64 // finalizers that ran
	baseline int64 // the allocator's bytes after the last collection
	mutex    sync.Mutex
}

// made counts native bytes.
func made(bytes int64) {
	if atomic.AddInt64(&pressure.made, bytes) >= checkBytes {
		relieve()
	}
}

func relieve() {
	if !pressure.mutex.TryLock() {
		return
	}
	defer pressure.mutex.Unlock()
	atomic.StoreInt64(&pressure.made, 0)
	now := allocated()
	if now < pressure.baseline {
		pressure.baseline = now
	}
	limit := pressure.baseline / 2
	if limit < growBytes {
		limit = growBytes
	}
	if now-pressure.baseline < limit {
		return
	}
	ended := collect()
	if now = allocated(); ended || now < pressure.baseline {
		pressure.baseline = now
	}
}

func allocated() int64 {
	stats, err := GetMemoryStats(CPU)
	if err != nil {
		return 0
	}
	return stats.AllocatedCurrent
}

// collect runs the collector and waits until its finalizers ran: whether they did. One that itself waits for the caller must not be waited for, so
// a while without any progress is the end.
func collect() bool {
	done := make(chan struct{})
	type sentinel struct{ done chan struct{} }
	runtime.SetFinalizer(&sentinel{done}, func(s *sentinel) { close(s.done) })
	runtime.GC()
	for waiting := true; waiting; {
		before := atomic.LoadInt64(&pressure.released)
		timer := time.NewTimer(100 * time.Millisecond)
		select {
		case <-done:
			waiting = false
		case <-timer.C:
			if atomic.LoadInt64(&pressure.released) == before {
				return false
			}
		}
		timer.Stop()
	}
	// Finalizers run in no particular order: some may come after the sentinel's.
	for before := int64(-1); before != atomic.LoadInt64(&pressure.released); time.Sleep(50 * time.Microsecond) {
		before = atomic.LoadInt64(&pressure.released)
	}
	return true
}

// --- scopes ---

// Scope closes the tensors that were made in it; see InScope.
type Scope struct {
	number  uintptr
	tensors []*Tensor
}

// Scopes by the number that the thread's word carries. Only the goroutine of a scope, which is locked to its thread, uses its entry.
var openScopes [1024]*Scope

var freeScopes = func() chan uintptr {
	c := make(chan uintptr, len(openScopes)-1)
	for i := 1; i < len(openScopes); i++ {
		c <- uintptr(i)
	}
	return c
}()

func (s *Scope) hold(t *Tensor) {
	t.kind = scopeKind
	s.tensors = append(s.tensors, t)
}

// InScope runs fn, then closes every tensor that was made meanwhile on its goroutine, unless it was kept with Keep. The goroutine is locked to
// its thread so long. Scopes nest. At most 1023 may be open in a process.
func InScope(fn func(s *Scope) error) error {
	s := new(Scope)
	select {
	case s.number = <-freeScopes:
	default:
		return &Error{Code: Unavailable, Op: "InScope", Message: "InScope: too many scopes are open"}
	}
	runtime.LockOSThread()
	openScopes[s.number] = s
	outer := capi.SetScope(s.number)
	defer func() {
		capi.SetScope(outer)
		openScopes[s.number] = nil
		freeScopes <- s.number
		runtime.UnlockOSThread()
		s.end()
	}()
	return fn(s)
}

// Keep takes a tensor out of the scope and gives it back: the caller closes it. A tensor that was not made in the scope stays as it is.
func (s *Scope) Keep(t *Tensor) *Tensor {
	for i := len(s.tensors) - 1; i >= 0; i-- {
		if s.tensors[i] == t {
			s.tensors = append(s.tensors[:i], s.tensors[i+1:]...)
			t.kind = ownKind
			runtime.SetFinalizer(t, (*Tensor).finalize)
			break
		}
	}
	return t
}

func (s *Scope) end() {
	handles := make([]uintptr, 0, len(s.tensors))
	for _, t := range s.tensors {
		if closeState(&t.state) {
			handles = append(handles, t.h)
			t.h = 0
		}
	}
	s.tensors = nil
	capi.Release(handles)
}

// --- other handles ---

// object is a handle of another kind than tensors, with a finalizer.
type object struct {
	h       uintptr
	state   int32
	release func(uintptr)
}

// own makes the object of a handle; a collection releases it when nobody did.
func own(h uintptr, release func(uintptr)) *object {
	o := &object{h: h, release: release}
	runtime.SetFinalizer(o, (*object).finalize)
	made(smallBytes)
	return o
}

func (o *object) enter() uintptr {
	if o == nil {
		return 0
	}
	if atomic.AddInt32(&o.state, 1) >= closedBit {
		o.leave()
		return 0
	}
	return o.h
}

func (o *object) exit(h uintptr) {
	if h != 0 {
		o.leave()
	}
}

func (o *object) leave() {
	if atomic.AddInt32(&o.state, -1) == closedBit && atomic.CompareAndSwapInt32(&o.state, closedBit, closedBit|droppedBit) {
		o.drop()
	}
}

func (o *object) drop() {
	runtime.SetFinalizer(o, nil)
	o.finalize()
}

func (o *object) finalize() {
	if h := o.h; h != 0 {
		o.h = 0
		o.release(h)
	}
}

func (o *object) close() error {
	if o != nil && closeState(&o.state) {
		o.drop()
	}
	return nil
}

// call runs f with the handle.
func (o *object) call(op, what string, f func(h uintptr) error) error {
	h := o.enter()
	if h == 0 {
		if o == nil {
			return invalid(op, "the %s is nil", what)
		}
		return closed(op, what)
	}
	defer o.exit(h)
	return f(h)
}
