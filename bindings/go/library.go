package tensorrt

import (
	"runtime/debug"
	"unsafe"

	"tensorrt/internal/capi"
)

// Version is the library's, "0.1.0".
func Version() string { return capi.Trt_version_string() }

// BuildInfo is a text of one line per fact: version, instruction set in use, BLAS core, threads.
func BuildInfo() (string, error) {
	return textOf(func(out unsafe.Pointer) error { return statusError(capi.Trt_build_info(out)) })
}

// NumThreads is how many threads one operator may use, the calling one included. Results never depend on it.
func NumThreads() int { return int(capi.Trt_get_num_threads()) }

// SetNumThreads sets that number, 1 to 1024.
func SetNumThreads(threads int) error {
	if threads != int(int32(threads)) {
		threads = -1
	}
	return statusError(capi.Trt_set_num_threads(threads))
}

// ReleaseCaches gives cached memory back to the system: the library's and Go's own.
func ReleaseCaches() {
	debug.FreeOSMemory()
	capi.Trt_shutdown()
}

// --- log ---

// LogLevel is the weight of a log line.
type LogLevel int

// The levels.
const (
	LogDebug   LogLevel = 0
	LogInfo    LogLevel = 1
	LogWarning LogLevel = 2
	LogError   LogLevel = 3
	LogOff     LogLevel = 4
)

// LogFunc receives a log line, on any thread, never concurrently with itself.
type LogFunc func(level LogLevel, message string)

// SetLog sends log lines to fn; nil, which is the default, sends them nowhere.
func SetLog(fn LogFunc) error {
	if fn == nil {
		return statusError(capi.SetLogCallback(nil))
	}
	return statusError(capi.SetLogCallback(fn))
}

// SetLogLevel sets the level below which no lines are made.
func SetLogLevel(level LogLevel) error { return statusError(capi.Trt_set_log_level(int(level))) }

// --- memory ---

// MemoryStats is what the allocator of a device holds, in bytes unless told otherwise.
type MemoryStats struct {
	AllocatedCurrent int64 // held by tensors
	AllocatedPeak    int64
	AllocatedTotal   int64 // sum of all allocations ever
	FreedTotal       int64
	ReservedCurrent  int64 // taken from the system, cached blocks included
	ReservedPeak     int64
	Allocations      int64 // blocks held by tensors, a count
	Segments         int64 // pieces taken from the system, a count
	OutOfMemoryCount int64
	Limit            int64 // 0: none
}

// GetMemoryStats tells what the allocator of a device holds.
func GetMemoryStats(device Device) (MemoryStats, error) {
	var c capi.MemoryStats
	capi.Trt_memory_stats_init(unsafe.Pointer(&c))
	if err := statusError(capi.Trt_memory_get_stats(device.c(), unsafe.Pointer(&c))); err != nil {
		return MemoryStats{}, err
	}
	return MemoryStats{c.AllocatedCurrent, c.AllocatedPeak, c.AllocatedTotal, c.FreedTotal, c.ReservedCurrent, c.ReservedPeak, c.Allocations, c.Segments,
		c.OutOfMemoryCount, c.Limit}, nil
}

// ResetPeakMemory sets the peaks to the current values.
func ResetPeakMemory(device Device) error { return statusError(capi.Trt_memory_reset_peak(device.c())) }

// EmptyMemoryCache gives cached, unused memory back to the system.
func EmptyMemoryCache(device Device) error {
	return statusError(capi.Trt_memory_empty_cache(device.c()))
}

// SetMemoryLimit limits the memory that the allocator reserves, in bytes; 0 lifts the limit. Allocations beyond fail with OutOfMemory.
func SetMemoryLimit(device Device, bytes int64) error {
	return statusError(capi.Trt_memory_set_limit(device.c(), int(bytes)))
}

// --- random numbers ---

// Generator is a random stream: seed and position. Where one may be given, nil is the default generator.
type Generator struct{ o *object }

// NewGenerator makes a generator.
func NewGenerator(seed uint64) (*Generator, error) {
	var h uintptr
	if err := statusError(capi.Trt_generator_create(seed, unsafe.Pointer(&h))); err != nil {
		return nil, err
	}
	return &Generator{own(h, capi.Trt_generator_release)}, nil
}

// ManualSeed seeds the default generator.
func ManualSeed(seed uint64) error { return statusError(capi.Trt_manual_seed(seed)) }

// Close releases the generator.
func (g *Generator) Close() error {
	if g == nil {
		return nil
	}
	return g.o.close()
}

func (g *Generator) enter() uintptr {
	if g == nil {
		return 0
	}
	return g.o.enter()
}

func (g *Generator) exit(h uintptr) {
	if h != 0 {
		g.o.exit(h)
	}
}

// with runs f with the handle, 0 for nil.
func (g *Generator) with(op string, f func(h uintptr) error) error {
	if g == nil {
		return f(0)
	}
	return g.o.call(op, "generator", f)
}

