package tensorrt

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
)

// --- a call: the overload that fits best ---

func (g goldenArgument) misfit(v any) (int, bool) {
	if v == nil {
		return 0, g.optional
	}
	list, isList := v.([]any)
	t, isTensor := v.(*Tensor)
	if g.list {
		if isList {
			for _, x := range list {
				switch x := x.(type) {
				case *Tensor:
					if g.kind != "Tensor" {
						return 0, false
					}
				case nil:
					if g.kind != "Tensor" || !g.optionalElement {
						return 0, false
					}
				case int:
					if g.kind == "Tensor" {
						return 0, false
					}
				case bool:
					if g.kind != "int" {
						return 0, false
					}
				case float64:
					if g.kind != "float" {
						return 0, false
					}
				default:
					_ = x
					return 0, false
				}
			}
			return 0, true
		}
		if g.kind == "Tensor" {
			return 3, isTensor
		}
		switch v.(type) {
		case int:
			return 1, true
		case float64:
			return 1, g.kind == "float"
		}
		return 0, false
	}
	if isList {
		if g.kind == "int" && len(list) == 1 {
			_, ok := list[0].(int)
			return 2, ok
		}
		return 0, false
	}
	if isTensor {
		if g.kind == "Tensor" {
			return 0, true
		}
		return 3, (g.kind == "Scalar" || g.kind == "float" || g.kind == "int" || g.kind == "bool") && t.Numel() == 1
	}
	var fits map[string]int
	switch v.(type) {
	case DType:
		fits = map[string]int{"ScalarType": 0}
	case Device:
		fits = map[string]int{"Device": 0}
	case string:
		fits = map[string]int{"str": 0, "Device": 1, "ScalarType": 2}
	case bool:
		fits = map[string]int{"bool": 0, "Scalar": 1, "Tensor": 2, "int": 3, "float": 4}
	case complex128:
		fits = map[string]int{"Scalar": 0, "Tensor": 2}
	case int:
		fits = map[string]int{"int": 0, "Scalar": 1, "float": 1, "Tensor": 2}
	case float64:
		fits = map[string]int{"float": 0, "Scalar": 0, "Tensor": 2}
	}
	cost, ok := fits[g.kind]
	return cost, ok
}

// goldenBind gives badness and arguments by name of a call that fits.
func goldenBind(op goldenOperator, args []any, kwargs map[string]any) (int, map[string]any, bool) {
	bound, badness := map[string]any{}, 0
	byName := map[string]goldenArgument{}
	i := 0
	for _, g := range op.arguments {
		byName[g.name] = g
		if !g.keyword && i < len(args) {
			bound[g.name] = args[i]
			i++
		}
	}
	if i < len(args) {
		return 0, nil, false
	}
	for k, v := range kwargs {
		if _, ok := byName[k]; !ok && k == "input" && len(op.arguments) > 0 {
			k = op.arguments[0].name
		}
		if _, ok := byName[k]; !ok {
			return 0, nil, false
		}
		if _, ok := bound[k]; ok {
			return 0, nil, false
		}
		bound[k] = v
	}
	for _, g := range op.arguments {
		v, given := bound[g.name]
		if !given {
			if !g.hasDefault {
				return 0, nil, false
			}
			continue
		}
		cost, ok := 1, true
		if v != nil || !g.hasDefault {
			cost, ok = g.misfit(v)
		}
		if !ok {
			return 0, nil, false
		}
		badness += cost
		if v == nil && !g.optional {
			delete(bound, g.name)
			continue
		}
		if t, ok := v.(*Tensor); ok && g.kind != "Tensor" {
			s, err := t.ItemScalar()
			if err != nil {
				return 0, nil, false
			}
			if n, ok := s.(int64); ok {
				s = int(n)
			}
			bound[g.name] = s
		}
	}
	return badness, bound, true
}

func (a *goldenCall) has(name string) bool { v, ok := a.values[name]; return ok && v != nil }

func (a *goldenCall) fail(name string, v any) {
	if a.err == nil {
		a.err = fmt.Errorf("argument %s: %v (%T) does not fit", name, v, v)
	}
}

func (a *goldenCall) tensor(name string) *Tensor {
	switch v := a.values[name].(type) {
	case nil:
		return nil
	case *Tensor:
		return v
	default:
		t, err := FromScalar(v, NoDType)
		if err != nil {
			a.fail(name, v)
		}
		return t
	}
}

