package org.libtensorrt;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.GZIPInputStream;

/**
 * Runs the reference cases of tests/golden through the methods of Tensor: Golden CASES.jsonl.gz... [OPERATOR]...
 *
 * <p>A case is bound to an operator's schema, as tests/golden/run.py does; the method is found by reflection: the form with exactly the given arguments where
 * there is one, else the one with all. Values and gradients are compared with run.py's tolerances. Exit status 1 when a case fails, or cannot be
 * expressed. What is left out has its reason in outdated() and call().
 */
public final class Golden {
  private static final Map<String, double[]> TOLERANCE = Map.of("float64", new double[] {1e-7, 1e-9}, "float32", new double[] {1.3e-6, 1e-5}, "float16",
      new double[] {1e-3, 1e-3}, "bfloat16", new double[] {1.6e-2, 1e-2}, "complex128", new double[] {1e-7, 1e-9}, "complex64", new double[] {1.3e-6, 1e-5});
  private static final Pattern LONG_SUMS = Pattern.compile("sum|mean|prod|norm|var|std|mm|mv|dot|addr|matmul|linear|conv|einsum|inner|outer|loss|entropy"
      + "|soft(max|min)|pool|dist|similarity|interpolate|upsample|trace|integrate|trapez|cov|corrcoef|linalg|fft|kl_div|cross|cdist|bag|attention|lstm|gru|rnn|scatter"
      + "|index_(add|reduce)");
  private static final Pattern UNDEFINED_VALUES = Pattern.compile("(^|_)empty");
  private static final Pattern FREE_SIGNS = Pattern.compile("(^|\\.)(qr|svd|eigh|eig|geqrf)$");
  private static final Map<String, String> RENAMED = Map.of("nn.functional.unfold", "im2col", "nn.functional.fold", "col2im", "special.polygamma", "polygamma",
      "lu", "linalg_lu_factor_ex", "H", "adjoint", "mH", "adjoint");
  /** The order among equal elements is not defined: indices are not compared. */
  private static final Set<String> EQUAL_ELEMENTS = Set.of("topk", "kthvalue", "sort", "mode", "median", "nanmedian", "argsort");
  private static final Map<String, int[]> DATABASE_ORDER = Map.of("where", new int[] {1, 0, 2}, "einsum", new int[] {1, 0}, "polygamma", new int[] {1, 0},
      "special.polygamma", new int[] {1, 0});
  private static final Set<String> FEWER_DIGITS = Set.of("float16", "bfloat16", "float32");
  private static final Set<String> ALL_REAL = Set.of("float16", "bfloat16", "float32", "uint8", "int8", "int16", "int32", "int64", "bool");
  private static final List<String> BAG_MODES = List.of("sum", "mean", "max");
  /** Operators whose records number only the results that require a gradient: the first result, a permutation, does not. */
  private static final Set<String> FIRST_CONSTANT = Set.of("lu_unpack", "linalg.lu");
  /** The records of PyTorch 1.13 in float32 are not precise (run.py tells how): right is what agrees with the same call in float64. */
  private static final Pattern IMPRECISE = Pattern.compile("(special\\.)?polygamma|matrix_exp|special\\.(airy_ai|bessel_[jy][01]|erfcx|.*_polynomial_.*)|ormqr"
      + "|(nn\\.functional|native)[._]layer_norm");
  /** PyTorch's gradient of a Cholesky factor is not zero in the triangle that is not read: which gradient is not compared. */
  private static final Map<String, Integer> UNREAD_TRIANGLE = Map.of("cholesky_inverse", 0, "cholesky_solve", 1);
  private static final Set<String> INNER = Set.of("dot", "vdot", "matmul", "linalg.vecdot");
  private static final Map<String, List<String>> PYTHON_ORDER = Map.of("nn.functional.batch_norm",
      List.of("input", "running_mean", "running_var", "weight", "bias", "training", "momentum", "eps"), "nn.functional.instance_norm",
      List.of("input", "running_mean", "running_var", "weight", "bias", "use_input_stats", "momentum", "eps"));

  /** The case is not one for this program, with the reason. */
  private static final class LeftOut extends RuntimeException {
    private static final long serialVersionUID = 1;

    LeftOut(String message) {
      super(message);
    }
  }

  /** The case needs something that the methods of Tensor do not have. */
  private static final class NotExpressible extends RuntimeException {
    private static final long serialVersionUID = 1;

    NotExpressible(String message) {
      super(message);
    }
  }

  private static final class Failed extends RuntimeException {
    private static final long serialVersionUID = 1;

    Failed(String message) {
      super(message);
    }
  }

  /** An argument of a schema. */
  private record Argument(String name, String kind, boolean list, boolean optional, boolean optionalElement, boolean keyword, String defaultText) {
    Class<?> javaType() {
      Class<?> base = switch (kind) {
        case "Tensor" -> Tensor.class;
        case "int" -> long.class;
        case "float" -> double.class;
        case "bool" -> boolean.class;
        case "Scalar" -> Number.class;
        case "ScalarType" -> DType.class;
        case "Device" -> Device.class;
        case "str" -> String.class;
        default -> Generator.class;
      };
      if (list) {
        return base.arrayType();
      }
      return !optional ? base : base == long.class ? Long.class : base == double.class ? Double.class : base == boolean.class ? Boolean.class : base;
    }
  }

