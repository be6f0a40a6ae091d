package capi

/*
#include "trtgo.h"
*/
import "C"

import "unsafe"

// The structs of options as Go lays them out, and checks that C does the same.

// LinearOptions is trt_linear_options.
type LinearOptions struct {
	StructSize uintptr
	Bias       bool
	DType      int32
	Generator  uintptr
}

// EmbeddingOptions is trt_embedding_options.
type EmbeddingOptions struct {
	StructSize    uintptr
	DType         int32
	HasPaddingIdx bool
	PaddingIdx    int64
	Generator     uintptr
}

// ConvOptions is trt_conv_options.
type ConvOptions struct {
	StructSize  uintptr
	Stride      [2]int64
	Padding     [2]int64
	Dilation    [2]int64
	Groups      int64
	Bias        bool
	PaddingSame bool
	DType       int32
	Generator   uintptr
}

// NormOptions is trt_norm_options.
type NormOptions struct {
	StructSize        uintptr
	Eps               float64
	Momentum          float64
	Affine            bool
	Bias              bool
	TrackRunningStats bool
	DType             int32
}

// RecurrentOptions is trt_recurrent_options.
type RecurrentOptions struct {
	StructSize    uintptr
	NumLayers     int64
	ProjSize      int64
	Dropout       float64
	Bias          bool
	BatchFirst    bool
	Bidirectional bool
	Relu          bool
	DType         int32
	Generator     uintptr
}

// PoolOptions is trt_pool_options.
type PoolOptions struct {
	StructSize      uintptr
	Stride          [2]int64
	Padding         [2]int64
	Dilation        [2]int64
	CeilMode        bool
	CountIncludePad bool
	DivisorOverride int64
}

// ConvNdOptions is trt_convnd_options.
type ConvNdOptions struct {
	StructSize    uintptr
	Stride        [3]int64
	Padding       [3]int64
	OutputPadding [3]int64
	Dilation      [3]int64
	Groups        int64
	Bias          bool
	PaddingSame   bool
	PaddingMode   int32
	DType         int32
	Generator     uintptr
}

// PoolNdOptions is trt_poolnd_options.
type PoolNdOptions struct {
	StructSize      uintptr
	Stride          [3]int64
	Padding         [3]int64
	Dilation        [3]int64
	CeilMode        bool
	CountIncludePad bool
	DivisorOverride int64
}

// WindowOptions is trt_window_options.
type WindowOptions struct {
	StructSize uintptr
	Dilation   [2]int64
	Padding    [2]int64
	Stride     [2]int64
}

// EmbeddingBagOptions is trt_embedding_bag_options.
type EmbeddingBagOptions struct {
	StructSize        uintptr
	Mode              int32
	DType             int32
	ScaleGradByFreq   bool
	IncludeLastOffset bool
	HasPaddingIdx     bool
	PaddingIdx        int64
	Generator         uintptr
}

// AttentionOptions is trt_attention_options.
type AttentionOptions struct {
	StructSize  uintptr
	KDim        int64
	VDim        int64
	Dropout     float64
	Bias        bool
	AddBiasKV   bool
	AddZeroAttn bool
	BatchFirst  bool
	DType       int32
	Generator   uintptr
}

// TransformerOptions is trt_transformer_options.
type TransformerOptions struct {
	StructSize     uintptr
	DimFeedforward int64
	Dropout        float64
	LayerNormEps   float64
	Bias           bool
	BatchFirst     bool
	NormFirst      bool
	Gelu           bool
	DType          int32
	Generator      uintptr
}

// SGDOptions is trt_sgd_options.
type SGDOptions struct {
	StructSize  uintptr
	LR          float64
	Momentum    float64
	Dampening   float64
	Nesterov    bool
	Maximize    bool
	WeightDecay float64
}

// AdamOptions is trt_adam_options.
type AdamOptions struct {
	StructSize  uintptr
	LR          float64
	Beta1       float64
	Beta2       float64
	Eps         float64
	AMSGrad     bool
	Maximize    bool
	WeightDecay float64
}

// OneCycleOptions is trt_one_cycle_options.
type OneCycleOptions struct {
	StructSize     uintptr
	MaxLR          float64
	TotalSteps     int64
	Linear         bool
	CycleMomentum  bool
	ThreePhase     bool
	PctStart       float64
	BaseMomentum   float64
	MaxMomentum    float64
	DivFactor      float64
	FinalDivFactor float64
}

// ImageOptions is trt_image_options.
type ImageOptions struct {
	StructSize uintptr
	Normalize  bool
	AddChannel bool
	Mean       float32
	Std        float32
	_          [4]byte
}

// DataLoaderOptions is trt_data_loader_options.
type DataLoaderOptions struct {
	StructSize     uintptr
	BatchSize      int64
	Shuffle        bool
	Replacement    bool
	DropLast       bool
	NumWorkers     int32
	PrefetchFactor int32
	Seed           int64
	Generator      uintptr
	NumSamples     int64
	Weights        uintptr // memory of C
	WeightsCount   uintptr
}

// MemoryStats is trt_memory_stats.
type MemoryStats struct {
	StructSize       uintptr
	AllocatedCurrent int64
	AllocatedPeak    int64
	AllocatedTotal   int64
	FreedTotal       int64
	ReservedCurrent  int64
	ReservedPeak     int64
	Allocations      int64
	Segments         int64
	OutOfMemoryCount int64
	Limit            int64
}

