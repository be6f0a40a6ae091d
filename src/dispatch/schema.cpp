#include "dispatch/schema.h"

#include <charconv>

#include "core/modes.h"

namespace trt {

namespace {

using Kind = SchemaType::Kind;

struct KindName {
  const char* name;
  Kind kind;
};
// Longer names first: "ScalarType" before "Scalar".
constexpr KindName kKindNames[] = {{"Tensor", Kind::Tensor},     {"ScalarType", Kind::ScalarType}, {"Scalar", Kind::Scalar},
                                   {"int", Kind::Int},           {"float", Kind::Float},           {"bool", Kind::Bool},
                                   {"Device", Kind::Device},     {"str", Kind::Str},               {"Generator", Kind::Generator}};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  FunctionSchema parse() {
    FunctionSchema s;
    s.name = word("an operator name");
    if (accept('.')) s.overload = word("an overload name");
    expect('(');
    bool kwarg_only = false;
    if (!accept(')')) {
      do {
        if (accept('*')) {
          kwarg_only = true;
          continue;
        }
        s.arguments.push_back(argument(kwarg_only));
      } while (accept(','));
      expect(')');
    }
    expect('-');
    expect('>');
    if (accept('(')) {
      if (!accept(')')) {
        do s.returns.push_back(result());
        while (accept(','));
        expect(')');
      }
    } else {
      s.returns.push_back(result());
    }
    space();
    if (at_ != text_.size()) fail("the end");
    return s;
  }