func (a *goldenCall) tensors(name string) []*Tensor {
	var out []*Tensor
	switch v := a.values[name].(type) {
	case *Tensor:
		out = append(out, v)
	case []any:
		for _, x := range v {
			t, _ := x.(*Tensor)
			out = append(out, t)
		}
	}
	return out
}

func (a *goldenCall) int(name string) int {
	switch v := a.values[name].(type) {
	case int:
		return v
	case bool:
		if v {
			return 1
		}
		return 0
	case []any:
		if n, ok := v[0].(int); ok {
			return n
		}
	}
	a.fail(name, a.values[name])
	return 0
}

func (a *goldenCall) float(name string) float64 {
	switch v := a.values[name].(type) {
	case float64:
		return v
	case int:
		return float64(v)
	case bool:
		return float64(a.int(name))
	}
	a.fail(name, a.values[name])
	return 0
}

func (a *goldenCall) bool(name string) bool {
	switch v := a.values[name].(type) {
	case bool:
		return v
	case int:
		return v != 0
	}
	a.fail(name, a.values[name])
	return false
}

func (a *goldenCall) scalar(name string) Scalar { return a.values[name] }

func (a *goldenCall) ints(name string) []int {
	switch v := a.values[name].(type) {
	case nil:
		return nil
	case int:
		return []int{v}
	case []any:
		out := make([]int, 0, len(v))
		for _, x := range v {
			switch x := x.(type) {
			case int:
				out = append(out, x)
			case bool:
				out = append(out, map[bool]int{true: 1}[x])
			default:
				a.fail(name, x)
			}
		}
		return out
	}
	a.fail(name, a.values[name])
	return nil
}

func (a *goldenCall) floats(name string) []float64 {
	switch v := a.values[name].(type) {
	case nil:
		return nil
	case float64:
		return []float64{v}
	case int:
		return []float64{float64(v)}
	}
	list, ok := a.values[name].([]any)
	if !ok {
		a.fail(name, a.values[name])
	}
	out := make([]float64, 0, len(list))
	for _, x := range list {
		switch x := x.(type) {
		case float64:
			out = append(out, x)
		case int:
			out = append(out, float64(x))
		}
	}
	return out
}

func (a *goldenCall) dtype(name string) DType {
	switch v := a.values[name].(type) {
	case DType:
		return v
	case string:
		return goldenDTypes[v]
	}
	return NoDType
}

func (a *goldenCall) device(name string) Device {
	switch v := a.values[name].(type) {
	case Device:
		return v
	case string:
		d, err := goldenDevice(v)
		if err != nil {
			a.fail(name, v)
		}
		return d
	}
	return Device{}
}

func (a *goldenCall) text(name string) string { s, _ := a.values[name].(string); return s }

func (a *goldenCall) generator(name string) *Generator { return nil }

func (a *goldenCall) someInt(name string) Optional[int] {
	if a.has(name) {
		return Some(a.int(name))
	}
	return Optional[int]{}
}

func (a *goldenCall) someFloat(name string) Optional[float64] {
	if a.has(name) {
		return Some(a.float(name))
	}
	return Optional[float64]{}
}

func (a *goldenCall) someBool(name string) Optional[bool] {
	if a.has(name) {
		return Some(a.bool(name))
	}
	return Optional[bool]{}
}

func one[T any](v T, err error) ([]any, error) { return []any{v}, err }

type goldenTable struct {
	overloads          map[string][]string
	withoutUnderscores map[string]string
}

func newGoldenTable() *goldenTable {
	t := &goldenTable{map[string][]string{}, map[string]string{}}
	var names []string
	for full := range goldenOperators {
		names = append(names, full)
	}
	sort.Strings(names)
	for _, full := range names {
		name := strings.SplitN(full, ".", 2)[0]
		t.overloads[name] = append(t.overloads[name], full)
		if plain := strings.ReplaceAll(name, "_", ""); !strings.HasSuffix(name, "_") && t.withoutUnderscores[plain] == "" {
			t.withoutUnderscores[plain] = name
		}
	}
	return t
}

