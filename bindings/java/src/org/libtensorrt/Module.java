package org.libtensorrt;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * A layer or network: named parameters, buffers and children, training or eval mode, and a function from one tensor to one. {@link Layers} makes the
 * library's; a module of one's own is a subclass:
 *
 * <pre>{@code
 * final class Residual extends Module {
 *   Residual() {
 *     super("Residual");
 *   }
 *
 *   private final Module inner = registerChild("inner", Layers.linear(64, 64));
 *
 *   @Override
 *   protected Tensor compute(Tensor x) {
 *     return x.add(inner.forward(x).relu());
 *   }
 * }
 * }</pre>
 *
 * <p>{@link #forward} of one module from many threads at once is safe in eval mode, and so are the methods that only read. Training, loading and changes
 * of a module need synchronization of one's own. A module keeps references to its children; the Java object of a module of one's own must not be closed
 * as long as another uses it.
 */
public non-sealed class Module extends NativeObject {
  /** From the native module of a subclass to its Java object, which it must not keep alive. */
  static final class Link {
    private volatile WeakReference<Module> target;

    Module module() {
      WeakReference<Module> t = target;
      Module m = t == null ? null : t.get();
      if (m == null) {
        throw new IllegalStateException("the Java object of this module is gone; keep a reference to it or to the module that it is part of");
      }
      return m;
    }
  }

  private static final Map<Long, WeakReference<Module>> OWN = new ConcurrentHashMap<>();

  /** Keeps Java modules alive that the native module uses. */
  private final List<Object> kept = new ArrayList<>();

  private Module(long pointer) {
    super(pointer);
    watch();
  }

  private Module(Link link, String typeName) {
    this(Callbacks.customModule(typeName, link));
    link.target = new WeakReference<>(this);
    OWN.put(pointer, link.target);
  }

  /**
   * A module whose {@link #compute} a subclass defines.
   *
   * @param typeName how it is printed
   */
  protected Module(String typeName) {
    this(new Link(), typeName);
  }

  static Module adopt(long pointer) {
    return new Module(pointer);
  }

  /** This module, which now keeps Java modules alive that the native one uses. */
  Module keeping(Module... parts) {
    for (Module m : parts) {
      if (m != null) {
        kept.add(m);
      }
    }
    return this;
  }

  /** A handle that came from the native side: the object of a subclass where there is one, else a new one. */
  private Module adoptPart(long part) {
    WeakReference<Module> own = OWN.get(part);
    Module m = own == null ? null : own.get();
    if (m != null && !m.isClosed()) {
      Native.trt_module_release(part);
      return m;
    }
    m = new Module(part);
    m.kept.add(this);
    return m;
  }

  /** The module that a callback is given as a reference of its own. */
  static Module ofReference(long reference) {
    WeakReference<Module> own = OWN.get(reference);
    Module m = own == null ? null : own.get();
    if (m != null && !m.isClosed()) {
      Native.trt_module_release(reference);
      return m;
    }
    return new Module(reference);
  }

  /** After the callback: a Java object that was made for it is closed. */
  static void endOfReference(Module m) {
    WeakReference<Module> own = OWN.get(m.pointer);
    if (own == null || own.get() != m) {
      m.close();
    }
  }

  static void forget(long pointer) {
    WeakReference<Module> own = OWN.get(pointer);
    if (own != null && own.get() == null) {
      OWN.remove(pointer, own);
    }
  }

  @Override
  void releaseHandle() {
    WeakReference<Module> own = OWN.get(pointer);
    if (own != null && own.get() == this) {
      OWN.remove(pointer, own);
    }
    Native.trt_module_release(pointer);
  }

  @Override
  int kind() {
    return HandleRef.MODULE;
  }

  /**
   * Runs modules in order.
   *
   * @param modules the children "0", "1" and so on
   * @return a new module
   */
  public static Module sequential(Module... modules) {
    Module[] used = modules.clone();
    enter(used);
    try {
      Module m = new Module(Native.trt_sequential_create(pointers(used)));
      m.kept.addAll(List.of(used));
      return m;
    } finally {
      leave(used);
    }
  }

  /**
   * What a module of one's own computes. Tensors made in it are closed when it returns, but for the result and
   * those that were {@link Tensor#keep() kept}.
   *
   * @param input the input, to be used during the call
   * @return the output
   */
  protected Tensor compute(Tensor input) {
    throw new UnsupportedOperationException("this module is not one of Java's own");
  }

  /**
   * Runs the module.
   *
   * @param input a tensor
   * @return a new tensor
   */
  public final Tensor forward(Tensor input) {
    enter(this, input);
    try {
      return Tensor.adopt(Native.trt_module_forward(pointer, pointer(input)));
    } finally {
      leave(this, input);
    }
  }

  /**
   * What a recurrent layer or cell gives.
   *
   * @param output the states of the last layer at every step; of a cell the new hidden state
   * @param hidden the last hidden states
   * @param cell the last cells of an LSTM, else null
   */
  public record RecurrentResult(Tensor output, Tensor hidden, Tensor cell) {}

  /**
   * Runs a recurrent layer or cell from given states ({@link #forward} begins with zeros and gives the output alone).
   *
   * @param input a sequence, or the input of one step
   * @param hidden the first hidden states, or null for zeros
   * @param cell the first cells of an LSTM, or null; together with {@code hidden}
   * @return new tensors
   */
  public final RecurrentResult forwardRecurrent(Tensor input, Tensor hidden, Tensor cell) {
    enter(this, input, hidden, cell);
    try {
      long[] made = Native.trt_recurrent_forward(pointer, pointer(input), pointer(hidden), pointer(cell));
      return new RecurrentResult(Tensor.adopt(made[0]), Tensor.adopt(made[1]), made[2] == 0 ? null : Tensor.adopt(made[2]));
    } finally {
      leave(this, input, hidden, cell);
    }
  }

  /**
   * Runs a module of several inputs or outputs, such as attention.
   *
   * @param outputs how many of its outputs are wanted, at least one
   * @param inputs its inputs in order; optional ones may be null, or be missing at the end
   * @return new tensors: as many, or fewer where the module has none
   */
  public final Tensor[] forwardWith(int outputs, Tensor... inputs) {
    Tensor[] used = inputs.clone();
    enter(this);
    try {
      enter(used);
      try {
        return Tensor.adoptAll(Native.trt_module_forward_with(pointer, pointers(used), outputs));
      } finally {
        leave(used);
      }
    } finally {
      leave(this);
    }
  }

  /** Sees the input of a module before it computes, and may replace it. */
  @FunctionalInterface
  public interface PreHook {
    /**
     * Called on the thread that runs the module. What it throws fails the call and arrives at its caller.
     *
     * @param module the module, to be used during the call
     * @param input its input; closed when the hook returns, unless {@link Tensor#keep() kept}
     * @return another input, or null to leave it
     */
    Tensor apply(Module module, Tensor input);
  }

  /** Sees the output of a module, and may replace it. */
  @FunctionalInterface
  public interface Hook {
    /**
     * Called on the thread that runs the module. What it throws fails the call and arrives at its caller.
     *
     * @param module the module, to be used during the call
     * @param input its input; closed when the hook returns, unless {@link Tensor#keep() kept}
     * @param output its output, likewise
     * @return another output, or null to leave it
     */
    Tensor apply(Module module, Tensor input, Tensor output);
  }

  /**
   * Adds a hook that runs before the module computes, also as a part of another module. Hooks run in the order in which they were added. The hook
   * must not hold this module.
   *
   * @param hook the hook
   * @return its number, for {@link #removeHook(long)}
   */
  public final long registerForwardPreHook(PreHook hook) {
    enter();
    try {
      return Callbacks.addModuleHook(pointer, true, Objects.requireNonNull(hook));
    } finally {
      leave();
    }
  }

  /**
   * Adds a hook that runs after the module computed, as {@link #registerForwardPreHook}.
   *
   * @param hook the hook
   * @return its number, for {@link #removeHook(long)}
   */
  public final long registerForwardHook(Hook hook) {
    enter();
    try {
      return Callbacks.addModuleHook(pointer, false, Objects.requireNonNull(hook));
    } finally {
      leave();
    }
  }

  /**
   * Removes a hook of either kind.
   *
   * @param id its number
   */
  public final void removeHook(long id) {
    enter();
    try {
      Native.trt_module_remove_hook(pointer, id);
    } finally {
      leave();
    }
  }

  /**
   * Sets training mode in the whole tree; it is the mode of a new module.
   *
   * @param mode false for eval mode
   * @return this module
   */
  public final Module train(boolean mode) {
    enter();
    try {
      Native.trt_module_train(pointer, mode);
      return this;
    } finally {
      leave();
    }
  }

  /**
   * Sets training mode in the whole tree.
   *
   * @return this module
   */
  public final Module train() {
    return train(true);
  }

  /**
   * Sets eval mode in the whole tree.
   *
   * @return this module
   */
  public final Module eval() {
    return train(false);
  }

  /**
   * Whether the module is in training mode.
   *
   * @return true at first
   */
  public final boolean isTraining() {
    enter();
    try {
      return Native.trt_module_is_training(pointer);
    } finally {
      leave();
    }
  }

  /**
   * The name of the layer's type.
   *
   * @return "Conv2d" and the like
   */
  public final String typeName() {
    enter();
    try {
      return Native.trt_module_type_name(pointer);
    } finally {
      leave();
    }
  }

  /** The tree as PyTorch prints it. */
  @Override
  public String toString() {
    return super.toString();
  }

  @Override
  String text() {
    return Native.trt_module_to_string(pointer);
  }

  /**
   * Number of elements of all parameters.
   *
   * @return each tensor counted once
   */
  public final long parameterCount() {
    enter();
    try {
      return Native.trt_module_parameter_count(pointer);
    } finally {
      leave();
    }
  }

  /**
   * Number of elements of the parameters that require gradients.
   *
   * @return each tensor counted once
   */
  public final long trainableParameterCount() {
    enter();
    try {
      return Native.trt_module_trainable_parameter_count(pointer);
    } finally {
      leave();
    }
  }

  /**
   * The parameters of the tree, as an optimizer takes them.
   *
   * @return new objects for the module's tensors, each once
   */
  public final Tensor[] parameters() {
    enter();
    try {
      return Tensor.adoptAll(Native.trt_module_parameters(pointer));
    } finally {
      leave();
    }
  }

  /**
   * The parameters with their names.
   *
   * @return a new dict
   */
  public final StateDict namedParameters() {
    enter();
    try {
      return new StateDict(Native.trt_module_named_parameters(pointer));
    } finally {
      leave();
    }
  }

  /**
   * The buffers with their names.
   *
   * @return a new dict
   */
  public final StateDict namedBuffers() {
    enter();
    try {
      return new StateDict(Native.trt_module_named_buffers(pointer));
    } finally {
      leave();
    }
  }

  /**
   * A parameter.
   *
   * @param name "0.weight"
   * @return a new object for it
   */
  public final Tensor parameter(String name) {
    enter();
    try {
      return Tensor.adopt(Native.trt_module_parameter(pointer, name));
    } finally {
      leave();
    }
  }

  /**
   * A buffer.
   *
   * @param name "1.running_mean"
   * @return a new object for it
   */
  public final Tensor buffer(String name) {
    enter();
    try {
      return Tensor.adopt(Native.trt_module_buffer(pointer, name));
    } finally {
      leave();
    }
  }

  /**
   * A module of the tree.
   *
   * @param name "features.0"; "" is the module itself
   * @return the object of a class of one's own where it is one, else a new object
   */
  public final Module submodule(String name) {
    enter();
    try {
      return adoptPart(Native.trt_module_submodule(pointer, name));
    } finally {
      leave();
    }
  }

  /**
   * The names of the children.
   *
   * @return a new list
   */
  public final List<String> childNames() {
    enter();
    try {
      List<String> names = new ArrayList<>();
      for (long i = 0; i < Native.trt_module_child_count(pointer); i++) {
        names.add(Native.trt_module_child_name(pointer, i));
      }
      return names;
    } finally {
      leave();
    }
  }

  /**
   * Calls a function for every module of the tree, each once, children before their parents.
   *
   * @param function gets each module; it must not close it
   */
  public final void apply(Consumer<? super Module> function) {
    visit(function, new HashSet<>());
  }

  private void visit(Consumer<? super Module> function, Set<Long> seen) {
    if (!seen.add(pointer)) {
      return;
    }
    for (String name : childNames()) {
      Module child = submodule(name);
      child.visit(function, seen);
    }
    function.accept(this);
  }

  /**
   * Adds a parameter. It requires gradients from now on, and leaves any {@link TensorScope}.
   *
   * @param name of one level, new in the module
   * @param tensor a leaf of a floating-point dtype
   * @return the tensor
   */
  public final Tensor registerParameter(String name, Tensor tensor) {
    enter(this, tensor);
    try {
      Native.trt_module_register_parameter(pointer, name, pointer(tensor));
      return tensor.keep();
    } finally {
      leave(this, tensor);
    }
  }

  /**
   * Adds a buffer. It leaves any {@link TensorScope}.
   *
   * @param name of one level, new in the module
   * @param tensor a tensor
   * @param persistent whether it is part of the state dict
   * @return the tensor
   */
  public final Tensor registerBuffer(String name, Tensor tensor, boolean persistent) {
    enter(this, tensor);
    try {
      Native.trt_module_register_buffer(pointer, name, pointer(tensor), persistent);
      return tensor.keep();
    } finally {
      leave(this, tensor);
    }
  }

  /**
   * Adds a child.
   *
   * @param <M> its class
   * @param name of one level, new in the module
   * @param child a module that this one is no part of
   * @return the child
   */
  public final <M extends Module> M registerChild(String name, M child) {
    enter(this, child);
    try {
      Native.trt_module_register_child(pointer, name, pointer(child));
      synchronized (kept) {
        kept.add(Objects.requireNonNull(child));
      }
      return child;
    } finally {
      leave(this, child);
    }
  }

  /**
   * Replaces a parameter. The same tensor in two places ties weights.
   *
   * @param name "0.weight"
   * @param tensor a tensor of the same shape and dtype
   */
  public final void setParameter(String name, Tensor tensor) {
    enter(this, tensor);
    try {
      Native.trt_module_set_parameter(pointer, name, pointer(tensor));
      tensor.keep();
    } finally {
      leave(this, tensor);
    }
  }

  /** Drops the gradients of all parameters. */
  public final void zeroGrad() {
    enter();
    try {
      Native.trt_module_zero_grad(pointer, true);
    } finally {
      leave();
    }
  }

  /**
   * Sets requiresGrad of all parameters.
   *
   * @param requiresGrad false freezes the tree
   * @return this module
   */
  public final Module setRequiresGrad(boolean requiresGrad) {
    enter();
    try {
      Native.trt_module_set_requires_grad(pointer, requiresGrad);
      return this;
    } finally {
      leave();
    }
  }

  /**
   * Converts floating-point parameters and buffers; they keep their identity.
   *
   * @param dtype a floating-point dtype
   * @return this module
   */
  public final Module to(DType dtype) {
    enter();
    try {
      Native.trt_module_to_dtype(pointer, DType.code(dtype));
      return this;
    } finally {
      leave();
    }
  }

  /**
   * Draws all parameters anew and resets running statistics.
   *
   * @param generator a random stream, or null for the default one
   */
  public final void resetParameters(Generator generator) {
    enter(this, generator);
    try {
      Native.trt_module_reset_parameters(pointer, pointer(generator));
    } finally {
      leave(this, generator);
    }
  }

  /**
   * Parameters and persistent buffers; they share the module's memory.
   *
   * @return a new dict
   */
  public final StateDict stateDict() {
    enter();
    try {
      return new StateDict(Native.trt_module_state_dict(pointer));
    } finally {
      leave();
    }
  }

  /**
   * Copies values into the module. When names are missing or shapes differ, one message tells all of them and nothing has changed.
   *
   * @param dict names and values
   * @param strict whether missing and unexpected names are errors
   */
  public final void loadStateDict(StateDict dict, boolean strict) {
    enter(this, dict);
    try {
      Native.trt_module_load_state_dict(pointer, pointer(dict), strict);
    } finally {
      leave(this, dict);
    }
  }

  /**
   * Copies values into the module; missing and unexpected names are errors.
   *
   * @param dict names and values
   */
  public final void loadStateDict(StateDict dict) {
    loadStateDict(dict, true);
  }

  /**
   * What would be wrong with a dict.
   *
   * @param dict names and values
   * @return the message; null when a strict load would succeed
   */
  public final String compareStateDict(StateDict dict) {
    enter(this, dict);
    try {
      return Native.trt_module_compare_state_dict(pointer, pointer(dict));
    } finally {
      leave(this, dict);
    }
  }
}