 private:
  [[noreturn]] void fail(const char* expected) const {
    throw_error(Code::kInvalidArgument, str_cat("schema \"", text_, "\": expected ", expected, " at position ", at_));
  }
  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char c) {
    space();
    if (at_ < text_.size() && text_[at_] == c) return ++at_, true;
    return false;
  }
  void expect(char c) {
    const char what[] = {'\'', c, '\'', 0};
    if (!accept(c)) fail(what);
  }
  static bool word_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
  }
  std::string word(const char* what) {
    space();
    const size_t begin = at_;
    while (at_ < text_.size() && word_char(text_[at_])) ++at_;
    if (begin == at_) fail(what);
    return std::string(text_.substr(begin, at_ - begin));
  }

  SchemaType type() {
    SchemaType t;
    const std::string name = word("a type");
    bool known = false;
    for (const auto& k : kKindNames)
      if (name == k.name) {
        t.kind = k.kind;
        known = true;
      }
    if (!known) fail("a type (Tensor, Scalar, int, float, bool, str, ScalarType, Device, Generator)");
    if (accept('(')) {  // alias annotation: (a) or (a!)
      word("an alias set");
      t.written = accept('!');
      expect(')');
    }
    bool question = accept('?');
    if (accept('[')) {
      t.is_list = true;
      t.optional_element = question;
      space();
      if (at_ < text_.size() && text_[at_] != ']') t.list_size = static_cast<int>(std::min<int64_t>(integer(), 64));
      expect(']');
      question = accept('?');
    }
    t.optional = question;
    return t;
  }

  int64_t integer() {
    space();
    int64_t v = 0;
    auto r = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
    if (r.ec != std::errc()) fail("an integer");
    at_ = static_cast<size_t>(r.ptr - text_.data());
    return v;
  }

  SchemaArgument argument(bool kwarg_only) {
    SchemaArgument a;
    a.type = type();
    a.name = word("an argument name");
    a.kwarg_only = kwarg_only;
    if (accept('=')) {
      space();
      const size_t begin = at_;
      a.has_default = true;
      a.default_value = literal(a.type);
      a.default_text = std::string(text_.substr(begin, at_ - begin));
    }
    return a;
  }

  SchemaArgument result() {
    SchemaArgument a;
    a.type = type();
    space();
    if (at_ < text_.size() && word_char(text_[at_])) a.name = word("a name");
    return a;
  }

  Value literal(const SchemaType& t) {
    space();
    if (accept('[')) {
      std::vector<int64_t> ints;
      std::vector<double> floats;
      if (!accept(']')) {
        do {
          const Number n = number();
          if (t.kind != Kind::Float && !n.integral) fail("an integer");
          floats.push_back(n.real);
          ints.push_back(n.integer);
        } while (accept(','));
        expect(']');
      }
      if (t.kind == Kind::Float) return Value(std::move(floats));
      return Value(std::move(ints));
    }
    const char c = at_ < text_.size() ? text_[at_] : 0;
    if (c == '"' || c == '\'') {
      const size_t begin = ++at_;
      while (at_ < text_.size() && text_[at_] != c) ++at_;
      if (at_ == text_.size()) fail("a closing quote");
      return Value(std::string(text_.substr(begin, at_++ - begin)));
    }
    if (c >= 'A' && c <= 'Z') {
      const std::string w = word("a literal");
      if (w == "None") return Value();
      if (w == "True") return t.kind == Kind::Scalar ? Value(Scalar(true)) : Value(true);
      if (w == "False") return t.kind == Kind::Scalar ? Value(Scalar(false)) : Value(false);
      fail("None, True or False");
    }
    if (c >= 'a' && c <= 'z' && text_.substr(at_, 3) != "inf") {
      const std::string w = word("a literal");
      const DType d = dtype_from_name(w.c_str());
      if (t.kind == Kind::ScalarType && d != DType::Undefined) return Value(d);
      fail("a literal");
    }
    const Number n = number();
    if (t.is_list) {
      const size_t count = static_cast<size_t>(std::max(t.list_size, 1));
      if (t.kind == Kind::Float) return Value(std::vector<double>(count, n.real));
      if (!n.integral) fail("an integer");
      return Value(std::vector<int64_t>(count, n.integer));
    }
    if (t.kind == Kind::Scalar) return n.integral ? Value(Scalar(n.integer)) : Value(Scalar(n.real));
    if (t.kind == Kind::Float) return Value(n.real);
    if (!n.integral) fail("an integer");
    return Value(n.integer);
  }

  // Integers exactly: the largest int64 is a common default, and no double.
  struct Number {
    double real;
    int64_t integer;
    bool integral;
  };
  Number number() {
    space();
    const char *begin = text_.data() + at_, *end = text_.data() + text_.size();
    Number n{0, 0, false};
    const auto real = std::from_chars(begin, end, n.real);
    if (real.ec != std::errc()) fail("a literal");
    const auto integer = std::from_chars(begin, end, n.integer);
    n.integral = integer.ec == std::errc() && integer.ptr == real.ptr;
    at_ = static_cast<size_t>(real.ptr - text_.data());
    return n;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::string SchemaType::text() const {
  std::string s;
  for (const auto& k : kKindNames)
    if (k.kind == kind) s = k.name;
  if (written) s += "(a!)";
  if (is_list) {
    if (optional_element) s += "?";
    s += "[";
    if (list_size) append(s, list_size);
    s += "]";
  }
  if (optional) s += "?";
  return s;
}

std::string FunctionSchema::text() const {
  std::string s = full_name() + "(";
  bool star = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto& a = arguments[i];
    if (i) s += ", ";
    if (a.kwarg_only && !star) {
      s += "*, ";
      star = true;
    }
    s += a.type.text() + " " + a.name;
    if (a.has_default) s += "=" + a.default_text;
  }
  s += ") -> ";
  if (returns.size() != 1) s += "(";
  for (size_t i = 0; i < returns.size(); ++i) {
    if (i) s += ", ";
    s += returns[i].type.text();
    if (!returns[i].name.empty()) s += " " + returns[i].name;
  }
  if (returns.size() != 1) s += ")";
  return s;
}

const SchemaArgument* FunctionSchema::find_argument(std::string_view arg) const {
  for (const auto& a : arguments)
    if (a.name == arg) return &a;
  return nullptr;
}

FunctionSchema parse_schema(std::string_view text) { return Parser(text).parse(); }