// Seed sets the seed and starts its stream from the beginning.
func (g *Generator) Seed(seed uint64) error {
	return g.with("Seed", func(h uintptr) error { return statusError(capi.Trt_generator_seed(h, seed)) })
}

// State gives seed and position.
func (g *Generator) State() (seed, offset uint64, err error) {
	var out [2]uint64
	err = g.with("State", func(h uintptr) error {
		return statusError(capi.Trt_generator_get_state(h, unsafe.Pointer(&out[0]), unsafe.Pointer(&out[1])))
	})
	return out[0], out[1], err
}

// SetState sets seed and position.
func (g *Generator) SetState(seed, offset uint64) error {
	return g.with("SetState", func(h uintptr) error { return statusError(capi.Trt_generator_set_state(h, seed, offset)) })
}

// --- initializers ---

// FanMode is the side of a weight [out, in, ...] that counts.
type FanMode int32

// The sides.
const (
	FanIn  FanMode = 0
	FanOut FanMode = 1
)

func (t *Tensor) init(op string, generator *Generator, f func(h, g uintptr) uintptr) error {
	return t.with(op, func(h uintptr) error {
		return generator.with(op, func(g uintptr) error { return statusError(f(h, g)) })
	})
}

// InitUniform fills with numbers from [low, high). Initializers record nothing.
func InitUniform(t *Tensor, low, high float64, generator *Generator) error {
	return t.init("InitUniform", generator, func(h, g uintptr) uintptr { return capi.Trt_init_uniform(h, low, high, g) })
}

// InitNormal fills with normal numbers.
func InitNormal(t *Tensor, mean, std float64, generator *Generator) error {
	return t.init("InitNormal", generator, func(h, g uintptr) uintptr { return capi.Trt_init_normal(h, mean, std, g) })
}

// InitTruncNormal fills with normal numbers limited to [low, high].
func InitTruncNormal(t *Tensor, mean, std, low, high float64, generator *Generator) error {
	return t.init("InitTruncNormal", generator, func(h, g uintptr) uintptr { return capi.Trt_init_trunc_normal(h, mean, std, low, high, g) })
}

// InitConstant fills with one value.
func InitConstant(t *Tensor, value float64) error {
	return t.init("InitConstant", nil, func(h, _ uintptr) uintptr { return capi.Trt_init_constant(h, value) })
}

// InitZeros fills with zeros.
func InitZeros(t *Tensor) error {
	return t.init("InitZeros", nil, func(h, _ uintptr) uintptr { return capi.Trt_init_zeros(h) })
}

// InitOnes fills with ones.
func InitOnes(t *Tensor) error {
	return t.init("InitOnes", nil, func(h, _ uintptr) uintptr { return capi.Trt_init_ones(h) })
}

// InitEye makes a matrix the identity.
func InitEye(t *Tensor) error {
	return t.init("InitEye", nil, func(h, _ uintptr) uintptr { return capi.Trt_init_eye(h) })
}

// InitXavierUniform fills uniformly in +-gain sqrt(6 / (fan_in + fan_out)).
func InitXavierUniform(t *Tensor, gain float64, generator *Generator) error {
	return t.init("InitXavierUniform", generator, func(h, g uintptr) uintptr { return capi.Trt_init_xavier_uniform(h, gain, g) })
}

// InitXavierNormal fills with normal numbers of deviation gain sqrt(2 / (fan_in + fan_out)).
func InitXavierNormal(t *Tensor, gain float64, generator *Generator) error {
	return t.init("InitXavierNormal", generator, func(h, g uintptr) uintptr { return capi.Trt_init_xavier_normal(h, gain, g) })
}

// InitKaimingUniform fills uniformly in +-gain sqrt(3 / fan). The gain is that of the nonlinearity ("": "leaky_relu" of slope a).
func InitKaimingUniform(t *Tensor, a float64, mode FanMode, nonlinearity string, generator *Generator) error {
	if err := checkText("InitKaimingUniform", nonlinearity); err != nil {
		return err
	}
	return t.init("InitKaimingUniform", generator, func(h, g uintptr) uintptr {
		return capi.Trt_init_kaiming_uniform(h, a, int(mode), optionalText(nonlinearity), g)
	})
}

// InitKaimingNormal fills with normal numbers of deviation gain / sqrt(fan); see InitKaimingUniform.
func InitKaimingNormal(t *Tensor, a float64, mode FanMode, nonlinearity string, generator *Generator) error {
	if err := checkText("InitKaimingNormal", nonlinearity); err != nil {
		return err
	}
	return t.init("InitKaimingNormal", generator, func(h, g uintptr) uintptr {
		return capi.Trt_init_kaiming_normal(h, a, int(mode), optionalText(nonlinearity), g)
	})
}

// InitOrthogonal fills with orthonormal rows (or columns, where there are fewer), times gain.
func InitOrthogonal(t *Tensor, gain float64, generator *Generator) error {
	return t.init("InitOrthogonal", generator, func(h, g uintptr) uintptr { return capi.Trt_init_orthogonal(h, gain, g) })
}
