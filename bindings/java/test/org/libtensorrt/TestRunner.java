package org.libtensorrt;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.util.ArrayList;
import java.util.List;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Runs the JUnit tests of the classes named on the command line (of this package, or /name of another), and reports as CMocka does, so that tests/report.py counts each. */
public final class TestRunner {
  private TestRunner() {}

  public static void main(String[] args) throws ClassNotFoundException {
    List<DiscoverySelector> selectors = new ArrayList<>();
    for (String a : args) {
      selectors.add(selectClass(Class.forName(a.startsWith("/") ? a.substring(1) : "org.libtensorrt." + a)));
    }
    int[] counts = new int[2];
    Launcher launcher = LauncherFactory.create();
    launcher.execute(LauncherDiscoveryRequestBuilder.request().selectors(selectors).build(), new TestExecutionListener() {
      @Override
      public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        boolean good = result.getStatus() == TestExecutionResult.Status.SUCCESSFUL;
        if (!test.isTest() && good) {
          return;
        }
        String name = test.getParentId().map(p -> p.replaceAll(".*[.:]|\\]", "")).orElse("") + "." + test.getDisplayName();
        if (good) {
          counts[0]++;
          System.out.println("[       OK ] " + name);
        } else {
          counts[1]++;
          System.out.println("[  FAILED  ] " + name);
          result.getThrowable().ifPresent(t -> t.printStackTrace(System.out));
        }
      }
    });
    System.out.println("[  PASSED  ] " + counts[0] + " test(s).");
    if (counts[1] > 0 || counts[0] == 0) {
      System.out.println("[  FAILED  ] " + Math.max(1, counts[1]) + " test(s)");
    }
    System.exit(counts[1] > 0 || counts[0] == 0 ? 1 : 0);
  }
}
