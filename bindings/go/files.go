package tensorrt

import (
	"sort"
	"unsafe"

	"tensorrt/internal/capi"
)

// --- state dicts ---

// StateDict is an ordered map from names to tensors.
type StateDict struct{ o *object }

func newStateDict(f func(out unsafe.Pointer) error) (*StateDict, error) {
	var h uintptr
	if err := f(unsafe.Pointer(&h)); err != nil {
		return nil, err
	}
	return &StateDict{own(h, capi.Trt_state_dict_release)}, nil
}

// NewStateDict makes an empty state dict.
func NewStateDict() (*StateDict, error) {
	return newStateDict(func(out unsafe.Pointer) error { return statusError(capi.Trt_state_dict_create(out)) })
}

// LoadStateDict reads all tensors of a safetensors file.
func LoadStateDict(path string) (*StateDict, error) {
	if err := checkText("LoadStateDict", path); err != nil {
		return nil, err
	}
	return newStateDict(func(out unsafe.Pointer) error { return statusError(capi.Trt_state_dict_load(path, out)) })
}

func (d *StateDict) object() *object {
	if d == nil {
		return nil
	}
	return d.o
}

func (d *StateDict) with(op string, f func(h uintptr) error) error {
	return d.object().call(op, "state dict", f)
}

// Close releases the state dict.
func (d *StateDict) Close() error { return d.object().close() }

// Len is the number of entries.
func (d *StateDict) Len() int {
	var n int
	_ = d.with("Len", func(h uintptr) error { n = capi.Trt_state_dict_size(h); return nil })
	return n
}

// Names are the names in order.
func (d *StateDict) Names() []string {
	var names []string
	_ = d.with("Names", func(h uintptr) error {
		for i := 0; i < capi.Trt_state_dict_size(h); i++ {
			names = append(names, capi.Trt_state_dict_name(h, i))
		}
		return nil
	})
	return names
}

// Contains tells whether there is an entry of this name.
func (d *StateDict) Contains(name string) bool {
	var v bool
	_ = d.with("Contains", func(h uintptr) error {
		v = checkText("Contains", name) == nil && capi.Trt_state_dict_contains(h, name)
		return nil
	})
	return v
}

// Get is the tensor of a name.
func (d *StateDict) Get(name string) (*Tensor, error) {
	if err := checkText("Get", name); err != nil {
		return nil, err
	}
	var t *Tensor
	err := d.with("Get", func(h uintptr) (err error) {
		t, err = wordResult(capi.Trt_state_dict_get(h, name))
		return err
	})
	return t, err
}

// Set appends an entry, or replaces the tensor of an existing one.
func (d *StateDict) Set(name string, t *Tensor) error {
	if err := checkText("Set", name); err != nil {
		return err
	}
	return d.with("Set", func(h uintptr) error {
		return t.with("Set", func(t uintptr) error { return statusError(capi.Trt_state_dict_set(h, name, t)) })
	})
}

// Remove removes an entry.
func (d *StateDict) Remove(name string) error {
	if err := checkText("Remove", name); err != nil {
		return err
	}
	return d.with("Remove", func(h uintptr) error { return statusError(capi.Trt_state_dict_remove(h, name)) })
}

// Save writes the entries to a safetensors file with these strings, sorted by key. The file is replaced only when the new one is complete and on the disk.
func (d *StateDict) Save(path string, metadata map[string]string) error {
	keys := make([]string, 0, len(metadata))
	for k := range metadata {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	values := make([]string, len(keys))
	for i, k := range keys {
		values[i] = metadata[k]
	}
	if err := firstError(checkText("Save", path), checkText("Save", keys...), checkText("Save", values...)); err != nil {
		return err
	}
	k, v := capi.NewTexts(keys), capi.NewTexts(values)
	defer k.Free()
	defer v.Free()
	return d.with("Save", func(h uintptr) error { return statusError(capi.StateDictSave(h, path, k, v)) })
}

// --- safetensors ---

// LoadMode tells how tensors come out of a file.
type LoadMode int

// The modes.
const (
	LoadMap  LoadMode = 0 // on a private mapping of the file, without copying where the data is aligned
	LoadCopy LoadMode = 1 // in memory of the library
)

// Safetensors is an open safetensors file, validated completely.
type Safetensors struct{ o *object }

// TensorInfo describes a tensor of a file.
type TensorInfo struct {
	Name  string
	DType DType  // NoDType for one that the library lacks
	Text  string // the dtype as the file says it, "F32"
	Shape []int
}

// OpenSafetensors opens and validates a file.
func OpenSafetensors(path string) (*Safetensors, error) {
	if err := checkText("OpenSafetensors", path); err != nil {
		return nil, err
	}
	var h uintptr
	if err := statusError(capi.Trt_safetensors_open(path, unsafe.Pointer(&h))); err != nil {
		return nil, err
	}
	return &Safetensors{own(h, capi.Trt_safetensors_release)}, nil
}

func (s *Safetensors) object() *object {
	if s == nil {
		return nil
	}
	return s.o
}

func (s *Safetensors) with(op string, f func(h uintptr) error) error {
	return s.object().call(op, "file", f)
}

// Close closes the file. Tensors that were taken from it stay valid.
func (s *Safetensors) Close() error { return s.object().close() }

// Tensors describes the tensors in the order of the file's header.
func (s *Safetensors) Tensors() []TensorInfo {
	var infos []TensorInfo
	_ = s.with("Tensors", func(h uintptr) error {
		for i := 0; i < capi.Trt_safetensors_size(h); i++ {
			infos = append(infos, TensorInfo{capi.Trt_safetensors_name(h, i), DType(capi.Trt_safetensors_dtype(h, i) + 1), capi.Trt_safetensors_dtype_text(h, i),
				capi.FileSizes(h, i)})
		}
		return nil
	})
	return infos
}

// Tensor is the tensor of a name.
func (s *Safetensors) Tensor(name string, mode LoadMode) (*Tensor, error) {
	if err := checkText("Tensor", name); err != nil {
		return nil, err
	}
	var t *Tensor
	err := s.with("Tensor", func(h uintptr) error {
		w := capi.Trt_safetensors_tensor(h, name, int(mode))
		if w&1 == 0 {
			w |= wordSpecial
		}
		var err error
		t, err = wordResult(w)
		return err
	})
	return t, err
}

// Metadata are the strings of the file.
func (s *Safetensors) Metadata() map[string]string {
	metadata := map[string]string{}
	_ = s.with("Metadata", func(h uintptr) error {
		for i := 0; i < capi.Trt_safetensors_metadata_size(h); i++ {
			metadata[capi.Trt_safetensors_metadata_key(h, i)] = capi.Trt_safetensors_metadata_value(h, i)
		}
		return nil
	})
	return metadata
}

// LoadIDX reads an IDX file (the arrays of MNIST and its relatives), plain or compressed with gzip.
func LoadIDX(path string) (*Tensor, error) {
	if err := checkText("LoadIDX", path); err != nil {
		return nil, err
	}
	return wordResult(capi.Trt_idx_load(path))
}