  private record Schema(String fullName, List<Argument> args) {}

  private final Map<String, List<Schema>> schemas = new HashMap<>();
  private final Map<String, String> withoutUnderscores = new HashMap<>();
  private final Map<String, List<Method>> methods = new HashMap<>();

  private Golden() {
    for (long i = 0; i < Native.trt_op_count(); i++) {
      String name = Native.trt_op_name(i);
      String base = name.split("\\.")[0];
      if (name.endsWith("out")) {
        continue;
      }
      schemas.computeIfAbsent(base, k -> new ArrayList<>()).add(new Schema(name, arguments(Native.trt_op_schema(name))));
      if (!base.endsWith("_")) {
        withoutUnderscores.putIfAbsent(base.replace("_", ""), base);
      }
    }
    for (Method m : Tensor.class.getMethods()) {
      if (m.getDeclaringClass() == TensorOperators.class) {
        methods.computeIfAbsent(m.getName(), k -> new ArrayList<>()).add(m);
      }
    }
  }

  private static List<Argument> arguments(String schema) {
    List<Argument> out = new ArrayList<>();
    int open = schema.indexOf('(');
    int depth = 0;
    boolean keyword = false;
    StringBuilder part = new StringBuilder();
    String inner = schema.substring(open + 1, schema.lastIndexOf(") ->")) + ",";
    Pattern pattern = Pattern.compile("(\\w+)(\\([a-z]!?\\))?(\\??)(\\[\\d*\\](\\??))? (\\w+)(=(.*))?");
    for (char c : inner.toCharArray()) {
      depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
      if (c != ',' || depth > 0) {
        part.append(c);
        continue;
      }
      String text = part.toString().trim();
      part.setLength(0);
      if (text.equals("*")) {
        keyword = true;
      } else if (!text.isEmpty()) {
        Matcher m = pattern.matcher(text);
        if (!m.matches()) {
          throw new IllegalStateException("cannot read " + text);
        }
        boolean list = m.group(4) != null;
        boolean mark = !m.group(3).isEmpty();
        out.add(new Argument(m.group(6), m.group(1), list, list ? m.group(5) != null && !m.group(5).isEmpty() : mark, list && mark, keyword, m.group(8)));
      }
    }
    return out;
  }

  private String find(String publicName) {
    String name = RENAMED.getOrDefault(publicName, publicName);
    if (name.startsWith("nn.functional.")) {
      name = name.substring("nn.functional.".length());
    }
    name = name.replace("linalg.", "linalg_").replace("special.", "special_").replace("fft.", "fft_");
    for (String candidate : new String[] {name, name.replaceAll("_+$", ""), name + "_", withoutUnderscores.getOrDefault(name.replace("_", ""), "")}) {
      if (schemas.containsKey(candidate)) {
        return candidate;
      }
    }
    return null;
  }

  // --- values ---

  private static double number(JsonElement e) {
    if (e.getAsJsonPrimitive().isString()) {
      return switch (e.getAsString()) {
        case "inf" -> Double.POSITIVE_INFINITY;
        case "-inf" -> Double.NEGATIVE_INFINITY;
        default -> Double.NaN;
      };
    }
    if (e.getAsJsonPrimitive().isBoolean()) {
      return e.getAsBoolean() ? 1 : 0;
    }
    return e.getAsDouble();
  }

  private static DType dtype(String name) {
    try {
      return DType.valueOf(name.toUpperCase(Locale.ROOT));
    } catch (IllegalArgumentException e) {
      throw new NotExpressible("dtype " + name);
    }
  }

  private static long[] longs(JsonArray a) {
    long[] out = new long[a.size()];
    for (int i = 0; i < out.length; i++) {
      out[i] = a.get(i).getAsLong();
    }
    return out;
  }

  private static Tensor tensor(JsonObject o) {
    DType d = dtype(o.get("t").getAsString());
    JsonArray data = o.getAsJsonArray("data");
    long[] shape = longs(o.getAsJsonArray("shape"));
    Tensor t;
    if (d.isComplex()) {
      double[] v = new double[2 * data.size()];
      for (int i = 0; i < data.size(); i++) {
        v[2 * i] = number(data.get(i).getAsJsonArray().get(0));
        v[2 * i + 1] = number(data.get(i).getAsJsonArray().get(1));
      }
      t = Tensor.of(v, new long[] {data.size(), 2}).viewAsComplex().to(d).reshape(shape);
    } else if (d.isFloatingPoint()) {
      double[] v = new double[data.size()];
      for (int i = 0; i < v.length; i++) {
        v[i] = number(data.get(i));
      }
      t = Tensor.of(v, new long[] {v.length}).to(d).reshape(shape);
    } else {
      long[] v = new long[data.size()];
      for (int i = 0; i < v.length; i++) {
        JsonElement e = data.get(i);
        v[i] = e.getAsJsonPrimitive().isBoolean() ? e.getAsBoolean() ? 1 : 0 : e.getAsLong();
      }
      t = Tensor.of(v, new long[] {v.length}).to(d).reshape(shape);
    }
    if (o.has("strides") && t.numel() > 0) {
      Tensor s = Tensor.emptyStrided(shape, longs(o.getAsJsonArray("strides")), d);
      s.copy_(t);
      return s;
    }
    return t;
  }

