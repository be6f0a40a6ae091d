"""Emits, for one group, the backward nodes and the kernels under the Autograd key."""

import re

from . import expr
from .emit_ops import BANNER
from .formula import ATTRIBUTES, Formula
from .model import is_factory, variants


# Operators whose nodes have another name in PyTorch than the rule of `node_label` gives: another number, or the name of the function that is one of
# ours in PyTorch. An entry with two names holds that without and with the argument `dim`.
_LABELS = {
    "rsub.Scalar": "RsubBackward1", "fmod": "FmodBackward1", "remainder": "RemainderBackward1", "remainder.ScalarSelf": "RemainderBackward1",
    "pow": "PowBackward1", "pow.ScalarSelf": "PowBackward2", "square": "PowBackward0", "lerp": "LerpBackward1", "copysign.Scalar": "CopysignBackward1",
    "xlogy.Scalar": "XlogyBackward2", "xlogy.ScalarSelf": "XlogyBackward1", "special_ndtr": "MulBackward1",
    "trunc_divide": "DivBackward2", "trunc_divide.Scalar": "DivBackward2", "div_floor": "DivBackward2", "div_floor.Scalar": "DivBackward2",
    "clamp_min": "ClampMinBackward1", "clamp_max": "ClampMaxBackward1", "clamp_between": "ClampBackward0", "clamp_between_numbers": "ClampBackward1",
    "round_scaled": "RoundBackward1", "round_scaled_down": "RoundBackward1", "masked_fill_loop": "MaskedFillBackward0",
    "relu6": "HardtanhBackward0", "selu": "EluBackward0", "gelu_erf": "GeluBackward0", "gelu_tanh": "GeluBackward0", "tanhshrink": "SubBackward0",
    "softsign": "DivBackward0", "glu_product": "GluBackward0", "prelu_slope": "PreluKernelBackward0",
    "copy_": "CopyBackwards", "copy_contiguous": "CloneBackward0", "fill_": "FillBackward2",
    "scatter.value": "ScatterBackward1", "median.dim": "MedianBackward1", "nanmedian.dim": "NanmedianBackward1", "prod.dim_int": "ProdBackward1",
    "max": "MaxBackward1", "min": "MinBackward1", "squeeze.dim": "SqueezeBackward1", "sum": ("SumBackward0", "SumBackward1"),
    "mean": ("MeanBackward0", "MeanBackward1"),
    "conv2d": "ConvolutionBackward0", "batch_norm_stats": "NativeBatchNormBackward0",
    "adaptive_max_pool2d_with_indices": "AdaptiveMaxPool2DBackward0",
    "nll_loss_forward": "NllLossBackward0", "cross_entropy_forward": "NllLossBackward0", "mse_loss_elements": "MseLossBackward0",
    "l1_loss_elements": "AbsBackward0", "smooth_l1_loss_elements": "SmoothL1LossBackward0", "huber_loss_elements": "HuberLossBackward0",
    "logit_open": "LogitBackward0", "logit_clamped": "LogitBackward0", "binary_cross_entropy_elements": "BinaryCrossEntropyBackward0", "bce_with_logits_elements": "BinaryCrossEntropyWithLogitsBackward0",
}


def node_name(op):
    """The C++ type of an operator's node, which no other has."""
    base = "".join(p[:1].upper() + p[1:] for p in op.ident.strip("_").split("_"))
    return base + "Backward0"


def node_label(op):
    """What the node is called to users, in C++. As PyTorch: AddBackward0 (also where one argument is a number), Log1PBackward0."""
    label = _LABELS.get(op.name)
    if isinstance(label, tuple):
        return 'dim_ ? "{1}" : "{0}"'.format(*label)
    if label is None:
        base = "".join(p[:1].upper() + p[1:] for p in op.schema.name.strip("_").split("_"))
        label = re.sub(r"([0-9])([a-z])", lambda m: m[1] + m[2].upper(), base) + "Backward0"
    return f'"{label}"'