// find is the operator's name in the table by rule from PyTorch's public name; "" when it is not there.
func (t *goldenTable) find(public string) string {
	name := public
	if r, ok := goldenRenamed[public]; ok {
		name = r
	}
	name = strings.TrimPrefix(name, "nn.functional.")
	name = strings.NewReplacer("linalg.", "linalg_", "special.", "special_", "fft.", "fft_").Replace(name)
	for _, candidate := range []string{name, strings.TrimRight(name, "_"), name + "_", t.withoutUnderscores[strings.ReplaceAll(name, "_", "")]} {
		if _, ok := t.overloads[candidate]; ok {
			return candidate
		}
	}
	return ""
}

// gathered gives the calls f(a, b, c) of an operator that takes a list: all trailing arguments of one kind together.
func gathered(args []any) [][]any {
	calls := [][]any{args}
	for start := range args {
		tensors, ints := true, true
		for _, x := range args[start:] {
			_, isTensor := x.(*Tensor)
			_, isInt := x.(int)
			tensors, ints = tensors && isTensor, ints && isInt
		}
		if tensors || ints {
			list := append([]any{}, args[start:]...)
			calls = append(calls, append(append([]any{}, args[:start]...), any(list)))
		}
	}
	return calls
}

// leftOut: the case is not one for this test.
type leftOut struct{ why string }

func (l leftOut) Error() string { return l.why }

// outdated tells why the record is not what PyTorch gives today. The operator itself is checked by run.py, which knows the new rules (TODAY).
func outdated(c *goldenCase) string {
	out, _ := c.Out.(map[string]any)
	kind, _ := out["t"].(string)
	_, inexact := goldenTolerance[kind]
	exact := kind != "" && !inexact
	switch {
	case c.Op == "arange" && exact:
		for _, x := range c.Args {
			if n, ok := x.(json.Number); ok && strings.ContainsAny(n.String(), ".e") {
				return " of an integer dtype: PyTorch 1.13 cut off the bounds' fractions before it counted"
			}
		}
	case c.Op == "linspace" && exact:
		return " of an integer dtype: PyTorch 1.13 rounded the step to float"
	case c.Op == "aminmax" && c.Kwargs["keepdim"] == true && len(goldenInts(c.Args[0].(map[string]any)["shape"])) == 0:
		return " of 0-d tensors: PyTorch 1.13 gave a vector of one element"
	case c.Op == "div" && c.Variant == "trunc_rounding" && c.DType == "bfloat16":
		return ", truncated in bfloat16: PyTorch rounds before or after, as the element stands in a vector or not"
	case c.Op == "div" || c.Op == "floor_divide":
		data, _ := out["data"].([]any)
		for _, x := range data {
			if x == "nan" {
				return ": a floored quotient that overflows was NaN in PyTorch 1.13"
			}
		}
	case c.Op == "dot" || c.Op == "vdot" || c.Op == "matmul" || c.Op == "linalg.vecdot":
		if strings.HasPrefix(c.DType, "complex") && len(goldenInts(out["shape"])) == 0 {
			return " of complex vectors: the record is 0, the BLAS that it was made with gave back no complex numbers"
		}
	}
	return ""
}

// asked are those results of the operator that the function in Python gives.
func asked(c *goldenCase, results []any) []any {
	var out []any
	for i, r := range results {
		given := true
		switch {
		case i == 0:
		case c.Op == "unique" || c.Op == "unique_consecutive":
			given = c.Kwargs[map[int]string{1: "return_inverse", 2: "return_counts"}[i]] == true
		case c.Op == "lu":
			given = i < 2 || c.Args[2] == true
		case c.Op == "nn.functional.embedding_bag", c.Op == "linalg.lstsq" && c.Variant == "grad_oriented":
			given = false
		}
		if given {
			out = append(out, r)
		}
	}
	return out
}

