package tensorrt

import (
	"unsafe"

	"tensorrt/internal/capi"
)

// spread sets one size for all of `dims` dimensions, or as many sizes; nothing for nil.
func spread(op, what string, to []int64, dims int, v []int) error {
	switch len(v) {
	case 0:
	case 1:
		for i := range to {
			to[i] = int64(v[0])
		}
	case dims:
		for i, n := range v {
			to[i] = int64(n)
		}
	default:
		return invalid(op, "%s has one number or %d, got %v", what, dims, v)
	}
	return nil
}

func spreadList(op, what string, dims int, v []int) ([]int, error) {
	if len(v) == 0 || dims > 3 {
		return nil, invalid(op, "%s has one to three numbers, got %v", what, v)
	}
	var to [3]int64
	if err := spread(op, what, to[:], dims, v); err != nil {
		return nil, err
	}
	list := make([]int, dims)
	for i := range list {
		list[i] = int(to[i])
	}
	return list, nil
}

// PaddingMode tells what stands beside an image that is padded.
type PaddingMode int32

// The modes of padding.
const (
	PaddingZeros PaddingMode = iota
	PaddingReflect
	PaddingReplicate
	PaddingCircular
)

// ConvolutionNdOptions are the options of convolutions of one to three dimensions. One number in a list stands for all of them.
type ConvolutionNdOptions struct {
	Stride        []int          // 1
	Padding       []int          // 0, on both sides
	OutputPadding []int          // 0; transposed convolutions only: what one side of the output has more
	Dilation      []int          // 1
	Groups        int            // 1; divides both numbers of channels
	Bias          Optional[bool] // true
	PaddingSame   bool           // pads so that the output is as large as the input; stride 1 only. Not for transposed convolutions
	PaddingMode   PaddingMode    // zeros, which transposed convolutions need
	DType         DType          // the default dtype
	Generator     *Generator     // for the initial values; the default generator
}

func convolution(op string, dims, in, out int, kernel []int, options []ConvolutionNdOptions,
	create func(in, out int, kernel unsafe.Pointer, ndim int, options, result unsafe.Pointer) uintptr) (*Module, error) {
	o, err := pick(op, options)
	if err != nil {
		return nil, err
	}
	k, err := spreadList(op, "kernel", dims, kernel)
	if err != nil {
		return nil, err
	}
	return layer(op, o.Generator, capi.Trt_convnd_options_init, func(c *capi.ConvNdOptions, g uintptr) error {
		if o.Groups != 0 {
			c.Groups = int64(o.Groups)
		}
		c.Bias, c.PaddingSame, c.PaddingMode, c.DType, c.Generator = o.Bias.or(c.Bias), o.PaddingSame, int32(o.PaddingMode), int32(o.DType.c()), g
		return firstError(spread(op, "Stride", c.Stride[:], dims, o.Stride), spread(op, "Padding", c.Padding[:], dims, o.Padding),
			spread(op, "OutputPadding", c.OutputPadding[:], dims, o.OutputPadding), spread(op, "Dilation", c.Dilation[:], dims, o.Dilation))
	}, func(c, result unsafe.Pointer) uintptr { return create(in, out, requiredList(k), len(k), c, result) })
}

// NewConvNd makes Conv1d, Conv2d or Conv3d, by the number of the kernel's sizes, with all options that there are.
func NewConvNd(inChannels, outChannels int, kernel []int, options ...ConvolutionNdOptions) (*Module, error) {
	return convolution("NewConvNd", len(kernel), inChannels, outChannels, kernel, options, capi.Trt_convnd_create)
}

// NewConv3d makes a convolution, with all options that there are: x [n, in, d, h, w] or [in, d, h, w]. The kernel has one size or three.
func NewConv3d(inChannels, outChannels int, kernel []int, options ...ConvolutionNdOptions) (*Module, error) {
	return convolution("NewConv3d", 3, inChannels, outChannels, kernel, options, capi.Trt_convnd_create)
}

// NewConvTranspose1d makes the gradient of Conv1d as a layer: x [n, in, l] or [in, l]. The kernel has one size or one.
func NewConvTranspose1d(inChannels, outChannels int, kernel []int, options ...ConvolutionNdOptions) (*Module, error) {
	return convolution("NewConvTranspose1d", 1, inChannels, outChannels, kernel, options, capi.Trt_conv_transpose_create)
}