class _Plan:
    """What one operator's node saves and computes."""

    def __init__(self, op, operators):
        s = op.schema
        self.op = op
        self.diff_args = [a.name for a in s.args if a.type.kind == "Tensor"]
        self.returns = [r.name or ("result" if len(s.returns) == 1 else f"result{i}") for i, r in enumerate(s.returns)]
        tensor_names = {a.name for a in s.tensor_args} | set(self.returns)
        grads = ["grad2"] if op.compose_grad else ["grad"] if len(s.returns) == 1 else ["grad_" + r for r in self.returns]
        self.grads = grads
        others = {a.name for a in s.args if a.type.kind != "Tensor"} | {"grads"}
        self.used_grads = set()
        self.formulas = []   # ([inputs], cpp)
        self.saved = {}      # name -> inputs whose gradient needs it
        self.attributes = {}  # (name, attribute) -> inputs
        for key, value in op.grad.items():
            inputs = [k.strip() for k in key.split(",")]
            for i in inputs:
                if i not in self.diff_args:
                    raise SystemExit(f"{s.full_name}: gradient for unknown tensor argument {i}")
            if isinstance(value, expr.Node):
                used, attributes, cpp = value.names() - {"grad2"}, set(), expr.operator_calls(value)
                names = {a.name: a for a in s.args}
                cpp_numbers = {n for n in used if n in names and names[n].type.kind != "Tensor"}
                self.formulas.append((inputs, cpp, cpp_numbers))
            else:
                text = f"zeros_like({grads[0]})" if value == "zeros_grad" else value
                try:
                    f = Formula(text, tensor_names | set(grads), others, operators)
                except Exception as error:
                    raise SystemExit(f"{s.full_name}: gradient of {key}: {error}")
                used, attributes, cpp = f.used, f.attributes, f.cpp
                self.formulas.append((inputs, cpp, set()))
            self.used_grads |= (used | {n for n, _ in attributes}) & set(grads)
            for n in used - set(grads) - {"grads"}:
                self.saved.setdefault(n, []).extend(inputs)
            for at in attributes:
                if at[0] not in grads:
                    self.attributes.setdefault(at, []).extend(inputs)

    def slot(self, name):
        """Index of the gradient of argument `name` among the node's outputs, as C++."""
        parts, fixed = [], 0
        for a in self.op.schema.tensor_args:
            if a.name == name:
                break
            if a.type.is_list:
                parts.append(f"{a.name}_count_")
            else:
                fixed += 1
        return " + ".join([str(fixed)] + parts)


def _node(plan):
    op, s = plan.op, plan.op.schema
    name = node_name(op)
    members, release, visit = [], [], []
    args = {a.name: a for a in s.args}
    for n in sorted(plan.saved):
        a = args.get(n)
        if a is None:
            members.append(f"  SavedTensor {n}_;\n")
            release.append(f"{n}_.release();")
            visit.append(f"{n}_.visit(f);")
        elif a.type.is_tensor:
            members.append(f"  SavedTensor {n}_;\n")
            release.append(f"{n}_.release();")
            visit.append(f"{n}_.visit(f);")
        elif a.type.is_tensor_list:
            members.append(f"  std::vector<SavedTensor> {n}_;\n")
            release.append(f"for (auto& t : {n}_) t.release();")
            visit.append(f"for (const auto& t : {n}_) t.visit(f);")
        elif a.type.kind == "Generator":
            raise SystemExit(f"{s.full_name}: a generator cannot be saved")
        else:
            members.append(f"  {a.type.cpp_saved()} {n}_;\n")
    for n, attribute in sorted(plan.attributes):
        t = ATTRIBUTES[attribute]
        members.append(f"  {'std::vector<' + t + '>' if n in args and args[n].type.is_list else t} {n}_{attribute}_;\n")
    for a in s.tensor_args:
        if a.type.is_list:
            members.append(f"  size_t {a.name}_count_ = 0;\n")
    body = []
    if len(plan.grads) == 1:
        grad_local = "grad2" if op.compose_grad else "grad"
        body.append(f"    [[maybe_unused]] const Tensor& {grad_local} = grads[0];\n")
    else:
        for i, g in enumerate(plan.grads):
            if g in plan.used_grads:
                body.append(f"    const Tensor {g} = grad_or_zeros(grads, {i});\n")

    def load(names, attributes, numbers, indent):
        out = ""
        for n in sorted(names):
            a = args.get(n)
            if n in numbers:
                out += f"{indent}const Tensor {n} = number({n}_);\n"
            elif a is None or a.type.is_tensor:
                out += f"{indent}const Tensor {n} = {n}_.unpack(*this);\n"
            elif a.type.is_tensor_list:
                out += f"{indent}const std::vector<Tensor> {n} = unpack_list({n}_, *this);\n"
            else:
                out += f"{indent}const auto& {n} = {n}_;\n"
        for n, attribute in sorted(attributes):
            out += f"{indent}const auto& {n}_{attribute} = {n}_{attribute}_;\n"
        return out

    for inputs, cpp, numbers in plan.formulas:
        names = [n for n, users in plan.saved.items() if set(users) & set(inputs)]
        attributes = [at for at, users in plan.attributes.items() if set(users) & set(inputs)]
        wants = " || ".join(_wants(plan, i) for i in inputs)
        body.append(f"    if ({wants}) {{\n" + load(names, attributes, numbers, "      "))
        if len(inputs) > 1:
            flags = ", ".join(_wants(plan, i) for i in inputs)
            body.append(f"      [[maybe_unused]] const std::array<bool, {len(inputs)}> wanted{{{flags}}};\n")
            body.append(f"      auto parts = {cpp};\n")
            for k, i in enumerate(inputs):
                body.append(f"      if (wanted[{k}]) out[{plan.slot(i)}] = std::get<{k}>(parts);\n")
        elif args[inputs[0]].type.is_list:
            body.append(f"      std::vector<Tensor> parts = {cpp};\n      for (size_t k = 0; k < parts.size(); ++k) out[{plan.slot(inputs[0])} + k] = std::move(parts[k]);\n")
        else:
            body.append(f"      out[{plan.slot(inputs[0])}] = {cpp};\n")
        body.append("    }\n")
    return (f"struct {name} final : Node {{\n{''.join(members)}"
            f'  const char* name() const override {{ return {node_label(op)}; }}\n'
            + ("" if "complex_direct" in op.tags else "  bool conjugates() const override { return true; }\n")
            + f"  void apply([[maybe_unused]] const GradVec& grads, GradVec& out) override {{\n{''.join(body)}  }}\n"
            + (f"  void release_saved() override {{ {' '.join(release)} }}\n"
               f"  void visit_saved(const std::function<void(const Tensor&)>& f) const override {{ {' '.join(visit)} }}\n" if release else "")
            + "};\n")


