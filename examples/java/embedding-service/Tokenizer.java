import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/** BERT's uncased tokenizer: words are taken apart into the longest pieces of the vocabulary. It may be used from any thread. */
final class Tokenizer {
  /** The number of characters beyond which a word is unknown. */
  private static final int MAX_WORD = 100;
  private static final String[] SPECIAL = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

  private final Map<String, Integer> pieces = new HashMap<>(); // that begin a word
  private final Map<String, Integer> continuations = new HashMap<>(); // that stand inside of one, without their ##
  private final int[] special = new int[SPECIAL.length];
  private final int maxTokens;
  private int longest; // chars of the longest piece

  /**
   * Reads a vocabulary, a piece a line.
   *
   * @param vocabulary the lines
   * @param maxTokens where texts are cut off, [CLS] and [SEP] included
   * @throws IOException when reading fails
   */
  Tokenizer(Reader vocabulary, int maxTokens) throws IOException {
    if (maxTokens < 2) {
      throw new IllegalArgumentException("at least 2 tokens are needed, got " + maxTokens);
    }
    this.maxTokens = maxTokens;
    BufferedReader lines = new BufferedReader(vocabulary);
    int id = 0;
    for (String piece = lines.readLine(); piece != null; piece = lines.readLine(), id++) {
      boolean inside = piece.startsWith("##") && piece.length() > 2;
      String text = inside ? piece.substring(2) : piece;
      (inside ? continuations : pieces).put(text, id);
      longest = Math.max(longest, text.length());
    }
    for (int i = 0; i < SPECIAL.length; i++) {
      Integer found = pieces.get(SPECIAL[i]);
      if (found == null) {
        throw new IllegalArgumentException("the vocabulary has no " + SPECIAL[i]);
      }
      special[i] = found;
    }
  }

  /**
   * The numbers of the tokens of a text, at least two and at most the tokenizer's maximum. Halves of surrogate pairs count as not there.
   *
   * @param text any text
   * @return a new array
   */
  int[] encode(String text) {
    Cutter c = new Cutter();
    c.add(special[2]);
    c.room = maxTokens - 2;
    int begin = 0;
    for (int at = text.indexOf('['); at >= 0 && c.room > 0; at = text.indexOf('[', at)) {
      int named = -1;
      for (int i = 0; i < SPECIAL.length && named < 0; i++) {
        named = text.startsWith(SPECIAL[i], at) ? i : -1;
      }
      if (named < 0) {
        at++;
        continue;
      }
      c.words(text, begin, at);
      c.add(special[named]);
      begin = at + SPECIAL[named].length();
      at = begin;
    }
    c.words(text, begin, text.length());
    c.room = 1;
    c.add(special[3]);
    return Arrays.copyOf(c.ids, c.count);
  }

  /** Takes one text apart. */
  private final class Cutter {
    private int[] ids = new int[32];
    private int count;
    private int room = 1; // for tokens
    private final StringBuilder word = new StringBuilder();
    private int characters; // in word, those beyond MAX_WORD included

    void add(int id) {
      if (room > 0) {
        if (count == ids.length) {
          ids = Arrays.copyOf(ids, 2 * count);
        }
        ids[count++] = id;
        room--;
      }
    }

    /** Adds the tokens of a part without special ones. */
    void words(String text, int begin, int end) {
      for (int i = begin; i < end && room > 0;) {
        int c = text.codePointAt(i);
        i += Character.charCount(c);
        switch (Characters.kind(c)) {
          case Characters.LEFT_OUT:
            break;
          case Characters.SPACE:
            endWord();
            break;
          case Characters.IDEOGRAPH:
            endWord();
            normalized(c);
            endWord();
            break;
          default:
            normalized(c);
        }
      }
      endWord();
    }