// NewConvTranspose2d makes the gradient of Conv2d as a layer: x [n, in, h, w] or [in, h, w]. The kernel has one size or two.
func NewConvTranspose2d(inChannels, outChannels int, kernel []int, options ...ConvolutionNdOptions) (*Module, error) {
	return convolution("NewConvTranspose2d", 2, inChannels, outChannels, kernel, options, capi.Trt_conv_transpose_create)
}

// NewConvTranspose3d makes the gradient of Conv3d as a layer: x [n, in, d, h, w] or [in, d, h, w]. The kernel has one size or three.
func NewConvTranspose3d(inChannels, outChannels int, kernel []int, options ...ConvolutionNdOptions) (*Module, error) {
	return convolution("NewConvTranspose3d", 3, inChannels, outChannels, kernel, options, capi.Trt_conv_transpose_create)
}

// NewBatchNorm3d normalizes x [n, numFeatures, d, h, w] over all but the channels.
func NewBatchNorm3d(numFeatures int, options ...NormalizationOptions) (*Module, error) {
	return norm("NewBatchNorm3d", options, func(c, out unsafe.Pointer) uintptr { return capi.Trt_batch_norm3d_create(numFeatures, c, out) })
}

func instanceNorm(op string, dims int, numFeatures int, options []NormalizationOptions) (*Module, error) {
	return normFrom(op, options, capi.Trt_instance_norm_options_init, func(c, out unsafe.Pointer) uintptr {
		return capi.Trt_instance_norm_create(dims, numFeatures, c, out)
	})
}

// NewInstanceNorm1d normalizes each channel of each sample of x [n, numFeatures, l]; Affine and TrackRunningStats are false at first.
func NewInstanceNorm1d(numFeatures int, options ...NormalizationOptions) (*Module, error) {
	return instanceNorm("NewInstanceNorm1d", 1, numFeatures, options)
}

// NewInstanceNorm2d normalizes each channel of each sample of x [n, numFeatures, h, w]; Affine and TrackRunningStats are false at first.
func NewInstanceNorm2d(numFeatures int, options ...NormalizationOptions) (*Module, error) {
	return instanceNorm("NewInstanceNorm2d", 2, numFeatures, options)
}

// NewInstanceNorm3d normalizes each channel of each sample of x [n, numFeatures, d, h, w]; Affine and TrackRunningStats are false at first.
func NewInstanceNorm3d(numFeatures int, options ...NormalizationOptions) (*Module, error) {
	return instanceNorm("NewInstanceNorm3d", 3, numFeatures, options)
}

// NewRMSNormOptions are the options of NewRMSNorm.
type NewRMSNormOptions struct {
	Eps               Optional[float64] // the epsilon of the input's dtype
	ElementwiseAffine Optional[bool]    // true: a parameter "weight"
	DType             DType             // the default dtype
}

// NewRMSNorm divides x [..., normalizedShape] by its root mean square over the last dimensions.
func NewRMSNorm(normalizedShape []int, options ...NewRMSNormOptions) (*Module, error) {
	o, err := pick("NewRMSNorm", options)
	if err != nil {
		return nil, err
	}
	return newModule(func(out unsafe.Pointer) uintptr {
		return capi.Trt_rms_norm_create(requiredList(normalizedShape), len(normalizedShape), o.Eps.pointer(), o.ElementwiseAffine.or(true), int(o.DType.c()), out)
	})
}

// NewLocalResponseNorm normalizes over `size` neighbouring channels; PyTorch's defaults are 1e-4, 0.75 and 1.
func NewLocalResponseNorm(size int, alpha, beta, k float64) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr {
		return capi.Trt_local_response_norm_create(size, alpha, beta, k, out)
	})
}

// PoolingNdOptions are the options of pools of one to three dimensions. One number in a list stands for all of them.
type PoolingNdOptions struct {
	Stride          []int          // the kernel's size
	Padding         []int          // 0; at most half the kernel
	Dilation        []int          // 1; maximum only
	CeilMode        bool           // windows may begin inside and end outside
	CountIncludePad Optional[bool] // true; average only
	DivisorOverride int            // the window's size; average of two or three dimensions only
}