  /** A value of a case: Tensor, Long, Double, Boolean, String, DType, Device, null, or a List of these. */
  private static Object decode(JsonElement e, List<Tensor> leaves, Set<String> widen) {
    if (e.isJsonNull()) {
      return null;
    }
    if (e.isJsonArray()) {
      List<Object> out = new ArrayList<>();
      e.getAsJsonArray().forEach(x -> out.add(decode(x, leaves, widen)));
      return out;
    }
    if (e.isJsonObject()) {
      JsonObject o = e.getAsJsonObject();
      if (o.has("t")) {
        if (widen.contains(o.get("t").getAsString())) {
          o = o.deepCopy();
          o.addProperty("t", "float64");
        }
        Tensor t = tensor(o);
        if (t.dtype() == DType.FLOAT64) {
          leaves.add(t);
        }
        return t;
      }
      if (o.has("dtype")) {
        String name = o.get("dtype").getAsString();
        return widen.contains(name) ? DType.FLOAT64 : dtype(name);
      }
      if (o.has("device")) {
        return Device.of(o.get("device").getAsString());
      }
      if (o.has("c")) {
        JsonArray parts = o.getAsJsonArray("c");
        return Scalar.complex(number(parts.get(0)), number(parts.get(1)));
      }
      throw new NotExpressible("values of the kind " + o.keySet());
    }
    if (e.getAsJsonPrimitive().isBoolean()) {
      return e.getAsBoolean();
    }
    String text = e.getAsString();
    if (e.getAsJsonPrimitive().isString()) {
      return Set.of("nan", "inf", "-inf").contains(text) ? (Object) number(e) : text;
    }
    return text.matches("-?\\d+") ? (Object) Long.valueOf(text) : (Object) Double.valueOf(text);
  }

  /** How badly a value fits an argument: 0 exactly, -1 not at all. */
  private static int misfit(Argument a, Object v) {
    if (v == null) {
      return a.optional ? 0 : -1;
    }
    if (a.list) {
      if (v instanceof List<?> l) {
        boolean ok = l.stream().allMatch(x -> a.kind.equals("Tensor") ? x instanceof Tensor || x == null && a.optionalElement
            : x instanceof Long || a.kind.equals("float") && x instanceof Double);
        return ok ? 0 : -1;
      }
      return a.kind.equals("Tensor") ? v instanceof Tensor ? 3 : -1 : v instanceof Long ? 1 : -1;
    }
    if (v instanceof List<?> l) {
      return a.kind.equals("int") && l.size() == 1 && l.get(0) instanceof Long ? 2 : -1;
    }
    if (v instanceof Tensor t) {
      return a.kind.equals("Tensor") ? 0 : Set.of("Scalar", "float", "int", "bool").contains(a.kind) && t.numel() == 1 ? 3 : -1;
    }
    Map<String, Integer> fits = v instanceof DType ? Map.of("ScalarType", 0) : v instanceof Device ? Map.of("Device", 0)
        : v instanceof String ? Map.of("str", 0, "Device", 1) : v instanceof Boolean ? Map.of("bool", 0, "Scalar", 1, "Tensor", 2, "int", 3, "float", 4)
        : v instanceof Scalar ? Map.of("Scalar", 0, "Tensor", 2)
        : v instanceof Long ? Map.of("int", 0, "Scalar", 1, "float", 1, "Tensor", 2) : Map.of("float", 0, "Scalar", 0, "Tensor", 2);
    return fits.getOrDefault(a.kind, -1);
  }

  private record Call(int badness, Schema schema, Map<String, Object> bound) {}

  private static Call bind(Schema s, List<Object> args, Map<String, Object> kwargs) {
    List<Argument> positional = s.args.stream().filter(a -> !a.keyword).toList();
    if (args.size() > positional.size()) {
      return null;
    }
    Map<String, Object> bound = new LinkedHashMap<>();
    for (int i = 0; i < args.size(); i++) {
      bound.put(positional.get(i).name, args.get(i));
    }
    for (Map.Entry<String, Object> e : kwargs.entrySet()) {
      String k = e.getKey().equals("input") && s.args.stream().noneMatch(a -> a.name.equals("input")) ? s.args.get(0).name : e.getKey();
      if (s.args.stream().noneMatch(a -> a.name.equals(k)) || bound.containsKey(k)) {
        return null;
      }
      bound.put(k, e.getValue());
    }
    int badness = 0;
    for (Argument a : s.args) {
      if (!bound.containsKey(a.name)) {
        if (a.defaultText == null) {
          return null;
        }
        continue;
      }
      Object v = bound.get(a.name);
      int cost = v == null && a.defaultText != null ? 1 : misfit(a, v);
      if (cost < 0) {
        return null;
      }
      badness += cost;
      if (v == null && !a.optional) {
        bound.remove(a.name);
      }
    }
    return new Call(badness, s, bound);
  }

  private static String camel(String name) {
    StringBuilder out = new StringBuilder();
    for (String w : name.split("_")) {
      out.append(out.isEmpty() ? w : w.isEmpty() ? "" : w.substring(0, 1).toUpperCase(Locale.ROOT) + w.substring(1));
    }
    return out.toString();
  }