def _wants(plan, name):
    a = plan.op.schema.arg(name)
    if a.type.is_list:
        return f"wants_any({plan.slot(name)}, {name}_count_)"
    return f"wants({plan.slot(name)})"


def _save_statements(plan, v, phase):
    """Statements that fill the node. phase "before": inputs; "after": outputs."""
    s = plan.op.schema
    args = {a.name: a for a in s.args}
    out = []
    in_place = v.kind == "inplace"
    self_name = s.args[0].name
    single_input = len(plan.diff_args) == 1 and not s.arg(plan.diff_args[0]).type.is_list

    def condition(users):
        users = sorted(set(users), key=plan.diff_args.index)
        if single_input or any(s.arg(u).type.is_list for u in users):
            return ""
        return "if (" + " || ".join(f"node->wants({plan.slot(u)})" for u in users) + ") "

    for n in sorted(plan.saved):
        a = args.get(n)
        cond = condition(plan.saved[n])
        if a is None:
            if phase == "after":
                source = "fresh" if len(s.returns) == 1 else n
                source = self_name if in_place else source
                index = plan.returns.index(n)
                out.append(f"    {cond}node->{n}_.save_output({source}, *node, {index});\n")
        elif phase == "before":
            if a.type.is_tensor:
                # What is about to be overwritten is kept as a copy.
                out.append(f"    {cond}node->{n}_.save({'clone_detached(' + n + ')' if in_place and n == self_name else n});\n")
            elif a.type.is_tensor_list:
                out.append(f"    node->{n}_ = save_list({n});\n")
            elif a.type.is_list:
                if a.type.optional:
                    out.append(f"    if ({n}) node->{n}_.emplace({n}->data(), {n}->size());\n")
                else:
                    out.append(f"    node->{n}_.assign({n}.data(), {n}.size());\n" if a.type.kind == "int" else f"    node->{n}_ = {n}.vec();\n")
            else:
                out.append(f"    node->{n}_ = {n};\n")
    if phase == "before":
        for n, attribute in sorted(plan.attributes):
            a = args.get(n)
            if a is None:
                continue
            get = {"sizes": "sizes()", "strides": "strides()", "dtype": "dtype()", "dim": "dim()", "numel": "numel()", "device": "device()", "offset": "storage_offset()"}[attribute]
            if a.type.is_list:
                if attribute in ("sizes", "strides"):
                    out.append(f"    for (const Tensor& t : {n}) node->{n}_{attribute}_.emplace_back(t.{get}.data(), t.{get}.size());\n")
                else:
                    out.append(f"    for (const Tensor& t : {n}) node->{n}_{attribute}_.push_back(t.{get});\n")
            elif attribute in ("sizes", "strides"):
                guard = f"if ({n}.defined()) " if a.type.optional else ""
                out.append(f"    {guard}node->{n}_{attribute}_.assign({n}.{get}.data(), {n}.{get}.size());\n")
            else:
                guard = f"if ({n}.defined()) " if a.type.optional else ""
                out.append(f"    {guard}node->{n}_{attribute}_ = {n}.{get};\n")
    else:
        for n, attribute in sorted(plan.attributes):
            if n in args:
                continue
            raise SystemExit(f"{s.full_name}: attribute {n}.{attribute} of a result is not supported")
    return "".join(out)