func poolNd(op string, dims int, kernel []int, options []PoolingNdOptions,
	create func(kernel unsafe.Pointer, ndim int, options, out unsafe.Pointer) uintptr) (*Module, error) {
	o, err := pick(op, options)
	if err != nil {
		return nil, err
	}
	k, err := spreadList(op, "kernel", dims, kernel)
	if err != nil {
		return nil, err
	}
	return layer(op, nil, capi.Trt_poolnd_options_init, func(c *capi.PoolNdOptions, _ uintptr) error {
		c.CeilMode, c.CountIncludePad, c.DivisorOverride = o.CeilMode, o.CountIncludePad.or(c.CountIncludePad), int64(o.DivisorOverride)
		return firstError(spread(op, "Stride", c.Stride[:], dims, o.Stride), spread(op, "Padding", c.Padding[:], dims, o.Padding),
			spread(op, "Dilation", c.Dilation[:], dims, o.Dilation))
	}, func(c, out unsafe.Pointer) uintptr { return create(requiredList(k), len(k), c, out) })
}

// NewMaxPool1d gives maxima of windows of x [n, c, l] or [c, l].
func NewMaxPool1d(kernel []int, options ...PoolingNdOptions) (*Module, error) {
	return poolNd("NewMaxPool1d", 1, kernel, options, capi.Trt_max_poolnd_create)
}

// NewMaxPool3d gives maxima of windows of x [n, c, d, h, w] or [c, d, h, w].
func NewMaxPool3d(kernel []int, options ...PoolingNdOptions) (*Module, error) {
	return poolNd("NewMaxPool3d", 3, kernel, options, capi.Trt_max_poolnd_create)
}

// NewAvgPool1d gives means of windows of x [n, c, l] or [c, l].
func NewAvgPool1d(kernel []int, options ...PoolingNdOptions) (*Module, error) {
	return poolNd("NewAvgPool1d", 1, kernel, options, capi.Trt_avg_poolnd_create)
}

// NewAvgPool3d gives means of windows of x [n, c, d, h, w] or [c, d, h, w].
func NewAvgPool3d(kernel []int, options ...PoolingNdOptions) (*Module, error) {
	return poolNd("NewAvgPool3d", 3, kernel, options, capi.Trt_avg_poolnd_create)
}

// NewAdaptiveAvgPool3d gives means of windows such that the output is [.., d, h, w].
func NewAdaptiveAvgPool3d(d, h, w int) (*Module, error) {
	size := []int{d, h, w}
	return newModule(func(out unsafe.Pointer) uintptr {
		return capi.Trt_adaptive_avg_poolnd_create(requiredList(size), len(size), out)
	})
}

// NewAdaptiveMaxPool3d gives maxima of windows such that the output is [.., d, h, w].
func NewAdaptiveMaxPool3d(d, h, w int) (*Module, error) {
	size := []int{d, h, w}
	return newModule(func(out unsafe.Pointer) uintptr {
		return capi.Trt_adaptive_max_poolnd_create(requiredList(size), len(size), out)
	})
}

// NewDropout1d in training mode zeroes whole channels of x [n, c, l] with probability p and scales the others by 1 / (1 - p).
func NewDropout1d(p float64) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_feature_dropout_create(1, p, out) })
}

// NewDropout2d in training mode zeroes whole channels of x [n, c, h, w] with probability p and scales the others by 1 / (1 - p).
func NewDropout2d(p float64) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_feature_dropout_create(2, p, out) })
}

// NewDropout3d in training mode zeroes whole channels of x [n, c, d, h, w] with probability p and scales the others by 1 / (1 - p).
func NewDropout3d(p float64) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_feature_dropout_create(3, p, out) })
}

// NewPad pads the last one to three dimensions by two, four or six numbers: before and after the last dimension, then the one before it. Mode: "constant"
// (ConstantPad1d, ...), "zeros" (ZeroPad1d), "reflect" (ReflectionPad1d), "replicate" (ReplicationPad1d), "circular" (CircularPad1d). The value is for
// "constant", otherwise 0.
func NewPad(padding []int, mode string, value float64) (*Module, error) {
	if err := checkText("NewPad", mode); err != nil {
		return nil, err
	}
	return newModule(func(out unsafe.Pointer) uintptr {
		return capi.Trt_pad_create(requiredList(padding), len(padding), mode, value, out)
	})
}

// UpsampleLayerOptions are the options of NewUpsample: a size or a factor, with one number for all dimensions or one for each.
type UpsampleLayerOptions struct {
	Size                 []int
	ScaleFactor          []float64
	Mode                 string // "nearest"; as that of Interpolate
	AlignCorners         Optional[bool]
	RecomputeScaleFactor Optional[bool]
}

