package tensorrt

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"
)

func TestModules(t *testing.T) {
	check(t, ManualSeed(1))
	net := must(NewSequential(
		must(NewConv2d(1, 4, []int{3}, ConvolutionOptions{Padding: []int{1}, Bias: Some(false)})), must(NewBatchNorm2d(4)), must(NewReLU()),
		must(NewMaxPool2d([]int{2})), must(NewFlatten(1, -1)), must(NewDropout(0.5)), must(NewLinear(4*4*4, 3))))
	if s := net.String(); !strings.Contains(s, "Conv2d(1, 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)") {
		t.Fatal(s)
	}
	x := must(Randn([]int{2, 1, 8, 8}))
	equal(t, must(net.Forward(x)).Shape(), []int{2, 3})
	equal(t, len(must(net.Parameters())), 5)
	equal(t, net.ParameterCount(), 4*9+8+64*3+3)
	equal(t, net.IsTraining(), true)
	check(t, net.Eval())
	equal(t, net.IsTraining(), false)
	equal(t, must(must(net.Forward(x)).Equal(must(net.Forward(x)))), true)
	children := must(net.Children())
	equal(t, children[1].Name, "1")
	equal(t, children[1].Module.TypeName(), "BatchNorm2d")
	equal(t, must(net.Submodule("6")).TypeName(), "Linear")
	equal(t, must(net.Submodule("")).TypeName(), "Sequential")
	_, err := net.Submodule("9")
	fails(t, err, NotFound)
	var seen []string
	check(t, net.Apply(func(m *Module) error { seen = append(seen, m.TypeName()); return nil }))
	equal(t, len(seen), 8)
	stop := errors.New("stop")
	if err := net.Apply(func(*Module) error { return stop }); err != stop {
		t.Fatal(err)
	}
	names := must(net.NamedParameters()).Names()
	equal(t, names, []string{"0.weight", "1.weight", "1.bias", "6.weight", "6.bias"})

	// Many goroutines share a model.
	want := must(net.Forward(x))
	var wait sync.WaitGroup
	for g := 0; g < 8; g++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			err := InferenceMode(func() error {
				for i := 0; i < 20; i++ {
					y, err := net.Forward(x)
					if err != nil {
						return err
					}
					if same, err := y.Equal(want); err != nil || !same {
						return fmt.Errorf("%v %v", same, err)
					}
					y.Close()
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}()
	}
	wait.Wait()

	check(t, net.SetRequiresGrad(false))
	equal(t, net.TrainableParameterCount(), 0)
	check(t, net.To(Float64))
	equal(t, must(net.Parameter("6.bias")).DType(), Float64)
	equal(t, must(net.Buffer("1.running_mean")).DType(), Float64)
	check(t, net.ResetParameters(nil))
	check(t, net.ZeroGrad())
	check(t, net.Close())
	_, err = net.Forward(x)
	if !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	// Layers that nothing above makes.
	for _, m := range []*Module{must(NewIdentity()), must(NewReLU6()), must(NewLeakyReLU(0.1)), must(NewELU(1)), must(NewGELU(true)), must(NewSiLU()), must(NewMish()),
		must(NewSigmoid()), must(NewTanh()), must(NewSoftplus(1, 20)), must(NewHardswish()), must(NewSoftmax(1)), must(NewLogSoftmax(1)),
		must(NewAvgPool2d([]int{2, 2}, PoolingOptions{Stride: []int{1}, CountIncludePad: Some(false)})), must(NewAdaptiveAvgPool2d(2, 2)),
		must(NewSELU()), must(NewCELU(1)), must(NewHardtanh(-1, 1)), must(NewHardsigmoid()), must(NewLogSigmoid()), must(NewSoftsign()), must(NewTanhshrink()),
		must(NewSoftshrink(0.5)), must(NewHardshrink(0.5)), must(NewThreshold(1, 1)), must(NewGLU(-1)),
		must(NewSoftmin(1)), must(NewPixelShuffle(1)), must(NewPixelUnshuffle(1)), must(NewChannelShuffle(1)),
		must(NewAdaptiveMaxPool2d(2, 2)), must(NewGroupNorm(1, 1)), must(NewLayerNorm([]int{8, 8}, NormalizationOptions{Eps: Some(1e-3)})), must(NewUnflatten(1, 1, 1))} {
		must(m.Forward(x))
	}
	must(must(NewConv1d(2, 3, 3, ConvolutionOptions{Groups: 1, Stride: []int{2}})).Forward(must(Ones([]int{1, 2, 9}))))
	must(must(NewAdaptiveAvgPool1d(2)).Forward(must(Ones([]int{1, 2, 9}))))
	must(must(NewAdaptiveMaxPool1d(2)).Forward(must(Ones([]int{1, 2, 9}))))
	must(must(NewBatchNorm1d(2)).Forward(must(Randn([]int{4, 2}))))
	rows := must(NewEmbedding(4, 2, NewEmbeddingOptions{PaddingIdx: Some(0)}))
	equal(t, must(ToSlice[float32](must(rows.Forward(must(FromSlice([]int{0})))))), []float32{0, 0})
	_, err = NewConv2d(1, 1, []int{1, 2, 3})
	fails(t, err, InvalidArgument, "kernel")
	_, err = NewLinear(-1, 2)
	fails(t, err, InvalidArgument)
}

func TestMoreLayers(t *testing.T) {
	prints := func(m *Module, text string) {
		t.Helper()
		equal(t, m.String(), text)
	}
	prints(must(NewConv3d(2, 4, []int{1, 2, 2}, ConvolutionNdOptions{Stride: []int{1, 2, 1}, Groups: 2, Bias: Some(false)})),
		"Conv3d(2, 4, kernel_size=(1, 2, 2), stride=(1, 2, 1), groups=2, bias=False)")
	prints(must(NewConvNd(2, 3, []int{3}, ConvolutionNdOptions{Padding: []int{2}, PaddingMode: PaddingCircular})),
		"Conv1d(2, 3, kernel_size=(3,), stride=(1,), padding=(2,), padding_mode=circular)")
	prints(must(NewConvTranspose2d(2, 3, []int{2, 3}, ConvolutionNdOptions{Stride: []int{2}, OutputPadding: []int{1}})),
		"ConvTranspose2d(2, 3, kernel_size=(2, 3), stride=(2, 2), output_padding=(1, 1))")
	equal(t, must(must(NewConvTranspose1d(2, 4, []int{3})).Forward(must(Ones([]int{1, 2, 4})))).Shape(), []int{1, 4, 6})
	equal(t, must(must(NewConvTranspose3d(1, 2, []int{2})).Forward(must(Ones([]int{1, 1, 2, 2, 2})))).Shape(), []int{1, 2, 3, 3, 3})
	_, err := NewConv3d(2, 3, []int{1, 2})
	fails(t, err, InvalidArgument)
	prints(must(NewBatchNorm3d(2)), "BatchNorm3d(2, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)")
	prints(must(NewInstanceNorm1d(2)), "InstanceNorm1d(2, eps=1e-05, momentum=0.1, affine=False, bias=False, track_running_stats=False)")
	prints(must(NewInstanceNorm2d(2, NormalizationOptions{Affine: Some(true)})),
		"InstanceNorm2d(2, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=False)")
	equal(t, must(NewInstanceNorm3d(2)).TypeName(), "InstanceNorm3d")
	prints(must(NewRMSNorm([]int{4})), "RMSNorm((4,), eps=None, elementwise_affine=True)")
	prints(must(NewRMSNorm([]int{4}, NewRMSNormOptions{Eps: Some(0.5), ElementwiseAffine: Some(false)})), "RMSNorm((4,), eps=0.5, elementwise_affine=False)")
	prints(must(NewLocalResponseNorm(2, 1e-4, 0.75, 1)), "LocalResponseNorm(2, alpha=0.0001, beta=0.75, k=1.0)")
	prints(must(NewMaxPool1d([]int{3}, PoolingNdOptions{Stride: []int{2}})), "MaxPool1d(kernel_size=3, stride=2, padding=0, dilation=1, ceil_mode=False)")
	prints(must(NewAvgPool1d([]int{2})), "AvgPool1d(kernel_size=(2,), stride=(2,), padding=(0,))")
	prints(must(NewMaxPool3d([]int{1, 2, 3})), "MaxPool3d(kernel_size=(1, 2, 3), stride=(1, 2, 3), padding=0, dilation=1, ceil_mode=False)")
	prints(must(NewAvgPool3d([]int{2})), "AvgPool3d(kernel_size=2, stride=2, padding=0)")
	prints(must(NewAdaptiveAvgPool3d(1, 2, 3)), "AdaptiveAvgPool3d(output_size=(1, 2, 3))")
	prints(must(NewAdaptiveMaxPool3d(2, 2, 2)), "AdaptiveMaxPool3d(output_size=2)")
	prints(must(NewDropout1d(0.5)), "Dropout1d(p=0.5, inplace=False)")
	prints(must(NewDropout2d(0.5)), "Dropout2d(p=0.5, inplace=False)")
	prints(must(NewDropout3d(0.5)), "Dropout3d(p=0.5, inplace=False)")
	prints(must(NewPad([]int{1, 2}, "constant", 2)), "ConstantPad1d(padding=(1, 2), value=2.0)")
	prints(must(NewPad([]int{1, 2, 3, 4}, "reflect", 0)), "ReflectionPad2d((1, 2, 3, 4))")
	prints(must(NewUpsample(UpsampleLayerOptions{ScaleFactor: []float64{2}, Mode: "bilinear", AlignCorners: Some(true)})), "Upsample(scale_factor=2.0, mode='bilinear')")
	prints(must(NewUpsample(UpsampleLayerOptions{Size: []int{4, 5}})), "Upsample(size=(4, 5), mode='nearest')")
	prints(must(NewUnfold([]int{2, 3}, WindowOptions{Padding: []int{1}, Stride: []int{2}})), "Unfold(kernel_size=(2, 3), dilation=1, padding=1, stride=2)")
	equal(t, must(must(NewFold(4, 4, []int{2}, WindowOptions{Stride: []int{2}})).Forward(must(Ones([]int{1, 8, 4})))).Shape(), []int{1, 2, 4, 4})
	prints(must(NewPReLU(3, 0.25)), "PReLU(num_parameters=3)")
	prints(must(NewPReLU(1, 0.25, Float64)), "PReLU(num_parameters=1)")
	prints(must(NewRReLU(0.125, 0.5)), "RReLU(lower=0.125, upper=0.5)")
	prints(must(NewAlphaDropout(0.5)), "AlphaDropout(p=0.5, inplace=False)")
	prints(must(NewFeatureAlphaDropout(0.5)), "FeatureAlphaDropout(p=0.5, inplace=False)")
	prints(must(NewUpsamplingNearest2d(nil, []float64{2})), "UpsamplingNearest2d(scale_factor=2.0, mode='nearest')")
	prints(must(NewUpsamplingBilinear2d([]int{4, 5}, nil)), "UpsamplingBilinear2d(size=(4, 5), mode='bilinear')")
	prints(must(NewLPPool1d(2, []int{3}, PoolingNdOptions{Stride: []int{2}})), "LPPool1d(norm_type=2.0, kernel_size=3, stride=2, ceil_mode=False)")
	prints(must(NewLPPool2d(2, []int{2, 3}, PoolingNdOptions{CeilMode: true})), "LPPool2d(norm_type=2.0, kernel_size=(2, 3), stride=None, ceil_mode=True)")
	prints(must(NewFractionalMaxPool([]int{2, 2}, []int{3}, nil)), "FractionalMaxPool2d()")
	prints(must(NewFractionalMaxPool([]int{2, 2, 2}, nil, []float64{0.5})), "FractionalMaxPool3d()")
	prints(must(NewLPPool3d(2, []int{2})), "LPPool3d(norm_type=2.0, kernel_size=2, stride=None, ceil_mode=False)")
	equal(t, must(must(NewSoftmax2d()).Forward(must(Ones([]int{2, 4, 1, 1})))).Shape(), []int{2, 4, 1, 1})
	unpool := must(NewMaxUnpool1d([]int{2}))
	equal(t, must(ToSlice[float32](must(unpool.ForwardWith(1, must(FromSlice([]float32{5, 7}, 1, 2)), must(FromSlice([]int{1, 2}, 1, 2))))[0])), []float32{0, 5, 7, 0})
	prints(must(NewMaxUnpool2d([]int{2}, PoolingNdOptions{Padding: []int{1}})), "MaxUnpool2d(kernel_size=(2, 2), stride=(2, 2), padding=(1, 1))")
	prints(must(NewMaxUnpool3d([]int{2})), "MaxUnpool3d(kernel_size=(2, 2, 2), stride=(2, 2, 2), padding=(0, 0, 0))")
	pair := []*Tensor{must(Ones([]int{2, 3})), must(Zeros([]int{2, 3}))}
	equal(t, must(must(must(NewPairwiseDistance(1, 0, true)).ForwardWith(1, pair...))[0].Sum()).Numel(), 1)
	equal(t, must(must(NewCosineSimilarity(1, 1e-8)).ForwardWith(1, pair...))[0].Shape(), []int{2})

	bilinear := must(NewBilinear(2, 3, 4, NewLinearOptions{Bias: Some(false)}))
	equal(t, must(bilinear.ForwardWith(1, must(Ones([]int{5, 2})), must(Ones([]int{5, 3}))))[0].Shape(), []int{5, 4})
	_, err = bilinear.ForwardWith(1, must(Ones([]int{5, 2})))
	fails(t, err, InvalidArgument)
	_, err = bilinear.ForwardWith(-1, must(Ones([]int{5, 2})), must(Ones([]int{5, 3})))
	fails(t, err, InvalidArgument)
	bag := must(NewEmbeddingBag(4, 3, NewEmbeddingBagOptions{Mode: Some(BagSum), PaddingIdx: Some(0)}))
	prints(bag, "EmbeddingBag(4, 3, mode='sum', padding_idx=0)")
	prints(must(NewEmbeddingBag(4, 3)), "EmbeddingBag(4, 3, mode='mean')")

	x := must(Randn([]int{2, 3, 4}))
	attention := must(NewMultiheadAttention(4, 2, MultiheadAttentionOptions{BatchFirst: true, AddBiasKV: true}))
	all := must(attention.ForwardWith(3, x, x, x, nil, nil))
	equal(t, len(all), 3)
	equal(t, all[0].Shape(), []int{2, 3, 4})
	equal(t, all[1].Shape(), []int{2, 3, 4})
	equal(t, all[2].Shape(), []int{2, 2, 3, 4})
	options := TransformerOptions{DimFeedforward: 6, BatchFirst: true, Dropout: Some(0.0)}
	both := must(must(NewTransformer(4, 2, 1, 2, options)).ForwardWith(1, x, must(Ones([]int{2, 5, 4}))))
	equal(t, both[0].Shape(), []int{2, 5, 4})
	part := must(NewTransformerEncoderLayer(4, 2, options))
	encoder := must(NewTransformerEncoder(part, 2, must(NewLayerNorm([]int{4}))))
	decoder := must(NewTransformerDecoder(must(NewTransformerDecoderLayer(4, 2, options)), 1, nil))
	memory := must(encoder.Forward(x))
	equal(t, must(decoder.ForwardWith(1, x, memory))[0].Shape(), []int{2, 3, 4})
	equal(t, len(must(encoder.Parameters())), 2*12+2)
	check(t, part.Close())
	_, err = NewTransformerEncoder(part, 2, nil)
	fails(t, err, FailedPrecondition)
	_, err = NewTransformerEncoder(encoder, 2, nil)
	fails(t, err, InvalidArgument)
	_, err = NewConvNd(2, 3, []int{1, 1, 1, 1})
	fails(t, err, InvalidArgument)
	_, err = NewConvNd(2, 3, nil)
	fails(t, err, InvalidArgument)
}

func TestRecurrent(t *testing.T) {
	x := must(Randn([]int{5, 3, 2}))
	for i, m := range []*Module{must(NewLSTM(2, 4, RecurrentOptions{NumLayers: 2, Bidirectional: true})), must(NewGRU(2, 4)),
		must(NewRNN(2, 4, RecurrentOptions{Relu: true}))} {
		output, hidden, cell, err := m.ForwardRecurrent(x, nil, nil)
		check(t, err)
		equal(t, output.Shape()[0], 5)
		if (cell != nil) != (i == 0) {
			t.Fatal("cells are those of an LSTM")
		}
		again, _, _, err := m.ForwardRecurrent(x, hidden, cell)
		check(t, err)
		equal(t, again.Shape(), output.Shape())
	}
	for _, m := range []*Module{must(NewLSTMCell(2, 4)), must(NewGRUCell(2, 4)), must(NewRNNCell(2, 4))} {
		equal(t, must(m.Forward(must(x.Select(0, 0)))).Shape(), []int{3, 4})
	}
	_, _, _, err := must(NewIdentity()).ForwardRecurrent(x, nil, nil)
	fails(t, err, InvalidArgument, "Identity")
	_, err = NewGRU(2, 0)
	fails(t, err, InvalidArgument, "hidden_size")
}

func second[T any](_ T, err error) error { return err }

func TestCustomModule(t *testing.T) {
	m := must(NewModule("Scale", func(self *Module, input *Tensor) (*Tensor, error) {
		w, err := self.Parameter("w")
		if err != nil {
			return nil, err
		}
		defer w.Close()
		return input.Mul(w)
	}))
	check(t, m.RegisterParameter("w", must(FromSlice([]float32{3}))))
	check(t, m.RegisterBuffer("b", must(FromSlice([]float32{1})), false))
	check(t, m.RegisterChild("child", must(NewReLU())))
	fails(t, m.RegisterParameter("w", must(FromSlice([]float32{3}))), InvalidArgument)
	net := must(NewSequential(m, must(NewReLU())))
	y := must(net.Forward(must(FromSlice([]float32{-1, 2}))))
	equal(t, must(ToSlice[float32](y)), []float32{0, 6})
	check(t, must(y.Sum()).Backward())
	equal(t, must(ToSlice[float32](must(must(m.Parameter("w")).Grad()))), []float32{2})
	check(t, m.SetParameter("w", must(FromSlice([]float32{5}))))
	equal(t, must(ToSlice[float32](must(net.Forward(must(FromSlice([]float32{-1, 2})))))), []float32{0, 10})
	stop := errors.New("stop")
	bad := must(NewModule("Bad", func(*Module, *Tensor) (*Tensor, error) { return nil, stop }))
	if _, err := must(NewSequential(bad)).Forward(y); err != stop {
		t.Fatal(err)
	}
	// Errors tell where they happened.
	inner := must(NewSequential(must(NewLinear(2, 3)), must(NewLinear(4, 5))))
	fails(t, second(must(NewSequential(must(NewReLU()), inner)).Forward(y)), InvalidArgument, "linear: ", "(in module '1.1', Linear)")
	own := must(NewModule("Own", func(self *Module, input *Tensor) (*Tensor, error) { return input.Sum(SumOptions{Dim: []int{7}}) }))
	fails(t, second(must(NewSequential(own)).Forward(y)), OutOfRange, "sum: ", "(in module '0', Own)")
	fails(t, own.RegisterChild("encoder", nil), InvalidArgument, "the child 'encoder' for Own is nil")
	fails(t, own.RegisterBuffer("offset", nil, true), InvalidArgument, "the tensor 'offset' for Own is nil")
	fails(t, second(NewSequential(own, nil)), InvalidArgument, "module 1 is nil")
	none := must(NewModule("None", func(*Module, *Tensor) (*Tensor, error) { return nil, nil }))
	if _, err := none.Forward(y); err == nil {
		t.Fatal("no error")
	}
	_, err := NewModule("x", nil)
	fails(t, err, InvalidArgument)
}

func TestTraining(t *testing.T) {
	check(t, ManualSeed(3))
	x := must(FromSlice([]float32{0, 1, 2, 3}, 4, 1))
	want := must(FromSlice([]float32{-1, 2, 5, 8}, 4, 1))
	for name, make := range map[string]func(p []*Tensor) (*Optimizer, error){
		"SGD":  func(p []*Tensor) (*Optimizer, error) { return NewSGD(p, SGDOptions{LR: Some(0.05), Momentum: 0.9}) },
		"Adam": func(p []*Tensor) (*Optimizer, error) { return NewAdam(p, AdamOptions{LR: Some(0.1)}) },
		"AdamW": func(p []*Tensor) (*Optimizer, error) {
			return NewAdamW(p, AdamOptions{LR: Some(0.1), WeightDecay: Some(0.0)})
		},
	} {
		model := must(NewLinear(1, 1))
		optimizer := must(make(must(model.Parameters())))
		equal(t, optimizer.TypeName(), name)
		scheduler := must(NewOneCycleLR(optimizer, 0.1, 400, OneCycleOptions{CycleMomentum: Some(name != "SGD")}))
		var last float64
		for step := 0; step < 400; step++ {
			check(t, InScope(func(*Scope) error {
				loss := must(MseLoss(must(model.Forward(x)), want))
				check(t, optimizer.ZeroGrad())
				check(t, loss.Backward())
				check(t, optimizer.Step())
				check(t, scheduler.Step())
				last = must(loss.Item())
				return nil
			}))
		}
		if last > 1e-2 {
			t.Fatalf("%s: the loss is %v", name, last)
		}
		equal(t, scheduler.LastEpoch(), 400)
	}
	_, err := NewSGD(nil)
	fails(t, err, InvalidArgument)
}

func TestOptimizer(t *testing.T) {
	a, b := leaf(1, 2), leaf(3)
	o := must(NewSGD([]*Tensor{a}, SGDOptions{LR: Some(0.5)}))
	check(t, o.AddGroup([]*Tensor{b}, map[string]float64{"lr": 0.25, "momentum": 0.5}))
	equal(t, o.GroupCount(), 2)
	equal(t, must(o.LR(1)), 0.25)
	equal(t, must(o.Option(1, "momentum")), 0.5)
	check(t, o.SetOption(0, "weight_decay", 0.125))
	equal(t, must(o.Option(0, "weight_decay")), 0.125)
	_, err := o.Option(0, "speed")
	fails(t, err, NotFound)
	_, err = o.LR(2)
	fails(t, err, OutOfRange)
	equal(t, len(must(o.GroupParameters(1))), 1)
	check(t, o.SetLR(1))
	check(t, must(must(a.Mul(a)).Sum()).Backward())
	equal(t, must(ClipGradNorm([]*Tensor{a}, 1)), math.Sqrt(20))
	equal(t, must(ClipGradNorm([]*Tensor{a}, 100, ClipGradOptions{NormType: Some(Infinity)})) > 0.8, true)
	check(t, ClipGradValue([]*Tensor{a}, 0.1))
	check(t, o.Step())
	state := must(o.StateDict())
	check(t, o.LoadStateDict(state))
	if !strings.Contains(o.String(), "SGD") {
		t.Fatal(o.String())
	}
	calls := 0
	lambda := must(NewLambdaLR(o, func(epoch, group int) (float64, error) { calls++; return math.Pow(0.5, float64(epoch)), nil }))
	check(t, lambda.Step())
	equal(t, must(lambda.LastLR(0)), 0.5)
	if calls < 4 {
		t.Fatal(calls)
	}
	stop := errors.New("stop")
	if _, err := NewLambdaLR(o, func(int, int) (float64, error) { return 0, stop }); err != stop {
		t.Fatal(err)
	}
	var schedulers []*LRScheduler
	for _, s := range []*LRScheduler{must(NewStepLR(o, 2, 0.5)), must(NewMultiStepLR(o, []int{1, 3}, 0.5)), must(NewExponentialLR(o, 0.9)), must(NewConstantLR(o, 0.5, 2)),
		must(NewLinearLR(o, 0.1, 1, 4)), must(NewPolynomialLR(o, 4, 1)), must(NewCosineAnnealingLR(o, 4, 0))} {
		check(t, s.Step())
		check(t, s.LoadStateDict(must(s.StateDict())))
		schedulers = append(schedulers, s)
	}
	equal(t, schedulers[0].TypeName(), "StepLR")
	p := must(NewSGD([]*Tensor{leaf(1)}))
	both := must(NewSequentialLR(p, []*LRScheduler{must(NewLinearLR(p, 0.1, 1, 2)), must(NewExponentialLR(p, 0.5))}, []int{2}))
	check(t, both.Step())
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.safetensors")
	dict := must(NewStateDict())
	check(t, dict.Set("a", must(FromSlice([]float32{1, 2}))))
	check(t, dict.Set("b", must(FromSlice([]int64{3}, 1, 1))))
	check(t, dict.Save(path, map[string]string{"who": "go", "empty": ""}))
	loaded := must(LoadStateDict(path))
	names := loaded.Names()
	sort.Strings(names)
	equal(t, names, []string{"a", "b"})
	equal(t, must(ToSlice[int64](must(loaded.Get("b")))), []int64{3})
	equal(t, loaded.Contains("c"), false)
	check(t, loaded.Remove("a"))
	equal(t, loaded.Len(), 1)
	_, err := loaded.Get("a")
	fails(t, err, NotFound)
	file := must(OpenSafetensors(path))
	equal(t, file.Metadata(), map[string]string{"who": "go", "empty": ""})
	for _, info := range file.Tensors() {
		if info.Name == "b" {
			equal(t, info, TensorInfo{"b", Int64, "I64", []int{1, 1}})
		}
	}
	mapped := must(file.Tensor("a", LoadMap))
	check(t, file.Close())
	equal(t, must(ToSlice[float32](mapped)), []float32{1, 2})
	check(t, os.WriteFile(filepath.Join(dir, "bad"), []byte("no safetensors"), 0o600))
	_, err = OpenSafetensors(filepath.Join(dir, "bad"))
	fails(t, err, DataError)
	fails(t, dict.Save(filepath.Join(dir, "no", "such"), nil), NotFound)
	fails(t, dict.Save(path+"\x00", nil), InvalidArgument)

	check(t, ManualSeed(1))
	one, two := must(NewLinear(2, 2)), must(NewLinear(2, 2))
	check(t, two.LoadStateDict(must(one.StateDict()), true))
	equal(t, must(must(one.Parameter("weight")).Equal(must(two.Parameter("weight")))), true)
	equal(t, must(two.CompareStateDict(must(one.StateDict()))), "")
	if s := must(two.CompareStateDict(dict)); !strings.Contains(s, "weight") {
		t.Fatal(s)
	}
	fails(t, two.LoadStateDict(dict, true), InvalidArgument, "weight")
}

func TestModuleHooks(t *testing.T) {
	inner := must(NewIdentity())
	outer := must(NewSequential(inner))
	x := must(FromSlice([]float32{1, 2}))
	var seen []string
	before := must(inner.AddForwardPreHook(func(m *Module, input *Tensor) (*Tensor, error) {
		seen = append(seen, m.TypeName())
		return input.AddScalar(1)
	}))
	after := must(inner.AddForwardHook(func(m *Module, input, output *Tensor) (*Tensor, error) {
		seen = append(seen, fmt.Sprint(must(ToSlice[float32](input))))
		return output.MulScalar(10)
	}))
	watching := must(inner.AddForwardHook(func(m *Module, input, output *Tensor) (*Tensor, error) { return nil, nil }))
	equal(t, must(ToSlice[float32](must(outer.Forward(x)))), []float32{20, 30})
	equal(t, seen, []string{"Identity", "[2 3]"})
	check(t, before.Remove())
	equal(t, must(ToSlice[float32](must(inner.Forward(x)))), []float32{10, 20})
	check(t, after.Remove())
	check(t, watching.Remove())
	fails(t, after.Remove(), NotFound)
	stop := errors.New("stop")
	must(outer.AddForwardPreHook(func(m *Module, input *Tensor) (*Tensor, error) { return nil, stop }))
	if _, err := outer.Forward(x); err != stop {
		t.Fatal(err)
	}
	_, err := outer.AddForwardHook(nil)
	fails(t, err, InvalidArgument)
	// A hook that calls its module without end is an error.
	endless := must(NewLinear(1, 1))
	must(endless.AddForwardHook(func(m *Module, input, output *Tensor) (*Tensor, error) { return m.Forward(input) }))
	if _, err := endless.Forward(must(Ones([]int{1}))); err == nil {
		t.Fatal("no error")
	}
}