    /** Appends what normalization makes of a character. */
    private void normalized(int c) {
      final int firstSyllable = 0xac00;
      final int lastSyllable = 0xd7a3;
      if (c >= firstSyllable && c <= lastSyllable) {
        final int vowels = 21;
        final int finals = 28;
        int n = c - firstSyllable;
        character(0x1100 + n / (vowels * finals));
        character(0x1161 + n / finals % vowels);
        if (n % finals != 0) {
          character(0x11a7 + n % finals);
        }
        return;
      }
      String to = Characters.mapped(c);
      if (to == null) {
        character(c);
        return;
      }
      for (int i = 0; i < to.length(); i += Character.charCount(to.codePointAt(i))) {
        character(to.codePointAt(i));
      }
    }

    private void character(int c) {
      if (Characters.kind(c) == Characters.MARK) {
        endWord();
        append(c);
        endWord();
        return;
      }
      append(c);
    }

    private void append(int c) {
      if (++characters <= MAX_WORD) {
        word.appendCodePoint(c);
      }
    }

    /** Adds the tokens of the word, which is then empty. */
    private void endWord() {
      if (characters == 0) {
        return;
      }
      String w = word.toString();
      boolean tooLong = characters > MAX_WORD;
      word.setLength(0);
      characters = 0;
      if (tooLong) {
        add(special[1]);
        return;
      }
      // More pieces than a word has characters cannot be, so the numbers fit.
      int[] found = new int[MAX_WORD];
      int n = 0;
      for (int at = 0; at < w.length();) {
        Map<String, Integer> from = at == 0 ? pieces : continuations;
        int end = Math.min(w.length(), at + longest);
        Integer id = null;
        while (end > at && (id = from.get(w.substring(at, end))) == null) {
          end--;
        }
        if (id == null) {
          add(special[1]);
          return;
        }
        found[n++] = id;
        at = end;
      }
      for (int i = 0; i < n; i++) {
        add(found[i]);
      }
    }
  }

  /** What becomes of each code point: examples/embedding/characters.txt, which says just what the model's own tokenizer does. */
  private static final class Characters {
    static final byte PLAIN = 0;
    static final byte LEFT_OUT = 1;
    static final byte SPACE = 2;
    static final byte IDEOGRAPH = 3;
    static final byte MARK = 4;

    private static final byte[] KINDS = new byte[Character.MAX_CODE_POINT + 1];
    private static final Map<Integer, String> MAPPED = new HashMap<>();

    static {
      try (InputStream in = Tokenizer.class.getResourceAsStream("/characters.txt");
          BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.US_ASCII))) {
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
          String[] words = line.split(" ");
          switch (words[0]) {
            case "dropped" -> fill(words, LEFT_OUT);
            case "spaces" -> fill(words, SPACE);
            case "ideographs" -> fill(words, IDEOGRAPH);
            case "punctuation" -> fill(words, MARK);
            case "mapped" -> map(words);
            default -> {
              if (!words[0].startsWith("#")) {
                throw new ExceptionInInitializerError("characters.txt: " + line);
              }
            }
          }
        }
      } catch (IOException e) {
        throw new ExceptionInInitializerError(e);
      }
      // Halves of pairs.
      Arrays.fill(KINDS, Character.MIN_SURROGATE, Character.MAX_SURROGATE + 1, LEFT_OUT);
    }

    private static void fill(String[] words, byte kind) {
      for (int i = 1; i < words.length; i++) {
        String[] ends = words[i].split("-");
        Arrays.fill(KINDS, Integer.parseInt(ends[0], 16), Integer.parseInt(ends[ends.length - 1], 16) + 1, kind);
      }
    }

    private static void map(String[] words) {
      for (int i = 1; i < words.length; i++) {
        int at = words[i].indexOf('=');
        StringBuilder to = new StringBuilder();
        for (String c : words[i].substring(at + 1).split("\\+")) {
          to.appendCodePoint(Integer.parseInt(c, 16));
        }
        MAPPED.put(Integer.parseInt(words[i].substring(0, at), 16), to.toString());
      }
    }

    static byte kind(int c) {
      return KINDS[c];
    }

    static String mapped(int c) {
      return MAPPED.get(c);
    }
  }
}
