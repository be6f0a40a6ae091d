// x[index] and x[index] = value: views where the index allows one, index and index_put for masks and tensors.
#include <cstring>
#include <vector>

#include "arguments.h"
#include "binding.h"

namespace trt_python {

namespace {

// An owned handle.
class Handle {
 public:
  Handle() = default;
  explicit Handle(trt_tensor* t) : tensor_(t) {}
  Handle(Handle&& o) noexcept : tensor_(std::exchange(o.tensor_, nullptr)) {}
  Handle& operator=(Handle&& o) noexcept {
    std::swap(tensor_, o.tensor_);
    return *this;
  }
  ~Handle() { trt_tensor_release(tensor_); }
  trt_tensor* get() const { return tensor_; }
  trt_tensor* release() { return std::exchange(tensor_, nullptr); }

 private:
  trt_tensor* tensor_ = nullptr;
};

bool ok(trt_status* s) {
  if (!s) return true;
  raise(s);
  return false;
}

bool is_int(PyObject* o) { return PyLong_CheckExact(o) || (!PyBool_Check(o) && !is_tensor(o) && PyIndex_Check(o) && !PySequence_Check(o)); }

class Indexer {
 public:
  // Applies the index as far as it is a view. False with an exception.
  bool apply(PyObject* self, PyObject* index) {
    trt_tensor* t = tensor_of(self);
    view_ = Handle(trt_tensor_retain(t));
    const bool many = PyTuple_Check(index);
    const Py_ssize_t n = many ? PyTuple_GET_SIZE(index) : 1;
    const auto item = [&](Py_ssize_t i) { return many ? PyTuple_GET_ITEM(index, i) : index; };
    std::vector<Ref> items;
    int64_t specified = 0;
    bool ellipsis = false;
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* o = item(i);
      if (o == Py_Ellipsis) {
        if (ellipsis) {
          PyErr_SetString(PyExc_IndexError, "an index can only have a single ellipsis ('...')");
          return false;
        }
        ellipsis = true;
      }
      items.push_back(plain(o));
      if (!items.back()) return false;
      specified += consumed(items.back().get());
    }
    const auto ndim = static_cast<int64_t>(trt_tensor_ndim(t));
    if (specified > ndim) {
      PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %lld", static_cast<long long>(ndim));
      return false;
    }
    for (const Ref& o : items)
      if (!step(o.get(), ndim - specified)) return false;
    return true;
  }

  trt_tensor* view() const { return view_.get(); }
  bool advanced() const { return advanced_; }
  const trt_tensor* const* entries() const { return entries_.data(); }
  size_t count() const { return entries_.size(); }

  // The elements that the index names: a view, or new memory.
  trt_tensor* take() {
    trt_tensor* out = nullptr;
    if (!advanced_) {
      if (moved_) return view_.release();
      return ok(trt_expand(view(), trt_tensor_sizes(view()), trt_tensor_ndim(view()), &out)) ? out : nullptr;
    }
    return ok(run(trt_tensor_numel(view()) + index_elements_, [&] { return trt_index_tensor(view(), entries(), count(), &out); })) ? out : nullptr;
  }

  bool put(PyObject* value) {
    trt_scalar number;
    const bool is_number = to_scalar(value, &number);
    if (!is_number && PyErr_Occurred()) return false;
    const int64_t elements = trt_tensor_numel(view());
    if (!advanced_ && is_number) return ok(run(elements, [&] { return trt_fill_(view(), number); }));
    // A mask of the whole tensor.
    if (is_number && count() == 1 && trt_tensor_dtype(entries_[0]) == TRT_BOOL && trt_tensor_ndim(entries_[0]) == trt_tensor_ndim(view()) &&
        memcmp(trt_tensor_sizes(entries_[0]), trt_tensor_sizes(view()), trt_tensor_ndim(view()) * sizeof(int64_t)) == 0)
      return ok(run(elements, [&] { return trt_masked_fill_scalar_(view(), entries_[0], number); }));
    Handle values;
    if (is_number) {
      trt_tensor* t = nullptr;
      if (!ok(trt_tensor_from_scalar(number, trt_tensor_dtype(view()), &t))) return false;
      values = Handle(t);
    } else if (is_tensor(value)) {
      values = Handle(trt_tensor_retain(tensor_of(value)));
    } else {
      values = Handle(tensor_from_data(value, trt_tensor_dtype(view())));
      if (!values.get()) return false;
    }
    if (!advanced_) {
      // Leading dimensions of size 1 may be there in excess.
      while (trt_tensor_ndim(values.get()) > trt_tensor_ndim(view()) && trt_tensor_sizes(values.get())[0] == 1) {
        trt_tensor* t = nullptr;
        if (!ok(trt_select(values.get(), 0, 0, &t))) return false;
        values = Handle(t);
      }
      return ok(run(elements, [&] { return trt_copy_(view(), values.get()); }));
    }
    return ok(run(elements + index_elements_, [&] { return trt_index_put_(view(), entries(), count(), values.get(), false); }));
  }

