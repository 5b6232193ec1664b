package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestClean(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"plain", "Conv2D/weights: 1×3 °C", "Conv2D/weights: 1×3 °C"},
		{"right to left letters", "שלום خط اردو", "שלום خط اردو"},
		{"other scripts and marks", "猫 кот naïve e\u0301 한글 ไทย 🐈\ufe0f", "猫 кот naïve e\u0301 한글 ไทย 🐈\ufe0f"},
		{"escape", "a\x1b[2Jb", `a\x1b[2Jb`},
		{"OSC, ended by BEL", "\x1b]0;title\a", `\x1b]0;title\x07`},
		{"C1 as a character", "a\u009b31mb\u0085", `a\u009b31mb\u0085`},
		{"C1 as a byte", "a\x9b31mb", `a\x9b31mb`},
		{"line ends", "a\nb\r\nc\td", `a\nb\r\nc\td`},
		{"NUL and DEL", "a\x00b\x7f", `a\x00b\x7f`},
		{"bidi", "a\u202eb\u2066c\u2069\u200e\u200f\u061c", `a\u202eb\u2066c\u2069\u200e\u200f\u061c`},
		{"separators", "a\u2028b\u2029c", `a\u2028b\u2029c`},
		{"zero width", "a\u200bb\ufeffc\u00add\u3164", `a\u200bb\ufeffc\u00add\u3164`},
		{"tags", "a\U000e0041", `a\U000e0041`},
		{"invalid", "a\xffb\xc3", `a\xffb\xc3`},
		{"surrogates", "\xed\xa0\x80", `\xed\xa0\x80`},
		{"private use", "\ue000", `\ue000`},
		{"replacement character", "\ufffd", "\ufffd"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, Clean(tc.text))
			var b bytes.Buffer
			Printf(&b, "%s|%v|%d\n", tc.text, errors.New(tc.text), 7)
			require.Equal(t, tc.want+"|"+tc.want+"|7\n", b.String())
		})
	}
}

func TestPrintf(t *testing.T) {
	var b bytes.Buffer
	Printf(&b, "%-6s|%4d|%.1f|%*d|%v|%q|%v\n", "é", 3, 1.25, 3, 7, []string{"a\nb", "\x1b"}, "\x1b", 1500*time.Millisecond)
	require.Equal(t, "é     |   3|1.2|  7|[a\\nb \\x1b]|\"\\x1b\"|1.5s\n", b.String())
}

func TestShorten(t *testing.T) {
	long := strings.Repeat("é", 30_000)
	require.Equal(t, strings.Repeat("é", maxName)+"… (60000 bytes)", Brief(long))
	require.Equal(t, strings.Repeat("é", maxName), Brief(strings.Repeat("é", maxName)))
	text := Clean("begin " + long + " end")
	require.Less(t, len([]rune(text)), maxText+50)
	require.True(t, strings.HasPrefix(text, "begin é") && strings.HasSuffix(text, "é end"), "%.20s", text)
	require.Contains(t, text, "… (60010 bytes) …")
	require.Equal(t, long[:2*maxText], Clean(long[:2*maxText]))
	invalid := Clean(strings.Repeat("\xff", 60_000))
	require.Contains(t, invalid, "(60000 bytes)")
	require.Less(t, len(invalid), 4*maxText+50)
}

// TestOutput writes what is cut anywhere.
func TestOutput(t *testing.T) {
	text := "ok\tשלום\n\x1b[2J\u009b\x9b\u202e\r\x00"
	for cut := range len(text) {
		var b bytes.Buffer
		o := &Output{W: &b}
		for _, part := range []string{text[:cut], text[cut:]} {
			n, err := o.Write([]byte(part))
			require.NoError(t, err)
			require.Equal(t, len(part), n)
		}
		requireVisible(t, b.String())
	}
	o := &Output{W: failingWriter{}}
	_, err := o.Write([]byte("x"))
	require.ErrorIs(t, err, os.ErrClosed)
	require.ErrorIs(t, o.Err, os.ErrClosed)
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

func requireVisible(t *testing.T, text string) {
	t.Helper()
	for i, r := range text {
		require.True(t, visible(r) || r == '\n' || r == '\t', "%U at %d", r, i)
	}
}

func TestWriteJSON(t *testing.T) {
	value := map[string]string{"<a> \u009b\u202e\u0085": "\x1b\n\x7f\u2028\u200b\U000e0041 שלום 🐈"}
	var b bytes.Buffer
	require.NoError(t, JSON(&Output{W: &b}, value, "  "))
	requireVisible(t, b.String())
	require.Contains(t, b.String(), `\u202e`)
	require.Contains(t, b.String(), `שלום 🐈`)
	var got map[string]string
	require.NoError(t, json.Unmarshal(b.Bytes(), &got))
	require.Equal(t, value, got)
}