  private static Object convert(Argument a, Object v) {
    if (v instanceof Tensor t && !a.kind.equals("Tensor")) {
      Scalar s = t.item();
      v = s.isComplex() ? s : s.isBoolean() ? (Object) s.booleanValue() : s.isFloatingPoint() ? (Object) s.doubleValue() : (Object) s.longValue();
    }
    if (a.list) {
      if (v == null) {
        return null;
      }
      List<?> l = v instanceof List<?> given ? given : List.of(v);
      return switch (a.kind) {
        case "Tensor" -> l.toArray(new Tensor[0]);
        case "int" -> l.stream().mapToLong(x -> ((Number) x).longValue()).toArray();
        default -> l.stream().mapToDouble(x -> ((Number) x).doubleValue()).toArray();
      };
    }
    if (v instanceof List<?> l) {
      v = l.get(0);
    }
    if (v instanceof Boolean b && !a.kind.equals("bool")) {
      v = Scalar.of(b);
    }
    return switch (a.kind) {
      case "Tensor" -> v == null || v instanceof Tensor ? v : Tensor.of((Number) v);
      case "int" -> v == null ? null : (Object) ((Number) v).longValue();
      case "float" -> v == null ? null : (Object) ((Number) v).doubleValue();
      case "Device" -> v instanceof String s ? Device.of(s) : v;
      default -> v;
    };
  }

  private static Object defaultValue(Argument a) {
    String d = a.defaultText;
    if (d.equals("None")) {
      return null;
    }
    if (a.list) {
      String inner = d.replaceAll("[\\[\\] ]", "");
      List<Object> values = new ArrayList<>();
      for (String x : inner.isEmpty() ? new String[0] : inner.split(",")) {
        values.add(Long.valueOf(x));
      }
      return convert(a, values);
    }
    return switch (a.kind) {
      case "bool" -> d.equals("True");
      case "str" -> d.substring(1, d.length() - 1);
      case "int" -> Long.valueOf(d);
      case "float" -> d.equals("inf") ? Double.POSITIVE_INFINITY : Double.parseDouble(d);
      case "Scalar" -> d.equals("True") || d.equals("False") ? Scalar.of(d.equals("True")) : d.matches("-?\\d+") ? (Object) Long.valueOf(d) : Double.valueOf(d);
      case "ScalarType" -> dtype(d);
      default -> throw new NotExpressible("default " + d);
    };
  }