// NewUpsample resizes the dimensions behind the second one, as Interpolate does.
func NewUpsample(o UpsampleLayerOptions) (*Module, error) {
	if err := checkText("NewUpsample", o.Mode); err != nil {
		return nil, err
	}
	if o.Mode == "" {
		o.Mode = "nearest"
	}
	return newModule(func(out unsafe.Pointer) uintptr {
		return capi.Trt_upsample_create(optionalList(o.Size), len(o.Size), optionalList(o.ScaleFactor), len(o.ScaleFactor), o.Mode, o.AlignCorners.pointer(),
			o.RecomputeScaleFactor.pointer(), out)
	})
}

// WindowOptions are the options of NewUnfold and NewFold. One number in a list stands for both directions.
type WindowOptions struct {
	Dilation []int // 1
	Padding  []int // 0
	Stride   []int // 1
}

func window(op string, kernel []int, options []WindowOptions, create func(h, w int, options, out unsafe.Pointer) uintptr) (*Module, error) {
	o, err := pick(op, options)
	if err != nil {
		return nil, err
	}
	var k [2]int64
	if err := pair(op, "kernel", &k, kernel); err != nil {
		return nil, err
	}
	return layer(op, nil, capi.Trt_window_options_init, func(c *capi.WindowOptions, _ uintptr) error {
		return firstError(pair(op, "Dilation", &c.Dilation, o.Dilation), pair(op, "Padding", &c.Padding, o.Padding), pair(op, "Stride", &c.Stride, o.Stride))
	}, func(c, out unsafe.Pointer) uintptr { return create(int(k[0]), int(k[1]), c, out) })
}

// NewUnfold gives the windows of images x [n, c, h, w] or [c, h, w] as columns. The kernel has one or two sizes.
func NewUnfold(kernel []int, options ...WindowOptions) (*Module, error) {
	return window("NewUnfold", kernel, options, capi.Trt_unfold_create)
}

// NewFold gives the sum of windows, given as columns, in images [.., outputH, outputW]. The kernel has one or two sizes.
func NewFold(outputH, outputW int, kernel []int, options ...WindowOptions) (*Module, error) {
	return window("NewFold", kernel, options, func(h, w int, c, out unsafe.Pointer) uintptr {
		return capi.Trt_fold_create(outputH, outputW, h, w, c, out)
	})
}

// NewPReLU is x, or weight x below zero: one weight for all channels or one for each, init at first; PyTorch's defaults are 1 and 0.25.
func NewPReLU(numParameters int, init float64, dtype ...DType) (*Module, error) {
	d, err := pick("NewPReLU", dtype)
	if err != nil {
		return nil, err
	}
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_prelu_create(numParameters, init, int(d.c()), out) })
}

// NewBilinear makes x1 W x2 + b for ForwardWith. Parameters: "weight" [out, in1, in2] and "bias" [out].
func NewBilinear(in1Features, in2Features, outFeatures int, options ...NewLinearOptions) (*Module, error) {
	o, err := pick("NewBilinear", options)
	if err != nil {
		return nil, err
	}
	return layer("NewBilinear", o.Generator, capi.Trt_linear_options_init, func(c *capi.LinearOptions, g uintptr) error {
		c.Bias, c.DType, c.Generator = o.Bias.or(c.Bias), int32(o.DType.c()), g
		return nil
	}, func(c, out unsafe.Pointer) uintptr {
		return capi.Trt_bilinear_create(in1Features, in2Features, outFeatures, c, out)
	})
}

// BagMode tells what an EmbeddingBag gives of the rows of a bag.
type BagMode int32

// The modes of an EmbeddingBag.
const (
	BagSum BagMode = iota
	BagMean
	BagMax
)

// NewEmbeddingBagOptions are the options of NewEmbeddingBag.
type NewEmbeddingBagOptions struct {
	Mode              Optional[BagMode] // BagMean
	ScaleGradByFreq   bool              // a row's gradient is divided by how often it stands in the input. Not for BagMax
	IncludeLastOffset bool              // offsets end with the number of indices
	PaddingIdx        Optional[int]     // a row that is zero at first and takes no part; negative counts from the end
	DType             DType             // the default dtype
	Generator         *Generator        // for the initial values; the default generator
}

