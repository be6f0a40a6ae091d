package main

import (
	"reflect"
	"strings"
	"testing"
)

// Line by line, so that a piece's number is its place.
var tinyVocabulary = strings.Fields(`[PAD] [UNK] [CLS] [SEP] [MASK] hello world un ##aff ##able ! , . cafe naive strasse ß [ ] 北 京 i istanbul = ᄀ ##ᅡ ##ᆨ a ##a
	##, mask ' can t σ ##σ ##ς ¿ x ##x`)

func tinyTokenizer(t *testing.T, maxTokens int) *Tokenizer {
	t.Helper()
	tokenizer, err := NewTokenizer(strings.NewReader(strings.Join(tinyVocabulary, "\n")+"\n"), maxTokens)
	if err != nil {
		t.Fatal(err)
	}
	return tokenizer
}

func TestTokenizer(t *testing.T) {
	tokenizer := tinyTokenizer(t, 256)
	for _, c := range []struct{ text, pieces string }{
		{"", ""},
		{"  \t\n ", ""},
		{"hello world", "hello world"},
		{"HELLO, World!", "hello , world !"},
		{"unaffable", "un ##aff ##able"},
		{"unaffordable", "[UNK]"},
		{"unaff hello", "un ##aff hello"},
		{"Café CAFÉ cafe\u0301", "cafe cafe cafe"},
		{"na\u00efve", "naive"},
		{"straße strasse", "[UNK] strasse"},
		{"ß ẞ", "ß ß"},
		{"北京", "北 京"},
		{"hello北world", "hello 北 world"},
		{"\u0130stanbul İ", "istanbul i"},
		{"a\u2260a", "a = a"},
		{"\u226ea", "[UNK] a"},
		{"a\u0000\u0007\u200b\ufffd\u00ada", "a ##a"},
		{"a\xff\xfea", "a ##a"},
		{"a\u00a0a\u3000a\u2028a", "a a a a"},
		{"\uac01 \uac00", "ᄀ ##ᅡ ##ᆨ ᄀ ##ᅡ"},
		{"ΣΣ ς", "σ ##σ [UNK]"},
		{"can't", "can ' t"},
		{"¿hello", "¿ hello"},
		{"[MASK]", "[MASK]"},
		{"hello[MASK]world", "hello [MASK] world"},
		{"[mask]", "[ mask ]"},
		{"[[MASK]]", "[ [MASK] ]"},
		{"[MASK", "[ mask"},
		{"[CLS] [SEP][PAD] [UNK]", "[CLS] [SEP] [PAD] [UNK]"},
		{strings.Repeat("a", 100), "a" + strings.Repeat(" ##a", 99)},
		{strings.Repeat("a", 101), "[UNK]"},
		{strings.Repeat("a", 101) + "!", "[UNK] !"},
		{strings.Repeat("\u00e1", 100), "a" + strings.Repeat(" ##a", 99)},
		{strings.Repeat("x", 300) + " hello", "[UNK] hello"},
	} {
		want := []int32{2}
		for _, piece := range strings.Fields(c.pieces) {
			id := int32(-1)
			for i, p := range tinyVocabulary {
				if p == piece {
					id = int32(i)
				}
			}
			if id < 0 {
				t.Fatalf("%q is not in the vocabulary", piece)
			}
			want = append(want, id)
		}
		want = append(want, 3)
		if got := tokenizer.Encode(c.text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %v, want %v", c.text, got, want)
		}
	}
}

func TestTruncation(t *testing.T) {
	const long = "hello unaffable world[MASK]!"
	all := tinyTokenizer(t, 256).Encode(long)
	for n := 2; n <= len(all)+2; n++ {
		want := all
		if n < len(all) {
			want = append(append([]int32{}, all[:n-1]...), 3)
		}
		if got := tinyTokenizer(t, n).Encode(long); !reflect.DeepEqual(got, want) {
			t.Errorf("%d tokens: got %v, want %v", n, got, want)
		}
	}
	if got := tinyTokenizer(t, 10).Encode(strings.Repeat("hello ", 1<<20)); len(got) != 10 {
		t.Errorf("got %d tokens", len(got))
	}
}

func TestBadVocabulary(t *testing.T) {
	for vocabulary, part := range map[string]string{
		"":                           "[PAD]",
		"[PAD]\n[UNK]\n[CLS]\n[SEP]": "[MASK]",
	} {
		if _, err := NewTokenizer(strings.NewReader(vocabulary), 256); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q: %v", vocabulary, err)
		}
	}
	if _, err := NewTokenizer(strings.NewReader(strings.Join(tinyVocabulary, "\n")), 1); err == nil {
		t.Error("one token was accepted")
	}
}
