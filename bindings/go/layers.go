package tensorrt

import (
	"unsafe"

	"tensorrt/internal/capi"
)

// layer sets up a struct of options of C, lets fill change it, and makes the module.
func layer[C any](op string, generator *Generator, init func(unsafe.Pointer), fill func(c *C, generator uintptr) error, create func(options, out unsafe.Pointer) uintptr) (*Module, error) {
	var m *Module
	err := generator.with(op, func(g uintptr) error {
		c := new(C)
		init(unsafe.Pointer(c))
		if err := fill(c, g); err != nil {
			return err
		}
		var err error
		m, err = newModule(func(out unsafe.Pointer) uintptr { return create(unsafe.Pointer(c), out) })
		return err
	})
	return m, err
}

// pair sets one or two sizes; nothing for nil.
func pair(op, what string, to *[2]int64, v []int) error {
	switch len(v) {
	case 0:
	case 1:
		to[0], to[1] = int64(v[0]), int64(v[0])
	case 2:
		to[0], to[1] = int64(v[0]), int64(v[1])
	default:
		return invalid(op, "%s has one or two numbers, got %v", what, v)
	}
	return nil
}

func firstError(errors ...error) error {
	for _, err := range errors {
		if err != nil {
			return err
		}
	}
	return nil
}

// NewLinearOptions are the options of NewLinear.
type NewLinearOptions struct {
	Bias      Optional[bool] // true
	DType     DType          // the default dtype
	Generator *Generator     // for the initial values; the default generator
}

// NewLinear makes y = x W^T + b: x [..., inFeatures] -> [..., outFeatures]. Parameters: "weight" [out, in] and "bias" [out].
func NewLinear(inFeatures, outFeatures int, options ...NewLinearOptions) (*Module, error) {
	o, err := pick("NewLinear", options)
	if err != nil {
		return nil, err
	}
	return layer("NewLinear", o.Generator, capi.Trt_linear_options_init, func(c *capi.LinearOptions, g uintptr) error {
		c.Bias, c.DType, c.Generator = o.Bias.or(c.Bias), int32(o.DType.c()), g
		return nil
	}, func(c, out unsafe.Pointer) uintptr { return capi.Trt_linear_create(inFeatures, outFeatures, c, out) })
}

// NewEmbeddingOptions are the options of NewEmbedding.
type NewEmbeddingOptions struct {
	DType      DType         // the default dtype
	PaddingIdx Optional[int] // a row that is zero at first and gets no gradient; negative counts from the end
	Generator  *Generator    // for the initial values; the default generator
}

// NewEmbedding gives rows of a table: integer indices [...] -> [..., embeddingDim]. Parameter: "weight" [numEmbeddings, embeddingDim].
func NewEmbedding(numEmbeddings, embeddingDim int, options ...NewEmbeddingOptions) (*Module, error) {
	o, err := pick("NewEmbedding", options)
	if err != nil {
		return nil, err
	}
	return layer("NewEmbedding", o.Generator, capi.Trt_embedding_options_init, func(c *capi.EmbeddingOptions, g uintptr) error {
		c.DType, c.Generator = int32(o.DType.c()), g
		c.HasPaddingIdx, c.PaddingIdx = o.PaddingIdx.given, int64(o.PaddingIdx.value)
		return nil
	}, func(c, out unsafe.Pointer) uintptr {
		return capi.Trt_embedding_create(numEmbeddings, embeddingDim, c, out)
	})
}

// ConvolutionOptions are the options of convolutions. One number in a list stands for both directions.
type ConvolutionOptions struct {
	Stride      []int          // 1
	Padding     []int          // 0, zeros on both sides
	Dilation    []int          // 1
	Groups      int            // 1; divides both numbers of channels
	Bias        Optional[bool] // true
	PaddingSame bool           // pads so that the output is as large as the input; stride 1 only
	DType       DType          // the default dtype
	Generator   *Generator     // for the initial values; the default generator
}

