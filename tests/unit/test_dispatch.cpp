// dispatch/: the schema parser, coercion of arguments, the operator table, boxed kernels and fallbacks, guards, custom operators.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "autograd/meta.h"
#include "core/storage.h"
#include "dispatch/operator.h"
#include "gen/factory_ops.h"
#include "gen/linalg_ops.h"
#include "gen/pointwise_ops.h"
#include "gen/reduction_ops.h"
#include "iter/copy.h"

#include "expect.h"

namespace {

using namespace trt;

void schemas_that_parse(void**) {
  for (const char* text : {
           "f() -> ()",
           "f(Tensor self) -> Tensor",
           "aten::f.x(Tensor(a!) self, *, Scalar alpha=1) -> Tensor(a!)",
           "f(Tensor?[] indices, int[2] stride=1, float? eps=None, str? mode=\"mean\") -> (Tensor values, Tensor indices)",
           "f(Tensor[] list, int[]? dim=None, bool keep=False, ScalarType? dtype=None, Device? device=None, Generator? g=None) -> Tensor[]",
           "f(int[] dims=[0,-1], float p=-inf, float q=1e-05, float[] w=[0.5, 2]) -> (Tensor, int)",
       }) {
    const FunctionSchema s = parse_schema(text);
    const std::string once = s.text();
    assert_string_equal(parse_schema(once).text().c_str(), once.c_str());
  }
  const FunctionSchema s = parse_schema(" name.over( Tensor? x , int n = 9223372036854775807, int[3] k=2, *, Scalar a=0.5, Scalar b=3, bool c=True,\n"
                                        "float d=-2, str e='it', ScalarType f=float32, int[] g=[1, -2], int? h=None) -> Tensor");
  assert_string_equal(s.full_name().c_str(), "name.over");
  assert_int_equal(s.arguments.size(), 11);
  assert_true(s.arguments[0].type.optional && !s.arguments[0].has_default && !s.arguments[0].kwarg_only && s.arguments[3].kwarg_only);
  const auto& value = [&](const char* name) -> const Value& { return s.find_argument(name)->default_value; };
  assert_true(value("n").get<int64_t>() == INT64_MAX);
  assert_true(value("k").get<std::vector<int64_t>>() == std::vector<int64_t>({2, 2, 2}));
  assert_true(value("a").get<Scalar>().to_double() == 0.5 && value("a").get<Scalar>().is_double() && value("b").get<Scalar>().is_int());
  assert_true(value("c").get<bool>() && value("d").get<double>() == -2 && value("e").get<std::string>() == "it");
  assert_true(value("f").get<DType>() == DType::Float32 && value("g").get<std::vector<int64_t>>() == std::vector<int64_t>({1, -2}) && value("h").is_none());
  assert_null(s.find_argument("none"));
  const FunctionSchema written = parse_schema("f_(Tensor(b!) self) -> Tensor(b!)");
  assert_true(written.arguments[0].type.written && written.returns[0].type.written);
  // Every operator of the table.
  for (const OperatorEntry* op : all_operators()) {
    const FunctionSchema& own = op->schema();
    assert_string_equal(own.full_name().c_str(), op->name);
    assert_string_equal(parse_schema(own.text()).text().c_str(), own.text().c_str());
  }
}

void schemas_that_do_not(void**) {
  for (const char* text : {"", "f", "f(", "f()", "f() ->", "f() -> Tensor x y", "f(Tensor) -> Tensor", "f(Tensr x) -> Tensor", "f(Tensor x,) -> Tensor",
                           "f(Tensor x) > Tensor", "f(int x=1.5) -> ()", "f(int x=99999999999999999999) -> ()", "f(int[] x=[1.5]) -> ()", "f(int[2] x=0.5) -> ()",
                           "f(bool x=true) -> ()", "f(str x=\"open) -> ()", "f(int[ x) -> ()", "f(int x=) -> ()", "f(Tensor(a x) -> ()", "f(ScalarType t=flout) -> ()",
                           "f(Tensor x) -> (Tensor", "(Tensor x) -> Tensor", "f. (Tensor x) -> Tensor", "f(float x=1e999) -> ()", "f(\xff x) -> ()"}) {
    bool thrown = false;
    try {
      parse_schema(text);
    } catch (const Error& e) {
      thrown = e.code() == Code::kInvalidArgument && e.message().find("expected") != std::string::npos && e.message().find("position") != std::string::npos;
    }
    if (!thrown) print_error("\"%s\" was not refused as it should be\n", text);
    assert_true(thrown);
  }
}

void arguments_are_coerced(void**) {
  const FunctionSchema s = parse_schema("f(Tensor x, int i, float d, Scalar s, int[2] k, float[] w, Tensor[] l, ScalarType t, Device v, int? o, bool b) -> ()");
  const auto coerce = [&](const char* name, Value v) { return coerce_argument(s, *s.find_argument(name), std::move(v)); };
  assert_true(coerce("x", Value(int64_t{3})).get<Tensor>().impl()->is_wrapped_number());
  assert_true(coerce("d", Value(int64_t{3})).get<double>() == 3);
  assert_true(coerce("s", Value(true)).get<Scalar>().is_bool());
  assert_true(coerce("k", Value(int64_t{7})).get<std::vector<int64_t>>() == std::vector<int64_t>({7, 7}));
  assert_true(coerce("k", Value(std::vector<int64_t>{7})).get<std::vector<int64_t>>() == std::vector<int64_t>({7, 7}));
  assert_true(coerce("w", Value(std::vector<int64_t>{1, 2})).get<std::vector<double>>() == std::vector<double>({1, 2}));
  assert_true(coerce("t", Value(std::string("bfloat16"))).get<DType>() == DType::BFloat16);
  assert_true(coerce("v", Value(std::string("cuda:2"))).get<Device>() == Device(DeviceType::CUDA, 2));
  assert_true(coerce("o", Value()).is_none());
  throws(Code::kInvalidArgument, "'i' must be int, not float", [&] { coerce("i", Value(1.0)); });
  throws(Code::kInvalidArgument, "'x' must be Tensor, not None", [&] { coerce("x", Value()); });
  throws(Code::kInvalidArgument, "'t'", [&] { coerce("t", Value(std::string("float31"))); });
  throws(Code::kInvalidArgument, "gpu", [&] { coerce("v", Value(std::string("gpu"))); });
  throws(Code::kInvalidArgument, "'l'", [&] { coerce("l", Value(std::vector<Tensor>(1))); });
  throws(Code::kInvalidArgument, "'b'", [&] { coerce("b", Value(0.5)); });
}

double item(const Tensor& t) { return contiguous_tensor(t, DType::Float64).data_ptr<double>()[0]; }

void the_table(void**) {
  const auto all = all_operators();
  assert_true(all.size() > 300);
  assert_true(std::is_sorted(all.begin(), all.end(), [](auto* a, auto* b) { return std::strcmp(a->name, b->name) < 0; }));
  for (const OperatorEntry* op : all) assert_ptr_equal(find_operator(op->name), op);
  assert_null(find_operator("no_such_operator"));
  const std::string dump = dump_operator(*find_operator("add"));
  assert_non_null(std::strstr(dump.c_str(), "CPU: kernel"));
  assert_non_null(std::strstr(dump.c_str(), "Autograd: kernel"));
  assert_non_null(std::strstr(dump.c_str(), "PrivateUse2: none"));
  assert_non_null(std::strstr(dump.c_str(), "Functionalize: falls through"));
  // Boxed calls of typed kernels, whatever their results are.
  Stack stack = {Value(op::full({2, 3}, 2.0)), Value(op::full({3}, 4.0)), Value(Scalar(10))};
  call_boxed(*find_operator("add"), stack);
  assert_int_equal(stack.size(), 1);
  assert_true(item(stack[0].get<Tensor>()) == 42);
}

struct Function : BoxedKernel {
  using Fn = void (*)(Call, Stack&);
  explicit Function(Fn f) : fn(f) {}
  void run(Call call, Stack& stack) override { fn(call, stack); }
  Fn fn;
};

void custom_operators(void**) {
  OperatorEntry& op = define_operator("test::scaled(Tensor x, Scalar by=2, *, int times=1) -> (Tensor, int)");
  assert_ptr_equal(find_operator("test::scaled"), &op);
  Stack stack = {Value(op::ones({2})), Value(Scalar(3)), Value(int64_t{2})};
  throws(Code::kNotSupported, "test::scaled: no kernel for CPU", [&] { call_boxed(op, stack); });
  assert_int_equal(stack.size(), 3);
  register_boxed(op, Key::CPU, make_intrusive<Function>([](Call, Stack& s) {
                   Tensor x = s[0].get<Tensor>();
                   for (int64_t i = 0; i < s[2].get<int64_t>(); ++i) x = op::mul(x, s[1].get<Scalar>());
                   s = {Value(x), Value(int64_t{5})};
                 }));
  call_boxed(op, stack);
  assert_true(stack.size() == 2 && item(stack[0].get<Tensor>()) == 9 && stack[1].get<int64_t>() == 5);
  stack = {Value(empty_tensor({2}, DType::Float32, kMeta)), Value(Scalar(3)), Value(int64_t{2})};
  throws(Code::kNotSupported, "no kernel for Meta", [&] { call_boxed(op, stack); });
  throws(Code::kInvalidArgument, "registered already", [] { define_operator("test::scaled(Tensor x) -> Tensor"); });
  assert_ptr_equal(find_operator("test::scaled"), &op);
  throws(Code::kInvalidArgument, "expected", [] { define_operator("test::broken(Tensor x"); });
  assert_null(find_operator("test::broken"));
  assert_non_null(std::strstr(dump_operator(op).c_str(), "CPU: boxed kernel"));
}

// A device whose memory is the host's: every operator copies to the CPU, computes there, and copies back.
Tensor to_device(const Tensor& t, Device device) {
  if (!t.defined() || t.device() == device) return t;
  Tensor out = empty_tensor(t.sizes(), t.dtype(), device);
  const Tensor from = t.device().is_cpu() ? contiguous_tensor(t) : t;
  std::memcpy(out.data(), from.data(), static_cast<size_t>(t.numel()) * t.itemsize());
  return out;
}
int g_fallback_calls = 0;
void on_the_cpu(Call call, Stack& stack) {
  ++g_fallback_calls;
  const Device device(DeviceType::PrivateUse1);
  const Stack before = stack;
  for (Value& v : stack) {
    if (v.is<Tensor>()) v = Value(to_device(v.get<Tensor>(), kCPU));
    if (v.is<Device>()) v = Value(kCPU);
  }
  {
    BelowAutogradGuard guard;
    call_boxed(*call.op, stack);
  }
  const FunctionSchema& schema = call.op->schema();
  for (size_t i = 0; i < stack.size(); ++i) {
    if (!stack[i].is<Tensor>()) continue;
    size_t written = 0;
    while (written < schema.arguments.size() && !schema.arguments[written].type.written) ++written;
    if (written == schema.arguments.size()) {
      stack[i] = Value(to_device(stack[i].get<Tensor>(), device));
      continue;
    }
    const Tensor& own = before[written].get<Tensor>();
    const Tensor& result = stack[i].get<Tensor>();
    std::memcpy(own.data(), result.data(), static_cast<size_t>(own.numel()) * own.itemsize());
    stack[i] = before[written];
  }
}

void a_backend_of_fallbacks(void**) {
  const Device device(DeviceType::PrivateUse1);
  throws(Code::kUnavailable, "privateuse1", [&] { empty_tensor({2}, DType::Float32, device); });
  register_backend_memory(DeviceType::PrivateUse1, {[](size_t bytes, int8_t) { return std::malloc(bytes + 1); }, [](void* p, size_t, int8_t) { std::free(p); }});
  Tensor x = to_device(op::full({2, 3}, 2.0), device), y = to_device(op::full({3, 2}, 3.0), device);
  throws(Code::kNotSupported, "add: no kernel for PrivateUse1", [&] { op::add(x, x); });
  register_fallback(Key::PrivateUse1, make_intrusive<Function>(on_the_cpu));
  const Tensor sum = op::add(x, x, 4);
  assert_true(sum.device() == device && item(to_device(sum, kCPU)) == 10);
  const Tensor product = op::matmul(x, y);
  assert_true(product.device() == device && product.sizes() == IntArrayRef({2, 2}) && item(to_device(product, kCPU)) == 18);
  op::add_(x, x);
  assert_true(item(to_device(x, kCPU)) == 4);
  throws(Code::kInvalidArgument, "cannot be broadcast", [&] { op::add(x, y); });
  // Autograd stands above and knows nothing of the device.
  autograd::set_requires_grad(x, true);
  const Tensor z = op::mul(x, x);
  assert_true(autograd::requires_grad(z) && std::strcmp(autograd::grad_fn(z)->name(), "MulBackward0") == 0);
  assert_true(g_fallback_calls >= 4);
  assert_non_null(std::strstr(dump_operator(*find_operator("add")).c_str(), "PrivateUse1: fallback"));
  // A kernel of its own goes first, and an operator that comes later has the fallback, too.
  OperatorEntry& late = define_operator("test::late(Tensor x) -> Tensor");
  register_boxed(late, Key::CPU, make_intrusive<Function>([](Call, Stack& s) { s = {Value(op::neg(s[0].get<Tensor>()))}; }));
  Stack stack = {Value(to_device(op::ones({1}), device))};
  call_boxed(late, stack);
  assert_true(item(to_device(stack[0].get<Tensor>(), kCPU)) == -1);
  register_boxed(late, Key::PrivateUse1, make_intrusive<Function>([](Call, Stack&) { throw_error(Code::kCallback, "own kernel"); }));
  throws(Code::kCallback, "own kernel", [&] { call_boxed(late, stack); });
}

std::vector<std::string> g_trace;
void trace(Call call, Stack& stack) {
  g_trace.push_back(call.op->name);
  ExcludeKeysGuard below(KeySet(Key::Trace));
  call_boxed(*call.op, stack);
}

void guards(void**) {
  register_fallback(Key::Trace, make_intrusive<Function>(trace));
  Tensor a = op::ones({2, 2}), b = op::ones({2, 2});
  op::add(a, b);
  assert_true(g_trace.empty());  // no tensor has the key
  Tensor r;
  {
    IncludeKeysGuard include(KeySet(Key::Trace));
    r = op::matmul(op::add(a, b), b);
    op::mul_(r, Scalar(3));
    {
      ExcludeKeysGuard exclude(KeySet(Key::Trace));
      op::neg(a);
    }
    op::zeros({2});  // without a tensor argument
    throws(Code::kInvalidArgument, "broadcast", [&] { op::add(a, op::ones({3})); });
  }
  op::neg(a);
  const std::vector<std::string> want = {"add", "matmul", "mul_.Scalar", "zeros", "ones", "add"};
  if (g_trace != want)
    for (const auto& name : g_trace) print_error("traced %s\n", name.c_str());
  assert_true(g_trace == want);
  assert_true(item(r) == 12);
  assert_true(thread_state.include == KeySet() && thread_state.exclude == KeySet());
  // Gradients are recorded below a wrapper key, and not below autograd.
  autograd::set_requires_grad(a, true);
  {
    IncludeKeysGuard include(KeySet(Key::Trace));
    assert_true(autograd::requires_grad(op::mul(a, b)));
    BelowAutogradGuard below;
    assert_false(autograd::requires_grad(op::mul(a, b)));
  }
  {
    GradModeGuard off(false);
    assert_false(autograd::requires_grad(op::mul(a, b)));
  }
  assert_non_null(std::strstr(dump_operator(*find_operator("mul")).c_str(), "Trace: fallback"));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(schemas_that_parse), cmocka_unit_test(schemas_that_do_not), cmocka_unit_test(arguments_are_coerced),
      cmocka_unit_test(the_table),          cmocka_unit_test(custom_operators),    cmocka_unit_test(a_backend_of_fallbacks),
      cmocka_unit_test(guards),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