 private:
  // Sequences and arrays as tensors, tensors of one integer as ints; the rest as it is.
  Ref plain(PyObject* o) {
    if (o == Py_None || o == Py_Ellipsis || PyBool_Check(o) || PySlice_Check(o) || is_int(o)) return Ref::borrow(o);
    Handle made;
    const trt_tensor* t;
    if (is_tensor(o)) {
      t = tensor_of(o);
      if (trt_tensor_ndim(t) == 0 && !is_floating(trt_tensor_dtype(t)) && !is_complex(trt_tensor_dtype(t))) {
        if (trt_tensor_dtype(t) != TRT_BOOL && trt_tensor_dtype(t) != TRT_UINT8) return Ref(PyNumber_Index(o));
        // A mask without dimensions is True or False.
        const int truth = PyObject_IsTrue(o);
        return truth < 0 ? Ref() : Ref(PyBool_FromLong(truth));
      }
    } else {
      if (!PySequence_Check(o) || PyUnicode_Check(o)) {
        PyErr_Format(PyExc_IndexError, "an index must be ints, slices, None, Ellipsis, masks, tensors of integers, or sequences, not %.100s", Py_TYPE(o)->tp_name);
        return Ref();
      }
      made = Handle(tensor_from_data(o, TRT_DTYPE_NONE));
      if (!(t = made.get())) return Ref();
    }
    trt_dtype wanted = trt_tensor_dtype(t);
    if (wanted == TRT_UINT8) wanted = TRT_BOOL;
    else if (made.get() && trt_tensor_numel(t) == 0 && wanted != TRT_BOOL) wanted = TRT_INT64;
    if (wanted != trt_tensor_dtype(t)) {
      trt_tensor* converted = nullptr;
      if (!ok(trt_to(t, wanted, &converted))) return Ref();
      return Ref(wrap(converted));
    }
    if (is_floating(wanted)) {
      PyErr_SetString(PyExc_IndexError, "tensors used as indices must be of an integer dtype or bool");
      return Ref();
    }
    return made.get() ? Ref(wrap(made.release())) : Ref::borrow(o);
  }

  // Dimensions that an item stands for.
  static int64_t consumed(PyObject* o) {
    if (o == Py_None || o == Py_Ellipsis || PyBool_Check(o)) return 0;
    if (!is_tensor(o) || trt_tensor_dtype(tensor_of(o)) != TRT_BOOL) return 1;
    return static_cast<int64_t>(trt_tensor_ndim(tensor_of(o)));
  }

  // `t` is a reference: the call that sets it is the other argument.
  bool moved(trt_status* s, trt_tensor*& t) {
    if (!ok(s)) return false;
    view_ = Handle(t);
    moved_ = true;
    return true;
  }

  bool step(PyObject* o, int64_t left) {
    trt_tensor* t = nullptr;
    if (o == Py_None) {
      if (!moved(trt_unsqueeze(view(), dim_, &t), t)) return false;
      pass(1);
    } else if (o == Py_Ellipsis) {
      pass(left);
    } else if (PyBool_Check(o)) {
      // True takes the whole, False nothing, along a new dimension.
      if (!moved(trt_unsqueeze(view(), dim_, &t), t)) return false;
      const bool on = o == Py_True;
      const int64_t size = 1;
      if (!ok(trt_tensor_from_data(&on, &size, 1, TRT_BOOL, &t))) return false;
      record(Handle(t));
      dim_ += 1;
    } else if (PySlice_Check(o)) {
      Py_ssize_t start, stop, step;
      if (PySlice_Unpack(o, &start, &stop, &step) < 0) return false;
      if (step <= 0) {
        PyErr_SetString(PyExc_ValueError, "step must be greater than zero");
        return false;
      }
      const auto* s = reinterpret_cast<PySliceObject*>(o);
      const int64_t from = start, to = stop;
      if (s->start == Py_None && s->stop == Py_None && step == 1) {
        // The whole dimension.
      } else if (!moved(trt_slice(view(), dim_, s->start == Py_None ? nullptr : &from, s->stop == Py_None ? nullptr : &to, step, &t), t)) {
        return false;
      }
      pass(1);
    } else if (is_tensor(o)) {
      dim_ += consumed(o);
      index_elements_ += trt_tensor_numel(tensor_of(o));
      record(Handle(trt_tensor_retain(tensor_of(o))));
    } else {
      const Py_ssize_t i = PyNumber_AsSsize_t(o, PyExc_IndexError);
      if (i == -1 && PyErr_Occurred()) return false;
      return moved(trt_select(view(), dim_, i, &t), t);
    }
    return true;
  }

  void pass(int64_t dims) {
    dim_ += dims;
    gap_ += static_cast<size_t>(dims);
  }
  void record(Handle t) {
    // Dimensions before it that no tensor indexes.
    entries_.resize(entries_.size() + gap_, nullptr);
    gap_ = 0;
    entries_.push_back(t.get());
    owned_.push_back(std::move(t));
    advanced_ = true;
  }

  Handle view_;
  bool moved_ = false, advanced_ = false;
  int64_t dim_ = 0;
  size_t gap_ = 0;
  int64_t index_elements_ = 0;
  std::vector<const trt_tensor*> entries_;
  std::vector<Handle> owned_;
};

}  // namespace

PyObject* tensor_subscript(PyObject* self, PyObject* index) {
  if (is_int(index)) {
    const Py_ssize_t i = PyNumber_AsSsize_t(index, PyExc_IndexError);
    if (i == -1 && PyErr_Occurred()) return nullptr;
    trt_tensor* out = nullptr;
    if (trt_tensor_ndim(tensor_of(self)) == 0) {
      PyErr_SetString(PyExc_IndexError, "invalid index of a 0-dim tensor. Use `tensor.item()` to convert it to a Python number");
      return nullptr;
    }
    trt_status* s = trt_select(tensor_of(self), 0, i, &out);
    return give(s, out, nullptr);
  }
  Indexer indexer;
  if (!indexer.apply(self, index)) return nullptr;
  trt_tensor* out = indexer.take();
  return out ? wrap(out) : nullptr;
}

int tensor_ass_subscript(PyObject* self, PyObject* index, PyObject* value) {
  if (!value) {
    PyErr_SetString(PyExc_TypeError, "elements of a tensor cannot be deleted");
    return -1;
  }
  Indexer indexer;
  return indexer.apply(self, index) && indexer.put(value) ? 0 : -1;
}

}  // namespace trt_python
