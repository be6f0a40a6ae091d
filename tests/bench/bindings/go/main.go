// What a call costs in Go: a + b on four elements, and the release of the sum, against the same in C, in turns in one process. Prints medians and the
// difference; exits with 1 when it is above the limit.
//
//	bench [--limit NANOSECONDS]
package main

/*
#cgo CFLAGS: -O2 -I${SRCDIR}/../../../../include
#cgo LDFLAGS: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <tensorrt/tensorrt.h>

typedef trt_status* (*add_fn)(const trt_tensor*, const trt_tensor*, trt_scalar, trt_tensor**);
typedef trt_status* (*from_data_fn)(const void*, const int64_t*, size_t, trt_dtype, trt_tensor**);
typedef void (*release_fn)(trt_tensor*);

static trt_tensor *a, *b;
static add_fn add;
static release_fn release;

// The library is the one that the binding is linked with.
static int setup(void) {
  static const float data[4] = {1, 2, 3, 4};
  const int64_t four = 4;
  from_data_fn from_data = (from_data_fn)dlsym(RTLD_DEFAULT, "trt_tensor_from_data");
  add = (add_fn)dlsym(RTLD_DEFAULT, "trt_add");
  release = (release_fn)dlsym(RTLD_DEFAULT, "trt_tensor_release");
  if (!from_data || !add || !release) return 1;
  return from_data(data, &four, 1, TRT_FLOAT32, &a) != NULL || from_data(data, &four, 1, TRT_FLOAT32, &b) != NULL;
}

static int loop(int calls) {
  const trt_scalar one = {TRT_SCALAR_INT, 0, {1}};
  for (int i = 0; i < calls; ++i) {
    trt_tensor* out = NULL;
    if (add(a, b, one, &out)) return 1;
    release(out);
  }
  return 0;
}
*/
import "C"

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"sort"
	"syscall"
	"time"

	trt "tensorrt"
)

const (
	// Short rounds: most of them are not interrupted, also on a busy machine.
	rounds = 301
	calls  = 2000
)

func median(v []float64) float64 {
	sort.Float64s(v)
	return v[len(v)/2]
}

// processor is the time of all threads, in nanoseconds.
func processor() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano() + u.Stime.Nano())
}

func bench(limit float64) error {
	if C.setup() != 0 {
		return errors.New("the library's functions are not there")
	}
	if err := trt.SetNumThreads(1); err != nil {
		return err
	}
	x, err := trt.FromSlice([]float32{1, 2, 3, 4})
	if err != nil {
		return err
	}
	y, err := trt.FromSlice([]float32{1, 2, 3, 4})
	if err != nil {
		return err
	}
	loops := []struct {
		name string
		run  func() error
	}{
		{"C", func() error {
			if C.loop(calls) != 0 {
				return errors.New("C: a call failed")
			}
			return nil
		}},
		{"Go, closed", func() error {
			for i := 0; i < calls; i++ {
				z, err := x.Add(y)
				if err != nil {
					return err
				}
				z.Close()
			}
			return nil
		}},
		{"Go, scopes", func() error {
			for i := 0; i < calls/100; i++ {
				err := trt.InScope(func(*trt.Scope) error {
					for j := 0; j < 100; j++ {
						if _, err := x.Add(y); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					return err
				}
			}
			return nil
		}},
		{"Go, dropped", func() error {
			for i := 0; i < calls; i++ {
				if _, err := x.Add(y); err != nil {
					return err
				}
			}
			return nil
		}},
	}
	times, spent := make([][]float64, len(loops)), make([]float64, len(loops))
	for r := 0; r < rounds; r++ {
		for i, l := range loops {
			used, begin := processor(), time.Now()
			if err := l.run(); err != nil {
				return err
			}
			times[i] = append(times[i], float64(time.Since(begin).Nanoseconds())/calls)
			spent[i] += processor() - used
		}
	}
	c := median(times[0])
	for i, l := range loops {
		m := median(times[i])
		fmt.Printf("%-12s %8.1f ns   %+8.1f   processor, collector included: %8.1f ns\n", l.name, m, m-c, spent[i]/rounds/calls)
	}
	if above := median(times[1]) - c; limit > 0 && above > limit {
		return fmt.Errorf("a call costs %.0f ns more than in C; %.0f are allowed", above, limit)
	}
	return nil
}

func main() {
	limit := flag.Float64("limit", 0, "nanoseconds above C that are allowed; 0: any")
	flag.Parse()
	if err := bench(*limit); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