// NewEmbeddingBag gives the sum, mean or maximum of the rows of a table that each bag names. Inputs: indices [bags, n], or [n] with offsets [bags] for
// ForwardWith; offsets; weights of the indices' shape.
func NewEmbeddingBag(numEmbeddings, embeddingDim int, options ...NewEmbeddingBagOptions) (*Module, error) {
	o, err := pick("NewEmbeddingBag", options)
	if err != nil {
		return nil, err
	}
	return layer("NewEmbeddingBag", o.Generator, capi.Trt_embedding_bag_options_init, func(c *capi.EmbeddingBagOptions, g uintptr) error {
		c.Mode, c.DType, c.Generator = int32(o.Mode.or(BagMode(c.Mode))), int32(o.DType.c()), g
		c.ScaleGradByFreq, c.IncludeLastOffset = o.ScaleGradByFreq, o.IncludeLastOffset
		c.HasPaddingIdx, c.PaddingIdx = o.PaddingIdx.given, int64(o.PaddingIdx.value)
		return nil
	}, func(c, out unsafe.Pointer) uintptr {
		return capi.Trt_embedding_bag_create(numEmbeddings, embeddingDim, c, out)
	})
}

// MultiheadAttentionOptions are the options of NewMultiheadAttention.
type MultiheadAttentionOptions struct {
	KDim, VDim  int            // embedDim; the numbers of the keys' and the values' features
	Dropout     float64        // 0; of the probabilities, in training mode
	Bias        Optional[bool] // true
	AddBiasKV   bool           // a key and a value, "bias_k" and "bias_v", behind the others
	AddZeroAttn bool           // a key and a value of zeros behind the others
	BatchFirst  bool           // inputs and output begin with the batch
	DType       DType          // the default dtype
	Generator   *Generator     // for the initial values; the default generator
}

// NewMultiheadAttention makes attention of several heads for ForwardWith. Inputs: query [l, n, embedDim], key, value, key padding mask or nil, attention
// mask or nil. Outputs: as query; the probabilities [n, l, s], means over the heads; those of every head [n, numHeads, l, s].
func NewMultiheadAttention(embedDim, numHeads int, options ...MultiheadAttentionOptions) (*Module, error) {
	o, err := pick("NewMultiheadAttention", options)
	if err != nil {
		return nil, err
	}
	return layer("NewMultiheadAttention", o.Generator, capi.Trt_attention_options_init, func(c *capi.AttentionOptions, g uintptr) error {
		c.KDim, c.VDim, c.Dropout, c.Bias, c.DType, c.Generator = int64(o.KDim), int64(o.VDim), o.Dropout, o.Bias.or(c.Bias), int32(o.DType.c()), g
		c.AddBiasKV, c.AddZeroAttn, c.BatchFirst = o.AddBiasKV, o.AddZeroAttn, o.BatchFirst
		return nil
	}, func(c, out unsafe.Pointer) uintptr {
		return capi.Trt_multihead_attention_create(embedDim, numHeads, c, out)
	})
}

// TransformerOptions are the options of the layers of transformers.
type TransformerOptions struct {
	DimFeedforward int               // 2048; features between the two linear layers
	Dropout        Optional[float64] // 0.1; in training mode
	LayerNormEps   Optional[float64] // 1e-5
	Bias           Optional[bool]    // true; false: no "bias" in any part
	BatchFirst     bool              // inputs and output begin with the batch
	NormFirst      bool              // normalizes before each part instead of after it
	Gelu           bool              // instead of relu
	DType          DType             // the default dtype
	Generator      *Generator        // for the initial values; the default generator
}

func transformerLayer(op string, dModel, nhead int, options []TransformerOptions,
	create func(dModel, nhead int, options, out unsafe.Pointer) uintptr) (*Module, error) {
	o, err := pick(op, options)
	if err != nil {
		return nil, err
	}
	return layer(op, o.Generator, capi.Trt_transformer_options_init, func(c *capi.TransformerOptions, g uintptr) error {
		if o.DimFeedforward != 0 {
			c.DimFeedforward = int64(o.DimFeedforward)
		}
		c.Dropout, c.LayerNormEps, c.Bias = o.Dropout.or(c.Dropout), o.LayerNormEps.or(c.LayerNormEps), o.Bias.or(c.Bias)
		c.BatchFirst, c.NormFirst, c.Gelu, c.DType, c.Generator = o.BatchFirst, o.NormFirst, o.Gelu, int32(o.DType.c()), g
		return nil
	}, func(c, out unsafe.Pointer) uintptr { return create(dModel, nhead, c, out) })
}

