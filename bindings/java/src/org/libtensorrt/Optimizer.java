package org.libtensorrt;

import java.util.Map;

/**
 * Updates parameters by their gradients. Parameters are in groups with options: "lr", "weight_decay", "momentum" and so on, numbers (bools are 0 or 1).
 * Needs synchronization of one's own, together with the parameters.
 */
public final class Optimizer extends NativeObject {
  private Optimizer(long pointer) {
    super(pointer);
    watch();
  }

  @Override
  void releaseHandle() {
    Native.trt_optimizer_release(pointer);
  }

  @Override
  int kind() {
    return HandleRef.OPTIMIZER;
  }

  /**
   * Stochastic gradient descent.
   *
   * @param params the parameters of group 0
   * @param options what differs from the defaults
   * @return a new optimizer
   */
  public static Optimizer sgd(Tensor[] params, SgdOptions options) {
    Tensor[] used = params.clone();
    enter(used);
    try {
      return options.call(options.make(), o -> new Optimizer(Native.trt_sgd_create(pointers(used), o)));
    } finally {
      leave(used);
    }
  }

  /**
   * Adam.
   *
   * @param params the parameters of group 0
   * @param options what differs from the defaults
   * @return a new optimizer
   */
  public static Optimizer adam(Tensor[] params, AdamOptions options) {
    Tensor[] used = params.clone();
    enter(used);
    try {
      return options.call(options.makeAdam(), o -> new Optimizer(Native.trt_adam_create(pointers(used), o)));
    } finally {
      leave(used);
    }
  }

  /**
   * AdamW: Adam with decoupled weight decay.
   *
   * @param params the parameters of group 0
   * @param options what differs from the defaults
   * @return a new optimizer
   */
  public static Optimizer adamw(Tensor[] params, AdamOptions options) {
    Tensor[] used = params.clone();
    enter(used);
    try {
      return options.call(options.makeAdamw(), o -> new Optimizer(Native.trt_adamw_create(pointers(used), o)));
    } finally {
      leave(used);
    }
  }

  /**
   * "AdamW" and the like.
   *
   * @return the name of the type
   */
  public String typeName() {
    enter();
    try {
      return Native.trt_optimizer_type_name(pointer);
    } finally {
      leave();
    }
  }

  /** The groups and their options. */
  @Override
  public String toString() {
    return super.toString();
  }

  @Override
  String text() {
    return Native.trt_optimizer_to_string(pointer);
  }

  /**
   * Adds a group.
   *
   * @param params parameters that are in no other group
   * @param options its own options; the others are those given at creation
   */
  public void addGroup(Tensor[] params, Map<String, Double> options) {
    String[] names = new String[options.size()];
    double[] values = new double[options.size()];
    int i = 0;
    for (Map.Entry<String, Double> e : options.entrySet()) {
      names[i] = e.getKey();
      values[i++] = e.getValue();
    }
    Tensor[] used = params.clone();
    enter(used);
    try {
      enter();
      try {
        Callbacks.addGroup(pointer, pointers(used), names, values);
      } finally {
        leave();
      }
    } finally {
      leave(used);
    }
  }

  /**
   * Number of groups.
   *
   * @return 1 or more
   */
  public int groupCount() {
    enter();
    try {
      return (int) Native.trt_optimizer_group_count(pointer);
    } finally {
      leave();
    }
  }

  /**
   * The parameters of a group.
   *
   * @param group its number
   * @return new objects for them
   */
  public Tensor[] groupParameters(int group) {
    enter();
    try {
      return Tensor.adoptAll(Native.trt_optimizer_group_parameters(pointer, group));
    } finally {
      leave();
    }
  }

  /**
   * An option of a group.
   *
   * @param group its number
   * @param name the option
   * @return its value
   */
  public double getOption(int group, String name) {
    enter();
    try {
      return Native.trt_optimizer_get_option(pointer, group, name);
    } finally {
      leave();
    }
  }

  /**
   * Sets an option of a group, from the next step on.
   *
   * @param group its number
   * @param name the option
   * @param value its value
   */
  public void setOption(int group, String name, double value) {
    enter();
    try {
      Native.trt_optimizer_set_option(pointer, group, name, value);
    } finally {
      leave();
    }
  }

  /**
   * The learning rate of a group.
   *
   * @param group its number
   * @return its option "lr"
   */
  public double getLr(int group) {
    enter();
    try {
      return Native.trt_optimizer_get_lr(pointer, group);
    } finally {
      leave();
    }
  }

  /**
   * Sets the learning rate of all groups.
   *
   * @param lr the rate
   */
  public void setLr(double lr) {
    enter();
    try {
      Native.trt_optimizer_set_lr(pointer, lr);
    } finally {
      leave();
    }
  }

  /** Updates every parameter that has a gradient. On failure none has changed. */
  public void step() {
    enter();
    try {
      Native.trt_optimizer_step(pointer);
    } finally {
      leave();
    }
  }

  /** Drops the gradients of all parameters. */
  public void zeroGrad() {
    zeroGrad(true);
  }

  /**
   * Drops the gradients of all parameters, or fills them with zeros.
   *
   * @param setToNone true to drop them
   */
  public void zeroGrad(boolean setToNone) {
    enter();
    try {
      Native.trt_optimizer_zero_grad(pointer, setToNone);
    } finally {
      leave();
    }
  }

  /**
   * All of the optimizer but the parameters.
   *
   * @return a new dict, which shares the optimizer's memory
   */
  public StateDict stateDict() {
    enter();
    try {
      return new StateDict(Native.trt_optimizer_state_dict(pointer));
    } finally {
      leave();
    }
  }

  /**
   * Copies a state into this optimizer. On failure nothing has changed.
   *
   * @param dict the state of an optimizer of the same type with the same groups
   */
  public void loadStateDict(StateDict dict) {
    enter(this, dict);
    try {
      Native.trt_optimizer_load_state_dict(pointer, pointer(dict));
    } finally {
      leave(this, dict);
    }
  }

  /**
   * Scales gradients so that the norm of all of them together is at most maxNorm.
   *
   * @param params whose gradients
   * @param maxNorm the most
   * @param normType 2 for the Euclidean norm, infinity for the largest magnitude
   * @param errorIfNonfinite whether a norm that is infinite or NaN is an error
   * @return the norm before
   */
  public static double clipGradNorm(Tensor[] params, double maxNorm, double normType, boolean errorIfNonfinite) {
    Tensor[] used = params.clone();
    enter(used);
    try {
      return Native.trt_clip_grad_norm(pointers(used), maxNorm, normType, errorIfNonfinite);
    } finally {
      leave(used);
    }
  }

  /**
   * Limits every element of gradients.
   *
   * @param params whose gradients
   * @param value the largest magnitude
   */
  public static void clipGradValue(Tensor[] params, double value) {
    Tensor[] used = params.clone();
    enter(used);
    try {
      Native.trt_clip_grad_value(pointers(used), value);
    } finally {
      leave(used);
    }
  }
}