def _kernel(plan, v):
    op, s, vs = plan.op, plan.op.schema, v.schema
    name = node_name(op)
    types = ", ".join([vs.cpp_return()] + vs.cpp_types())
    forward = f"redispatch_call<{types}>(call.below(Key::Autograd){''.join(', ' + n for n in vs.names())})"
    head = f"{vs.cpp_return()} {v.ident}_autograd(Call call, {vs.cpp_params()}) {{\n"
    self_name = s.args[0].name
    view = op.kind == "view"
    if v.kind == "out":
        return _out_kernel(op, v, plan.diff_args)
    out = [head]
    edges = []
    for a in s.tensor_args:
        if a.type.is_list:
            edges.append(f"    node->{a.name}_count_ = {a.name}.size();\n    node->add_edges({a.name});\n")
        elif a.name in _with_formula(plan):
            edges.append(f"    node->add_edge({a.name});\n")
        else:
            edges.append("    node->add_no_edge();\n")
    relevant = ", ".join(a for a in plan.diff_args if a in _with_formula(plan))
    if v.kind == "inplace":
        out.append(f"  const bool needs = is_differentiable({self_name}.dtype()) && any_requires_grad({relevant});\n  check_inplace({self_name}, needs, \"{op.name}_\");\n"
                   f"  if (TRT_LIKELY(!needs)) {{\n    BelowAutogradGuard below;\n    return {forward};\n  }}\n")
        out.append(f"  auto node = make_node<{name}>();\n  {{\n{''.join(edges)}{_save_statements(plan, v, 'before')}  }}\n")
        out.append(f"  {{\n    BelowAutogradGuard below;\n    {forward};\n  }}\n  rebase_history({self_name}, node);\n  {{\n{_save_statements(plan, v, 'after')}  }}\n  return {self_name};\n}}\n")
        return "".join(out)
    mark = ""
    if view:
        mark = f"  mark_view({self_name}, fresh);\n"
    inference = "thread_state.inference || " if view else ""
    out.append(f"  if (TRT_LIKELY({inference}!any_requires_grad({relevant}))) {{\n    BelowAutogradGuard below;\n")
    if view:
        out.append(f"    auto fresh = {forward};\n  {mark}    return fresh;\n  }}\n")
    else:
        out.append(f"    return {forward};\n  }}\n")
    out.append(f"  auto node = make_node<{name}>();\n{''.join(edges)}{_save_statements(plan, v, 'before')}")
    out.append(f"  auto fresh = [&] {{\n    BelowAutogradGuard below;\n    return {forward};\n  }}();\n")
    if len(s.returns) == 1:
        if s.returns[0].type.kind != "Tensor":
            raise SystemExit(f"{s.full_name}: a result that is no tensor cannot be differentiable")
        out.append(f"{mark}  set_history(fresh, node);\n")
    else:
        for i, r in enumerate(plan.returns):
            out.append(f"  auto& {r} = std::get<{i}>(fresh);\n")
            nondiff = "false" if r in str(op.tags) and f"nondiff:{r}" in op.tags else "true"
            out.append(f"  set_history({r}, node, {nondiff});\n")
    out.append(_save_statements(plan, v, "after") + "  return fresh;\n}\n")
    return "".join(out)


def _out_kernel(op, v, diff_args):
    vs = v.schema
    types = ", ".join([vs.cpp_return()] + vs.cpp_types())
    tensors = ", ".join(diff_args + [a.name for a in vs.args if a.type.written])
    return (f"{vs.cpp_return()} {v.ident}_autograd(Call call, {vs.cpp_params()}) {{\n"
            f'  reject_out_gradient("{op.name}", any_requires_grad({tensors}));\n  BelowAutogradGuard below;\n'
            f"  return redispatch_call<{types}>(call.below(Key::Autograd){''.join(', ' + n for n in vs.names())});\n}}\n")


