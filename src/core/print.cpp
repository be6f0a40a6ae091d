#include "core/print.h"

#include <cmath>

#include "core/modes.h"

namespace trt {

namespace {

constexpr int kPrecision = 4;
constexpr int64_t kThreshold = 1000;  // more elements than this are summarized
constexpr int64_t kEdge = 3;          // elements shown at each end of a summarized dimension
constexpr size_t kLineWidth = 80;
constexpr std::string_view kPrefix = "tensor(";

// One element, or one part of a complex one, widened: floating-point ones to double, the others to int64.
struct Element {
  bool floating;
  double d;
  int64_t i;
};

Element read_element(DType dtype, const char* p) {
  TRT_INTERNAL(!is_complex(dtype), "parts of complex elements are read one by one");
  return dispatch_dtype(dtype, "print", [&]<typename T>() -> Element {
    const T v = *reinterpret_cast<const T*>(p);
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return {true, static_cast<float>(v), 0};
    else if constexpr (std::is_floating_point_v<T>) return {true, v, 0};
    else return {false, 0, static_cast<int64_t>(static_cast<opmath_t<T>>(v))};
  });
}

// A part of a tensor: where it begins and which dimensions it still has.
struct View {
  const char* data;
  IntArrayRef sizes;
  IntArrayRef strides;  // in elements
};

class Printer {
 public:
  Printer(const Tensor& t)
      : dtype_(real_dtype(t.dtype())), itemsize_(static_cast<int64_t>(t.itemsize())), parts_(is_complex(t.dtype()) ? 2 : 1), summarize_(t.numel() > kThreshold) {
    const View all{static_cast<const char*>(t.data()), t.sizes(), t.strides()};
    measure(all);
    for (int part = 0; part < parts_; ++part) format_[part].choose();
    // The second walk learns the widths, now that the notation is known.
    for_each_shown(all, [&](const Element& e, Format& f) {
      if (!e.floating || (std::isfinite(e.d) && e.d != 0)) f.width = std::max(f.width, text(e, f).size());
    });
    print(all, kPrefix.size());
  }
  std::string take() { return std::move(out_); }

 private:
  // How numbers are written: the real and the imaginary parts of complex ones have a format each.
  struct Format {
    bool any = false;       // a finite element other than zero was seen
    bool integers = true;   // all of those are integers
    bool scientific = false;
    double min = 0, max = 0;
    size_t width = 1;
    void choose() { scientific = any && (max / min > 1000.0 || max > 1.0e8 || min < 1.0e-4); }
  };

  Element part_of(const char* element, int part) const { return read_element(dtype_, element + part * static_cast<int64_t>(element_size(dtype_))); }

  template <typename F>
  void for_each_shown(const View& v, F&& f) {
    if (v.sizes.empty()) {
      for (int part = 0; part < parts_; ++part) f(part_of(v.data, part), format_[part]);
      return;
    }
    const int64_t n = v.sizes[0];
    for (int64_t i = 0; i < n; ++i) {
      if (summarized(n) && i == kEdge) i = n - kEdge;
      for_each_shown(part(v, i), f);
    }
  }

  bool summarized(int64_t n) const { return summarize_ && n > 2 * kEdge; }

  View part(const View& v, int64_t i) const {
    return {v.data + i * v.strides[0] * itemsize_, v.sizes.slice(1, v.sizes.size() - 1), v.strides.slice(1, v.strides.size() - 1)};
  }

  void measure(const View& all) {
    for_each_shown(all, [&](const Element& e, Format& f) {
      if (!e.floating || !std::isfinite(e.d) || e.d == 0) return;
      const double a = std::fabs(e.d);
      f.min = f.any ? std::min(f.min, a) : a;
      f.max = f.any ? std::max(f.max, a) : a;
      f.any = true;
      if (e.d != std::ceil(e.d)) f.integers = false;
    });
  }

  // A floating-point number whose elements are all integers is written "3."; infinities and NaN have no point.
  std::string text(const Element& e, const Format& f) const {
    if (!e.floating) return dtype_ == DType::Bool ? (e.i ? "True" : "False") : str_cat(e.i);
    if (std::isnan(e.d)) return "nan";
    if (std::isinf(e.d)) return e.d < 0 ? "-inf" : "inf";
    char buffer[64];
    char* const end = buffer + sizeof buffer;
    const auto r = f.scientific ? std::to_chars(buffer, end, e.d, std::chars_format::scientific, kPrecision)
                               : std::to_chars(buffer, end, e.d, std::chars_format::fixed, f.integers ? 0 : kPrecision);
    TRT_INTERNAL(r.ec == std::errc(), "a printed number is too long");
    std::string s(buffer, r.ptr);
    if (!f.scientific && f.integers) s.push_back('.');
    return s;
  }

