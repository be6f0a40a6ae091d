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
      loadFrom(directory);
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
