package org.libtensorrt;

import java.nio.file.Files;
import java.nio.file.Path;

/** Makes many tensors and measures the process: MemoryCheck drop|scope|close COUNT ELEMENTS LIMIT_MB; exit status 1 beyond the limit. */
public final class MemoryCheck {
  private MemoryCheck() {}

  static long residentPeak() throws Exception {
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("VmHWM")) {
        return Long.parseLong(line.replaceAll("[^0-9]", "")) >> 10;
      }
    }
    throw new IllegalStateException("no VmHWM");
  }

  public static void main(String[] args) throws Exception {
    int count = Integer.parseInt(args[1]);
    int elements = Integer.parseInt(args[2]);
    Tensor a = Tensor.ones(elements);
    Tensor b = Tensor.ones(elements);
    switch (args[0]) {
      case "drop" -> {
        for (int i = 0; i < count; i++) {
          a.add(b);
        }
      }
      case "scope" -> {
        for (int i = 0; i < count; i += 10) {
          try (TensorScope scope = new TensorScope()) {
            for (int k = 0; k < 10; k++) {
              a.add(b);
            }
          }
        }
      }
      default -> {
        for (int i = 0; i < count; i++) {
          a.add(b).close();
        }
      }
    }
    long peak = residentPeak();
    System.out.println(count + " tensors of " + elements + " elements, " + args[0] + ": " + peak + " MB resident at most");
    System.exit(peak <= Long.parseLong(args[3]) ? 0 : 1);
  }
}
