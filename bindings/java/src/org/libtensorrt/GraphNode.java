package org.libtensorrt;

import java.util.ArrayList;
import java.util.List;

/** A node of the graph that a backward pass goes through. It keeps alive what lies behind it. All methods from any thread. */
public final class GraphNode extends NativeObject {
  /**
   * Where a gradient goes.
   *
   * @param node the node; null where no gradient is needed
   * @param input which of that node's results it belongs to
   */
  public record Edge(GraphNode node, int input) {}

  private GraphNode(long pointer) {
    super(pointer);
    watch();
  }

  static GraphNode adopt(long pointer) {
    return pointer == 0 ? null : new GraphNode(pointer);
  }

  @Override
  void releaseHandle() {
    Native.trt_node_release(pointer);
  }

  @Override
  int kind() {
    return HandleRef.GRAPH_NODE;
  }

  /**
   * The node's name.
   *
   * @return "AddBackward0" and the like
   */
  public String name() {
    enter();
    try {
      return Native.trt_node_name(pointer);
    } finally {
      leave();
    }
  }

  /**
   * The edges, one for each argument that could need a gradient.
   *
   * @return a new list of new objects
   */
  public List<Edge> nextFunctions() {
    enter();
    try {
      List<Edge> edges = new ArrayList<>();
      for (long i = 0; i < Native.trt_node_next_count(pointer); i++) {
        edges.add(new Edge(adopt(Native.trt_node_next(pointer, i)), (int) Native.trt_node_next_input(pointer, i)));
      }
      return edges;
    } finally {
      leave();
    }
  }

  /**
   * The leaf in which a gradient arrives.
   *
   * @return a new object for it; null for a node that is no AccumulateGrad
   */
  public Tensor variable() {
    enter();
    try {
      return Tensor.adopt(Native.trt_node_variable(pointer));
    } finally {
      leave();
    }
  }

  /**
   * Whether two objects stand for one node.
   *
   * @param other any object
   * @return true when they do
   */
  @Override
  public boolean equals(Object other) {
    return other instanceof GraphNode n && n.pointer == pointer;
  }

  @Override
  public int hashCode() {
    return Long.hashCode(pointer);
  }

  /** The name in angle brackets, as PyTorch prints it. */
  @Override
  public String toString() {
    return super.toString();
  }

  @Override
  String text() {
    return "<" + Native.trt_node_name(pointer) + ">";
  }
}