def _with_formula(plan):
    return {i for inputs, _, _ in plan.formulas for i in inputs}


def _inplace_only(op):
    """Kernel for an in-place operator without gradient formula, or with formulas `self`: handled like a variant."""
    return op.schema.args and op.schema.args[0].type.written


def source(group, ops, all_groups, operators):
    out = [BANNER.format(group), '#include "autograd/compose.h"\n#include "autograd/formulas.h"\n#include "autograd/function_util.h"\n']
    out += [f'#include "gen/{g}_ops.h"\n' for g in all_groups]
    out.append("\nnamespace trt {\n\nusing namespace autograd;\n\nnamespace {\n\n")
    registered = []
    for op in ops:
        s = op.schema
        if op.kind == "composite":
            # Differentiable through its parts, except that a result cannot be recorded in an out tensor.
            for v in variants(op):
                if v.kind == "out":
                    out.append(_out_kernel(op, v, [a.name for a in s.tensor_args]))
                    registered.append(v)
            continue
        if _inplace_only(op):
            out.append(_declared_inplace(op, operators))
            registered.append(variants(op)[0])
            continue
        if op.grad:
            plan = _Plan(op, operators)
            out.append(_node(plan))
            for v in variants(op):
                out.append(_kernel(plan, v))
                registered.append(v)
        else:
            # Not differentiable: only in-place and out variants have duties under autograd.
            for v in variants(op):
                if v.kind == "inplace":
                    vs = v.schema
                    types = ", ".join([vs.cpp_return()] + vs.cpp_types())
                    fwd = f"redispatch_call<{types}>(call.below(Key::Autograd){''.join(', ' + n for n in vs.names())})"
                    out.append(f'{vs.cpp_return()} {v.ident}_autograd(Call call, {vs.cpp_params()}) {{\n  const bool needs = any_requires_grad({s.args[0].name});\n'
                               f'  check_inplace({s.args[0].name}, needs, "{op.name}_");\n'
                               f"  const NodePtr node = needs ? make_zero_node({s.args[0].name}, {node_label(op)}) : NodePtr();\n  {{\n    BelowAutogradGuard below;\n    {fwd};\n  }}\n"
                               f"  if (needs) rebase_history({s.args[0].name}, node);\n  return {s.args[0].name};\n}}\n")
                    registered.append(v)
                elif v.kind == "out" and is_factory(s):
                    out.append(_out_kernel(op, v, []))
                    registered.append(v)
                elif v.kind == "functional" and op.kind == "view":
                    vs = v.schema
                    types = ", ".join([vs.cpp_return()] + vs.cpp_types())
                    fwd = f"redispatch_call<{types}>(call.below(Key::Autograd){''.join(', ' + n for n in vs.names())})"
                    out.append(f"{vs.cpp_return()} {v.ident}_autograd(Call call, {vs.cpp_params()}) {{\n  BelowAutogradGuard below;\n  return {fwd};\n}}\n")
                    registered.append(v)
    out.append(f"\n}}  // namespace\n\nvoid register_{group}_autograd() {{\n")
    for v in registered:
        out.append(f"  register_kernel(table::{v.ident}, Key::Autograd, reinterpret_cast<AnyFn>(&{v.ident}_autograd));\n")
    out.append("}\n\n}  // namespace trt\n")
    return "".join(out)


def _declared_inplace(op, operators):
    """Operators that exist in place only (copy_, fill_, uniform_): `self` and other inputs may have formulas."""
    v = variants(op)[0]
    s = op.schema
    types = ", ".join([s.cpp_return()] + s.cpp_types())
    fwd = f"redispatch_call<{types}>(call.below(Key::Autograd){''.join(', ' + n for n in s.names())})"
    self_name = s.args[0].name
    if not op.grad:
        return (f'{s.cpp_return()} {v.ident}_autograd(Call call, {s.cpp_params()}) {{\n  const bool needs = any_requires_grad({self_name});\n'
                f'  check_inplace({self_name}, needs, "{op.name}");\n'
                f"  const NodePtr node = needs ? make_zero_node({self_name}, {node_label(op)}) : NodePtr();\n  {{\n    BelowAutogradGuard below;\n    {fwd};\n  }}\n"
                f"  if (needs) rebase_history({self_name}, node);\n  return {self_name};\n}}\n")
    plan = _Plan(op, operators)
    v.kind = "inplace"
    return _node(plan) + _kernel(plan, v).replace(f'"{op.name}_"', f'"{op.name}"')
