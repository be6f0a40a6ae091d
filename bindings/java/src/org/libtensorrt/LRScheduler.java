package org.libtensorrt;

import java.util.Objects;

/**
 * A schedule of learning rates. A new one sets the groups' first rates; call {@link #step()} after the optimizer's. It holds its optimizer. Needs
 * synchronization of one's own.
 */
public final class LRScheduler extends NativeObject {
  /** A factor for the base learning rate. */
  @FunctionalInterface
  public interface Factor {
    /**
     * The factor after a number of steps. What it throws fails the step and arrives at its caller.
     *
     * @param epoch the number of steps
     * @param group the optimizer's group
     * @return the factor
     */
    double apply(long epoch, int group);
  }

  private LRScheduler(long pointer) {
    super(pointer);
    watch();
  }

  @Override
  void releaseHandle() {
    Native.trt_scheduler_release(pointer);
  }

  @Override
  int kind() {
    return HandleRef.SCHEDULER;
  }

  private interface Maker {
    long make(long optimizer);
  }

  private static LRScheduler make(Optimizer optimizer, Maker maker) {
    enter(optimizer);
    try {
      return new LRScheduler(maker.make(pointer(optimizer)));
    } finally {
      leave(optimizer);
    }
  }

  /**
   * Times gamma every stepSize steps.
   *
   * @param optimizer whose rates
   * @param stepSize a number of steps
   * @param gamma the factor
   * @return a new schedule
   */
  public static LRScheduler stepLR(Optimizer optimizer, long stepSize, double gamma) {
    return make(optimizer, o -> Native.trt_step_lr_create(o, stepSize, gamma));
  }

  /**
   * Times gamma at each milestone.
   *
   * @param optimizer whose rates
   * @param milestones numbers of steps
   * @param gamma the factor
   * @return a new schedule
   */
  public static LRScheduler multiStepLR(Optimizer optimizer, long[] milestones, double gamma) {
    return make(optimizer, o -> Native.trt_multi_step_lr_create(o, milestones, gamma));
  }

  /**
   * Times gamma every step.
   *
   * @param optimizer whose rates
   * @param gamma the factor
   * @return a new schedule
   */
  public static LRScheduler exponentialLR(Optimizer optimizer, double gamma) {
    return make(optimizer, o -> Native.trt_exponential_lr_create(o, gamma));
  }

  /**
   * Times factor for the first steps.
   *
   * @param optimizer whose rates
   * @param factor the factor, in (0, 1]
   * @param totalIters a number of steps
   * @return a new schedule
   */
  public static LRScheduler constantLR(Optimizer optimizer, double factor, long totalIters) {
    return make(optimizer, o -> Native.trt_constant_lr_create(o, factor, totalIters));
  }

  /**
   * Times a factor that goes linearly from one number to another: a warmup.
   *
   * @param optimizer whose rates
   * @param startFactor in (0, 1]
   * @param endFactor in [0, 1]
   * @param totalIters a number of steps
   * @return a new schedule
   */
  public static LRScheduler linearLR(Optimizer optimizer, double startFactor, double endFactor, long totalIters) {
    return make(optimizer, o -> Native.trt_linear_lr_create(o, startFactor, endFactor, totalIters));
  }

  /**
   * To zero along (1 - t / totalIters) to a power.
   *
   * @param optimizer whose rates
   * @param totalIters a number of steps
   * @param power the exponent
   * @return a new schedule
   */
  public static LRScheduler polynomialLR(Optimizer optimizer, long totalIters, double power) {
    return make(optimizer, o -> Native.trt_polynomial_lr_create(o, totalIters, power));
  }

  /**
   * Along half a cosine and up again.
   *
   * @param optimizer whose rates
   * @param tMax steps down
   * @param etaMin the least rate
   * @return a new schedule
   */
  public static LRScheduler cosineAnnealingLR(Optimizer optimizer, long tMax, double etaMin) {
    return make(optimizer, o -> Native.trt_cosine_annealing_lr_create(o, tMax, etaMin));
  }

  /**
   * Up to a peak and down again, the momentum the other way. Step after every batch.
   *
   * @param optimizer whose rates
   * @param options with maxLr and totalSteps, which have no default
   * @return a new schedule
   */
  public static LRScheduler oneCycleLR(Optimizer optimizer, OneCycleOptions options) {
    return make(optimizer, p -> options.call(options.make(), o -> Native.trt_one_cycle_lr_create(p, o)));
  }

  /**
   * Times a factor that Java computes, here for epoch 0 and in each step.
   *
   * @param optimizer whose rates
   * @param factor the function; it must not hold the schedule
   * @return a new schedule
   */
  public static LRScheduler lambdaLR(Optimizer optimizer, Factor factor) {
    Objects.requireNonNull(factor);
    return make(optimizer, o -> Callbacks.lambdaLr(o, factor));
  }

  /**
   * Runs schedules one after another. They must be of this optimizer and must not be stepped themselves.
   *
   * @param optimizer whose rates
   * @param schedulers the schedules
   * @param milestones where the next one begins; one fewer
   * @return a new schedule
   */
  public static LRScheduler sequentialLR(Optimizer optimizer, LRScheduler[] schedulers, long[] milestones) {
    LRScheduler[] used = schedulers.clone();
    enter(used);
    try {
      return make(optimizer, o -> Native.trt_sequential_lr_create(o, pointers(used), milestones));
    } finally {
      leave(used);
    }
  }

  /**
   * "StepLR" and the like.
   *
   * @return the name of the type
   */
  public String typeName() {
    enter();
    try {
      return Native.trt_scheduler_type_name(pointer);
    } finally {
      leave();
    }
  }

  /** Sets the next learning rates. On failure nothing has changed. */
  public void step() {
    enter();
    try {
      Native.trt_scheduler_step(pointer);
    } finally {
      leave();
    }
  }

  /**
   * Number of steps taken.
   *
   * @return 0 at first
   */
  public long lastEpoch() {
    enter();
    try {
      return Native.trt_scheduler_last_epoch(pointer);
    } finally {
      leave();
    }
  }

  /**
   * The learning rate that was set last.
   *
   * @param group the optimizer's group
   * @return the rate
   */
  public double lastLr(int group) {
    enter();
    try {
      return Native.trt_scheduler_last_lr(pointer, group);
    } finally {
      leave();
    }
  }

  /**
   * The position of the schedule, not its options.
   *
   * @return a new dict
   */
  public StateDict stateDict() {
    enter();
    try {
      return new StateDict(Native.trt_scheduler_state_dict(pointer));
    } finally {
      leave();
    }
  }

  /**
   * Goes to a position. On failure nothing has changed.
   *
   * @param dict the position of a schedule of the same type
   */
  public void loadStateDict(StateDict dict) {
    enter(this, dict);
    try {
      Native.trt_scheduler_load_state_dict(pointer, pointer(dict));
    } finally {
      leave(this, dict);
    }
  }
}