func (o *ConvolutionOptions) fill(op string, c *capi.ConvOptions, g uintptr) error {
	if o.Groups != 0 {
		c.Groups = int64(o.Groups)
	}
	c.Bias, c.PaddingSame, c.DType, c.Generator = o.Bias.or(c.Bias), o.PaddingSame, int32(o.DType.c()), g
	return firstError(pair(op, "Stride", &c.Stride, o.Stride), pair(op, "Padding", &c.Padding, o.Padding), pair(op, "Dilation", &c.Dilation, o.Dilation))
}

// NewConv1d makes a convolution x [n, in, l] or [in, l] -> [n, out, l'] or [out, l']. Parameters: "weight" [out, in / groups, kernel] and "bias" [out].
func NewConv1d(inChannels, outChannels, kernelSize int, options ...ConvolutionOptions) (*Module, error) {
	o, err := pick("NewConv1d", options)
	if err != nil {
		return nil, err
	}
	return layer("NewConv1d", o.Generator, capi.Trt_conv_options_init, func(c *capi.ConvOptions, g uintptr) error { return o.fill("NewConv1d", c, g) },
		func(c, out unsafe.Pointer) uintptr {
			return capi.Trt_conv1d_create(inChannels, outChannels, kernelSize, c, out)
		})
}

// NewConv2d makes a convolution x [n, in, h, w] or [in, h, w] -> [n, out, h', w'] or [out, h', w']. Parameters: "weight" [out, in / groups, kh, kw] and
// "bias" [out]. The kernel has one or two sizes.
func NewConv2d(inChannels, outChannels int, kernel []int, options ...ConvolutionOptions) (*Module, error) {
	o, err := pick("NewConv2d", options)
	if err != nil {
		return nil, err
	}
	var k [2]int64
	if err := pair("NewConv2d", "kernel", &k, kernel); err != nil {
		return nil, err
	}
	return layer("NewConv2d", o.Generator, capi.Trt_conv_options_init, func(c *capi.ConvOptions, g uintptr) error { return o.fill("NewConv2d", c, g) },
		func(c, out unsafe.Pointer) uintptr {
			return capi.Trt_conv2d_create(inChannels, outChannels, int(k[0]), int(k[1]), c, out)
		})
}

// NormalizationOptions are the options of normalizations.
type NormalizationOptions struct {
	Eps               Optional[float64] // 1e-5, added to the variance
	Momentum          Optional[float64] // 0.1; negative: a cumulative average. Batch normalization only
	Affine            Optional[bool]    // true: parameters "weight" and "bias"
	Bias              Optional[bool]    // true; false: no "bias"
	TrackRunningStats Optional[bool]    // true: buffers "running_mean", "running_var", "num_batches_tracked". Batch normalization only
	DType             DType             // the default dtype
}

func norm(op string, options []NormalizationOptions, create func(options, out unsafe.Pointer) uintptr) (*Module, error) {
	return normFrom(op, options, capi.Trt_norm_options_init, create)
}

func normFrom(op string, options []NormalizationOptions, init func(unsafe.Pointer), create func(options, out unsafe.Pointer) uintptr) (*Module, error) {
	o, err := pick(op, options)
	if err != nil {
		return nil, err
	}
	return layer(op, nil, init, func(c *capi.NormOptions, _ uintptr) error {
		c.Eps, c.Momentum = o.Eps.or(c.Eps), o.Momentum.or(c.Momentum)
		c.Affine, c.Bias, c.TrackRunningStats = o.Affine.or(c.Affine), o.Bias.or(c.Bias), o.TrackRunningStats.or(c.TrackRunningStats)
		c.DType = int32(o.DType.c())
		return nil
	}, create)
}

// NewBatchNorm1d normalizes x [n, numFeatures] or [n, numFeatures, l] over all but the channels.
func NewBatchNorm1d(numFeatures int, options ...NormalizationOptions) (*Module, error) {
	return norm("NewBatchNorm1d", options, func(c, out unsafe.Pointer) uintptr { return capi.Trt_batch_norm1d_create(numFeatures, c, out) })
}

// NewBatchNorm2d normalizes x [n, numFeatures, h, w] over all but the channels.
func NewBatchNorm2d(numFeatures int, options ...NormalizationOptions) (*Module, error) {
	return norm("NewBatchNorm2d", options, func(c, out unsafe.Pointer) uintptr { return capi.Trt_batch_norm2d_create(numFeatures, c, out) })
}

