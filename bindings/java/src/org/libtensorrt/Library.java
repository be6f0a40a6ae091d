package org.libtensorrt;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Loads the native library, at the first use of a class that needs it: from the directory that the system property tensorrt.library.path names, else
 * from inside the jar, else from java.library.path.
 */
final class Library {
  private static final String BASE = "libtensorrt.so.0";
  private static final String JNI = "libtensorrt_jni.so";
  // Set for the whole process once the library is there: another class loader's copy of this class shares it.
  private static final String LOADED = "org.libtensorrt.loaded";
  private static boolean begun;

  private Library() {}

  static synchronized void load() {
    if (begun) {
      return; // also inside of JNI_OnLoad
    }
    begun = true;
    try {
      String directory = System.getProperty("tensorrt.library.path");
      if (directory != null) {
        loadFrom(Path.of(directory));
      } else if (Library.class.getResource("native/" + JNI) != null) {
        loadFromJar();
      } else {
        System.loadLibrary("tensorrt_jni");
      }
    } catch (Throwable e) {
      begun = false;
      throw e;
    }
  }

  private static void loadFrom(Path directory) {
    Path base = directory.resolve(BASE).toAbsolutePath();
    if (Files.exists(base)) {
      System.load(base.toString());
    }
    System.load(directory.resolve(JNI).toAbsolutePath().toString());
  }

  /**
   * Loads what was copied out of the jar. The library itself is needed once a process, whatever the number of class loaders with a jar: the part for Java finds
   * the one that is there by its name. (Each copy would take thread-local memory of the C library, which has room for few.)
   */
  private static void loadCopies(Path directory) {
    if (System.getProperty(LOADED) != null) {
      try {
        System.load(directory.resolve(JNI).toString());
        return;
      } catch (UnsatisfiedLinkError e) {
        // The class loader that had it was collected, and the library with it.
      }
    }
    loadFrom(directory);
    System.setProperty(LOADED, "true");
  }

  /** Copies the libraries to a directory that only this user can enter, and removes the copies once they are mapped. */
  private static void loadFromJar() {
    Path directory = null;
    try {
      directory = Files.createTempDirectory("tensorrt-");
      for (String name : new String[] {BASE, JNI}) {
        try (InputStream in = Library.class.getResourceAsStream("native/" + name)) {
          if (in == null) {
            throw new UnsatisfiedLinkError("the jar does not contain " + name);
          }
          Files.copy(in, directory.resolve(name));
        }
      }
      loadCopies(directory);
    } catch (IOException e) {
      UnsatisfiedLinkError error = new UnsatisfiedLinkError("the native library could not be copied out of the jar (" + e
          + "); choose another place with -Djava.io.tmpdir, or set -Dtensorrt.library.path to the directory that has it");
      error.initCause(e);
      throw error;
    } finally {
      if (directory != null) {
        for (String name : new String[] {BASE, JNI, ""}) {
          try {
            Files.deleteIfExists(directory.resolve(name));
          } catch (IOException e) {
            // It stays in the temporary directory.
          }
        }
      }
    }
  }
}
