package org.libtensorrt;

import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;

/** Uses the library from several class loaders of one process, as an application server does: LoadersCheck JAR COUNT. */
public final class LoadersCheck {
  private LoadersCheck() {}

  public static void main(String[] args) throws Exception {
    URL[] jar = {Path.of(args[0]).toUri().toURL()};
    URLClassLoader[] loaders = new URLClassLoader[Integer.parseInt(args[1])];
    for (int i = 0; i < loaders.length; i++) {
      loaders[i] = new URLClassLoader(jar, ClassLoader.getPlatformClassLoader());
      Class<?> tensor = loaders[i].loadClass("org.libtensorrt.Tensor");
      if (tensor.getClassLoader() != loaders[i]) {
        throw new AssertionError("the class is another loader's");
      }
      Object ones = tensor.getMethod("ones", long[].class).invoke(null, (Object) new long[] {2});
      System.out.println(i + ": " + ones);
      try { // an error of the library is the class of this loader
        tensor.getMethod("ones", long[].class).invoke(null, (Object) new long[] {-1});
        throw new AssertionError("a negative size");
      } catch (java.lang.reflect.InvocationTargetException e) {
        if (e.getCause().getClass().getClassLoader() != loaders[i]) {
          throw new AssertionError("an error of another class loader", e.getCause());
        }
      }
    }
  }
}