// An array's length must be neither negative nor, as the type of a constant index shows, more than 0.
var (
	_ = [1]int{}[unsafe.Sizeof(LinearOptions{})-C.sizeof_trt_linear_options]
	_ = [1]int{}[unsafe.Sizeof(EmbeddingOptions{})-C.sizeof_trt_embedding_options]
	_ = [1]int{}[unsafe.Sizeof(ConvOptions{})-C.sizeof_trt_conv_options]
	_ = [1]int{}[unsafe.Sizeof(NormOptions{})-C.sizeof_trt_norm_options]
	_ = [1]int{}[unsafe.Sizeof(RecurrentOptions{})-C.sizeof_trt_recurrent_options]
	_ = [1]int{}[unsafe.Sizeof(PoolOptions{})-C.sizeof_trt_pool_options]
	_ = [1]int{}[unsafe.Sizeof(ConvNdOptions{})-C.sizeof_trt_convnd_options]
	_ = [1]int{}[unsafe.Sizeof(PoolNdOptions{})-C.sizeof_trt_poolnd_options]
	_ = [1]int{}[unsafe.Sizeof(WindowOptions{})-C.sizeof_trt_window_options]
	_ = [1]int{}[unsafe.Sizeof(EmbeddingBagOptions{})-C.sizeof_trt_embedding_bag_options]
	_ = [1]int{}[unsafe.Sizeof(AttentionOptions{})-C.sizeof_trt_attention_options]
	_ = [1]int{}[unsafe.Sizeof(TransformerOptions{})-C.sizeof_trt_transformer_options]
	_ = [1]int{}[unsafe.Sizeof(SGDOptions{})-C.sizeof_trt_sgd_options]
	_ = [1]int{}[unsafe.Sizeof(AdamOptions{})-C.sizeof_trt_adam_options]
	_ = [1]int{}[unsafe.Sizeof(OneCycleOptions{})-C.sizeof_trt_one_cycle_options]
	_ = [1]int{}[unsafe.Sizeof(ImageOptions{})-C.sizeof_trt_image_options]
	_ = [1]int{}[unsafe.Sizeof(DataLoaderOptions{})-C.sizeof_trt_data_loader_options]
	_ = [1]int{}[unsafe.Sizeof(MemoryStats{})-C.sizeof_trt_memory_stats]
)

// FieldOffsets gives, for a test, the offsets of fields behind padding: of Go and of C in turn.
func FieldOffsets() []uintptr {
	return []uintptr{
		unsafe.Offsetof(LinearOptions{}.DType), C.offsetof_linear_dtype,
		unsafe.Offsetof(EmbeddingOptions{}.PaddingIdx), C.offsetof_embedding_padding_idx,
		unsafe.Offsetof(ConvOptions{}.PaddingSame), C.offsetof_conv_padding_same,
		unsafe.Offsetof(ConvOptions{}.DType), C.offsetof_conv_dtype,
		unsafe.Offsetof(NormOptions{}.TrackRunningStats), C.offsetof_norm_track,
		unsafe.Offsetof(NormOptions{}.DType), C.offsetof_norm_dtype,
		unsafe.Offsetof(RecurrentOptions{}.Relu), C.offsetof_recurrent_relu,
		unsafe.Offsetof(PoolOptions{}.CountIncludePad), C.offsetof_pool_count_include_pad,
		unsafe.Offsetof(ConvNdOptions{}.PaddingSame), C.offsetof_convnd_padding_same,
		unsafe.Offsetof(ConvNdOptions{}.PaddingMode), C.offsetof_convnd_padding_mode,
		unsafe.Offsetof(ConvNdOptions{}.DType), C.offsetof_convnd_dtype,
		unsafe.Offsetof(PoolNdOptions{}.CountIncludePad), C.offsetof_poolnd_count_include_pad,
		unsafe.Offsetof(EmbeddingBagOptions{}.HasPaddingIdx), C.offsetof_embedding_bag_has_padding_idx,
		unsafe.Offsetof(EmbeddingBagOptions{}.PaddingIdx), C.offsetof_embedding_bag_padding_idx,
		unsafe.Offsetof(AttentionOptions{}.BatchFirst), C.offsetof_attention_batch_first,
		unsafe.Offsetof(AttentionOptions{}.DType), C.offsetof_attention_dtype,
		unsafe.Offsetof(TransformerOptions{}.Gelu), C.offsetof_transformer_gelu,
		unsafe.Offsetof(TransformerOptions{}.DType), C.offsetof_transformer_dtype,
		unsafe.Offsetof(SGDOptions{}.WeightDecay), C.offsetof_sgd_weight_decay,
		unsafe.Offsetof(AdamOptions{}.Maximize), C.offsetof_adam_maximize,
		unsafe.Offsetof(OneCycleOptions{}.PctStart), C.offsetof_one_cycle_pct_start,
		unsafe.Offsetof(ImageOptions{}.Mean), C.offsetof_image_mean,
		unsafe.Offsetof(DataLoaderOptions{}.NumWorkers), C.offsetof_loader_num_workers,
		unsafe.Offsetof(DataLoaderOptions{}.Seed), C.offsetof_loader_seed,
	}
}