  /** Calls the form with exactly the given arguments, else the one with all. */
  private Object invoke(Call call) throws Throwable {
    Schema s = call.schema;
    String base = s.fullName.split("\\.")[0];
    boolean instance = !s.args.isEmpty() && s.args.get(0).javaType() == Tensor.class && !s.args.get(0).optional;
    List<Argument> params = instance ? s.args.subList(1, s.args.size()) : s.args;
    String name = camel(base) + (base.endsWith("_") ? "_" : "");
    String overload = s.fullName.contains(".") ? s.fullName.substring(s.fullName.indexOf('.') + 1) : "";
    String capital = overload.isEmpty() ? "" : camel(overload).substring(0, 1).toUpperCase(Locale.ROOT) + camel(overload).substring(1);
    List<Method> named = new ArrayList<>(methods.getOrDefault(name, List.of()));
    named.addAll(methods.getOrDefault(name + "Cast", List.of()));
    named.addAll(methods.getOrDefault(camel(base) + capital, List.of()));
    Method best = null;
    for (Method m : named) {
      if (Modifier.isStatic(m.getModifiers()) == instance) {
        continue;
      }
      Map<String, Class<?>> types = new LinkedHashMap<>();
      for (Parameter p : m.getParameters()) {
        types.put(p.getName().replaceAll("_$", ""), p.getType());
      }
      boolean fits = true;
      int matched = 0;
      for (Argument a : params) {
        Class<?> t = types.get(camel(a.name));
        fits &= t == null ? !call.bound.containsKey(a.name) && a.defaultText != null : t == a.javaType();
        matched += t == null ? 0 : 1;
      }
      if (fits && matched == types.size() && (best == null || types.size() < best.getParameterCount())) {
        best = m;
      }
    }
    if (best == null) {
      throw new NotExpressible("no method " + name);
    }
    Object[] values = new Object[best.getParameterCount()];
    for (int i = 0; i < values.length; i++) {
      String p = best.getParameters()[i].getName().replaceAll("_$", "");
      Argument a = params.stream().filter(x -> camel(x.name).equals(p)).findFirst().orElseThrow();
      values[i] = call.bound.containsKey(a.name) ? convert(a, call.bound.get(a.name)) : defaultValue(a);
    }
    try {
      return best.invoke(instance ? call.bound.get(s.args.get(0).name) : null, values);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  private Object call(String publicName, String name, List<Object> args, Map<String, Object> kwargs) throws Throwable {
    if (PYTHON_ORDER.containsKey(publicName)) {
      Map<String, Object> all = new LinkedHashMap<>();
      for (int i = 0; i < args.size(); i++) {
        all.put(PYTHON_ORDER.get(publicName).get(i), args.get(i));
      }
      all.putAll(kwargs);
      kwargs = all;
      args = List.of();
    } else if (DATABASE_ORDER.containsKey(publicName)) {
      List<Object> given = args;
      args = new ArrayList<>();
      for (int i : DATABASE_ORDER.get(publicName)) {
        args.add(given.get(i));
      }
    }
    args = new ArrayList<>(args);
    kwargs = new LinkedHashMap<>(kwargs);
    switch (publicName) {
      case "polygamma", "special.polygamma" -> {
        if (kwargs.containsKey("n")) {
          args.add(0, kwargs.remove("n"));
        }
      }
      case "lu" -> { // lu(A, pivot, get_infos)
        kwargs.put("pivot", args.size() > 1 ? args.get(1) : true);
        args = new ArrayList<>(args.subList(0, 1));
      }
      case "cdist" -> {
        if (args.size() == 4) { // compute_mode by its name changes nothing
          args.remove(3);
        }
      }
      case "nn.functional.embedding", "nn.functional.embedding_bag" -> {
        if (kwargs.get("max_norm") != null) {
          throw new LeftOut(publicName + ": max_norm belongs to the function in Python, the operator has none");
        }
        kwargs.keySet().removeAll(Set.of("max_norm", "norm_type"));
        if (publicName.endsWith("embedding")) {
          kwargs.remove("sparse");
        } else {
          kwargs.put("mode", (long) BAG_MODES.indexOf(kwargs.getOrDefault("mode", "mean")));
          if (kwargs.get("offsets") == null && args.size() == 2) { // the rows are bags
            Tensor rows = (Tensor) args.get(1);
            kwargs.put("offsets", Tensor.arange(0, rows.size(0) + 1).mul(rows.size(1)));
            kwargs.put("include_last_offset", true);
            args.set(1, rows.reshape(-1));
            if (kwargs.get("per_sample_weights") instanceof Tensor weights) {
              kwargs.put("per_sample_weights", weights.reshape(-1));
            }
          }
        }
        if (kwargs.get("padding_idx") instanceof Long row && row < 0) {
          kwargs.put("padding_idx", row + ((Tensor) args.get(0)).size(0));
        }
      }
      default -> { }
    }
    kwargs.remove("layout");
    for (String k : List.of("requires_grad", "pin_memory", "as_tuple")) {
      kwargs.remove(k, (Object) false);
    }
    Object indices = kwargs.remove("return_indices");
    if (publicName.contains("adaptive_max_pool") && args.size() == 3) {
      indices = args.remove(2);
    }
    if (Boolean.TRUE.equals(indices)) {
      name += "_with_indices";
    }
    if (publicName.contains("adaptive") && args.size() > 1 && args.get(1) instanceof List<?> sizes) {
      long[] shape = ((Tensor) args.get(0)).shape();
      List<Object> kept = new ArrayList<>();
      for (int i = 0; i < sizes.size(); i++) {
        kept.add(sizes.get(i) == null ? (Object) shape[shape.length - sizes.size() + i] : sizes.get(i));
      }
      args.set(1, kept);
    }
    List<Call> candidates = new ArrayList<>();
    for (int start = args.size(); start >= 0 && candidates.isEmpty(); start--) {
      // At first as it is; then the trailing arguments of one kind together as a list, as many as there are.
      List<Object> attempt = new ArrayList<>(args);
      if (start < args.size()) {
        List<Object> tail = args.subList(args.size() - 1 - start, args.size());
        if (!tail.stream().allMatch(x -> x instanceof Tensor) && !tail.stream().allMatch(x -> x instanceof Long)) {
          continue;
        }
        attempt = new ArrayList<>(args.subList(0, args.size() - 1 - start));
        attempt.add(tail);
      }
      for (Schema s : schemas.getOrDefault(name, List.of())) {
        Call c = bind(s, attempt, kwargs);
        if (c != null) {
          candidates.add(c);
        }
      }
    }
    candidates.sort((a, b) -> a.badness - b.badness);
    Throwable error = new NotExpressible("no overload of " + name + " takes the arguments");
    for (Call c : candidates) {
      try {
        return invoke(c);
      } catch (TensorException e) {
        error = e;
      }
    }
    throw error;
  }

  // --- comparison ---

  private static boolean close(double a, double e, double[] tolerance) {
    if (Double.isNaN(e)) {
      return Double.isNaN(a);
    }
    return a == e || Math.abs(a - e) <= tolerance[1] + tolerance[0] * Math.abs(e);
  }

  /** NaN and infinite parts must agree one by one; the error of a finite number is measured against its magnitude. */
  private static boolean close(double real, double imag, double expectedReal, double expectedImag, boolean magnitudes, double[] tolerance) {
    if (magnitudes) {
      return close(Math.hypot(real, imag), Math.hypot(expectedReal, expectedImag), tolerance);
    }
    if (Double.isFinite(real) && Double.isFinite(imag) && Double.isFinite(expectedReal) && Double.isFinite(expectedImag)) {
      return Math.hypot(real - expectedReal, imag - expectedImag) <= tolerance[1] + tolerance[0] * Math.hypot(expectedReal, expectedImag);
    }
    return close(real, expectedReal, tolerance) && close(imag, expectedImag, tolerance);
  }

  private static void compareTensor(Object actual, JsonObject expected, double[] tolerance, String what, boolean magnitudes, boolean values) {
    if (!(actual instanceof Tensor t)) {
      throw new Failed(what + " is " + actual + ", not a tensor");
    }
    String dtype = expected.get("t").getAsString();
    if (!t.dtype().toString().equals(dtype)) {
      throw new Failed(what + " is " + t.dtype() + ", not " + dtype);
    }
    long[] shape = longs(expected.getAsJsonArray("shape"));
    if (!java.util.Arrays.equals(shape, t.shape())) {
      throw new Failed(what + " has shape " + java.util.Arrays.toString(t.shape()) + ", not " + java.util.Arrays.toString(shape));
    }
    if (!values) {
      return;
    }
    JsonArray data = expected.getAsJsonArray("data");
    boolean exact = !TOLERANCE.containsKey(dtype);
    boolean complex = t.dtype().isComplex();
    double[] numbers = exact ? null : complex ? t.to(DType.COMPLEX128).viewAsReal().toDoubleArray() : t.toDoubleArray();
    long[] integers = exact ? t.toLongArray() : null;
    for (int i = 0; i < data.size(); i++) {
      if (exact) {
        long e = data.get(i).getAsJsonPrimitive().isBoolean() ? data.get(i).getAsBoolean() ? 1 : 0 : data.get(i).getAsLong();
        if (integers[i] != e) {
          throw new Failed(what + "[" + i + "] is " + integers[i] + ", not " + e);
        }
        continue;
      }
      if (complex) {
        JsonArray e = data.get(i).getAsJsonArray();
        if (!close(numbers[2 * i], numbers[2 * i + 1], number(e.get(0)), number(e.get(1)), magnitudes, tolerance)) {
          throw new Failed(what + "[" + i + "] is " + numbers[2 * i] + ", " + numbers[2 * i + 1] + ", not " + e);
        }
        continue;
      }
      double e = number(data.get(i));
      double a = numbers[i];
      if (!close(magnitudes ? Math.abs(a) : a, magnitudes ? Math.abs(e) : e, tolerance)) {
        throw new Failed(what + "[" + i + "] is " + a + ", not " + e);
      }
    }
  }

  private static List<Object> parts(Object result) throws ReflectiveOperationException {
    if (result instanceof Tensor[] list) {
      return List.of((Object[]) list);
    }
    if (result instanceof List<?> list) {
      return List.copyOf(list);
    }
    if (result instanceof Record r) {
      List<Object> out = new ArrayList<>();
      for (RecordComponent c : r.getClass().getRecordComponents()) {
        out.add(c.getAccessor().invoke(r));
      }
      return out;
    }
    return result == null ? List.of() : List.of(result);
  }

  private static void compare(Object actual, JsonElement expected, String op, String what) throws ReflectiveOperationException {
    if (expected.isJsonObject() && expected.getAsJsonObject().has("t")) {
      JsonObject e = expected.getAsJsonObject();
      String dtype = e.get("t").getAsString();
      double[] tolerance = TOLERANCE.getOrDefault(dtype, new double[2]).clone();
      if ((dtype.equals("float32") || dtype.equals("complex64")) && LONG_SUMS.matcher(op).find()) {
        tolerance[0] *= 10;
        tolerance[1] *= 10;
      }
      boolean indices = EQUAL_ELEMENTS.contains(op) && dtype.equals("int64") && (what.endsWith(".1") || op.equals("argsort"));
      compareTensor(actual, e, tolerance, what, FREE_SIGNS.matcher(op).find(), !UNDEFINED_VALUES.matcher(op).find() && !indices);
    } else if (expected.isJsonArray()) {
      List<Object> got = parts(actual);
      if (got.size() != expected.getAsJsonArray().size()) {
        throw new Failed(what + " has " + got.size() + " elements, not " + expected.getAsJsonArray().size());
      }
      for (int i = 0; i < got.size(); i++) {
        compare(got.get(i), expected.getAsJsonArray().get(i), op, what + "." + i);
      }
    } else {
      double a = actual instanceof Tensor t ? t.itemDouble() : actual instanceof Boolean b ? b ? 1 : 0 : ((Number) actual).doubleValue();
      if (!close(a, number(expected), TOLERANCE.get("float64"))) {
        throw new Failed(what + " is " + a + ", not " + expected);
      }
    }
  }

  /** In half precision the record is further from the truth than the tolerance at times: right is what agrees with the same call in float64. */
  private boolean closerThanRecorded(String name, JsonObject c, Object result) throws Throwable {
    boolean imprecise = IMPRECISE.matcher(c.get("op").getAsString()).matches(); // whose tensors are all values, none indices
    if (!c.get("dtype").getAsString().endsWith("float16") && !imprecise) {
      return false;
    }
    if (c.get("dtype").getAsString().equals("float64")) { // the record has few digits, too
      try {
        compareTensor(result, c.getAsJsonObject("out"), new double[] {1e-3, 1e-5}, "the result", false, true);
      } catch (Failed e) {
        return false;
      }
      return true;
    }
    List<Object> exact = parts(callCase(name, c, new ArrayList<>(), imprecise ? ALL_REAL : FEWER_DIGITS, null));
    List<Object> got = parts(result);
    for (int i = 0; i < got.size(); i++) {
      if (!(got.get(i) instanceof Tensor r) || !TOLERANCE.containsKey(r.dtype().toString())) {
        return false;
      }
      double[] a = r.toDoubleArray();
      double[] e = ((Tensor) exact.get(i)).toDoubleArray();
      for (int k = 0; k < a.length; k++) {
        if (!close(a[k], e[k], TOLERANCE.get(r.dtype().toString()))) {
          return false;
        }
      }
    }
    return true;
  }

  /** The call; tensors of the dtypes in widen are made in float64. */
  @SuppressWarnings("unchecked")
  private Object callCase(String name, JsonObject c, List<Tensor> leaves, Set<String> widen, List<Integer> wanted) throws Throwable {
    List<Object> args = (List<Object>) decode(c.get("args"), leaves, widen);
    Map<String, Object> kwargs = new LinkedHashMap<>();
    for (Map.Entry<String, JsonElement> e : c.getAsJsonObject("kwargs").entrySet()) {
      kwargs.put(e.getKey(), decode(e.getValue(), leaves, widen));
    }
    if (wanted != null) {
      wanted.forEach(i -> leaves.get(i).setRequiresGrad(true));
    }
    if (name.endsWith("_") && !args.isEmpty() && args.get(0) instanceof Tensor t) {
      args.set(0, t.clone());
    }
    String op = c.get("op").getAsString();
    boolean singular = op.equals("linalg.pinv") && c.get("variant").getAsString().equals("singular");
    if (singular) { // a product of two narrow matrices, as the operator database makes it
      args.set(0, ((Tensor) args.get(0)).matmul(((Tensor) args.remove(1)).mT()));
    }
    return asked(op, c, args, parts(call(op, name, args, kwargs)));
  }

  /** Those results of the operator that the function in Python gives. */
  private static Object asked(String op, JsonObject c, List<Object> args, List<Object> results) {
    JsonObject kwargs = c.getAsJsonObject("kwargs");
    int count = results.size();
    List<Object> out = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      boolean given = switch (op) {
        case "unique", "unique_consecutive" -> i == 0 || isTrue(kwargs.get(i == 1 ? "return_inverse" : "return_counts"));
        case "lu" -> i < 2 || isTrue(c.getAsJsonArray("args").get(2));
        case "nn.functional.embedding_bag" -> i == 0;
        case "linalg.lstsq" -> i == 0 || !c.get("variant").getAsString().equals("grad_oriented");
        default -> true;
      };
      if (given) {
        out.add(results.get(i));
      }
    }
    return out.size() == 1 && !c.get("out").isJsonArray() ? out.get(0) : out;
  }

  private static boolean isTrue(JsonElement e) {
    return e != null && e.isJsonPrimitive() && e.getAsJsonPrimitive().isBoolean() && e.getAsBoolean();
  }

  private static boolean hasFraction(JsonArray args) {
    for (JsonElement a : args) {
      if (a.isJsonPrimitive() && a.getAsJsonPrimitive().isNumber() && !a.getAsString().matches("-?\\d+")) {
        return true;
      }
    }
    return false;
  }

  /** Why the record is not what PyTorch gives today, or null. The operator itself is checked by run.py, which knows the new rules (TODAY). */
  private static String outdated(String op, JsonObject c) {
    JsonObject out = c.get("out").isJsonObject() ? c.getAsJsonObject("out") : c.getAsJsonObject("kwargs");
    boolean exact = out.has("t") && !TOLERANCE.containsKey(out.get("t").getAsString());
    String variant = c.get("variant").getAsString();
    if (op.equals("arange") && exact && hasFraction(c.getAsJsonArray("args"))) {
      return " of an integer dtype: PyTorch 1.13 cut off the bounds' fractions before it counted";
    }
    if (op.equals("linspace") && exact) {
      return " of an integer dtype: PyTorch 1.13 rounded the step to float";
    }
    if (op.equals("aminmax") && isTrue(c.getAsJsonObject("kwargs").get("keepdim")) && c.getAsJsonArray("args").get(0).getAsJsonObject().getAsJsonArray("shape").isEmpty()) {
      return " of 0-d tensors: PyTorch 1.13 gave a vector of one element";
    }
    if (Set.of("div", "floor_divide").contains(op) && !exact && out.has("data") && out.getAsJsonArray("data").contains(new com.google.gson.JsonPrimitive("nan"))) {
      return ": a floored quotient that overflows was NaN in PyTorch 1.13";
    }
    if (op.equals("div") && variant.equals("trunc_rounding") && c.get("dtype").getAsString().equals("bfloat16")) {
      return ", truncated in bfloat16: PyTorch rounds before or after, as the element stands in a vector or not";
    }
    if (INNER.contains(op) && c.get("dtype").getAsString().startsWith("complex") && out.getAsJsonArray("shape").isEmpty()) {
      return " of complex vectors: the record is 0, the BLAS that it was made with gave back no complex numbers";
    }
    return null;
  }

  private void runOnce(String name, JsonObject c, List<Integer> wanted) throws Throwable {
    String op = c.get("op").getAsString();
    List<Tensor> leaves = new ArrayList<>();
    Object result = callCase(name, c, leaves, Set.of(), wanted);
    try {
      compare(result, c.get("out"), op, "the result");
    } catch (Failed e) {
      if (!closerThanRecorded(name, c, result)) {
        throw e;
      }
    }
    if (wanted == null || FREE_SIGNS.matcher(op).find()) {
      return;
    }
    List<Object> outputs = parts(result);
    List<Tensor> from = new ArrayList<>();
    List<Tensor> weights = new ArrayList<>();
    for (JsonElement i : c.getAsJsonArray("grad_outputs")) {
      Tensor o = (Tensor) outputs.get(i.getAsInt() + (FIRST_CONSTANT.contains(op) ? 1 : 0));
      if (!o.requiresGrad()) {
        throw new Failed("result " + i + " does not require a gradient");
      }
      int n = (int) o.numel();
      double[] w = new double[n];
      for (int k = 0; k < n; k++) {
        w[k] = n > 1 ? 0.5 + k / (double) (n - 1) : 0.5;
      }
      from.add(o);
      weights.add(Tensor.of(w, new long[] {n}).reshape(o.shape()));
    }
    Tensor[] inputs = wanted.stream().map(leaves::get).toArray(Tensor[]::new);
    Tensor[] grads = Autograd.grad(from.toArray(new Tensor[0]), inputs, weights.toArray(new Tensor[0]), false, false, true);
    for (int i = 0; i < grads.length; i++) {
      JsonElement expected = c.getAsJsonArray("grads").get(i);
      if (expected.isJsonNull()) {
        if (grads[i] != null && grads[i].abs().sum().itemDouble() != 0) {
          throw new Failed("gradient " + i + " is not zero");
        }
      } else if (grads[i] == null) {
        throw new Failed("gradient " + i + " is missing");
      } else if (UNREAD_TRIANGLE.getOrDefault(op, -1) != i) {
        compareTensor(grads[i], expected.getAsJsonObject(), new double[] {1e-6, 1e-8}, "gradient " + i, false, true);
      }
    }
  }

  private static void float64Shapes(JsonElement e, List<String> out) {
    if (e.isJsonArray()) {
      e.getAsJsonArray().forEach(x -> float64Shapes(x, out));
    } else if (e.isJsonObject() && e.getAsJsonObject().has("t") && e.getAsJsonObject().get("t").getAsString().equals("float64")) {
      out.add(e.getAsJsonObject().get("shape").toString());
    }
  }

  /** Which of the float64 tensors the gradients belong to: every choice with the right shapes is possible. */
  private static void choices(JsonArray grads, List<String> shapes, int at, List<Integer> chosen, List<List<Integer>> out) {
    if (out.size() >= 40) {
      return;
    }
    if (chosen.size() == grads.size()) {
      out.add(List.copyOf(chosen));
      return;
    }
    JsonElement g = grads.get(chosen.size());
    for (int i = at; i < shapes.size(); i++) {
      if (g.isJsonNull() || g.getAsJsonObject().get("shape").toString().equals(shapes.get(i))) {
        chosen.add(i);
        choices(grads, shapes, i + 1, chosen, out);
        chosen.remove(chosen.size() - 1);
      }
    }
  }

  private void runCase(JsonObject c) throws Throwable {
    String name = find(c.get("op").getAsString());
    if (name == null) {
      throw new NotExpressible("operator");
    }
    String op = c.get("op").getAsString();
    String reason = outdated(op, c);
    if (reason != null) {
      throw new LeftOut(op + reason);
    }
    List<List<Integer>> all = new ArrayList<>();
    if (c.has("grads")) {
      List<String> shapes = new ArrayList<>();
      float64Shapes(c.get("args"), shapes);
      c.getAsJsonObject("kwargs").entrySet().forEach(e -> float64Shapes(e.getValue(), shapes));
      choices(c.getAsJsonArray("grads"), shapes, 0, new ArrayList<>(), all);
    }
    if (all.isEmpty()) {
      all.add(null);
    }
    Failed failure = null;
    for (List<Integer> wanted : all) {
      try (TensorScope scope = new TensorScope()) {
        runOnce(name, c, wanted);
        return;
      } catch (Failed e) {
        failure = failure == null ? e : failure;
      }
    }
    throw failure;
  }

  private int passed;
  private int failed;
  private final Map<String, Integer> leftOut = new TreeMap<>();
  private final Set<String> operators = new TreeSet<>();
  private final Set<String> incomplete = new TreeSet<>();

  private void runFile(String path, Set<String> only) throws IOException {
    int line = 0;
    try (BufferedReader in = new BufferedReader(new InputStreamReader(new GZIPInputStream(new FileInputStream(path)), StandardCharsets.UTF_8))) {
      for (String text = in.readLine(); text != null; text = in.readLine()) {
        line++;
        JsonObject c = JsonParser.parseString(text).getAsJsonObject();
        String op = c.get("op").getAsString();
        if (!only.isEmpty() && !only.contains(op)) {
          continue;
        }
        operators.add(op);
        try {
          runCase(c);
          passed++;
        } catch (LeftOut e) {
          leftOut.merge(e.getMessage(), 1, Integer::sum);
        } catch (Throwable e) {
          failed++;
          incomplete.add(op);
          System.out.println(path.substring(path.lastIndexOf('/') + 1) + " line " + line + " " + op + ": " + e);
          if (!(e instanceof Failed) && !(e instanceof TensorException)) {
            e.printStackTrace(System.out);
          }
        }
      }
    }
  }

  public static void main(String[] args) throws IOException {
    Golden golden = new Golden();
    Set<String> only = new TreeSet<>(List.of(args).stream().filter(a -> !a.endsWith(".gz")).toList());
    for (String path : args) {
      if (path.endsWith(".gz")) {
        golden.runFile(path, only);
      }
    }
    golden.report();
  }

  private void report() {
    leftOut.forEach((what, n) -> System.out.println("left out: " + what + " (" + n + " cases)"));
    int left = leftOut.values().stream().mapToInt(Integer::intValue).sum();
    System.out.printf("golden in Java: %d of %d cases pass, %d fail, %d are left out; %d of %d operators complete%n", passed, passed + failed + left, failed, left,
        operators.size() - incomplete.size(), operators.size());
    System.exit(failed == 0 && passed > 0 ? 0 : 1);
  }
}
