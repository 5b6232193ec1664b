// Package console writes what the command says: on lines of its own, whatever the texts in it hold, and as JSON.
//
// Names, descriptions and labels come from files, and paths and device names also from others: they may hold what
// steers a terminal, turns its text around, or looks like lines of this program. All that is printed therefore goes
// through Printf, which makes one line of each argument, or through JSON; and whatever is written at all goes through
// an Output, which lets nothing invisible pass but line ends and tabs. Only progress bars write beside it: all their
// words are this program's.
package console

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// maxText is how many characters of an argument are printed; of longer ones the beginning, the end and the length.
	maxText = 4096
	// maxName is the same in tables, see Brief.
	maxName = 60
)

// visible reports whether r is printed as it is: what has a glyph, in any script, and spaces. Control, format and
// private characters have none (categories C, Zl and Zp of Unicode), and some letters neither.
func visible(r rune) bool {
	return unicode.IsGraphic(r) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// escapes are the short forms of what is not visible.
var escapes = map[rune]string{'\n': `\n`, '\r': `\r`, '\t': `\t`}

// appendVisible appends the first character of s, escaped as in Go where it is not visible and not in keep, and
// returns its size in s.
func appendVisible(b []byte, s, keep string) ([]byte, int) {
	r, size := utf8.DecodeRuneInString(s)
	switch short, known := escapes[r]; {
	case r == utf8.RuneError && size == 1:
		return fmt.Appendf(b, `\x%02x`, s[0]), size
	case visible(r) || strings.ContainsRune(keep, r):
		return append(b, s[:size]...), size
	case known:
		return append(b, short...), size
	case r < utf8.RuneSelf:
		return fmt.Appendf(b, `\x%02x`, r), size
	case r > 0xffff:
		return fmt.Appendf(b, `\U%08x`, r), size
	}
	return fmt.Appendf(b, `\u%04x`, r), size
}

// Clean makes one line of s, of bounded length, in which every character is visible.
func Clean(s string) string {
	const end = maxText / 4
	text := shorten(s, maxText, maxText-end, end)
	b := make([]byte, 0, len(text))
	for len(text) > 0 {
		var n int
		b, n = appendVisible(b, text, "")
		text = text[n:]
	}
	return string(b)
}

// Brief is a name for a table: shortened, with a note of its length.
func Brief(name string) string { return shorten(name, maxName, maxName, 0) }

// shorten keeps so many characters at the beginning and the end of a text that has more than limit.
func shorten(s string, limit, first, last int) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	from, to := 0, len(s)
	for range first {
		_, n := utf8.DecodeRuneInString(s[from:])
		from += n
	}
	for range last {
		_, n := utf8.DecodeLastRuneInString(s[:to])
		to -= n
	}
	text := fmt.Sprintf("%s… (%d bytes)", s[:from], len(s))
	if last > 0 {
		text += " …" + s[to:]
	}
	return text
}

// foreign is an argument of Printf whose text is cleaned after it was formatted.
type foreign struct{ v any }

// Format implements fmt.Formatter.
func (f foreign) Format(s fmt.State, verb rune) {
	_, _ = io.WriteString(s, Clean(fmt.Sprintf(fmt.FormatString(s, verb), f.v)))
}

// Printf is fmt.Fprintf with every argument but numbers cleaned. The format is this program's own. An error of the
// writer is not returned: an Output remembers its first.
func Printf(w io.Writer, format string, args ...any) {
	for i, arg := range args {
		if kind := reflect.ValueOf(arg).Kind(); kind < reflect.Bool || kind > reflect.Complex128 {
			args[i] = foreign{arg}
		}
	}
	_, _ = fmt.Fprintf(w, format, args...)
}

// Lines prints a text of several lines, such as a table that Printf filled.
func Lines(w io.Writer, text string) {
	for line := range strings.Lines(text) {
		Printf(w, "%s\n", strings.TrimSuffix(line, "\n"))
	}
}

// Output writes what is visible, line ends and tabs, and anything else escaped. It remembers the first error, so that
// a full disk does not look like success.
type Output struct {
	W   io.Writer
	Err error // the first
}

// Write implements io.Writer.
func (o *Output) Write(b []byte) (int, error) {
	text := string(b)
	safe := make([]byte, 0, len(b))
	for len(text) > 0 {
		var n int
		safe, n = appendVisible(safe, text, "\n\t")
		text = text[n:]
	}
	if _, err := o.W.Write(safe); err != nil {
		if o.Err == nil {
			o.Err = err
		}
		return 0, err
	}
	return len(b), nil
}

// JSON writes v on lines of its own. What is not visible is escaped, which leaves its value as it is.
func JSON(w io.Writer, v any, indent string) error {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return err
	}
	var b []byte
	for _, r := range text.String() {
		switch {
		case visible(r) || r == '\n':
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	_, err := w.Write(b)
	return err
}