Value coerce_argument(const FunctionSchema& schema, const SchemaArgument& arg, Value v) {
  const SchemaType& t = arg.type;
  auto fail = [&]() {
    throw_error(Code::kInvalidArgument, str_cat(schema.full_name(), ": argument '", arg.name, "' must be ", t.text(), ", not ", v.type_name()));
  };
  if (v.is_none()) {
    if (!t.optional) fail();
    return v;
  }
  if (t.is_list) {
    const size_t repeat = static_cast<size_t>(std::max(t.list_size, 1));
    switch (t.kind) {
      case Kind::Tensor:
        if (v.is<Tensor>()) return Value(std::vector<Tensor>{v.get<Tensor>()});
        if (v.is<std::vector<int64_t>>() && v.get<std::vector<int64_t>>().empty()) return Value(std::vector<Tensor>());
        if (!v.is<std::vector<Tensor>>()) fail();
        for (const Tensor& e : v.get<std::vector<Tensor>>())
          if (!e.defined() && !t.optional_element) fail();
        return v;
      case Kind::Int:
        if (v.is<int64_t>()) return Value(std::vector<int64_t>(repeat, v.get<int64_t>()));
        if (v.is<Scalar>() && v.get<Scalar>().is_int()) return Value(std::vector<int64_t>(repeat, v.get<Scalar>().to_int()));
        if (!v.is<std::vector<int64_t>>()) fail();
        if (t.list_size > 1 && v.get<std::vector<int64_t>>().size() == 1)
          return Value(std::vector<int64_t>(repeat, v.get<std::vector<int64_t>>()[0]));
        return v;
      case Kind::Float:
        if (v.is<double>()) return Value(std::vector<double>(repeat, v.get<double>()));
        if (v.is<int64_t>()) return Value(std::vector<double>(repeat, static_cast<double>(v.get<int64_t>())));
        if (v.is<std::vector<int64_t>>()) {
          const auto& ints = v.get<std::vector<int64_t>>();
          return Value(std::vector<double>(ints.begin(), ints.end()));
        }
        if (!v.is<std::vector<double>>()) fail();
        return v;
      default: fail();
    }
  }
  switch (t.kind) {
    case Kind::Tensor:
      if (v.is<Tensor>()) return v;
      // A number given for a tensor argument takes part in promotion as a number.
      if (v.is<Scalar>()) return Value(wrapped_scalar_tensor(v.get<Scalar>()));
      if (v.is<bool>()) return Value(wrapped_scalar_tensor(Scalar(v.get<bool>())));
      if (v.is<int64_t>()) return Value(wrapped_scalar_tensor(Scalar(v.get<int64_t>())));
      if (v.is<double>()) return Value(wrapped_scalar_tensor(Scalar(v.get<double>())));
      break;
    case Kind::Int:
      if (v.is<int64_t>()) return v;
      if (v.is<bool>()) return Value(static_cast<int64_t>(v.get<bool>()));
      if (v.is<Scalar>() && v.get<Scalar>().kind() <= Scalar::Kind::Int) return Value(v.get<Scalar>().to_int());
      if (v.is<std::vector<int64_t>>() && v.get<std::vector<int64_t>>().size() == 1) return Value(v.get<std::vector<int64_t>>()[0]);
      break;
    case Kind::Float:
      if (v.is<double>()) return v;
      if (v.is<int64_t>()) return Value(static_cast<double>(v.get<int64_t>()));
      if (v.is<Scalar>() && !v.get<Scalar>().is_complex()) return Value(v.get<Scalar>().to_double());
      break;
    case Kind::Bool:
      if (v.is<bool>()) return v;
      if (v.is<int64_t>()) return Value(v.get<int64_t>() != 0);
      if (v.is<Scalar>() && v.get<Scalar>().kind() <= Scalar::Kind::Int) return Value(v.get<Scalar>().to_bool());
      break;
    case Kind::Scalar:
      if (v.is<Scalar>()) return v;
      if (v.is<bool>()) return Value(Scalar(v.get<bool>()));
      if (v.is<int64_t>()) return Value(Scalar(v.get<int64_t>()));
      if (v.is<double>()) return Value(Scalar(v.get<double>()));
      break;
    case Kind::ScalarType:
      if (v.is<DType>()) return v;
      if (v.is<std::string>()) {
        const DType d = dtype_from_name(v.get<std::string>().c_str());
        if (d != DType::Undefined) return Value(d);
      }
      break;
    case Kind::Device:
      if (v.is<Device>()) return v;
      if (v.is<std::string>()) return Value(device_from_string(v.get<std::string>()));
      break;
    case Kind::Str:
      if (v.is<std::string>()) return v;
      break;
    case Kind::Generator:
      if (v.is<intrusive_ptr<GeneratorImpl>>()) return v;
      break;
  }
  fail();
  return Value();
}

}  // namespace trt