// NewLayerNorm normalizes x [..., normalizedShape] over the last dimensions.
func NewLayerNorm(normalizedShape []int, options ...NormalizationOptions) (*Module, error) {
	return norm("NewLayerNorm", options, func(c, out unsafe.Pointer) uintptr {
		return capi.Trt_layer_norm_create(requiredList(normalizedShape), len(normalizedShape), c, out)
	})
}

// NewGroupNorm normalizes x [n, numChannels, ...] over groups of channels.
func NewGroupNorm(numGroups, numChannels int, options ...NormalizationOptions) (*Module, error) {
	return norm("NewGroupNorm", options, func(c, out unsafe.Pointer) uintptr { return capi.Trt_group_norm_create(numGroups, numChannels, c, out) })
}

// RecurrentOptions are the options of recurrent layers. Cells take Bias, Relu, DType and Generator only.
type RecurrentOptions struct {
	NumLayers     int            // 1
	ProjSize      int            // 0; otherwise the size that hidden states are projected to. LSTM only
	Dropout       float64        // between layers, in training mode
	Bias          Optional[bool] // true
	BatchFirst    bool           // input and output begin with the batch
	Bidirectional bool           // a second direction, whose output stands behind the first one's
	Relu          bool           // instead of tanh. RNN and its cell only
	DType         DType          // the default dtype
	Generator     *Generator     // for the initial values; the default generator
}

func recurrent(op string, inputSize, hiddenSize int, options []RecurrentOptions,
	create func(input, hidden int, options, out unsafe.Pointer) uintptr) (*Module, error) {
	o, err := pick(op, options)
	if err != nil {
		return nil, err
	}
	return layer(op, o.Generator, capi.Trt_recurrent_options_init, func(c *capi.RecurrentOptions, g uintptr) error {
		if o.NumLayers != 0 {
			c.NumLayers = int64(o.NumLayers)
		}
		c.ProjSize, c.Dropout, c.Bias, c.DType, c.Generator = int64(o.ProjSize), o.Dropout, o.Bias.or(c.Bias), int32(o.DType.c()), g
		c.BatchFirst, c.Bidirectional, c.Relu = o.BatchFirst, o.Bidirectional, o.Relu
		return nil
	}, func(c, out unsafe.Pointer) uintptr { return create(inputSize, hiddenSize, c, out) })
}

// NewLSTM makes a long short-term memory: x [t, n, inputSize] or [t, inputSize] -> [t, n, directions * size]. Forward begins with zeros and gives the
// output alone; ForwardRecurrent takes and gives states.
func NewLSTM(inputSize, hiddenSize int, options ...RecurrentOptions) (*Module, error) {
	return recurrent("NewLSTM", inputSize, hiddenSize, options, capi.Trt_lstm_create)
}

// NewGRU makes gated recurrent units; as NewLSTM, with one state.
func NewGRU(inputSize, hiddenSize int, options ...RecurrentOptions) (*Module, error) {
	return recurrent("NewGRU", inputSize, hiddenSize, options, capi.Trt_gru_create)
}

// NewRNN makes Elman layers with tanh or relu; as NewGRU.
func NewRNN(inputSize, hiddenSize int, options ...RecurrentOptions) (*Module, error) {
	return recurrent("NewRNN", inputSize, hiddenSize, options, capi.Trt_rnn_create)
}

// NewLSTMCell makes one step of an LSTM: x [n, inputSize] or [inputSize] -> the new hidden state.
func NewLSTMCell(inputSize, hiddenSize int, options ...RecurrentOptions) (*Module, error) {
	return recurrent("NewLSTMCell", inputSize, hiddenSize, options, capi.Trt_lstm_cell_create)
}

// NewGRUCell makes one step of a GRU.
func NewGRUCell(inputSize, hiddenSize int, options ...RecurrentOptions) (*Module, error) {
	return recurrent("NewGRUCell", inputSize, hiddenSize, options, capi.Trt_gru_cell_create)
}

// NewRNNCell makes one step of an Elman layer.
func NewRNNCell(inputSize, hiddenSize int, options ...RecurrentOptions) (*Module, error) {
	return recurrent("NewRNNCell", inputSize, hiddenSize, options, capi.Trt_rnn_cell_create)
}