// fitted are the arguments of the operator, where the function in Python takes others.
func fitted(public string, args []any, kwargs map[string]any) ([]any, error) {
	switch public {
	case "polygamma", "special.polygamma":
		if n, ok := kwargs["n"]; ok {
			delete(kwargs, "n")
			args = append([]any{n}, args...)
		}
	case "lu": // lu(A, pivot, get_infos)
		if len(args) > 1 {
			kwargs["pivot"] = args[1]
		}
		args = args[:1]
	case "cdist":
		if len(args) == 4 { // compute_mode by its name changes nothing
			args = args[:3]
		}
	case "nn.functional.embedding", "nn.functional.embedding_bag":
		if kwargs["max_norm"] != nil {
			return nil, leftOut{public + ": max_norm belongs to the function in Python, the operator has none"}
		}
		delete(kwargs, "max_norm")
		delete(kwargs, "norm_type")
		if row, ok := kwargs["padding_idx"].(int); ok && row < 0 {
			kwargs["padding_idx"] = row + args[0].(*Tensor).Shape()[0]
		}
		if public == "nn.functional.embedding" {
			delete(kwargs, "sparse")
			break
		}
		mode, ok := kwargs["mode"].(string)
		if !ok {
			mode = "mean"
		}
		kwargs["mode"] = map[string]int{"sum": 0, "mean": 1, "max": 2}[mode]
		if rows := args[1].(*Tensor); kwargs["offsets"] == nil && len(args) == 2 { // the rows are bags
			starts := make([]int64, rows.Shape()[0]+1)
			for i := range starts {
				starts[i] = int64(i * rows.Shape()[1])
			}
			offsets, err := FromSlice(starts)
			if err != nil {
				return nil, err
			}
			flat, err := rows.Reshape([]int{-1})
			if err != nil {
				return nil, err
			}
			args = []any{args[0], flat}
			kwargs["offsets"], kwargs["include_last_offset"] = offsets, true
			if w, ok := kwargs["per_sample_weights"].(*Tensor); ok {
				if kwargs["per_sample_weights"], err = w.Reshape([]int{-1}); err != nil {
					return nil, err
				}
			}
		}
	}
	return args, nil
}

func (t *goldenTable) call(public, name string, args []any, given map[string]any) ([]any, error) {
	kwargs := map[string]any{}
	for k, v := range given {
		switch {
		case (k == "requires_grad" || k == "pin_memory" || k == "as_tuple") && v == false, k == "layout" && v == nil:
			continue
		}
		kwargs[k] = v
	}
	if order, ok := goldenPythonOrder[public]; ok {
		for i, n := range strings.Fields(order) {
			if i < len(args) {
				if _, ok := kwargs[n]; !ok {
					kwargs[n] = args[i]
				}
			}
		}
		args = nil
	} else if order, ok := goldenDatabaseOrder[public]; ok {
		moved := make([]any, len(order))
		for i, from := range order {
			moved[i] = args[from]
		}
		args = moved
	}
	args, err := fitted(public, args, kwargs)
	if err != nil {
		return nil, err
	}
	withIndices, _ := kwargs["return_indices"].(bool)
	delete(kwargs, "return_indices")
	if strings.Contains(public, "adaptive_max_pool") && len(args) == 3 {
		withIndices, _ = args[2].(bool)
		args = args[:2]
	}
	if withIndices {
		name += "_with_indices"
	}
	if strings.Contains(public, "adaptive") {
		if list, ok := args[1].([]any); ok { // None keeps a size
			shape := args[0].(*Tensor).Shape()
			sizes := append([]any{}, list...)
			for i := range sizes {
				if sizes[i] == nil {
					sizes[i] = shape[len(shape)-len(sizes)+i]
				}
			}
			args = append([]any{args[0], sizes}, args[2:]...)
		}
	}
	type candidate struct {
		badness  int
		overload string
		bound    map[string]any
	}
	var candidates []candidate
	for _, attempt := range gathered(args) {
		for _, overload := range t.overloads[name] {
			if badness, bound, ok := goldenBind(goldenOperators[overload], attempt, kwargs); ok {
				candidates = append(candidates, candidate{badness, overload, bound})
			}
		}
		if candidates != nil {
			break
		}
	}
	if candidates == nil {
		return nil, fmt.Errorf("no overload of %s takes %v %v", name, args, kwargs)
	}
	sort.SliceStable(candidates, func(i, j int) bool { return candidates[i].badness < candidates[j].badness })
	var failed error
	for _, c := range candidates {
		a := &goldenCall{values: c.bound}
		results, err := goldenOperators[c.overload].call(a)
		if err == nil {
			err = a.err
		}
		if err == nil {
			return results, nil
		}
		if failed == nil {
			failed = err
		}
	}
	return nil, failed
}
