// dispatcher.h: boxed calls by name.
#include "tensorrt/dispatcher.h"

#include "capi/convert.h"
#include "dispatch/operator.h"

using namespace trt;
using namespace trt::capi;

namespace {

Value to_value(const trt_value& v, const char* op, size_t index) {
  switch (v.kind) {
    case TRT_VALUE_NONE: return Value();
    case TRT_VALUE_TENSOR:
      TRT_CHECK(v.v.tensor, op, ": argument ", index, " is a NULL tensor; use TRT_VALUE_NONE for none");
      return Value(Tensor(intrusive_ptr<TensorImpl>(impl(v.v.tensor))));
    case TRT_VALUE_BOOL: return Value(v.v.i != 0);
    case TRT_VALUE_INT: return Value(v.v.i);
    case TRT_VALUE_DOUBLE: return Value(v.v.d);
    case TRT_VALUE_COMPLEX: return Value(Scalar(std::complex<double>(v.v.c[0], v.v.c[1])));
    case TRT_VALUE_STRING: return Value(std::string(string(v.v.string, "string")));
    case TRT_VALUE_DTYPE:
      TRT_CHECK(v.v.i >= 0 && v.v.i < kNumDTypes, op, ": unknown dtype ", v.v.i);
      return Value(to_dtype(static_cast<int>(v.v.i)));
    case TRT_VALUE_DEVICE: return Value(to_device(v.v.device));
    case TRT_VALUE_GENERATOR: return Value(intrusive_ptr<GeneratorImpl>(generator(v.v.generator)));
    case TRT_VALUE_TENSOR_LIST: {
      const TensorListArg list(v.v.tensors, v.count, "tensors", true);
      return Value(TensorList(list).vec());
    }
    case TRT_VALUE_INT_LIST: return Value(int_list(v.v.ints, v.count, "ints").vec());
    case TRT_VALUE_DOUBLE_LIST: return Value(float_list(v.v.doubles, v.count, "doubles").vec());
    default: throw_error(Code::kInvalidArgument, str_cat(op, ": argument ", index, " has the unknown kind ", v.kind));
  }
}

void from_value(Value&& v, trt_value* out) {
  *out = trt_value{};
  if (v.is<Tensor>()) {
    out->kind = TRT_VALUE_TENSOR;
    out->v.tensor = handle(std::move(v.get<Tensor>()).release_impl());
  } else if (v.is<bool>()) {
    out->kind = TRT_VALUE_BOOL;
    out->v.i = v.get<bool>();
  } else if (v.is<int64_t>()) {
    out->kind = TRT_VALUE_INT;
    out->v.i = v.get<int64_t>();
  } else if (v.is<double>()) {
    out->kind = TRT_VALUE_DOUBLE;
    out->v.d = v.get<double>();
  } else if (v.is<Scalar>()) {
    const Scalar s = v.get<Scalar>();
    out->kind = s.is_complex() ? TRT_VALUE_COMPLEX : s.is_double() ? TRT_VALUE_DOUBLE : s.is_bool() ? TRT_VALUE_BOOL : TRT_VALUE_INT;
    if (s.is_complex()) out->v.c[0] = s.to_double(), out->v.c[1] = s.imag();
    else if (s.is_double()) out->v.d = s.to_double();
    else out->v.i = s.to_int();
  } else if (v.is<std::vector<Tensor>>()) {
    auto& list = v.get<std::vector<Tensor>>();
    out->v.tensors = new trt_tensor*[list.size()];
    out->kind = TRT_VALUE_TENSOR_LIST;
    out->count = list.size();
    for (size_t i = 0; i < list.size(); ++i) out->v.tensors[i] = handle(list[i].release_impl());
  } else if (!v.is_none()) {
    throw_error(Code::kNotSupported, str_cat("a result of type ", v.type_name(), " cannot be passed on"));
  }
}

const OperatorEntry& entry_of(const char* name) {
  const OperatorEntry* entry = find_operator(string(name, "name"));
  TRT_CHECK_CODE(entry, Code::kNotFound, "there is no operator named ", name);
  return *entry;
}

}  // namespace

extern "C" {

TRT_EXPORT trt_status* trt_op_call(const char* name, const trt_value* args, const char* const* names, size_t count, trt_value** out, size_t* out_count) {
  return guard(name ? name : "trt_op_call", [&] {
    require_out(out, "out");
    require_out(out_count, "out_count");
    TRT_CHECK(args || count == 0, "argument 'args' is NULL but its count is ", count);
    const OperatorEntry& entry = entry_of(name);
    const FunctionSchema& schema = entry.schema();
    Stack given(schema.arguments.size());
    std::vector<bool> set(schema.arguments.size());
    for (size_t i = 0; i < count; ++i) {
      size_t at = i;
      if (names && names[i]) {
        const SchemaArgument* a = schema.find_argument(names[i]);
        TRT_CHECK(a, name, ": there is no argument named '", names[i], "'");
        at = static_cast<size_t>(a - schema.arguments.data());
      } else {
        TRT_CHECK(at < schema.arguments.size() && !schema.arguments[at].kwarg_only, name, ": too many positional arguments (", count, ")");
      }
      TRT_CHECK(!set[at], name, ": argument '", schema.arguments[at].name, "' is given twice");
      given[at] = coerce_argument(schema, schema.arguments[at], to_value(args[i], name, i));
      set[at] = true;
    }
    for (size_t i = 0; i < given.size(); ++i) {
      if (set[i]) continue;
      TRT_CHECK(schema.arguments[i].has_default, name, ": argument '", schema.arguments[i].name, "' is missing");
      given[i] = coerce_argument(schema, schema.arguments[i], schema.arguments[i].default_value);
    }
    call_boxed(entry, given);
    auto* results = new trt_value[given.size()]();
    size_t done = 0;
    try {
      for (; done < given.size(); ++done) from_value(std::move(given[done]), &results[done]);
    } catch (...) {
      trt_values_release(results, done);
      throw;
    }
    *out = results;
    *out_count = done;
  });
}

TRT_EXPORT void trt_values_release(trt_value* values, size_t count) {
  if (!values) return;
  for (size_t i = 0; i < count; ++i) {
    if (values[i].kind == TRT_VALUE_TENSOR) trt_tensor_release(values[i].v.tensor);
    if (values[i].kind == TRT_VALUE_TENSOR_LIST) {
      for (size_t k = 0; k < values[i].count; ++k) trt_tensor_release(values[i].v.tensors[k]);
      delete[] values[i].v.tensors;
    }
  }
  delete[] values;
}

TRT_EXPORT size_t trt_op_count(void) {
  size_t n = 0;
  trt_status_release(guard("trt_op_count", [&] { n = all_operators().size(); }));
  return n;
}
TRT_EXPORT const char* trt_op_name(size_t index) {
  const char* name = nullptr;
  trt_status_release(guard("trt_op_name", [&] {
    const auto all = all_operators();
    if (index < all.size()) name = all[index]->name;
  }));
  return name;
}
TRT_EXPORT trt_status* trt_op_schema(const char* name, char** out) {
  return guard("trt_op_schema", [&] {
    require_out(out, "out");
    *out = copy_string(entry_of(name).schema().text());
  });
}
TRT_EXPORT trt_status* trt_dispatcher_dump(const char* name, char** out) {
  return guard("trt_dispatcher_dump", [&] {
    require_out(out, "out");
    *out = copy_string(dump_operator(entry_of(name)));
  });
}

}  // extern "C"
