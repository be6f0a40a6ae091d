package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Tokenizer is BERT's uncased one: words are taken apart into the longest pieces of the vocabulary. It may be used from any goroutine.
type Tokenizer struct {
	pieces        map[string]int32 // that begin a word
	continuations map[string]int32 // that stand inside of one, without their ##
	longest       int              // bytes of the longest piece
	special       []specialToken
	cls, sep, unk int32
	maxTokens     int
}

// specialToken is a token that a text may name.
type specialToken struct {
	text string
	id   int32
}

// maxWord is the number of characters beyond which a word is unknown.
const maxWord = 100

// NewTokenizer reads a vocabulary, a piece a line. Texts are cut off at maxTokens, [CLS] and [SEP] included.
func NewTokenizer(vocabulary io.Reader, maxTokens int) (*Tokenizer, error) {
	if maxTokens < 2 {
		return nil, fmt.Errorf("at least 2 tokens are needed, got %d", maxTokens)
	}
	t := &Tokenizer{pieces: map[string]int32{}, continuations: map[string]int32{}, maxTokens: maxTokens}
	lines := bufio.NewScanner(vocabulary)
	for id := int32(0); lines.Scan(); id++ {
		piece, into := lines.Text(), t.pieces
		if strings.HasPrefix(piece, "##") && piece != "##" {
			piece, into = piece[2:], t.continuations
		}
		into[piece] = id
		if len(piece) > t.longest {
			t.longest = len(piece)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	for _, name := range []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"} {
		id, ok := t.pieces[name]
		if !ok {
			return nil, errors.New("the vocabulary has no " + name)
		}
		t.special = append(t.special, specialToken{name, id})
	}
	t.unk, t.cls, t.sep = t.special[1].id, t.special[2].id, t.special[3].id
	return t, nil
}

// Encode gives the numbers of the tokens of a text, at least two and at most the tokenizer's maximum. What is not UTF-8 counts as not there.
func (t *Tokenizer) Encode(text string) []int32 {
	c := cutter{t: t, ids: make([]int32, 1, 32), room: t.maxTokens - 2}
	c.ids[0] = t.cls
	begin := 0
	for at := 0; at < len(text) && c.room > 0; at++ {
		if text[at] != '[' {
			continue
		}
		for _, s := range t.special {
			if strings.HasPrefix(text[at:], s.text) {
				c.words(text[begin:at])
				c.add(s.id)
				begin = at + len(s.text)
				at = begin - 1
				break
			}
		}
	}
	c.words(text[begin:])
	return append(c.ids, t.sep)
}

// cutter takes one text apart.
type cutter struct {
	t     *Tokenizer
	ids   []int32
	room  int // for tokens
	word  []byte
	runes int // in word
}

func (c *cutter) add(id int32) {
	if c.room > 0 {
		c.ids = append(c.ids, id)
		c.room--
	}
}

// words adds the tokens of a text without special ones.
func (c *cutter) words(text string) {
	for _, r := range text {
		if c.room == 0 {
			return
		}
		kind := plain
		if r < utf8.RuneSelf {
			kind = ascii[r].kind
		} else {
			kind = kindOf(r)
		}
		switch kind {
		case leftOut:
		case space:
			c.endWord()
		case ideograph:
			c.endWord()
			c.characters(r)
			c.endWord()
		default:
			c.characters(r)
		}
	}
	c.endWord()
}

// characters appends what normalization makes of r.
func (c *cutter) characters(r rune) {
	switch {
	case r < utf8.RuneSelf:
		c.character(ascii[r].lower)
	case isSyllable(r):
		const vowels, finals = 21, 28
		n := r - firstSyllable
		c.character(0x1100 + n/(vowels*finals))
		c.character(0x1161 + n/finals%vowels)
		if n%finals != 0 {
			c.character(0x11a7 + n%finals)
		}
	default:
		to, ok := mappings[r]
		if !ok {
			c.character(r)
			return
		}
		for _, r := range to {
			c.character(r)
		}
	}
}

func (c *cutter) character(r rune) {
	if kindOf(r) == mark {
		c.endWord()
		c.append(r)
		c.endWord()
		return
	}
	c.append(r)
}

func (c *cutter) append(r rune) {
	c.runes++
	if c.runes <= maxWord {
		c.word = utf8.AppendRune(c.word, r)
	}
}

// endWord adds the tokens of the word, which is then empty.
func (c *cutter) endWord() {
	word, runes := c.word, c.runes
	c.word, c.runes = c.word[:0], 0
	if runes == 0 {
		return
	}
	if runes > maxWord {
		c.add(c.t.unk)
		return
	}
	// More pieces than a word has characters cannot be, so the numbers fit.
	var ids [maxWord]int32
	n, pieces := 0, c.t.pieces
	for len(word) > 0 {
		end := len(word)
		if end > c.t.longest {
			end = c.t.longest
		}
		for {
			id, ok := pieces[string(word[:end])]
			if ok && end > 0 {
				ids[n] = id
				break
			}
			if end == 0 {
				c.add(c.t.unk)
				return
			}
			end--
		}
		n++
		word, pieces = word[end:], c.t.continuations
	}
	for _, id := range ids[:n] {
		c.add(id)
	}
}

// --- characters ---

type kind uint8

const (
	plain kind = iota
	leftOut
	space
	ideograph
	mark // punctuation
)

const firstSyllable, lastSyllable = 0xac00, 0xd7a3

func isSyllable(r rune) bool { return r >= firstSyllable && r <= lastSyllable }

var (
	kinds    [0x10000]kind // of the code points below
	mappings = map[rune]string{}
	ascii    [utf8.RuneSelf]struct {
		kind  kind
		lower rune
	}
)

var tables = []struct {
	kind   kind
	ranges []rune
}{{leftOut, dropped}, {space, spaces}, {ideograph, ideographs}, {mark, punctuation}}

func init() {
	for _, t := range tables {
		for i := 0; i < len(t.ranges); i += 2 {
			for r := t.ranges[i]; r <= t.ranges[i+1] && int(r) < len(kinds); r++ {
				kinds[r] = t.kind
			}
		}
	}
	for _, word := range strings.Fields(mapped) {
		r, size := utf8.DecodeRuneInString(word)
		mappings[r] = word[size:]
	}
	for r := range ascii {
		ascii[r].kind, ascii[r].lower = kinds[r], rune(r)
		if to, ok := mappings[rune(r)]; ok {
			ascii[r].lower = rune(to[0])
		}
	}
}

func kindOf(r rune) kind {
	if int(r) < len(kinds) {
		return kinds[r]
	}
	for _, t := range tables {
		low, high := 0, len(t.ranges)/2
		for low < high {
			if m := (low + high) / 2; r > t.ranges[2*m+1] {
				low = m + 1
			} else {
				high = m
			}
		}
		if 2*low < len(t.ranges) && r >= t.ranges[2*low] {
			return t.kind
		}
	}
	return plain
}
