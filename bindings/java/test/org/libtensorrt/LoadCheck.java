package org.libtensorrt;

import java.nio.file.Files;
import java.nio.file.Path;

/** Uses the library and tells where it was loaded from. */
public final class LoadCheck {
  private LoadCheck() {}

  public static void main(String[] args) throws Exception {
    System.out.println(Tensor.of(new float[] {1, 2}).add(1).toString());
    Files.readAllLines(Path.of("/proc/self/maps")).stream().filter(l -> l.contains("tensorrt") && l.contains(".so")).map(l -> l.substring(l.indexOf('/')))
        .distinct().forEach(System.out::println);
  }
}