// NewIdentity gives its input.
func NewIdentity() (*Module, error) { return newModule(capi.Trt_identity_create) }

// NewDropout in training mode zeroes elements with probability p and scales the others by 1 / (1 - p).
func NewDropout(p float64) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_dropout_create(p, out) })
}

// NewFlatten joins the dimensions startDim to endDim; PyTorch's defaults are 1 and -1.
func NewFlatten(startDim, endDim int) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_flatten_create(startDim, endDim, out) })
}

// NewUnflatten splits a dimension into sizes, one of which may be -1.
func NewUnflatten(dim int, sizes ...int) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr {
		return capi.Trt_unflatten_create(dim, requiredList(sizes), len(sizes), out)
	})
}

// NewReLU is max(x, 0).
func NewReLU() (*Module, error) { return newModule(capi.Trt_relu_create) }

// NewReLU6 is min(max(x, 0), 6).
func NewReLU6() (*Module, error) { return newModule(capi.Trt_relu6_create) }

// NewLeakyReLU is x, or negativeSlope x below zero; PyTorch's default is 0.01.
func NewLeakyReLU(negativeSlope float64) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_leaky_relu_create(negativeSlope, out) })
}

// NewELU is x, or alpha (exp(x) - 1) below zero; PyTorch's default is 1.
func NewELU(alpha float64) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_elu_create(alpha, out) })
}

// NewGELU is x times the normal distribution function, or with tanh its approximation.
func NewGELU(tanh bool) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_gelu_create(tanh, out) })
}

// NewSiLU is x sigmoid(x).
func NewSiLU() (*Module, error) { return newModule(capi.Trt_silu_create) }

// NewMish is x tanh(softplus(x)).
func NewMish() (*Module, error) { return newModule(capi.Trt_mish_create) }

// NewSigmoid is 1 / (1 + exp(-x)).
func NewSigmoid() (*Module, error) { return newModule(capi.Trt_sigmoid_create) }

// NewTanh is tanh(x).
func NewTanh() (*Module, error) { return newModule(capi.Trt_tanh_create) }

// NewSoftplus is log(1 + exp(beta x)) / beta, x where beta x > threshold; PyTorch's defaults are 1 and 20.
func NewSoftplus(beta, threshold float64) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_softplus_create(beta, threshold, out) })
}

// NewHardswish is x relu6(x + 3) / 6.
func NewHardswish() (*Module, error) { return newModule(capi.Trt_hardswish_create) }

// NewSELU is elu with fixed factors that keep mean and variance.
func NewSELU() (*Module, error) { return newModule(capi.Trt_selu_create) }

// NewCELU is max(x, 0) + min(alpha (exp(x / alpha) - 1), 0) (PyTorch's default: 1).
func NewCELU(alpha float64) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_celu_create(alpha, out) })
}

// NewHardtanh is x limited to [minVal, maxVal] (PyTorch's defaults: -1 and 1).
func NewHardtanh(minVal float64, maxVal float64) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_hardtanh_create(minVal, maxVal, out) })
}

// NewHardsigmoid is relu6(x + 3) / 6.
func NewHardsigmoid() (*Module, error) { return newModule(capi.Trt_hardsigmoid_create) }

// NewLogSigmoid is The logarithm of the sigmoid.
func NewLogSigmoid() (*Module, error) { return newModule(capi.Trt_log_sigmoid_create) }

// NewSoftsign is x / (1 + |x|).
func NewSoftsign() (*Module, error) { return newModule(capi.Trt_softsign_create) }

// NewTanhshrink is x - tanh(x).
func NewTanhshrink() (*Module, error) { return newModule(capi.Trt_tanhshrink_create) }

// NewSoftshrink is x moved towards zero by lambd, zero within (PyTorch's default: 0.5).
func NewSoftshrink(lambd float64) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_softshrink_create(lambd, out) })
}

// NewHardshrink is x, or zero within [-lambd, lambd] (PyTorch's default: 0.5).
func NewHardshrink(lambd float64) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_hardshrink_create(lambd, out) })
}

// NewThreshold is x, or value where x <= threshold.
func NewThreshold(threshold float64, value float64) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_threshold_create(threshold, value, out) })
}