  void append_element(const View& v) {
    const std::string s = text(part_of(v.data, 0), format_[0]);
    if (s.size() < format_[0].width) out_.append(format_[0].width - s.size(), ' ');
    out_ += s;
    if (parts_ == 1) return;
    const std::string imag = text(part_of(v.data, 1), format_[1]);
    if (imag[0] != '-') out_ += '+';
    out_ += imag;
    out_ += 'j';
  }
  size_t element_width() const { return parts_ == 1 ? format_[0].width + 2 : format_[0].width + format_[1].width + 3; }

  void print(const View& v, size_t indent) {
    if (v.sizes.empty()) return append_element(v);
    if (v.sizes.size() == 1) return print_row(v, indent);
    const int64_t n = v.sizes[0];
    std::string separator(1, ',');
    separator.append(v.sizes.size() - 1, '\n');
    separator.append(indent + 1, ' ');
    out_ += '[';
    for (int64_t i = 0; i < n; ++i) {
      if (i) out_ += separator;
      if (summarized(n) && i == kEdge) {
        out_ += "...";
        out_ += separator;
        i = n - kEdge;
      }
      print(part(v, i), indent + 1);
    }
    out_ += ']';
  }

  void print_row(const View& v, size_t indent) {
    const size_t room = indent < kLineWidth ? kLineWidth - indent : 0;
    const size_t per_line = std::max<size_t>(1, room / element_width());
    const int64_t n = v.sizes[0];
    size_t written = 0;
    auto separate = [&] {
      if (written) {
        out_ += written % per_line ? ", " : ",\n";
        if (written % per_line == 0) out_.append(indent + 1, ' ');
      }
      ++written;
    };
    out_ += '[';
    for (int64_t i = 0; i < n; ++i) {
      separate();
      if (summarized(n) && i == kEdge) {
        out_ += " ...";
        i = n - kEdge;
        separate();
      }
      append_element(part(v, i));
    }
    out_ += ']';
  }

  DType dtype_;
  int64_t itemsize_;
  int parts_;
  bool summarize_;
  Format format_[2];
  std::string out_;
};

std::string tuple_text(IntArrayRef sizes) {
  std::string s(1, '(');
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i) s += ", ";
    append(s, sizes[i]);
  }
  s += sizes.size() == 1 ? ",)" : ")";
  return s;
}

}  // namespace

std::string tensor_to_string(const Tensor& t, std::string_view suffix) {
  if (!t.defined()) return "None";
  TRT_CHECK_CODE(t.device().is_cpu() || t.is_meta(), Code::kNotSupported, "only CPU and Meta tensors can be printed, got ", t);
  const bool default_dtype = t.dtype() == thread_state.default_dtype;
  std::vector<std::string> suffixes;
  std::string text(kPrefix);
  if (t.is_meta()) {
    text += "...";
    suffixes.push_back("device='meta'");
    suffixes.push_back("size=" + tuple_text(t.sizes()));
    if (!default_dtype) suffixes.push_back(str_cat("dtype=trt.", t.dtype()));
  } else if (t.numel() == 0) {
    // There are no elements from which the dtype could be guessed, so int64 and bool are named too.
    text += "[]";
    if (t.dim() != 1) suffixes.push_back("size=" + tuple_text(t.sizes()));
    if (!default_dtype) suffixes.push_back(str_cat("dtype=trt.", t.dtype()));
  } else {
    text += Printer(t).take();
    const bool guessed = default_dtype || t.dtype() == DType::Int64 || t.dtype() == DType::Bool || t.dtype() == complex_dtype(thread_state.default_dtype);
    if (!guessed) suffixes.push_back(str_cat("dtype=trt.", t.dtype()));
  }
  if (!suffix.empty()) suffixes.emplace_back(suffix);

  // PyTorch counts two characters too many for the last line; a suffix goes to a new line accordingly.
  const size_t newline = text.rfind('\n');
  size_t line = newline == std::string::npos ? text.size() + 2 : text.size() - newline + 1;
  for (const std::string& s : suffixes) {
    if (line + s.size() + 2 > kLineWidth) {
      text += ",\n";
      text.append(kPrefix.size(), ' ');
      text += s;
      line = kPrefix.size() + s.size();
    } else {
      text += ", ";
      text += s;
      line += s.size() + 2;
    }
  }
  text += ')';
  return text;
}

}  // namespace trt