// NewTransformerEncoderLayer makes self-attention and two linear layers with residual connections. Inputs: src [l, n, dModel], mask, key padding mask.
func NewTransformerEncoderLayer(dModel, nhead int, options ...TransformerOptions) (*Module, error) {
	return transformerLayer("NewTransformerEncoderLayer", dModel, nhead, options, capi.Trt_transformer_encoder_layer_create)
}

// NewTransformerDecoderLayer is the same with attention to memory in between, for ForwardWith. Inputs: tgt, memory, the masks of both, their key padding
// masks.
func NewTransformerDecoderLayer(dModel, nhead int, options ...TransformerOptions) (*Module, error) {
	return transformerLayer("NewTransformerDecoderLayer", dModel, nhead, options, capi.Trt_transformer_decoder_layer_create)
}

func transformerStack(op string, copied *Module, numLayers int, norm *Module,
	create func(layer uintptr, n int, norm uintptr, out unsafe.Pointer) uintptr) (*Module, error) {
	h0, h1 := copied.object().enter(), norm.object().enter()
	defer norm.object().exit(h1)
	defer copied.object().exit(h0)
	if h0 == 0 && copied != nil || h1 == 0 && norm != nil {
		return nil, closed(op, "module")
	}
	return newModule(func(out unsafe.Pointer) uintptr { return create(h0, numLayers, h1, out) })
}

// NewTransformerEncoder makes numLayers copies of a TransformerEncoderLayer, and norm (nil: none) after them.
func NewTransformerEncoder(encoderLayer *Module, numLayers int, norm *Module) (*Module, error) {
	return transformerStack("NewTransformerEncoder", encoderLayer, numLayers, norm, capi.Trt_transformer_encoder_create)
}

// NewTransformerDecoder makes numLayers copies of a TransformerDecoderLayer, and norm (nil: none) after them.
func NewTransformerDecoder(decoderLayer *Module, numLayers int, norm *Module) (*Module, error) {
	return transformerStack("NewTransformerDecoder", decoderLayer, numLayers, norm, capi.Trt_transformer_decoder_create)
}

// NewTransformer makes a TransformerEncoder and a TransformerDecoder that attends to what it gives, for ForwardWith; PyTorch's defaults are 512, 8, 6 and 6. Inputs:
// src [s, n, dModel], tgt [l, n, dModel], their masks and that of memory, the key padding masks of all three.
func NewTransformer(dModel, nhead, numEncoderLayers, numDecoderLayers int, options ...TransformerOptions) (*Module, error) {
	return transformerLayer("NewTransformer", dModel, nhead, options, func(dModel, nhead int, c, out unsafe.Pointer) uintptr {
		return capi.Trt_transformer_create(dModel, nhead, numEncoderLayers, numDecoderLayers, c, out)
	})
}

// NewRReLU is x, or below zero x times a slope: in training mode drawn for each element, uniform from lower to upper, else their mean; PyTorch's defaults
// are 1/8 and 1/3.
func NewRReLU(lower, upper float64) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_rrelu_create(lower, upper, out) })
}

// NewSoftmax2d is softmax over the channels of x [n, c, h, w] or [c, h, w].
func NewSoftmax2d() (*Module, error) { return newModule(capi.Trt_softmax2d_create) }

// NewAlphaDropout is dropout for networks with SELU, which keeps mean 0 and variance 1.
func NewAlphaDropout(p float64) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_alpha_dropout_create(p, out) })
}

// NewFeatureAlphaDropout is AlphaDropout of whole channels of x [n, c, ...].
func NewFeatureAlphaDropout(p float64) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_feature_alpha_dropout_create(p, out) })
}

func upsampling2d(size []int, scaleFactor []float64, bilinear bool) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr {
		return capi.Trt_upsampling2d_create(optionalList(size), len(size), optionalList(scaleFactor), len(scaleFactor), bilinear, out)
	})
}

// NewUpsamplingNearest2d resizes images [n, c, h, w] with the nearest elements, to a size or by a factor; the other one is nil.
func NewUpsamplingNearest2d(size []int, scaleFactor []float64) (*Module, error) {
	return upsampling2d(size, scaleFactor, false)
}