// NewGLU is The first half along dim times the sigmoid of the second (PyTorch's default: -1).
func NewGLU(dim int) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_glu_create(dim, out) })
}

// NewSoftmin is Softmax of -x along dim.
func NewSoftmin(dim int) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_softmin_create(dim, out) })
}

// NewPixelShuffle is x [..., c r r, h, w] -> [..., c, h r, w r] for the factor r.
func NewPixelShuffle(upscaleFactor int) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_pixel_shuffle_create(upscaleFactor, out) })
}

// NewPixelUnshuffle is x [..., c, h r, w r] -> [..., c r r, h, w] for the factor r.
func NewPixelUnshuffle(downscaleFactor int) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_pixel_unshuffle_create(downscaleFactor, out) })
}

// NewChannelShuffle is Interleaves groups of the channels (dimension 1).
func NewChannelShuffle(groups int) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_channel_shuffle_create(groups, out) })
}

// NewAdaptiveAvgPool1d is Means of windows such that the output is [.., outputSize].
func NewAdaptiveAvgPool1d(outputSize int) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_adaptive_avg_pool1d_create(outputSize, out) })
}

// NewAdaptiveMaxPool1d is Maxima of windows such that the output is [.., outputSize].
func NewAdaptiveMaxPool1d(outputSize int) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_adaptive_max_pool1d_create(outputSize, out) })
}

// NewSoftmax is softmax along a dimension.
func NewSoftmax(dim int) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_softmax_create(dim, out) })
}

// NewLogSoftmax is the logarithm of softmax along a dimension.
func NewLogSoftmax(dim int) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_log_softmax_create(dim, out) })
}

// PoolingOptions are the options of pooling. One number in a list stands for both directions.
type PoolingOptions struct {
	Stride          []int          // the kernel's size
	Padding         []int          // 0; at most half the kernel
	Dilation        []int          // 1; maximum only
	CeilMode        bool           // windows may begin inside and end outside
	CountIncludePad Optional[bool] // true; average only
	DivisorOverride int            // the window's size; average only
}

func pool(op string, kernel []int, options []PoolingOptions, create func(h, w int, options, out unsafe.Pointer) uintptr) (*Module, error) {
	o, err := pick(op, options)
	if err != nil {
		return nil, err
	}
	var k [2]int64
	if err := pair(op, "kernel", &k, kernel); err != nil {
		return nil, err
	}
	return layer(op, nil, capi.Trt_pool_options_init, func(c *capi.PoolOptions, _ uintptr) error {
		c.CeilMode, c.CountIncludePad, c.DivisorOverride = o.CeilMode, o.CountIncludePad.or(c.CountIncludePad), int64(o.DivisorOverride)
		return firstError(pair(op, "Stride", &c.Stride, o.Stride), pair(op, "Padding", &c.Padding, o.Padding), pair(op, "Dilation", &c.Dilation, o.Dilation))
	}, func(c, out unsafe.Pointer) uintptr { return create(int(k[0]), int(k[1]), c, out) })
}

// NewMaxPool2d gives maxima of windows: x [n, c, h, w] or [c, h, w]. The kernel has one or two sizes.
func NewMaxPool2d(kernel []int, options ...PoolingOptions) (*Module, error) {
	return pool("NewMaxPool2d", kernel, options, capi.Trt_max_pool2d_create)
}

// NewAvgPool2d gives means of windows: x [n, c, h, w] or [c, h, w]. The kernel has one or two sizes.
func NewAvgPool2d(kernel []int, options ...PoolingOptions) (*Module, error) {
	return pool("NewAvgPool2d", kernel, options, capi.Trt_avg_pool2d_create)
}

// NewAdaptiveAvgPool2d gives means of windows such that the output is [.., h, w].
func NewAdaptiveAvgPool2d(h, w int) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_adaptive_avg_pool2d_create(h, w, out) })
}

// NewAdaptiveMaxPool2d gives maxima of windows such that the output is [.., h, w].
func NewAdaptiveMaxPool2d(h, w int) (*Module, error) {
	return newModule(func(out unsafe.Pointer) uintptr { return capi.Trt_adaptive_max_pool2d_create(h, w, out) })
}
