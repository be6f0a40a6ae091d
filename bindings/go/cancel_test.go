package tensorrt

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestWithContext(t *testing.T) {
	x := leaf(1, 2)
	loss := must(must(x.Mul(x)).Sum())
	ctx, cancel := context.WithCancel(context.Background())
	check(t, WithContext(ctx, func() error { return loss.Backward(BackwardOptions{RetainGraph: true}) }))
	check(t, x.SetGrad(nil))
	cancel()
	err := WithContext(ctx, func() error { return fmt.Errorf("training: %w", loss.Backward()) })
	fails(t, err, Cancelled, "training", "context canceled")
	if !errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if must(x.Grad()) != nil {
		t.Fatal("a gradient was changed")
	}
	// Outside, and under a context that never ends, nothing is cancelled; other errors come as they are.
	check(t, loss.Backward())
	check(t, WithContext(context.Background(), func() error { _, err := x.Mul(x); return err }))
	own := errors.New("own")
	if err := WithContext(ctx, func() error { return own }); err != own {
		t.Fatal(err)
	}
	fails(t, WithContext(nil, func() error { return nil }), InvalidArgument) //nolint:staticcheck

	// In the middle of a loop; inside, another context counts alone.
	ctx, cancel = context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	err = WithContext(ctx, func() error {
		for {
			y, err := x.Mul(x)
			if err != nil {
				inner, stop := context.WithCancel(context.Background())
				defer stop()
				check(t, WithContext(inner, func() error { _, err := x.Add(x); return err }))
				return err
			}
			y.Close()
		}
	})
	fails(t, err, Cancelled)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

// gated is a source whose samples wait.
type gated struct{ gate, asked chan struct{} }

func (g *gated) Len() int { return 4 }

func (g *gated) Get(i int) ([]*Tensor, error) {
	g.asked <- struct{}{}
	<-g.gate
	x, err := FromScalar(i, Int64)
	return []*Tensor{x}, err
}

func TestWithContextLoader(t *testing.T) {
	gate, asked := make(chan struct{}), make(chan struct{}, 10)
	d := must(NewDataset(&gated{gate, asked}, 1))
	l := must(NewDataLoader(d, DataLoaderOptions{NumWorkers: 1}))
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-asked
		cancel()
	}()
	err := WithContext(ctx, func() error { _, err := l.Next(); return err })
	fails(t, err, Cancelled)
	close(gate)
	batch := must(l.Next())
	equal(t, must(ToSlice[int64](batch[0])), []int64{0})
	check(t, l.Close())
}