// NewUpsamplingBilinear2d resizes images [n, c, h, w] with mode bilinear and aligned corners, to a size or by a factor; the other one is nil.
func NewUpsamplingBilinear2d(size []int, scaleFactor []float64) (*Module, error) {
	return upsampling2d(size, scaleFactor, true)
}

// NewFractionalMaxPool gives maxima of windows of x [n, c, ...] or [c, ...] at random places, by the two or three sizes of the kernel. The output's size or its
// ratio to the input, in (0, 1), has one number for all dimensions or one for each; the other one is nil.
func NewFractionalMaxPool(kernel []int, outputSize []int, outputRatio []float64) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr {
		return capi.Trt_fractional_max_poolnd_create(optionalList(kernel), len(kernel), optionalList(outputSize), len(outputSize), optionalList(outputRatio), len(outputRatio), out)
	})
}

// NewLPPool1d gives the sum of x^normType of each window of x [n, c, l] or [c, l], to the power 1 / normType. Stride and CeilMode count.
func NewLPPool1d(normType float64, kernel []int, options ...PoolingNdOptions) (*Module, error) {
	return poolNd("NewLPPool1d", 1, kernel, options, func(kernel unsafe.Pointer, ndim int, c, out unsafe.Pointer) uintptr {
		return capi.Trt_lp_poolnd_create(normType, kernel, ndim, c, out)
	})
}

// NewLPPool2d gives the sum of x^normType of each window of x [n, c, h, w] or [c, h, w], to the power 1 / normType. Stride and CeilMode count.
func NewLPPool2d(normType float64, kernel []int, options ...PoolingNdOptions) (*Module, error) {
	return poolNd("NewLPPool2d", 2, kernel, options, func(kernel unsafe.Pointer, ndim int, c, out unsafe.Pointer) uintptr {
		return capi.Trt_lp_poolnd_create(normType, kernel, ndim, c, out)
	})
}

// NewLPPool3d gives the sum of x^normType of each window of x [n, c, d, h, w] or [c, d, h, w], to the power 1 / normType. Stride and CeilMode count.
func NewLPPool3d(normType float64, kernel []int, options ...PoolingNdOptions) (*Module, error) {
	return poolNd("NewLPPool3d", 3, kernel, options, func(kernel unsafe.Pointer, ndim int, c, out unsafe.Pointer) uintptr {
		return capi.Trt_lp_poolnd_create(normType, kernel, ndim, c, out)
	})
}

// NewMaxUnpool1d makes the inverse of MaxPool1d for ForwardWith, with zeros where no maximum was: x [n, c, l] or [c, l], and the indices of the
// maxima. Stride and Padding count.
func NewMaxUnpool1d(kernel []int, options ...PoolingNdOptions) (*Module, error) {
	return poolNd("NewMaxUnpool1d", 1, kernel, options, capi.Trt_max_unpoolnd_create)
}

// NewMaxUnpool2d makes the inverse of MaxPool2d for ForwardWith, with zeros where no maximum was: x [n, c, h, w] or [c, h, w], and the indices of the
// maxima. Stride and Padding count.
func NewMaxUnpool2d(kernel []int, options ...PoolingNdOptions) (*Module, error) {
	return poolNd("NewMaxUnpool2d", 2, kernel, options, capi.Trt_max_unpoolnd_create)
}

// NewMaxUnpool3d makes the inverse of MaxPool3d for ForwardWith, with zeros where no maximum was: x [n, c, d, h, w] or [c, d, h, w], and the indices of the
// maxima. Stride and Padding count.
func NewMaxUnpool3d(kernel []int, options ...PoolingNdOptions) (*Module, error) {
	return poolNd("NewMaxUnpool3d", 3, kernel, options, capi.Trt_max_unpoolnd_create)
}

// NewCosineSimilarity makes the cosine of the angle between the vectors along dimension dim of two tensors, for ForwardWith; PyTorch's defaults are 1 and 1e-8.
func NewCosineSimilarity(dim int, eps float64) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_cosine_similarity_create(dim, eps, out) })
}

// NewPairwiseDistance makes the p-norm of the difference of two tensors along the last dimension, for ForwardWith; PyTorch's defaults are 2, 1e-6 and false.
func NewPairwiseDistance(p, eps float64, keepdim bool) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_pairwise_distance_create(p, eps, keepdim, out) })
}
