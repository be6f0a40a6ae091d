package tensorrt

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestScopes(t *testing.T) {
	var inside, kept, other *Tensor
	check(t, InScope(func(s *Scope) error {
		inside = must(Ones([]int{3}))
		kept = s.Keep(must(inside.AddScalar(1)))
		done := make(chan bool)
		go func() { // another thread
			other = must(Ones([]int{2}))
			done <- true
		}()
		<-done
		var inner *Tensor
		check(t, InScope(func(*Scope) error {
			inner = must(inside.AddScalar(5))
			return nil
		}))
		equal(t, inner.Closed(), true)
		early := must(inside.AddScalar(7))
		check(t, early.Close())
		return nil
	}))
	equal(t, inside.Closed(), true)
	equal(t, kept.Closed(), false)
	equal(t, other.Closed(), false)
	equal(t, must(ToSlice[float32](kept)), []float32{2, 2, 2})
	_, err := inside.AddScalar(1)
	if !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	if err := InScope(func(*Scope) error { return stop }); err != stop {
		t.Fatal(err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = InScope(func(*Scope) error { panic("out") })
	}()
	equal(t, must(Ones([]int{3})).kind, uint8(slabKind))
	var deep func(n int) error
	deep = func(n int) error {
		return InScope(func(*Scope) error {
			must(Ones([]int{1}))
			return deep(n + 1)
		})
	}
	fails(t, deep(0), Unavailable, "scopes")
	check(t, InScope(func(*Scope) error { return nil }))
}

// A tensor that is reachable stays, whatever becomes of its slab.
func TestSlabs(t *testing.T) {
	var kept []*Tensor
	for i := 0; i < 20*slabSize; i++ {
		x := must(FromSlice([]int64{int64(i)}))
		switch i % 7 {
		case 0:
			kept = append(kept, x)
		case 1, 2:
			x.Close()
		}
	}
	runtime.GC()
	runtime.GC()
	for i, x := range kept {
		equal(t, must(x.ItemInt()), 7*i)
	}
}

func TestMemoryStats(t *testing.T) {
	before := must(GetMemoryStats(CPU))
	x := must(Zeros([]int{1 << 20}))
	after := must(GetMemoryStats(CPU))
	// Tensors of earlier tests may go in between.
	if after.AllocatedCurrent-before.AllocatedCurrent < 3<<20 {
		t.Fatal(before, after)
	}
	x.Close()
	// Large tensors are released at once.
	if now := must(GetMemoryStats(CPU)); now.AllocatedCurrent >= after.AllocatedCurrent {
		t.Fatal(now, after)
	}
	check(t, ResetPeakMemory(CPU))
	check(t, SetMemoryLimit(CPU, 64<<20))
	_, err := Zeros([]int{1 << 28})
	check(t, SetMemoryLimit(CPU, 0))
	fails(t, err, OutOfMemory)
	ReleaseCaches()
}

// The resident memory of programs that drop tensors: each runs in a process of its own.
func TestResidentMemory(t *testing.T) {
	if os.Getenv("TRT_GO_MEMORY") != "" {
		memoryChild(os.Getenv("TRT_GO_MEMORY"))
		return
	}
	if raceEnabled {
		t.Skip("the race detector needs memory of its own")
	}
	for _, c := range []struct {
		name  string
		limit int
	}{{"dropped", 300}, {"closed", 100}, {"scopes", 100}, {"large", 300}, {"graphs", 300}, {"late", 180}} {
		cmd := exec.Command(os.Args[0], "-test.run=TestResidentMemory")
		cmd.Env = append(os.Environ(), "TRT_GO_MEMORY="+c.name)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", c.name, err, out)
			continue
		}
		var peak int
		at := strings.Index(string(out), "peak ")
		if at < 0 {
			t.Errorf("%s: %s", c.name, out)
			continue
		}
		fmt.Sscanf(string(out)[at:], "peak %d", &peak)
		t.Logf("%s: %d MB resident at most", c.name, peak)
		if peak > c.limit {
			t.Errorf("%s: %d MB resident, more than %d", c.name, peak, c.limit)
		}
	}
}

func memoryChild(name string) {
	const million = 1000000
	x := must(FromSlice([]float32{1, 2, 3, 4}))
	switch name {
	case "dropped":
		for i := 0; i < million; i++ {
			must(x.Add(x))
		}
	case "closed":
		for i := 0; i < million; i++ {
			must(x.Add(x)).Close()
		}
	case "scopes":
		for i := 0; i < million/100; i++ {
			if err := InScope(func(*Scope) error {
				for j := 0; j < 100; j++ {
					must(x.Add(x))
				}
				return nil
			}); err != nil {
				panic(err)
			}
		}
	case "large": // 20 GB
		y := must(Zeros([]int{1 << 18}))
		for i := 0; i < 20000; i++ {
			must(y.AddScalar(1))
		}
	case "graphs": // small tensors that hold much
		y := must(Ones([]int{1 << 16}))
		if err := y.SetRequiresGrad(true); err != nil {
			panic(err)
		}
		for i := 0; i < 10000; i++ {
			must(must(y.Exp()).Sum())
		}
	case "late": // 4 GB, while another finalizer holds all of them up, as a busy machine does
		var hold func(*[64]byte)
		hold = func(*[64]byte) {
			time.Sleep(150 * time.Millisecond)
			runtime.SetFinalizer(new([64]byte), hold)
		}
		hold(nil)
		y := must(Zeros([]int{1 << 18}))
		for i := 0; i < 4000; i++ {
			must(y.AddScalar(1))
		}
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	var kilobytes int
	text := string(status)
	fmt.Sscanf(text[strings.Index(text, "VmHWM:"):], "VmHWM: %d", &kilobytes)
	fmt.Printf("peak %d\n", kilobytes>>10)
}
